//! T4: whatever goes wrong in a responder or a context fails the turn, and leaves the session usable.

use chat_conformance::{Op, Place, ResponderCall};
use chat_core::{
    ContextPolicy, Execution, MemoryStore, Reply, Responder, ResponderError, ResponderEvent,
    TurnRequest, TurnStatus,
};
use chat_runtime::{Chat, responder_fn};

use crate::kit::{Lab, all, end, idle, kind, kinds, oops, text};

/// One way to fail, the kind of the error it gives, and the text that is seen of it.
async fn fails(fail: impl AsyncFnOnce(&mut ResponderCall), error: &str, seen: &str) {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    fail(&mut call).await;
    assert_eq!(kind(turn.result().await), error);
    call.dropped().await;
    let events = all(events).await;
    assert_eq!(kinds(&events)[0], "turn-start");
    assert_eq!(text(&events), seen);
    assert_eq!(end(&events).status, TurnStatus::Failed);
    assert_eq!(&*end(&events).error.as_ref().unwrap().kind, error);
    assert_eq!(lab.entries().await, ["turn.accepted", "turn.failed"]);
    assert!(lab.session.messages().is_empty(), "T7: no reply");
    lab.is_usable().await;
}

#[tokio::test(start_paused = true)]
async fn t4_a_rejected_result_fails_the_turn_once_what_was_ready_is_taken() {
    fails(
        async |call| {
            call.text("so far");
            call.fail(oops());
        },
        "oops",
        "so far",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn t4_all_that_a_failed_responder_had_ready_is_taken() {
    let long = "x".repeat(2000);
    fails(
        async |call| {
            (0..2000).for_each(|_| call.text("x"));
            call.fail(oops());
        },
        "oops",
        &long,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn t4_events_that_err_fail_the_turn_though_the_reply_is_in() {
    fails(
        async |call| {
            call.reply(Reply::text("a reply"));
            idle().await;
            call.text("so far");
            call.fail_events(oops());
        },
        "oops",
        "so far",
    )
    .await;
}

/// A responder whose result and events are there at once.
struct AtOnce(Vec<Result<ResponderEvent, ResponderError>>);

impl Responder for AtOnce {
    fn respond(&self, _: TurnRequest) -> Execution {
        // A channel of tokio's says that it is empty, where the task's budget is spent.
        let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
        for event in self.0.clone() {
            sender.send(event).unwrap();
        }
        let events = futures_util::stream::poll_fn(move |cx| events.poll_recv(cx));
        Execution::new(std::future::ready(Err(oops()))).with_events(events)
    }
}

#[tokio::test(start_paused = true)]
async fn t4_the_first_failure_decides_and_what_is_ready_behind_it_is_taken_all_the_same() {
    let mut events = vec![Ok(ResponderEvent::text("x")); 1000];
    events.push(Err(oops().with_kind("later")));
    let chat = Chat::new(AtOnce(events), MemoryStore::new());
    let turn = chat.create_session().await.unwrap().send("hi");
    let events = turn.events().unwrap();
    assert_eq!(kind(turn.await), "oops");
    assert_eq!(text(&all(events).await).len(), 1000);
}

#[tokio::test(start_paused = true)]
async fn t4_a_panic_in_the_result_fails_the_turn() {
    fails(
        async |call| {
            call.text("so far");
            call.panic_in(Place::Result);
        },
        "panic",
        "so far",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn t4_a_panic_in_the_events_fails_the_turn_and_keeps_what_came_before() {
    fails(
        async |call| {
            call.text("so far");
            call.panic_in(Place::Events);
            call.text("never");
            call.reply(Reply::streamed());
        },
        "panic",
        "so far",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn t4_a_panic_when_dropped_fails_the_turn_though_the_reply_is_in() {
    fails(
        async |call| {
            call.panic_when_dropped();
            call.text("so far");
            call.finish(Reply::streamed());
        },
        "panic",
        "so far",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn t4_a_panic_when_dropped_does_not_hide_the_failure_before_it() {
    fails(
        async |call| {
            call.panic_when_dropped();
            call.fail(oops());
        },
        "oops",
        "",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn t4_panics_when_an_execution_is_dropped_by_a_cancel_hurt_nobody() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    let _offered = lab.session.steer("never taken");
    let _offer = call.steer_offered().await;
    call.panic_when_dropped();
    turn.cancel(());
    assert_eq!(kind(turn.await), "canceled");
    call.dropped().await;
    lab.is_usable().await;
}

#[tokio::test(start_paused = true)]
async fn t4_a_panic_in_respond_fails_the_turn() {
    let mut lab = Lab::new().await;
    lab.script.panic_in_respond();
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let error = turn.await.unwrap_err();
    assert_eq!(error.kind(), "panic");
    assert!(error.to_string().contains("the test said so"), "{error}");
    assert_eq!(kinds(&all(events).await), ["turn-start", "turn-end"]);
    let mut call = lab.script.next_call().await;
    call.dropped().await;
    lab.is_usable().await;
}

#[tokio::test(start_paused = true)]
async fn t4_a_panic_in_the_context_fails_the_turn() {
    let mut lab = Lab::new().await;
    lab.answered("hi").await;
    let policy = ContextPolicy::token_budget(10, |_| panic!("can't count"));
    let turn = lab.session.turn("count").context(policy).start();
    assert_eq!(kind(turn.await), "panic");
    assert!(lab.script.try_next_call().is_none());
    assert_eq!(lab.entries().await[2..], ["turn.accepted", "turn.failed"]);
    lab.is_usable().await;
}

#[tokio::test(start_paused = true)]
async fn t4_a_turn_ends_once_its_result_is_in_and_its_events_have_ended() {
    for reply_first in [true, false] {
        let mut lab = Lab::new().await;
        let turn = lab.session.send("hi");
        let mut call = lab.script.next_call().await;
        if reply_first {
            call.reply(Reply::streamed());
        } else {
            call.text("late");
            call.end_events();
        }
        idle().await;
        assert_eq!(turn.status(), TurnStatus::Running);
        assert_eq!(lab.gate.count(Op::AppendLast), 0);
        if reply_first {
            call.text("late");
            call.end_events();
        } else {
            call.reply(Reply::streamed());
        }
        assert_eq!(&*turn.await.unwrap().text, "late");
    }
}

#[tokio::test(start_paused = true)]
async fn t4_a_closure_that_panics_or_errs_fails_its_turn() {
    let lab = Lab::new().await;
    let fussy = responder_fn(|request, out| async move {
        out.text("so far");
        match &*request.input {
            "panic" => panic!("told to"),
            "err" => Err(std::io::Error::other("told to"))?,
            _ => Ok(Reply::streamed()),
        }
    });
    let chat = chat_runtime::Chat::new(fussy, lab.store.clone());
    let session = chat.create_session().await.unwrap();
    assert_eq!(kind(session.send("panic").await), "panic");
    let failed = session.send("err").await.unwrap_err();
    assert!(failed.to_string().contains("told to"));
    assert_eq!(&*session.ask("reply").await.unwrap(), "so far");
    assert_eq!(session.messages().len(), 2, "C13: no failed turn in there");
}
