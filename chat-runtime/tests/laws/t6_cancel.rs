//! T6: a cancel in any state, any number of times; it returns at once, the first reason stands, and no other turn is touched.

use chat_conformance::{Fault, Op};
use chat_core::{
    ApprovalOutcome, ChatEvent, Reply, ResponderEvent, ToolCallRef, ToolOutcome, TurnStatus,
};

use crate::kit::{Lab, all, end, idle, kind, kinds, request_approval, text};

#[tokio::test(start_paused = true)]
async fn t6_a_queued_turn_is_canceled_unwritten() {
    let mut lab = Lab::new().await;
    let running = lab.session.send("running");
    let (queued, last) = (lab.session.send("queued"), lab.session.send("last"));
    let mut call = lab.script.next_call().await;
    queued.cancel("not needed");
    queued.cancel("another reason");
    assert!(queued.is_done(), "at once");
    assert_eq!(queued.result().await.unwrap_err().to_string(), "not needed");
    assert_eq!(kind(queued.accepted().await), "canceled");
    let events = all(queued.events().unwrap()).await;
    assert_eq!(kinds(&events), ["turn-end"]);
    assert_eq!(end(&events).status, TurnStatus::Canceled);
    assert_eq!(end(&events).reason.as_deref(), Some("not needed"));
    assert!(lab.session.find(queued.id()).is_none());
    call.finish(Reply::text("1"));
    running.await.unwrap();
    let mut call = lab.script.next_call().await;
    assert_eq!(call.request().turn_id, *last.id());
    call.finish(Reply::text("2"));
    last.await.unwrap();
    assert_eq!(lab.session.turns().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn t6_a_turn_that_waits_for_the_hold_is_canceled_unwritten_and_its_place_given_up() {
    let mut here = Lab::new().await;
    let mut there = here.elsewhere().await;
    let running = here.session.send("running");
    let mut call = here.script.next_call().await;
    let pause = there.gate.next(Op::Acquire).pause_answer();
    let waiting = there.session.send("waiting");
    there.gate.reached(Op::Acquire, 1).await;
    waiting.cancel(());
    assert_eq!(kind(waiting.await), "canceled");
    idle().await;
    drop(pause);
    // A turn that follows waits anew.
    let next = there.session.send("next");
    call.finish(Reply::text("ok"));
    running.await.unwrap();
    there.script.next_call().await.finish(Reply::text("next"));
    next.await.unwrap();
    there.gate.all_released().await;
    assert_eq!(there.session.turns().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn t6_a_place_in_the_queue_for_the_hold_is_kept_for_the_turn_behind() {
    let mut here = Lab::new().await;
    let mut there = here.elsewhere().await;
    let running = here.session.send("running");
    let mut call = here.script.next_call().await;
    let (waiting, behind) = (there.session.send("waiting"), there.session.send("behind"));
    idle().await;
    waiting.cancel(());
    idle().await;
    call.finish(Reply::text("ok"));
    running.await.unwrap();
    let mut call = there.script.next_call().await;
    assert_eq!(call.request().turn_id, *behind.id());
    call.finish(Reply::text("ok"));
    behind.await.unwrap();
    assert_eq!(there.gate.count(Op::Acquire), 1);
}

#[tokio::test(start_paused = true)]
async fn t6_while_it_is_being_accepted_the_write_is_awaited_and_then_canceled() {
    let mut lab = Lab::new().await;
    let pause = lab.gate.pause(Op::Append);
    let turn = lab.session.send("hi");
    pause.reached().await;
    turn.cancel("early");
    turn.cancel("later");
    idle().await;
    assert!(!turn.is_done(), "the write is awaited");
    pause.release();
    assert_eq!(turn.result().await.unwrap_err().to_string(), "early");
    turn.accepted().await.unwrap();
    assert!(lab.script.try_next_call().is_none(), "never called");
    assert_eq!(lab.entries().await, ["turn.accepted", "turn.canceled"]);
    assert_eq!(
        kinds(&all(turn.events().unwrap()).await),
        ["turn-start", "turn-end"]
    );
    lab.is_usable().await;
}

#[tokio::test(start_paused = true)]
async fn t6_where_the_accept_is_not_written_the_reason_stands_and_nothing_is_written() {
    for fault in [Fault::NotWritten, Fault::UnknownNotWritten, Fault::Fenced] {
        let mut lab = Lab::new().await;
        let pause = lab.gate.pause(Op::Append);
        let turn = lab.session.send("hi");
        pause.reached().await;
        turn.cancel("early");
        pause.answer(fault);
        assert_eq!(turn.result().await.unwrap_err().to_string(), "early");
        assert_eq!(kind(turn.accepted().await), "canceled");
        let events = all(turn.events().unwrap()).await;
        assert_eq!(kinds(&events), ["turn-end"]);
        assert_eq!(end(&events).status, TurnStatus::Canceled);
        assert!(lab.entries().await.is_empty() && lab.session.turns().is_empty());
        lab.is_usable().await;
    }
}

#[tokio::test(start_paused = true)]
async fn t6_a_running_turn_ends_at_once_whether_or_not_the_responder_heeds() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    call.text("so far");
    idle().await;
    let pause = lab.gate.pause(Op::AppendLast);
    turn.cancel("enough");
    assert!(
        call.request().cancel.is_cancelled(),
        "the signal fires at once"
    );
    pause.reached().await;
    call.dropped().await;
    turn.cancel("again");
    pause.release();
    assert_eq!(turn.result().await.unwrap_err().to_string(), "enough");
    turn.cancel("ended long ago");
    let events = all(events).await;
    assert_eq!(kinds(&events), ["turn-start", "text-delta", "turn-end"]);
    assert_eq!(end(&events).output, None, "T7");
    assert_eq!(lab.entries().await, ["turn.accepted", "turn.canceled"]);
    assert!(lab.session.messages().is_empty(), "C7, T7");
    lab.is_usable().await;
}

#[tokio::test(start_paused = true)]
async fn t6_where_the_outcome_is_chosen_a_cancel_comes_too_late() {
    let mut lab = Lab::new().await;
    let pause = lab.gate.pause(Op::AppendLast);
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    call.finish(Reply::text("hello"));
    pause.reached().await;
    turn.cancel("too late");
    idle().await;
    pause.release();
    assert_eq!(&*turn.result().await.unwrap().text, "hello");
    turn.cancel("far too late");
    assert_eq!(turn.status(), TurnStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn t6_the_reply_alone_is_no_outcome_yet() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let call = lab.script.next_call().await;
    call.reply(Reply::text("hello"));
    idle().await;
    turn.cancel(());
    assert_eq!(turn.await.unwrap_err().to_string(), "canceled");
    assert_eq!(lab.entries().await, ["turn.accepted", "turn.canceled"]);
}

#[tokio::test(start_paused = true)]
async fn t6_where_the_cancel_can_t_be_written_the_turn_is_interrupted_with_the_stores_error() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let _call = lab.script.next_call().await;
    lab.gate.next(Op::AppendLast).answer(Fault::NotWritten);
    turn.cancel("enough");
    assert_eq!(kind(turn.result().await), "store-backend");
    assert_eq!(turn.status(), TurnStatus::Interrupted);
    assert_eq!(
        end(&all(turn.events().unwrap()).await).status,
        TurnStatus::Interrupted
    );
    lab.is_usable().await;
}

#[tokio::test(start_paused = true)]
async fn t6_a_steering_that_is_being_written_is_finished_first_and_cancel_wins_all_the_same() {
    for fault in [None, Some(Fault::NotWritten), Some(Fault::UnknownWritten)] {
        let mut lab = Lab::new().await;
        let turn = lab.session.send("hi");
        let mut call = lab.script.next_call().await;
        let pause = lab.gate.pause(Op::Append);
        let steer = lab.session.steer("faster");
        call.steer_offered().await.take();
        pause.reached().await;
        turn.cancel("enough");
        call.dropped().await;
        idle().await;
        assert_eq!(lab.gate.count(Op::AppendLast), 0, "it is finished first");
        match fault.clone() {
            None => pause.release(),
            Some(fault) => pause.answer(fault),
        }
        assert_eq!(turn.await.unwrap_err().to_string(), "enough");
        let written = !matches!(fault, Some(Fault::NotWritten));
        assert_eq!(steer.await.is_ok(), written);
        assert_eq!(lab.entries().await.len(), if written { 3 } else { 2 });
        assert_eq!(lab.entries().await.last().unwrap(), "turn.canceled");
    }
}

#[tokio::test(start_paused = true)]
async fn t6_what_a_cancel_leaves_open_is_closed_in_order_before_the_end() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    let step: chat_core::StepId = "s1".into();
    call.event(ResponderEvent::StepStart {
        step: step.clone(),
        number: 1,
    });
    let tool = ToolCallRef {
        step,
        number: 1,
        index: 0,
        call_id: "c1".into(),
        tool: "deploy".into(),
    };
    call.event(ResponderEvent::ToolExecutionStart(tool.into()));
    request_approval(&call, "a1");
    call.text("so far");
    idle().await;
    assert_eq!(turn.requests().len(), 1);
    turn.cancel(());
    assert!(turn.requests().is_empty(), "withdrawn at once");
    let id = "a1".into();
    assert!(turn.approve(&id).is_err());
    let events = all(events).await;
    assert_eq!(
        kinds(&events)[5..],
        [
            "approval-resolved",
            "tool-execution-end",
            "step-end",
            "turn-end"
        ]
    );
    assert!(matches!(
        &events[5],
        ChatEvent::ApprovalResolved {
            outcome: ApprovalOutcome::Withdrawn,
            ..
        }
    ));
    assert!(matches!(
        &events[6],
        ChatEvent::ToolExecutionEnd {
            outcome: ToolOutcome::Aborted,
            ..
        }
    ));
    assert_eq!(text(&events), "so far");
    assert!(call.try_answered().is_none());
}

#[tokio::test(start_paused = true)]
async fn c4_canceling_in_every_state_twice_never_hangs() {
    for stop in 0..5 {
        let mut lab = Lab::new().await;
        let (acquire, append, last) = (
            lab.gate.pause(Op::Acquire),
            lab.gate.pause(Op::Append),
            lab.gate.pause(Op::AppendLast),
        );
        let turn = lab.session.send("hi");
        let cancel = |at: usize| {
            if at == stop {
                turn.cancel("one");
                turn.cancel("two");
            }
        };
        acquire.reached().await;
        cancel(0);
        acquire.release();
        if stop != 0 {
            append.reached().await;
            cancel(1);
            append.release();
        }
        if stop > 1 {
            let mut call = lab.script.next_call().await;
            cancel(2);
            call.finish(Reply::text("ok"));
        }
        if stop != 0 {
            last.reached().await;
            cancel(3);
            last.release();
        }
        let result = turn.result().await;
        assert_eq!(result.is_ok(), stop > 2, "canceled at {stop}");
        cancel(4);
        if let Err(error) = turn.result().await {
            assert_eq!(error.to_string(), "one");
        }
        lab.gate.all_released().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c5_one_that_ignores_a_cancel_ends_at_once_and_the_next_turn_starts() {
    let mut lab = Lab::new().await;
    let deaf = lab.session.send("deaf");
    let mut call = lab.script.next_call().await;
    let mut blocked = call.block(chat_conformance::Place::Result);
    blocked.reached().await;
    deaf.cancel("enough");
    assert_eq!(kind(deaf.await), "canceled");
    lab.is_usable().await;
    blocked.release();
    call.dropped().await;
}
