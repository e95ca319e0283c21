//! T8: a steer is acknowledged once it is taken and in the journal; otherwise it is refused, and the input handed back.

use std::time::Duration;

use chat_conformance::{Fault, Op};
use chat_core::{
    Control, Execution, MemoryStore, Reply, Responder, Role, SteerError, SteerRefused, TurnRequest,
    TurnStatus,
};
use chat_runtime::{Chat, responder_fn};
use futures_core::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::kit::{Lab, all, idle, is_pending, kind, kinds};

/// Why it was refused, in a word; the input must come back.
fn why(refused: Result<(), SteerError>, input: &str) -> String {
    let refused = refused.expect_err("it is refused");
    assert_eq!(&*refused.input, input, "the input is handed back");
    format!("{:?}", refused.why)
        .split(['(', ' '])
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test(start_paused = true)]
async fn t8_a_steer_resolves_once_it_is_taken_and_durable_and_is_a_message_from_then_on() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("draft it");
    let mut events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    assert_eq!(events.next().await.unwrap().kind(), "turn-start");
    let mut steer = tokio::spawn(lab.session.steer("briefly"));
    let offer = call.steer_offered().await;
    assert_eq!(&**offer.input(), "briefly");
    idle().await;
    assert!(is_pending(&mut steer), "offered is not taken");
    let pause = lab.gate.next(Op::Append).pause_answer();
    assert!(offer.take());
    pause.reached().await;
    idle().await;
    assert!(is_pending(&mut steer), "taken is not durable");
    assert!(is_pending(events.next()));
    assert!(lab.session.find(turn.id()).unwrap().steering.is_empty());
    pause.release();
    steer.await.unwrap().unwrap();
    assert_eq!(events.next().await.unwrap().kind(), "steered");
    assert_eq!(
        &*lab.session.find(turn.id()).unwrap().steering[0],
        "briefly"
    );
    call.finish(Reply::text("done"));
    turn.await.unwrap();
    let said: Vec<_> = lab
        .session
        .messages()
        .iter()
        .map(|message| (message.role, message.to_text()))
        .collect();
    let expected = [
        (Role::User, "draft it"),
        (Role::User, "briefly"),
        (Role::Assistant, "done"),
    ];
    assert_eq!(said, expected.map(|(role, text)| (role, text.to_owned())));
    let next = lab.session.send("next");
    let mut call = lab.script.next_call().await;
    assert_eq!(call.request().messages.iter().count(), 3);
    call.finish(Reply::text("ok"));
    next.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn t8_steers_that_are_taken_are_recorded_in_the_order_taken() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    let steers: Vec<_> = ["a", "b", "c"].map(|input| lab.session.steer(input)).into();
    let (a, b, c) = (
        call.steer_offered().await,
        call.steer_offered().await,
        call.steer_offered().await,
    );
    c.take();
    idle().await;
    a.take();
    idle().await;
    b.refuse(SteerRefused::Responder("no".into()));
    call.finish(Reply::text("ok"));
    turn.result().await.unwrap();
    let told = futures_util::future::join_all(steers).await;
    assert!(told[0].is_ok() && told[2].is_ok());
    assert_eq!(why(told[1].clone(), "b"), "Responder");
    let steering = lab.session.find(turn.id()).unwrap().steering;
    assert_eq!(steering, ["c".into(), "a".into()]);
}

#[tokio::test(start_paused = true)]
async fn t8_without_a_turn_there_is_nothing_to_steer() {
    let mut lab = Lab::new().await;
    assert_eq!(why(lab.session.steer("x").await, "x"), "NoTurn");
    let turn = lab.session.send("hi");
    lab.script.next_call().await.finish(Reply::text("ok"));
    turn.result().await.unwrap();
    assert_eq!(why(lab.session.steer("x").await, "x"), "NoTurn");
    assert_eq!(why(turn.steer("x").await, "x"), "Ended");
}

