//! What is left in memory: an idle session is its transcript, and nothing of a chat outlives its handles and its turns.

use std::{
    sync::Arc,
    task::{Context, Wake},
};

use chat_conformance::ScriptedResponder;
use chat_core::{MemoryStore, Reply};
use chat_runtime::{Chat, Session};
use tokio::runtime::Handle;

use crate::kit::{Lab, idle, oops};

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_have_no_tasks_and_a_turn_has_two() {
    let mut lab = Lab::new().await;
    let mut sessions = Vec::new();
    for _ in 0..100 {
        sessions.push(lab.chat.create_session().await.unwrap());
    }
    assert_eq!(tasks(), 0);
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    assert_eq!(
        tasks(),
        2,
        "who awaits the store, and who runs the responder"
    );
    call.finish(Reply::text("ok"));
    turn.await.unwrap();
    idle().await;
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_chat_outlives_its_handles_and_its_turns() {
    let (responder, mut script) = ScriptedResponder::new();
    let (responder, store) = (Arc::new(responder), Arc::new(MemoryStore::new()));
    let chat = Chat::new(responder.clone(), store.clone());
    let session = chat.create_session().await.unwrap();
    let done = session.send("done");
    script.next_call().await.finish(Reply::text("ok"));
    done.result().await.unwrap();
    let failed = session.send("failed");
    let mut call = script.next_call().await;
    let steer = session.steer("x");
    drop(call.steer_offered().await);
    steer.await.unwrap_err();
    call.fail(oops());
    failed.result().await.unwrap_err();
    let canceled = session.send("canceled");
    let call = script.next_call().await;
    let queued = session.send("queued");
    let (events, result) = (canceled.events().unwrap(), canceled.clone().into_future());
    drop((chat, session, done, failed, canceled));
    assert!(Arc::strong_count(&responder) > 1, "a turn is under way");
    drop(events);
    queued.cancel(());
    drop(queued);
    call.fail(oops());
    result.await.unwrap_err();
    idle().await;
    assert_eq!(Arc::strong_count(&responder), 1);
    assert_eq!(Arc::strong_count(&store), 1);
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_turn_needed_while_it_ran_is_let_go_when_it_has_ended() {
    let (responder, mut script) = ScriptedResponder::new();
    let chat = Chat::new(responder, MemoryStore::new());
    let session = chat.create_session().await.unwrap();
    let inputs: [Arc<str>; 3] = ["replied".into(), "canceled".into(), "never accepted".into()];
    for input in &inputs {
        let turn = session.send(input.clone());
        match &**input {
            "replied" => script.next_call().await.finish(Reply::text("ok")),
            "canceled" => {
                let _call = script.next_call().await;
                turn.cancel(());
            }
            _ => turn.cancel(()),
        }
        let _ = turn.await;
    }
    idle().await;
    let kept = inputs.map(|input| Arc::strong_count(&input) - 1);
    assert_eq!(kept, [1, 1, 0], "the transcript's own");
}

/// A failure is the caller's own error: dropped with the last handle, where no lock is held.
#[tokio::test(start_paused = true)]
async fn an_error_of_the_callers_may_use_the_session_when_it_is_dropped() {
    #[derive(Debug, thiserror::Error)]
    #[error("looks back")]
    struct LooksBack(Session);
    impl Drop for LooksBack {
        fn drop(&mut self) {
            drop(self.0.send("from the error").into_future());
        }
    }
    let mut lab = Lab::new().await;
    drop(lab.session.send("hi"));
    let call = lab.script.next_call().await;
    call.fail(LooksBack(lab.session.clone()).into());
    let mut call = lab.script.next_call().await;
    assert_eq!(&*call.request().input, "from the error");
    call.finish(Reply::text("ok"));
    idle().await;
    assert_eq!(lab.session.turns().len(), 2);
}

/// A waker is the caller's code too: woken, replaced or dropped, it may use the session.
#[tokio::test(start_paused = true)]
async fn a_waker_of_the_callers_may_use_the_session() {
    struct Uses(Session);
    impl Uses {
        fn session(&self) {
            self.0.send("from the waker").cancel(());
        }
    }
    impl Wake for Uses {
        fn wake(self: Arc<Self>) {
            self.session();
        }
    }
    impl Drop for Uses {
        fn drop(&mut self) {
            self.session();
        }
    }
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut events = turn.events().unwrap();
    {
        let (mut accepted, mut result) = (Box::pin(turn.accepted()), Box::pin(turn.result()));
        for _ in 0..2 {
            let waker = Arc::new(Uses(lab.session.clone())).into();
            let mut cx = Context::from_waker(&waker);
            assert!(accepted.as_mut().poll(&mut cx).is_pending());
            assert!(result.as_mut().poll(&mut cx).is_pending());
            assert!(Box::pin(events.next()).as_mut().poll(&mut cx).is_pending());
        }
        let mut call = lab.script.next_call().await;
        call.text("so far");
        idle().await;
        call.finish(Reply::streamed());
        idle().await;
    }
    assert_eq!(&*turn.await.unwrap().text, "so far");
    assert_eq!(lab.session.turns().len(), 1);
}
