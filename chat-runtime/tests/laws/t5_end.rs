//! T5: exactly one `turn-end`, always last, on every path; nothing of a turn reaches the next; a runtime that goes away ends all.

use std::time::Duration;

use chat_conformance::{Fault, Op, Place, ScriptedResponder};
use chat_core::{MemoryStore, Reply, SteerRefused, TurnStatus};
use chat_runtime::{Chat, Turn};

use crate::kit::{Lab, all, end, idle, kind, kinds, oops, runtime, text};

#[tokio::test(start_paused = true)]
async fn c3_one_turn_end_whatever_the_store_does_and_a_start_where_it_was_accepted() {
    use Fault::{Fenced, NotWritten, UnknownNotWritten, UnknownWritten};
    use TurnStatus::{Completed, Failed, Interrupted};
    let cases = [
        (Op::Acquire, NotWritten, false, Failed),
        (Op::Append, NotWritten, false, Failed),
        (Op::Append, Fenced, false, Failed),
        (Op::Append, UnknownNotWritten, false, Failed),
        (Op::Append, UnknownWritten, true, Completed),
        (Op::AppendLast, NotWritten, true, Interrupted),
        (Op::AppendLast, Fenced, true, Interrupted),
        (Op::AppendLast, UnknownNotWritten, true, Interrupted),
        (Op::AppendLast, UnknownWritten, true, Completed),
    ];
    for (op, fault, starts, status) in cases {
        let mut lab = Lab::new().await;
        lab.gate.next(op).answer(fault);
        let turn = lab.session.send("hi");
        let events = turn.events().unwrap();
        if starts {
            lab.script.next_call().await.finish(Reply::text("hello"));
        }
        let result = turn.result().await;
        assert_eq!(result.is_ok(), status == Completed);
        let events = all(events).await;
        assert_eq!(kinds(&events)[0] == "turn-start", starts);
        assert_eq!(end(&events).status, status);
        assert_eq!(turn.status(), status);
        lab.is_usable().await;
    }
}

#[tokio::test(start_paused = true)]
async fn c3_one_turn_end_whatever_stops_a_running_turn() {
    for stop in ["hold", "shutdown", "cancel", "fail"] {
        let mut lab = Lab::new().await;
        let turn = lab.session.send("hi");
        let events = turn.events().unwrap();
        let call = lab.script.next_call().await;
        let status = match stop {
            "hold" => {
                lab.gate.lose_hold(lab.session.id());
                TurnStatus::Interrupted
            }
            "shutdown" => {
                lab.chat.shutdown(Duration::ZERO).await;
                TurnStatus::Canceled
            }
            "cancel" => {
                turn.cancel(());
                TurnStatus::Canceled
            }
            _ => TurnStatus::Failed,
        };
        idle().await;
        call.fail(oops());
        turn.result().await.unwrap_err();
        let events = all(events).await;
        assert_eq!(kinds(&events), ["turn-start", "turn-end"]);
        assert_eq!(end(&events).status, status);
    }
}

#[tokio::test(start_paused = true)]
async fn c6_what_a_responder_says_after_its_turn_ended_is_never_credited_to_the_next() {
    let mut lab = Lab::new().await;
    let stopped = lab.session.send("stopped");
    let next = lab.session.send("next");
    let (stopped_events, events) = (stopped.events().unwrap(), next.events().unwrap());
    let mut late = lab.script.next_call().await;
    late.text("in time");
    idle().await;
    stopped.cancel(());
    late.text("late");
    late.finish(Reply::text("late"));
    let mut call = lab.script.next_call().await;
    idle().await;
    call.text("mine");
    call.finish(Reply::streamed());
    assert_eq!(&*next.await.unwrap().text, "mine");
    assert_eq!(text(&all(events).await), "mine");
    assert_eq!(text(&all(stopped_events).await), "in time");
    assert_eq!(lab.session.messages().len(), 2);
}

