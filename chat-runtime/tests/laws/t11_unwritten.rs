//! T11 and T13: what can't be written, what may have been, and a hold that is lost.

use chat_conformance::{Fault, Op};
use chat_core::{Reply, StoreError, TurnStatus};

use crate::kit::{Lab, all, end, idle, is_pending, kind, kinds};

#[tokio::test(start_paused = true)]
async fn t11_a_turn_that_can_t_be_accepted_never_was() {
    for op in [Op::Acquire, Op::Append] {
        let mut lab = Lab::new().await;
        let full = StoreError::backend("no space left");
        lab.gate.next(op).answer(Fault::Fails(full));
        let (turn, next) = (lab.session.send("hi"), lab.session.send("next"));
        let events = turn.events().unwrap();
        for error in [
            turn.accepted().await.unwrap_err(),
            turn.result().await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), "store-backend");
            assert!(error.to_string().contains("no space left"), "{error}");
        }
        let events = all(events).await;
        assert_eq!(kinds(&events), ["turn-end"]);
        assert_eq!(end(&events).status, TurnStatus::Failed);
        assert_eq!(end(&events).accepted_at, None);
        lab.script.next_call().await.finish(Reply::text("ok"));
        next.await.unwrap();
        assert!(lab.session.find(turn.id()).is_none());
        assert_eq!(lab.session.turns().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn t11_c26_an_outcome_that_can_t_be_written_interrupts() {
    let mut lab = Lab::new().await;
    lab.gate.next(Op::AppendLast).answer(Fault::NotWritten);
    let (turn, next) = (lab.session.send("hi"), lab.session.send("next"));
    let events = turn.events().unwrap();
    lab.script.next_call().await.finish(Reply::text("hello"));
    assert_eq!(kind(turn.result().await), "store-backend");
    let events = all(events).await;
    assert_eq!(end(&events).status, TurnStatus::Interrupted);
    assert_eq!(end(&events).output, None);
    assert_eq!(
        lab.session.find(turn.id()).unwrap().status,
        TurnStatus::Interrupted
    );
    let mut call = lab.script.next_call().await;
    assert!(call.request().messages.is_empty());
    call.finish(Reply::text("ok"));
    next.await.unwrap();
    lab.gate.all_released().await;
}

#[tokio::test(start_paused = true)]
async fn t11_whether_an_accept_was_written_is_found_out_under_the_same_hold() {
    for written in [true, false] {
        let mut lab = Lab::new().await;
        let fault = if written {
            Fault::UnknownWritten
        } else {
            Fault::UnknownNotWritten
        };
        lab.gate.next(Op::Append).answer(fault);
        let pause = lab.gate.pause(Op::Recover);
        let turn = lab.session.send("hi");
        pause.reached().await;
        idle().await;
        assert!(is_pending(turn.accepted()), "not known yet");
        assert!(lab.session.turns().is_empty());
        assert_eq!(lab.gate.holds(), 1);
        pause.release();
        if written {
            turn.accepted().await.unwrap();
            lab.script.next_call().await.finish(Reply::text("hello"));
            turn.await.unwrap();
        } else {
            assert_eq!(kind(turn.accepted().await), "store-backend");
            assert_eq!(kind(turn.await), "store-backend");
            assert!(lab.session.turns().is_empty());
        }
        lab.is_usable().await;
    }
}

#[tokio::test(start_paused = true)]
async fn t11_whether_an_outcome_was_written_is_found_out_under_the_same_hold() {
    for written in [true, false] {
        let mut lab = Lab::new().await;
        let fault = if written {
            Fault::UnknownWritten
        } else {
            Fault::UnknownNotWritten
        };
        lab.gate.next(Op::AppendLast).answer(fault);
        let pause = lab.gate.pause(Op::Recover);
        let (turn, next) = (lab.session.send("hi"), lab.session.send("next"));
        lab.script.next_call().await.finish(Reply::text("hello"));
        pause.reached().await;
        idle().await;
        assert!(!turn.is_done(), "not known yet");
        assert!(lab.script.try_next_call().is_none());
        pause.release();
        assert_eq!(turn.result().await.is_ok(), written);
        let status = if written {
            TurnStatus::Completed
        } else {
            TurnStatus::Interrupted
        };
        assert_eq!(turn.status(), status);
        lab.script.next_call().await.finish(Reply::text("ok"));
        next.await.unwrap();
        lab.gate.all_released().await;
    }
}

#[tokio::test(start_paused = true)]
async fn t11_while_it_is_found_out_the_turn_stays_as_it_is_a_running_responder_included() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    lab.gate.next(Op::Append).answer(Fault::UnknownWritten);
    let pause = lab.gate.pause(Op::Recover);
    let steer = lab.session.steer("x");
    call.steer_offered().await.take();
    pause.reached().await;
    call.text("going on");
    idle().await;
    assert!(!call.is_dropped() && !call.request().cancel.is_cancelled());
    pause.release();
    steer.await.unwrap();
    call.finish(Reply::streamed());
    assert_eq!(&*turn.await.unwrap().text, "going on");
    assert_eq!(
        kinds(&all(events).await),
        ["turn-start", "text-delta", "steered", "turn-end"]
    );
}

