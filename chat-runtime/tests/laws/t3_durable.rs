//! T3: nothing is seen before it is durable, and then in one order.

use chat_conformance::Op;
use chat_core::{ChatEvent, Reply, TurnStatus};

use crate::kit::{Lab, all, end, idle, is_pending, kinds};

#[tokio::test(start_paused = true)]
async fn t3_nothing_is_seen_of_a_turn_before_it_is_accepted() {
    let mut lab = Lab::new().await;
    for written in [false, true] {
        let next = lab.gate.next(Op::Append);
        let pause = if written {
            next.pause_answer()
        } else {
            next.pause()
        };
        let turns = lab.session.turns().len();
        let turn = lab.session.send("hi");
        let mut events = turn.events().unwrap();
        pause.reached().await;
        idle().await;
        assert!(lab.script.try_next_call().is_none(), "not called");
        assert!(is_pending(turn.accepted()));
        assert!(is_pending(events.next()));
        assert_eq!(lab.session.turns().len(), turns, "not shown");
        assert_eq!(turn.status(), TurnStatus::Queued);
        pause.release();
        turn.accepted().await.unwrap();
        assert_eq!(lab.session.turns().len(), turns + 1);
        assert_eq!(events.next().await.unwrap().kind(), "turn-start");
        lab.script.next_call().await.finish(Reply::text("hello"));
        turn.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn t3_nothing_is_seen_of_an_outcome_before_it_is_recorded() {
    let mut lab = Lab::new().await;
    for written in [false, true] {
        let next = lab.gate.next(Op::AppendLast);
        let pause = if written {
            next.pause_answer()
        } else {
            next.pause()
        };
        let turn = lab.session.send("hi");
        let queued = lab.session.send("next");
        let mut events = turn.events().unwrap();
        let mut call = lab.script.next_call().await;
        assert_eq!(events.next().await.unwrap().kind(), "turn-start");
        call.finish(Reply::text("hello"));
        pause.reached().await;
        idle().await;
        assert!(call.is_dropped(), "its execution is over");
        assert!(is_pending(events.next()));
        assert!(is_pending(turn.result()));
        assert_eq!(
            lab.session.find(turn.id()).unwrap().status,
            TurnStatus::Running
        );
        assert_eq!(turn.status(), TurnStatus::Running);
        assert!(lab.script.try_next_call().is_none(), "the next one waits");
        pause.release();
        let Some(ChatEvent::TurnEnd { turn: shown, .. }) = events.next().await else {
            panic!("turn-end comes next");
        };
        assert_eq!(*shown, lab.session.find(turn.id()).unwrap());
        assert_eq!(shown.status, TurnStatus::Completed);
        assert_eq!(&*turn.await.unwrap().text, "hello");
        lab.script.next_call().await.finish(Reply::text("next"));
        queued.await.unwrap();
    }
}

/// Accepted, then `turn-start`, then the call; the outcome, then `turns()`, then `turn-end`, then the result, then the next turn:
/// whoever sees a later one finds all the earlier ones done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t3_whoever_sees_a_later_step_finds_the_earlier_ones_done() {
    let mut lab = Lab::new().await;
    for _ in 0..200 {
        let turn = lab.session.send("hi");
        let queued = lab.session.send("next");
        let mut events = turn.events().unwrap();
        let mut call = lab.script.next_call().await;
        assert!(!is_pending(turn.accepted()));
        assert!(!is_pending(events.next()));
        assert_eq!(
            lab.session.find(turn.id()).unwrap().status,
            TurnStatus::Running
        );

        let (session, id) = (lab.session.clone(), turn.id().clone());
        let reader = tokio::spawn(async move {
            let events = all(events).await;
            assert_eq!(session.find(&id).unwrap(), *end(&events));
            assert_eq!(end(&events).status, TurnStatus::Completed);
        });
        call.finish(Reply::text("hello"));
        let mut next = lab.script.next_call().await;
        assert!(turn.is_done(), "the next turn starts last");
        reader.await.unwrap();
        next.finish(Reply::text("next"));
        queued.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn c8_the_end_of_the_stream_does_not_cancel_the_write_of_the_reply() {
    let mut lab = Lab::new().await;
    let pause = lab.gate.pause(Op::AppendLast);
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    call.text("hello");
    call.finish(Reply::streamed());
    pause.reached().await;
    drop((events, turn));
    pause.release();
    lab.gate.all_released().await;
    assert_eq!(lab.entries().await, ["turn.accepted", "turn.completed"]);
    assert_eq!(lab.session.messages()[1].to_text(), "hello");
}

#[tokio::test(start_paused = true)]
async fn j5_a_turn_costs_two_entries_and_one_per_steering_whatever_it_streamed() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    for _ in 0..1000 {
        call.text("x");
    }
    let steer = tokio::spawn(lab.session.steer("faster"));
    call.steer_offered().await.take();
    steer.await.unwrap().unwrap();
    call.finish(Reply::streamed());
    assert_eq!(turn.await.unwrap().text.len(), 1000);
    assert_eq!(
        lab.entries().await,
        ["turn.accepted", "turn.steered", "turn.completed"]
    );
    let events = all(events).await;
    assert_eq!(events.len(), 1000 + 3);
    assert!(kinds(&events).contains(&"steered"));
}