#[tokio::test(start_paused = true)]
async fn t8_a_steer_right_after_send_reaches_that_turn() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let steer = lab.session.steer("right after");
    let mut call = lab.script.next_call().await;
    assert_eq!(call.request().turn_id, *turn.id());
    call.steer_offered().await.take();
    steer.await.unwrap();
    call.finish(Reply::text("ok"));
    turn.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn t8_a_queued_turn_is_waited_for_and_the_running_one_not_mistaken_for_it() {
    let mut lab = Lab::new().await;
    let (first, second) = (lab.session.send("first"), lab.session.send("second"));
    let steer = second.steer("for the second");
    let mut call = lab.script.next_call().await;
    idle().await;
    call.finish(Reply::text("1"));
    first.result().await.unwrap();
    assert!(lab.session.find(first.id()).unwrap().steering.is_empty());
    let mut call = lab.script.next_call().await;
    call.steer_offered().await.take();
    steer.await.unwrap();
    call.finish(Reply::text("2"));
    second.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn t8_a_responder_that_can_t_be_steered_refuses() {
    let (go, going) = tokio::sync::watch::channel(false);
    let deaf = responder_fn(move |_, _| {
        let mut going = going.clone();
        async move {
            going.wait_for(|go| *go).await?;
            Ok(Reply::text("ok"))
        }
    });
    let chat = Chat::new(deaf, MemoryStore::new());
    let session = chat.create_session().await.unwrap();
    let turn = session.send("hi");
    assert_eq!(why(session.steer("x").await, "x"), "Unsupported");
    go.send_replace(true);
    turn.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn c1_what_was_offered_when_the_turn_ends_is_handed_back_whichever_way_it_ends() {
    for way in ["reply", "fail", "cancel", "hold", "panic", "shutdown"] {
        let mut lab = Lab::new().await;
        let turn = lab.session.send("hi");
        let mut call = lab.script.next_call().await;
        let steer = lab.session.steer("x");
        let mut offer = call.steer_offered().await;
        let expected = match way {
            "reply" => {
                call.finish(Reply::text("ok"));
                "ReplyIn"
            }
            "fail" => {
                call.fail(crate::kit::oops());
                "Ended"
            }
            "cancel" => {
                turn.cancel(());
                "Canceled"
            }
            "hold" => {
                lab.gate.lose_hold(lab.session.id());
                "HoldLost"
            }
            "panic" => {
                call.panic_in(chat_conformance::Place::Events);
                "Ended"
            }
            _ => {
                let chat = lab.chat.clone();
                tokio::spawn(async move { chat.shutdown(Duration::from_secs(60)).await });
                "ShuttingDown"
            }
        };
        assert_eq!(why(steer.await, "x"), expected, "by {way}");
        offer.withdrawn().await;
        assert!(!offer.take(), "too late, and the responder knows");
        call.finish(Reply::text("ok"));
        turn.result().await.ok();
        assert_eq!(lab.entries().await.len(), if way == "hold" { 1 } else { 2 });
    }
}

#[tokio::test(start_paused = true)]
async fn t8_a_steer_taken_in_the_same_breath_as_the_reply_is_recorded() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let events = turn.events().unwrap();
    let mut call = lab.script.next_call().await;
    let steer = lab.session.steer("x");
    let offer = call.steer_offered().await;
    idle().await;
    offer.take();
    call.finish(Reply::text("ok"));
    steer.await.unwrap();
    turn.await.unwrap();
    assert_eq!(
        lab.entries().await,
        ["turn.accepted", "turn.steered", "turn.completed"]
    );
    assert_eq!(
        kinds(&all(events).await),
        ["turn-start", "steered", "turn-end"]
    );
}

/// Takes what it is offered in the very poll that gives the reply.
struct AtTheLastMoment(UnboundedSender<()>);

struct Offers(UnboundedSender<tokio::sync::oneshot::Sender<()>>);

impl Control for Offers {
    fn steer(&self, _: std::sync::Arc<str>) -> BoxFuture<'static, Result<(), SteerRefused>> {
        let (take, taken) = tokio::sync::oneshot::channel();
        self.0.send(take).unwrap();
        Box::pin(async move { taken.await.map_err(|_| SteerRefused::Ended) })
    }
}

