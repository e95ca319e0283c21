//! T1: a turn starts at once, exactly once, whether or not anyone awaits it, from any thread.

use std::{collections::VecDeque, sync::Mutex};

use chat_conformance::Op;
use chat_core::{Reply, Timestamp, TurnStatus};
use chat_runtime::Environment;
use futures_util::StreamExt;

use crate::kit::{Lab, all, end, idle, is_pending, kind, kinds};

#[tokio::test(start_paused = true)]
async fn t1_a_turn_starts_though_nobody_awaits_it() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    assert_eq!(&*call.request().input, "hi");
    assert_eq!(turn.status(), TurnStatus::Running);
    assert!(!turn.is_done());
    call.finish(Reply::text("hello"));
    lab.gate.reached(Op::AppendLast, 1).await;
    idle().await;
    assert_eq!(turn.status(), TurnStatus::Completed);
    assert!(turn.is_done());
    assert!(lab.script.try_next_call().is_none(), "it starts once");
}

#[tokio::test(start_paused = true)]
async fn t1_ask_starts_though_its_future_is_never_polled() {
    let mut lab = Lab::new().await;
    let answer = lab.session.ask("hi");
    let mut call = lab.script.next_call().await;
    call.finish(Reply::text("hello"));
    idle().await;
    assert_eq!(lab.entries().await, ["turn.accepted", "turn.completed"]);
    assert_eq!(&*answer.await.unwrap(), "hello");
}

#[tokio::test]
async fn t1_a_turn_is_sent_and_canceled_from_a_plain_thread() {
    let mut lab = Lab::new().await;
    let session = lab.session.clone();
    let (turn, other) = std::thread::spawn(move || {
        let turn = session.send("from elsewhere");
        let other = session.send("and another");
        other.cancel("not wanted");
        (turn, other)
    })
    .join()
    .unwrap();
    lab.script.next_call().await.finish(Reply::text("ok"));
    assert_eq!(&*turn.await.unwrap().text, "ok");
    assert_eq!(other.await.unwrap_err().to_string(), "not wanted");
}

#[tokio::test(start_paused = true)]
async fn t1_dropping_every_handle_changes_nothing() {
    let lab = Lab::new().await;
    let (mut script, gate, store, id) = (lab.script, lab.gate, lab.store, lab.session.id().clone());
    drop(lab.session.send("hi"));
    drop((lab.session, lab.chat));
    let mut call = script.next_call().await;
    idle().await;
    call.text("hello");
    call.finish(Reply::streamed());
    gate.reached(Op::AppendLast, 1).await;
    gate.all_released().await;
    let journal = crate::kit::journal(&store, &id).await;
    assert_eq!(journal.last().unwrap().body().kind(), "turn.completed");
    call.dropped().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t1_the_result_may_be_asked_any_number_of_times_by_any_number_of_tasks() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let askers: Vec<_> = (0..32)
        .map(|asker| {
            let turn = turn.clone();
            tokio::spawn(async move {
                let reply = match asker % 3 {
                    0 => turn.result().await,
                    1 => (&turn).await,
                    _ => turn.await,
                };
                reply.unwrap().text
            })
        })
        .collect();
    lab.script.next_call().await.finish(Reply::text("hello"));
    for asker in askers {
        assert_eq!(&*asker.await.unwrap(), "hello");
    }
    assert_eq!(&*turn.result().await.unwrap().text, "hello");
    assert_eq!(&*turn.await.unwrap().text, "hello");
}

#[tokio::test(start_paused = true)]
async fn t1_a_wait_that_is_given_up_leaves_the_turn_alone() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    assert!(is_pending(turn.result()));
    call.finish(Reply::text("hello"));
    assert_eq!(&*turn.await.unwrap().text, "hello");
}

#[tokio::test(start_paused = true)]
async fn t1_a_lazy_turn_starts_on_start_on_await_or_on_the_first_read_of_its_events() {
    let mut lab = Lab::new().await;
    let (started, awaited, read) = (
        lab.session.turn("start"),
        lab.session.turn("await"),
        lab.session.turn("read"),
    );
    drop(lab.session.turn("never"));
    let (awaited, mut read) = (awaited.into_future(), read.events());
    idle().await;
    assert_eq!(lab.gate.count(Op::Acquire), 0, "nothing has started");
    assert!(read.turn().is_none());

    let turn = started.start();
    lab.script.next_call().await.finish(Reply::text("1"));
    assert_eq!(&*turn.await.unwrap().text, "1");

    let awaited = tokio::spawn(awaited);
    let mut call = lab.script.next_call().await;
    assert_eq!(&*call.request().input, "await");
    call.finish(Reply::text("2"));
    assert_eq!(&*awaited.await.unwrap().unwrap().text, "2");

    assert!(is_pending(read.next()));
    let turn = read.turn().expect("it has started").clone();
    let mut call = lab.script.next_call().await;
    assert_eq!(call.request().turn_id, *turn.id());
    call.finish(Reply::text("3"));
    let mut events = Vec::new();
    while let Some(event) = StreamExt::next(&mut read).await {
        events.push(event);
    }
    assert_eq!(kinds(&events), ["turn-start", "turn-end"]);
    assert_eq!(lab.session.turns().len(), 3);
}

#[tokio::test]
async fn t1_without_a_runtime_there_is_no_session_and_no_panic() {
    let lab = Lab::new().await;
    let store = lab.store.clone();
    let refused = std::thread::spawn(move || {
        let echo = chat_runtime::responder_fn(|_, _| async { Ok(Reply::text("")) });
        let chat = chat_runtime::Chat::new(echo, store);
        futures_util::FutureExt::now_or_never(chat.create_session())
    })
    .join()
    .unwrap();
    assert!(matches!(
        refused,
        Some(Err(chat_runtime::ChatError::NoRuntime))
    ));
}

/// Gives these numbers in turn, and the last of them for ever.
struct Numbers(Mutex<VecDeque<u128>>);

impl Environment for Numbers {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn unique(&self) -> u128 {
        let mut numbers = self.0.lock().unwrap();
        let next = *numbers.front().unwrap();
        if numbers.len() > 1 {
            numbers.pop_front();
        }
        next
    }
}

#[tokio::test(start_paused = true)]
async fn t1_a_turn_whose_id_was_given_before_is_refused_and_the_first_one_is_answered() {
    // The session and its first entry, then a turn and its two entries; the second turn has the first one's id.
    let numbers = Numbers(Mutex::new([1, 2, 10, 11, 12, 10, 13, 14, 20].into()));
    let mut lab = Lab::with(|chat| chat.environment(numbers)).await;
    let first = lab.session.send("first");
    let second = lab.session.send("second");
    assert_eq!(kind(second.result().await), "id-taken");
    assert_eq!(
        end(&all(second.events().unwrap()).await).status,
        TurnStatus::Failed
    );
    second.cancel("no other turn's");
    let mut call = lab.script.next_call().await;
    call.finish(Reply::text("FIRST"));
    assert_eq!(&*first.await.unwrap().text, "FIRST");
    // Equal numbers for ever: nothing is accepted that could not be told from another entry.
    for _ in 0..3 {
        assert_eq!(kind(lab.session.ask("more").await.map(drop)), "id-taken");
    }
    assert_eq!(lab.entries().await, ["turn.accepted", "turn.completed"]);
}
