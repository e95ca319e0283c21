//! T9 and T10: retries, what may be retried, and turns that run elsewhere.

use chat_conformance::{Fault, Op};
use chat_core::{NotAccepted, Reply, RetryRefused, TurnError, TurnStatus};

use crate::kit::{Lab, all, end, idle, kind, kinds, oops};

/// Why a retry was refused.
fn refused(error: TurnError) -> RetryRefused {
    match error {
        TurnError::NotAccepted(NotAccepted::Retry(why)) => why,
        other => panic!("it is a retry that is refused: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn t9_a_retry_is_a_new_turn_with_the_same_input_and_the_original_keeps_its_entries() {
    let mut lab = Lab::new().await;
    let failed = lab.session.send("hi");
    lab.script.next_call().await.fail(oops());
    failed.result().await.unwrap_err();
    let first = lab.session.retry(failed.id());
    let call = lab.script.next_call().await;
    assert_eq!(&*call.request().input, "hi");
    assert_eq!(call.request().root_turn_id, *failed.id(), "C12");
    assert_ne!(call.request().turn_id, *failed.id());
    first.cancel(());
    first.result().await.unwrap_err();
    assert_eq!(lab.entries().await[..2], ["turn.accepted", "turn.failed"]);
    // Retrying the retry, and retrying twice.
    for (before, original) in [first.id(), failed.id()].into_iter().enumerate() {
        let again = lab.session.retry(original);
        let mut call = lab.script.next_call().await;
        assert_eq!(call.request().root_turn_id, *failed.id(), "C12");
        let said = call.request().messages.iter().count();
        assert_eq!(said, 2 * before, "C7, C13: only what was completed");
        call.finish(Reply::text("hello"));
        again.result().await.unwrap();
        let record = lab.session.find(again.id()).unwrap();
        assert_eq!(record.retry_of.as_ref(), Some(original));
    }
    assert_eq!(
        lab.session.find(failed.id()).unwrap().status,
        TurnStatus::Failed
    );
}

#[tokio::test(start_paused = true)]
async fn t9_what_can_t_be_retried_is_refused_by_name() {
    let mut lab = Lab::new().await;
    let unknown = "nobody".parse().unwrap();
    let turn = lab.session.retry(&unknown);
    assert_eq!(
        refused(turn.result().await.unwrap_err()),
        RetryRefused::Unknown(unknown)
    );
    assert_eq!(kinds(&all(turn.events().unwrap()).await), ["turn-end"]);

    let running = lab.session.send("hi");
    let queued = lab.session.send("next");
    let mut call = lab.script.next_call().await;
    for turn in [&running, &queued] {
        let why = refused(lab.session.retry(turn.id()).await.unwrap_err());
        assert_eq!(why, RetryRefused::Active(turn.id().clone()));
    }
    call.finish(Reply::text("ok"));
    running.result().await.unwrap();
    let why = refused(lab.session.retry(running.id()).await.unwrap_err());
    assert_eq!(why, RetryRefused::Completed(running.id().clone()));
    lab.script.next_call().await.finish(Reply::text("ok"));
    queued.await.unwrap();
    assert_eq!(lab.entries().await.len(), 4, "nothing was written for them");
}

#[tokio::test(start_paused = true)]
async fn t9_two_retries_sent_at_once_are_two_turns_unless_the_first_completes_the_original() {
    let mut lab = Lab::new().await;
    let failed = lab.session.send("hi");
    lab.script.next_call().await.fail(oops());
    failed.result().await.unwrap_err();
    let (one, two) = (
        lab.session.retry(failed.id()),
        lab.session.retry(failed.id()),
    );
    for turn in [one, two] {
        lab.script.next_call().await.finish(Reply::text("ok"));
        turn.await.unwrap();
    }
    assert_eq!(lab.session.turns().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn c9_t10_a_dead_turn_is_interrupted_when_its_session_is_opened_and_can_be_retried() {
    let first = Lab::new().await;
    let mut lab = first.elsewhere().await;
    {
        let mut dead = first;
        let turn = dead.session.send("hi");
        let call = dead.script.next_call().await;
        dead.gate.lose_hold(dead.session.id());
        assert_eq!(kind(turn.await), "hold-lost");
        drop(call);
    }
    lab.session.refresh().await.unwrap();
    let dead = lab.session.turns().last().unwrap().clone();
    assert_eq!(dead.status, TurnStatus::Interrupted);
    assert!(dead.status.can_retry());
    let retry = lab.session.retry(&dead.id);
    lab.script.next_call().await.finish(Reply::text("hello"));
    retry.await.unwrap();
    assert_eq!(
        lab.session.turns().iter().next().unwrap().status,
        TurnStatus::Interrupted
    );
    assert_eq!(
        lab.entries().await,
        ["turn.accepted", "turn.accepted", "turn.completed"]
    );
}

#[tokio::test(start_paused = true)]
async fn t10_a_turn_that_another_holder_is_answering_shows_as_running() {
    let mut here = Lab::new().await;
    let turn = here.session.send("hi");
    let mut call = here.script.next_call().await;
    let there = here.elsewhere().await;
    let shown = |there: &Lab| there.session.turns().last().unwrap().status;
    assert_eq!(shown(&there), TurnStatus::Running, "when opened");
    there.session.refresh().await.unwrap();
    assert_eq!(shown(&there), TurnStatus::Running, "as of the last refresh");
    call.finish(Reply::text("hello"));
    turn.await.unwrap();
    assert_eq!(shown(&there), TurnStatus::Running, "as of the last refresh");
    there.session.refresh().await.unwrap();
    assert_eq!(shown(&there), TurnStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn t10_a_retry_of_a_turn_that_runs_elsewhere_waits_for_the_hold_and_decides_then() {
    for completes in [true, false] {
        let mut here = Lab::new().await;
        let turn = here.session.send("hi");
        let mut call = here.script.next_call().await;
        let mut there = here.elsewhere().await;
        let retry = there.session.retry(turn.id());
        let events = retry.events().unwrap();
        idle().await;
        assert_eq!(retry.status(), TurnStatus::Queued);
        assert!(there.script.try_next_call().is_none(), "it waits");
        if completes {
            call.finish(Reply::text("hello"));
            let why = refused(retry.await.unwrap_err());
            assert_eq!(why, RetryRefused::Completed(turn.id().clone()));
            assert_eq!(kinds(&all(events).await), ["turn-end"]);
            there.gate.all_released().await;
        } else {
            call.fail(oops());
            there.script.next_call().await.finish(Reply::text("hello"));
            retry.await.unwrap();
            assert_eq!(end(&all(events).await).retry_of.as_ref(), Some(turn.id()));
        }
        there.is_usable().await;
    }
}

#[tokio::test(start_paused = true)]
async fn t10_a_turn_interrupted_here_does_not_show_as_running_elsewhere() {
    let mut lab = Lab::new().await;
    lab.gate.next(Op::AppendLast).answer(Fault::NotWritten);
    let turn = lab.session.send("hi");
    lab.script.next_call().await.finish(Reply::text("hello"));
    turn.result().await.unwrap_err();
    // Asked before the hold of that turn is let go.
    lab.session.refresh().await.unwrap();
    assert_eq!(turn.status(), TurnStatus::Interrupted);
    assert_eq!(
        lab.session.turns().last().unwrap().status,
        TurnStatus::Interrupted
    );
}
