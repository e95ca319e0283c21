//! T14: a chat is wound up: nothing new, then a grace for what runs, then a cancel, and every hold is let go.

use std::{sync::Arc, time::Duration};

use chat_conformance::Op;
use chat_core::{NotAccepted, Reply, SteerRefused, TurnError, TurnStatus};
use tokio::time::Instant;

use crate::kit::{Lab, all, end, idle, is_pending, kind};

const GRACE: Duration = Duration::from_secs(30);

#[tokio::test(start_paused = true)]
async fn t14_at_once_nothing_new_is_taken_and_what_waits_is_canceled_unwritten() {
    let mut lab = Lab::new().await;
    let running = lab.session.send("running");
    let (queued, steer) = (lab.session.send("queued"), lab.session.steer("x"));
    let mut call = lab.script.next_call().await;
    let mut shutdown = Box::pin(lab.chat.shutdown(GRACE));
    assert!(is_pending(&mut shutdown));

    assert_eq!(
        queued.result().await.unwrap_err().to_string(),
        "shutting down"
    );
    assert_eq!(queued.status(), TurnStatus::Canceled);
    assert!(matches!(
        steer.await.unwrap_err().why,
        SteerRefused::ShuttingDown
    ));
    let refused = lab.session.send("late").await.unwrap_err();
    assert!(matches!(
        refused,
        TurnError::NotAccepted(NotAccepted::ShuttingDown)
    ));
    let refused = lab.session.steer("late").await.unwrap_err();
    assert!(matches!(refused.why, SteerRefused::ShuttingDown));
    let refused = running.steer("late").await.unwrap_err();
    assert_eq!(&*refused.input, "late");

    // What runs may go on.
    idle().await;
    assert!(is_pending(&mut shutdown));
    call.finish(Reply::text("ok"));
    running.await.unwrap();
    shutdown.await;
    assert_eq!(lab.gate.holds(), 0);
    assert_eq!(lab.entries().await, ["turn.accepted", "turn.completed"]);
}

#[tokio::test(start_paused = true)]
async fn t14_after_the_grace_what_still_runs_is_canceled() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    let began = Instant::now();
    lab.chat.shutdown(GRACE).await;
    assert_eq!(began.elapsed().as_secs(), GRACE.as_secs());
    assert!(turn.is_done(), "all have ended");
    assert_eq!(lab.gate.holds(), 0, "and every hold is let go");
    assert_eq!(turn.await.unwrap_err().to_string(), "shutting down");
    call.dropped().await;
    assert_eq!(lab.entries().await, ["turn.accepted", "turn.canceled"]);
}

#[tokio::test(start_paused = true)]
async fn t14_it_waits_for_the_write_of_the_cancel() {
    let mut lab = Lab::new().await;
    let pause = lab.gate.pause(Op::AppendLast);
    let turn = lab.session.send("hi");
    let _call = lab.script.next_call().await;
    let mut shutdown = Box::pin(lab.chat.shutdown(Duration::ZERO));
    assert!(is_pending(&mut shutdown));
    pause.reached().await;
    idle().await;
    assert!(is_pending(&mut shutdown));
    pause.release();
    shutdown.await;
    assert_eq!(kind(turn.await), "canceled");
    assert_eq!(lab.gate.holds(), 0);
}

#[tokio::test(start_paused = true)]
async fn t14_waits_for_holds_are_given_up() {
    let mut here = Lab::new().await;
    let there = here.elsewhere().await;
    let running = here.session.send("running");
    let mut call = here.script.next_call().await;
    let waiting = there.session.send("waiting");
    idle().await;
    there.chat.shutdown(GRACE).await;
    assert_eq!(
        waiting.result().await.unwrap_err().to_string(),
        "shutting down"
    );
    call.finish(Reply::text("ok"));
    running.await.unwrap();
    here.is_usable().await;
    assert_eq!(there.gate.holds(), 0);
}

#[tokio::test(start_paused = true)]
async fn t14_a_turn_that_is_being_accepted_counts_as_running() {
    let mut lab = Lab::new().await;
    let pause = lab.gate.pause(Op::Append);
    let turn = lab.session.send("hi");
    pause.reached().await;
    let mut shutdown = Box::pin(lab.chat.shutdown(GRACE));
    assert!(is_pending(&mut shutdown));
    pause.release();
    lab.script.next_call().await.finish(Reply::text("ok"));
    turn.await.unwrap();
    shutdown.await;
}

#[tokio::test(start_paused = true)]
async fn t14_an_idle_chat_is_wound_up_at_once_and_twice_is_no_harm() {
    let lab = Lab::new().await;
    let began = Instant::now();
    lab.chat.shutdown(GRACE).await;
    lab.chat.shutdown(GRACE).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    // Sessions can still be read, and opened: they take no turns.
    let session = lab.chat.create_session().await.unwrap();
    assert_eq!(kind(session.send("late").await), "shutting-down");
    let again = lab.chat.open_session(lab.session.id()).await.unwrap();
    assert_eq!(kind(again.send("late").await), "shutting-down");
}

#[tokio::test(start_paused = true)]
async fn t14_one_that_gives_up_waiting_leaves_the_chat_taking_nothing_new() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    assert!(is_pending(lab.chat.shutdown(GRACE)));
    assert_eq!(kind(lab.session.send("late").await), "shutting-down");
    tokio::time::advance(2 * GRACE).await;
    call.finish(Reply::text("ok"));
    turn.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t14_sessions_and_turns_that_come_while_it_begins_are_ended_or_refused() {
    for _ in 0..50 {
        let lab = Lab::new().await;
        let chat = lab.chat.clone();
        let coming = tokio::spawn(async move {
            let mut turns = Vec::new();
            for _ in 0..20 {
                let session = chat.create_session().await.unwrap();
                turns.push(session.send("hi"));
                tokio::task::yield_now().await;
            }
            turns
        });
        tokio::task::yield_now().await;
        lab.chat.shutdown(Duration::ZERO).await;
        let ended = lab.gate.holds();
        let turns = coming.await.unwrap();
        for turn in turns {
            let error = turn.result().await.unwrap_err();
            assert!(
                matches!(error.kind(), "canceled" | "shutting-down"),
                "{error}"
            );
            all(turn.events().unwrap()).await;
        }
        assert_eq!(ended, 0, "when it returned, no hold was out");
        assert_eq!(lab.gate.holds(), 0, "nor was one taken later");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t14_one_that_blocks_its_thread_does_not_hold_up_the_shutdown() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let call = lab.script.next_call().await;
    let mut blocked = call.block(chat_conformance::Place::Result);
    blocked.reached().await;
    let (chat, done) = (lab.chat.clone(), Arc::new(tokio::sync::Notify::new()));
    let told = done.clone();
    tokio::spawn(async move {
        chat.shutdown(Duration::ZERO).await;
        told.notify_one();
    });
    done.notified().await;
    assert_eq!(kind(turn.result().await), "canceled");
    assert_eq!(
        end(&all(turn.events().unwrap()).await).reason.as_deref(),
        Some("shutting down")
    );
    blocked.release();
}