/// As above, with an execution that can't be dropped yet: its thread is blocked when its turn is stopped, and goes on to say
/// all it has while the next turn runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c6_nor_what_a_blocked_one_says_when_it_goes_on() {
    for place in [Place::Events, Place::Result] {
        let mut lab = Lab::new().await;
        let stopped = lab.session.send("stopped");
        let next = lab.session.send("next");
        let (stopped_events, events) = (stopped.events().unwrap(), next.events().unwrap());
        let mut late = lab.script.next_call().await;
        let mut blocked = late.block(place);
        late.text("late");
        late.finish(Reply::text("late"));
        blocked.reached().await;
        stopped.cancel(());
        assert_eq!(kind(stopped.await), "canceled");
        let mut call = lab.script.next_call().await;
        blocked.release();
        late.dropped().await;
        call.text("mine");
        call.finish(Reply::streamed());
        assert_eq!(&*next.await.unwrap().text, "mine");
        assert_eq!(text(&all(events).await), "mine");
        all(stopped_events).await;
        assert_eq!(lab.session.messages().len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t5_one_that_blocks_in_respond_hangs_nobody_but_itself() {
    let mut lab = Lab::new().await;
    let mut blocked = lab.script.block_respond();
    let turn = lab.session.send("hi");
    let next = lab.session.send("next");
    blocked.reached().await;
    let _late = lab.script.next_call().await;
    turn.cancel("enough");
    assert_eq!(kind(turn.await), "canceled");
    lab.script.next_call().await.finish(Reply::text("ok"));
    next.await.unwrap();
    blocked.release();
}

/// What a turn comes to when its runtime goes away.
fn gone(come_so_far: impl AsyncFnOnce(&mut Lab) -> Turn, status: TurnStatus, entries: &[&str]) {
    let first = runtime();
    let (mut lab, turn, queued, steer, accepted) = first.block_on(async {
        let mut lab = Lab::new().await;
        let turn = come_so_far(&mut lab).await;
        idle().await;
        let accepted = turn.status() != TurnStatus::Queued;
        let (queued, steer) = (lab.session.send("queued"), turn.steer("never taken"));
        idle().await;
        (lab, turn, queued, steer, accepted)
    });
    let events = turn.events().unwrap();
    drop(first);
    runtime().block_on(async {
        assert_eq!(kind(turn.result().await), "runtime-gone");
        assert_eq!(turn.status(), status);
        assert_eq!(turn.accepted().await.is_ok(), accepted);
        let events = all(events).await;
        assert_eq!(end(&events).status, status);
        assert_eq!(kinds(&events)[0] == "turn-start", accepted);
        assert_eq!(kind(queued.result().await), "runtime-gone");
        assert_eq!(queued.status(), TurnStatus::Failed);
        all(queued.events().unwrap()).await;
        let refused = steer.await.unwrap_err();
        assert_eq!(&*refused.input, "never taken");
        assert!(
            matches!(
                refused.why,
                SteerRefused::RuntimeGone | SteerRefused::ReplyIn
            ),
            "{refused:?}"
        );

        let late = lab.session.send("late");
        assert_eq!(kind(late.result().await), "runtime-gone");
        all(late.events().unwrap()).await;
        assert!(lab.session.steer("late").await.is_err());
        late.cancel(());
        lab.session.refresh().await.unwrap();
        assert!(lab.script.try_next_call().is_none());
        lab.gate.all_released().await;
        assert_eq!(lab.entries().await, entries);
    });
}

#[test]
fn t5_a_runtime_that_goes_away_interrupts_a_running_turn() {
    let mut call = None;
    gone(
        async |lab| {
            let turn = lab.session.send("hi");
            call.insert(lab.script.next_call().await).text("so far");
            turn
        },
        TurnStatus::Interrupted,
        &["turn.accepted"],
    );
}

#[test]
fn t5_a_runtime_that_goes_away_interrupts_a_turn_whose_outcome_is_being_written() {
    let mut pause = None;
    gone(
        async |lab| {
            pause = Some(lab.gate.pause(Op::AppendLast));
            let turn = lab.session.send("hi");
            lab.script.next_call().await.finish(Reply::text("hello"));
            turn
        },
        TurnStatus::Interrupted,
        &["turn.accepted"],
    );
}

#[test]
fn t5_a_runtime_that_goes_away_fails_a_turn_that_waits_for_the_hold() {
    let mut pause = None;
    gone(
        async |lab| {
            pause = Some(lab.gate.pause(Op::Acquire));
            lab.session.send("hi")
        },
        TurnStatus::Failed,
        &[],
    );
}

#[test]
fn t5_a_runtime_that_goes_away_interrupts_a_turn_that_may_or_may_not_be_accepted() {
    let mut pause = None;
    gone(
        async |lab| {
            pause = Some(lab.gate.pause(Op::Append));
            lab.session.send("hi")
        },
        TurnStatus::Interrupted,
        &[],
    );
}

#[test]
fn t5_a_turn_sent_to_a_runtime_that_is_gone_already_fails() {
    let first = runtime();
    let lab = first.block_on(Lab::new());
    drop(first);
    let turn = lab.session.send("hi");
    runtime().block_on(async {
        assert_eq!(kind(turn.result().await), "runtime-gone");
        assert_eq!(kinds(&all(turn.events().unwrap()).await), ["turn-end"]);
    });
}

#[test]
fn t5_a_session_is_opened_anew_on_the_runtime_that_is_there() {
    let (responder, mut script) = ScriptedResponder::new();
    let chat = Chat::new(responder, MemoryStore::new());
    let first = runtime();
    let (session, dead, call) = first.block_on(async {
        let session = chat.create_session().await.unwrap();
        let turn = session.send("hi");
        let call = script.next_call().await;
        (session, turn, call)
    });
    drop((first, call));
    runtime().block_on(async {
        let again = chat.open_session(session.id()).await.unwrap();
        assert_eq!(
            again.find(dead.id()).unwrap().status,
            TurnStatus::Interrupted
        );
        let retry = again.retry(dead.id());
        script.next_call().await.finish(Reply::text("hello"));
        assert_eq!(&*retry.await.unwrap().text, "hello");
        assert_eq!(kind(session.send("late").await), "runtime-gone");
    });
}

#[test]
fn t5_a_runtime_of_many_threads_that_goes_away_ends_every_turn_of_every_session() {
    let first = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let (lab, turns) = first.block_on(async {
        let lab = Lab::new().await;
        let mut turns = Vec::new();
        for _ in 0..50 {
            let session = lab.chat.create_session().await.unwrap();
            turns.extend((0..3).map(|n| session.send(format!("{n}"))));
        }
        (lab, turns)
    });
    drop(first);
    runtime().block_on(async {
        for turn in turns {
            assert_eq!(kind(turn.result().await), "runtime-gone");
            all(turn.events().unwrap()).await;
        }
    });
    drop(lab);
}