impl Responder for AtTheLastMoment {
    fn respond(&self, _: TurnRequest) -> Execution {
        let (offers, mut offered): (_, UnboundedReceiver<tokio::sync::oneshot::Sender<()>>) =
            unbounded_channel();
        self.0.send(()).unwrap();
        Execution::new(async move {
            let take = offered.recv().await.unwrap();
            take.send(()).unwrap();
            Ok(Reply::text("with it"))
        })
        .with_control(std::sync::Arc::new(Offers(offers)))
    }
}

#[tokio::test(start_paused = true)]
async fn t8_steers_are_polled_once_more_when_the_reply_is_in() {
    let (called, mut calls) = unbounded_channel();
    let chat = Chat::new(AtTheLastMoment(called), MemoryStore::new());
    let session = chat.create_session().await.unwrap();
    let turn = session.send("hi");
    calls.recv().await.unwrap();
    session.steer("x").await.unwrap();
    turn.result().await.unwrap();
    assert_eq!(session.messages()[1].to_text(), "x");
}

#[tokio::test(start_paused = true)]
async fn t8_the_outcome_waits_for_the_entries_of_all_steers_that_were_taken() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    let (one, two) = (lab.session.steer("1"), lab.session.steer("2"));
    let pause = lab.gate.pause(Op::Append);
    call.steer_offered().await.take();
    call.steer_offered().await.take();
    call.finish(Reply::text("ok"));
    pause.reached().await;
    idle().await;
    assert_eq!(lab.gate.count(Op::AppendLast), 0);
    assert_eq!(turn.status(), TurnStatus::Running);
    pause.release();
    one.await.unwrap();
    two.await.unwrap();
    turn.await.unwrap();
    assert_eq!(lab.entries().await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn t8_a_steer_that_was_taken_and_can_t_be_written_fails_the_turn() {
    for fault in [Fault::NotWritten, Fault::UnknownNotWritten] {
        let mut lab = Lab::new().await;
        let turn = lab.session.send("hi");
        let mut call = lab.script.next_call().await;
        let steer = lab.session.steer("x");
        lab.gate.next(Op::Append).answer(fault);
        call.steer_offered().await.take();
        assert_eq!(why(steer.await, "x"), "Store");
        call.dropped().await;
        assert_eq!(kind(turn.result().await), "store-backend");
        assert_eq!(turn.status(), TurnStatus::Failed);
        assert_eq!(lab.entries().await, ["turn.accepted", "turn.failed"]);
        lab.is_usable().await;
    }
}

#[tokio::test(start_paused = true)]
async fn t8_a_steer_whose_caller_went_away_is_taken_all_the_same() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    drop(lab.session.steer("x"));
    call.steer_offered().await.take();
    call.finish(Reply::text("ok"));
    turn.await.unwrap();
    assert_eq!(lab.session.messages().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn t8_a_canceled_turn_takes_no_steer_while_its_end_is_written() {
    let mut lab = Lab::new().await;
    let pause = lab.gate.pause(Op::AppendLast);
    let turn = lab.session.send("hi");
    let _call = lab.script.next_call().await;
    turn.cancel(());
    pause.reached().await;
    assert_eq!(why(turn.steer("x").await, "x"), "Canceled");
    assert_eq!(why(lab.session.steer("x").await, "x"), "Canceled");
}

#[tokio::test(start_paused = true)]
async fn t8_steers_that_wait_for_a_queued_turn_go_with_it() {
    let mut lab = Lab::new().await;
    let (_first, second) = (lab.session.send("first"), lab.session.send("second"));
    let _call = lab.script.next_call().await;
    let steer = second.steer("x");
    second.cancel(());
    assert_eq!(why(steer.await, "x"), "Canceled");
}

#[tokio::test(start_paused = true)]
async fn t14_an_offer_taken_in_the_moment_of_the_shutdown_stands() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut call = lab.script.next_call().await;
    let steer = lab.session.steer("x");
    let offer = call.steer_offered().await;
    idle().await;
    // Taken, and not yet heard of: nothing else runs before the shutdown begins.
    assert!(offer.take());
    let chat = lab.chat.clone();
    let mut shutdown = Box::pin(chat.shutdown(Duration::from_secs(60)));
    assert!(is_pending(&mut shutdown));
    steer.await.unwrap();
    call.finish(Reply::text("ok"));
    turn.await.unwrap();
    shutdown.await;
}