/// Recovery fails, and nobody knows; the hold is let go, and the next acquire or refresh decides.
#[tokio::test(start_paused = true)]
async fn t11_where_it_can_t_be_found_out_the_turn_is_interrupted_and_the_next_hold_decides() {
    for (op, written) in [
        (Op::Append, true),
        (Op::Append, false),
        (Op::AppendLast, true),
        (Op::AppendLast, false),
    ] {
        let mut lab = Lab::new().await;
        let fault = if written {
            Fault::UnknownWritten
        } else {
            Fault::UnknownNotWritten
        };
        lab.gate.next(op).answer(fault);
        lab.gate.next(Op::Recover).answer(Fault::NotWritten);
        let (turn, next) = (lab.session.send("hi"), lab.session.send("next"));
        let events = turn.events().unwrap();
        if op == Op::AppendLast {
            lab.script.next_call().await.finish(Reply::text("hello"));
        }
        assert_eq!(kind(turn.result().await), "store-backend");
        assert_eq!(turn.accepted().await.is_ok(), op == Op::AppendLast);
        assert_eq!(end(&all(events).await).status, TurnStatus::Interrupted);
        assert_eq!(turn.status(), TurnStatus::Interrupted);
        let mut call = lab.script.next_call().await;
        assert_eq!(call.request().turn_id, *next.id(), "queued turns go on");
        call.finish(Reply::text("ok"));
        next.await.unwrap();
        let found = lab.session.find(turn.id()).map(|turn| turn.status);
        let expected = match (op, written) {
            (Op::AppendLast, true) => Some(TurnStatus::Completed),
            (Op::AppendLast, false) | (_, true) => Some(TurnStatus::Interrupted),
            _ => None,
        };
        assert_eq!(found, expected, "{op} {written}");
        lab.gate.all_released().await;
    }
}

#[tokio::test(start_paused = true)]
async fn t13_a_hold_lost_in_the_middle_of_a_turn_interrupts_it() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    call.text("so far");
    idle().await;
    lab.gate.lose_hold(lab.session.id());
    assert_eq!(kind(turn.result().await), "hold-lost");
    assert!(call.request().cancel.is_cancelled());
    call.dropped().await;
    let events = all(events).await;
    assert_eq!(kinds(&events), ["turn-start", "text-delta", "turn-end"]);
    assert_eq!(end(&events).status, TurnStatus::Interrupted);
    assert_eq!(&*end(&events).error.as_ref().unwrap().kind, "hold-lost");
    assert_eq!(
        lab.entries().await,
        ["turn.accepted"],
        "nothing more is written"
    );
    lab.is_usable().await;
}

#[tokio::test(start_paused = true)]
async fn t13_a_write_in_flight_is_awaited_and_what_is_written_stands() {
    // While accepting: accepted, then interrupted.
    let mut lab = Lab::new().await;
    let pause = lab.gate.next(Op::Append).pause_answer();
    let turn = lab.session.send("hi");
    pause.reached().await;
    lab.gate.lose_hold(lab.session.id());
    idle().await;
    assert!(!turn.is_done(), "it is awaited");
    pause.release();
    turn.accepted().await.unwrap();
    assert_eq!(kind(turn.result().await), "hold-lost");
    assert_eq!(
        kinds(&all(turn.events().unwrap()).await),
        ["turn-start", "turn-end"]
    );
    assert!(lab.script.try_next_call().is_none());
    lab.is_usable().await;

    // While recording: as usual.
    let pause = lab.gate.next(Op::AppendLast).pause_answer();
    let turn = lab.session.send("hi");
    lab.script.next_call().await.finish(Reply::text("hello"));
    pause.reached().await;
    lab.gate.lose_hold(lab.session.id());
    idle().await;
    assert!(!turn.is_done());
    pause.release();
    assert_eq!(&*turn.await.unwrap().text, "hello");
    lab.is_usable().await;
}

#[tokio::test(start_paused = true)]
async fn t13_a_fenced_write_is_a_lost_hold() {
    let mut lab = Lab::new().await;
    lab.gate.next(Op::Append).answer(Fault::Fenced);
    let turn = lab.session.send("hi");
    assert_eq!(kind(turn.accepted().await), "hold-lost");
    assert_eq!(kind(turn.result().await), "hold-lost");
    assert_eq!(turn.status(), TurnStatus::Failed, "not accepted");
    lab.is_usable().await;

    lab.gate.next(Op::AppendLast).answer(Fault::Fenced);
    let turn = lab.session.send("hi");
    lab.script.next_call().await.finish(Reply::text("hello"));
    assert_eq!(kind(turn.result().await), "hold-lost");
    assert_eq!(turn.status(), TurnStatus::Interrupted);
    lab.is_usable().await;
}

#[tokio::test(start_paused = true)]
async fn t13_while_a_steering_is_written_it_is_awaited_first() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    let pause = lab.gate.next(Op::Append).pause_answer();
    let steer = lab.session.steer("x");
    call.steer_offered().await.take();
    pause.reached().await;
    lab.gate.lose_hold(lab.session.id());
    call.dropped().await;
    idle().await;
    assert!(!turn.is_done());
    pause.release();
    steer.await.unwrap();
    assert_eq!(kind(turn.result().await), "hold-lost");
    assert_eq!(lab.entries().await, ["turn.accepted", "turn.steered"]);
}
