//! Races, one by one: a cancel, a steer or a lost hold at every point between the sending of a turn and its end, and every write
//! of which nobody knows whether it was done. Whatever comes of it, the turn has one outcome and one `turn-end`, what was told is
//! what is in the journal, and the next turn starts.
//!
//! The points are those where a turn waits: before and behind each of the store's operations and each of the responder's steps.
//! Between them lie the boundaries between any two polls of any two tasks, which are walked by count.

use std::sync::Arc;

use chat_conformance::{Fault, Op, Pause, Plan};
use chat_core::{EntryBody, Reply, SteerError, TurnStatus};
use chat_runtime::Turn;
use futures_core::future::BoxFuture;
use futures_util::future::Either;

use crate::kit::{Lab, all, end, idle};

/// What comes in between.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meddling {
    Cancel,
    Steer,
    LoseHold,
    /// Two of them, in the same moment.
    SteerThenCancel,
    CancelThenLoseHold,
}

const MEDDLINGS: [Meddling; 5] = [
    Meddling::Cancel,
    Meddling::Steer,
    Meddling::LoseHold,
    Meddling::SteerThenCancel,
    Meddling::CancelThenLoseHold,
];

/// Where the store's operations wait: before they are done, or with their answers.
type Pauses = fn(Plan<'_>) -> Pause;

type Steer = BoxFuture<'static, Result<(), SteerError>>;

/// One turn on its way, and the point at which something comes in between.
struct Walk {
    lab: Lab,
    turn: Turn,
    steers: Vec<(String, Steer)>,
    meddling: Option<Meddling>,
    at: usize,
    /// Whether all that comes of it has come before the turn goes on.
    settle: bool,
    visited: Vec<String>,
    /// Where the outcome waits.
    outcome: Option<Arc<Pause>>,
}

impl Walk {
    async fn point(&mut self, name: &str) {
        if self.visited.len() == self.at {
            if let Some(meddling) = self.meddling {
                self.meddle(meddling);
            }
            if self.settle {
                idle().await;
            }
        }
        self.visited.push(name.to_owned());
    }

    fn meddle(&mut self, meddling: Meddling) {
        match meddling {
            Meddling::Cancel => self.turn.cancel("raced"),
            Meddling::Steer => self.steer("raced"),
            Meddling::LoseHold => self.lab.gate.lose_hold(self.lab.session.id()),
            Meddling::SteerThenCancel => {
                self.meddle(Meddling::Steer);
                self.meddle(Meddling::Cancel);
            }
            Meddling::CancelThenLoseHold => {
                self.meddle(Meddling::Cancel);
                self.meddle(Meddling::LoseHold);
            }
        }
    }

    fn steer(&mut self, input: &str) {
        self.steers
            .push((input.to_owned(), self.turn.steer(input.to_owned())));
    }

    /// Waits for the next step, unless the turn ends without it.
    async fn unless_over<T>(&self, step: impl Future<Output = T>) -> Option<T> {
        unless(step, self.over()).await
    }

    /// Waits until the turn's outcome is about to be written, or it has ended without one.
    fn over(&self) -> impl Future<Output = ()> + use<> {
        let (turn, outcome) = (self.turn.clone(), self.outcome.clone());
        async move {
            let outcome = async {
                match &outcome {
                    Some(outcome) => reached(outcome).await,
                    None => std::future::pending().await,
                }
            };
            unless(outcome, turn.result()).await;
        }
    }

    /// Comes to a paused operation of the store, and lets it go.
    async fn pass(&mut self, name: &str, pause: Pause) -> Option<()> {
        self.unless_over(reached(&pause)).await?;
        self.point(name).await;
        pause.release();
        Some(())
    }

    /// The whole way, and the end whichever way it comes to it.
    async fn go(&mut self, plan: Pauses) {
        self.outcome = Some(Arc::new(plan(self.lab.gate.next(Op::AppendLast))));
        self.answer(plan).await;
        self.over().await;
        if !self.turn.is_done() {
            self.point("outcome").await;
        }
        self.outcome = None;
        let _ = self.turn.result().await;
        self.point("ended").await;
    }

    /// The way up to the outcome: `None` where the turn came to its end before.
    async fn answer(&mut self, plan: Pauses) -> Option<()> {
        let gate = self.lab.gate.clone();
        let (accept, steered) = (plan(gate.nth(Op::Append, 1)), plan(gate.nth(Op::Append, 2)));
        let acquire = plan(gate.next(Op::Acquire));
        self.point("sent").await;
        self.pass("acquire", acquire).await?;
        self.pass("accept", accept).await?;
        self.unless_over(self.turn.accepted()).await?.ok()?;
        self.point("accepted").await;
        let over = self.over();
        let mut call = unless(self.lab.script.next_call(), over).await?;
        self.point("called").await;
        call.text("so far");
        self.point("text said").await;
        idle().await;
        self.point("text seen").await;
        self.steer("planned");
        self.point("steered").await;
        loop {
            // One that came in between may be offered first: it is taken too.
            let offer = self.unless_over(call.next_steer()).await??;
            let planned = &**offer.input() == "planned";
            offer.take();
            if planned {
                break;
            }
        }
        self.point("steer taken").await;
        self.pass("steer", steered).await?;
        idle().await;
        self.point("steer told").await;
        call.reply(Reply::streamed());
        self.point("reply given").await;
        idle().await;
        self.point("reply in").await;
        call.end_events();
        self.point("events ended").await;
        Some(())
    }

    /// That there is one outcome, and that all who were told of it were told the same.
    async fn check(mut self) -> Lab {
        let case = format!("{:?} at {:?}", self.meddling, self.visited.last());
        let events = all(self.turn.events().expect("nobody else reads them")).await;
        let result = self.turn.result().await;
        let status = result
            .as_ref()
            .map_or_else(chat_core::TurnError::status, |_| TurnStatus::Completed);
        assert_eq!(end(&events).status, status, "{case}");
        assert_eq!(self.turn.status(), status, "{case}");
        let again = self.turn.result().await;
        assert_eq!(format!("{again:?}"), format!("{result:?}"), "{case}");

        let id = self.turn.id();
        let (mut accepted, mut outcomes, mut steered) = (0, Vec::new(), Vec::new());
        for entry in self.lab.journal().await {
            match entry.body() {
                EntryBody::TurnAccepted { turn_id, .. } if turn_id == id => accepted += 1,
                EntryBody::TurnSteered { turn_id, input } if turn_id == id => {
                    assert!(outcomes.is_empty(), "{case}: behind the outcome");
                    steered.push(input.to_string());
                }
                EntryBody::TurnCompleted { turn_id, .. } if turn_id == id => {
                    outcomes.push(TurnStatus::Completed)
                }
                EntryBody::TurnFailed { turn_id, .. } if turn_id == id => {
                    outcomes.push(TurnStatus::Failed)
                }
                EntryBody::TurnCanceled { turn_id, .. } if turn_id == id => {
                    outcomes.push(TurnStatus::Canceled)
                }
                _ => {}
            }
        }
        match (accepted, status) {
            (1, TurnStatus::Interrupted) => assert_eq!(outcomes, [], "{case}"),
            (1, status) => assert_eq!(outcomes, [status], "{case}"),
            (accepted, status) => {
                assert_eq!((accepted, outcomes.len()), (0, 0), "{case}");
                assert_ne!(status, TurnStatus::Completed, "{case}");
            }
        }
        let started = events[0].kind() == "turn-start";
        assert_eq!(started, self.turn.accepted().await.is_ok(), "{case}");
        if self.lab.gate.count(Op::Recover) == 0 {
            assert_eq!(started, accepted == 1, "{case}");
        }
        for (input, told) in self.steers.drain(..) {
            let written = steered.iter().filter(|written| **written == input).count();
            match told.await {
                Ok(()) => assert_eq!(written, 1, "{case}: acknowledged is written, C1"),
                Err(refused) => {
                    assert_eq!(&*refused.input, input);
                    assert_eq!(written, 0, "{case}: refused is not written");
                }
            }
        }
        self.lab.is_usable().await;
        self.lab.gate.all_released().await;
        self.lab
    }
}

/// Waits until the operation is there; not at all where it has come and was given up.
async fn reached(pause: &Pause) {
    let given_up = Box::pin(pause.given_up());
    match futures_util::future::select(Box::pin(pause.reached()), given_up).await {
        Either::Left(_) => {}
        // The turn's end follows.
        Either::Right(_) => std::future::pending().await,
    }
}

async fn unless<T, U>(step: impl Future<Output = T>, over: impl Future<Output = U>) -> Option<T> {
    match futures_util::future::select(Box::pin(step), Box::pin(over)).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

async fn walk(plan: Pauses, meddling: Meddling, at: usize, settle: bool) -> Walk {
    let lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut walk = Walk {
        lab,
        turn,
        steers: Vec::new(),
        meddling: Some(meddling),
        at,
        settle,
        visited: Vec::new(),
        outcome: None,
    };
    walk.go(plan).await;
    walk
}

#[tokio::test(start_paused = true)]
async fn t5_t6_t8_t13_something_comes_in_at_every_point_and_there_is_one_outcome() {
    let plans: [(&str, Pauses); 2] = [
        ("before", |plan| plan.pause()),
        ("behind", |plan| plan.pause_answer()),
    ];
    for (side, plan) in plans {
        for meddling in MEDDLINGS {
            for settle in [true, false] {
                let mut visited = Vec::new();
                // The walk on which the point is never come to is the last one.
                for at in 0.. {
                    let walk = walk(plan, meddling, at, settle).await;
                    let points = walk.visited.len();
                    let came_to = walk.visited.get(at).cloned();
                    walk.check().await;
                    match came_to {
                        Some(point) => visited.push(point),
                        None => {
                            assert_eq!(points, at, "an undisturbed turn goes the whole way");
                            break;
                        }
                    }
                }
                println!(
                    "{meddling:?}, operations paused {side}: {}",
                    visited.join(", ")
                );
                assert_eq!(visited.len(), 16, "every point was come to");
            }
        }
    }
}

/// Between any two polls of any two tasks: the runtime polls one task, then the test, which counts.
#[test]
fn t5_t6_t13_something_comes_in_between_any_two_polls_and_there_is_one_outcome() {
    for meddling in MEDDLINGS {
        let mut boundaries = 0;
        loop {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .event_interval(1)
                .enable_time()
                .start_paused(true)
                .build()
                .unwrap();
            let over = runtime.block_on(async {
                let lab = Lab::new().await;
                let turn = lab.session.send("hi");
                let mut walk = Walk {
                    lab,
                    turn,
                    steers: Vec::new(),
                    meddling: Some(meddling),
                    at: 0,
                    settle: false,
                    visited: Vec::new(),
                    outcome: None,
                };
                let mut said = 0;
                let mut call = None;
                for _ in 0..boundaries {
                    // The test's own steps are boundaries too.
                    match (&mut call, said) {
                        (None, _) => call = walk.lab.script.try_next_call(),
                        (Some(call), 0..3) => call.text("x"),
                        (Some(call), 3) => call.finish(Reply::streamed()),
                        (Some(_), _) => {}
                    }
                    said += usize::from(call.is_some());
                    tokio::task::yield_now().await;
                }
                let over = walk.turn.is_done();
                walk.point("there").await;
                let turn = walk.turn.clone();
                let plays = async {
                    let mut call = match call {
                        Some(call) => call,
                        None => walk.lab.script.next_call().await,
                    };
                    call.finish(Reply::streamed());
                    std::future::pending::<()>().await;
                };
                futures_util::future::select(Box::pin(plays), Box::pin(turn.result())).await;
                walk.check().await;
                over
            });
            boundaries += 1;
            if over {
                break;
            }
            assert!(boundaries < 1000, "the turn ends");
        }
        println!("{meddling:?}: {boundaries} boundaries between polls");
        assert!(boundaries > 8, "{boundaries}");
    }
}

/// Every write in turn ends with nobody knowing, written or not, and is found out or can't be.
#[tokio::test(start_paused = true)]
async fn t11_every_write_in_turn_may_have_been_done() {
    for written in [true, false] {
        for found_out in [true, false] {
            for meddling in [None, Some(Meddling::Cancel), Some(Meddling::LoseHold)] {
                for op in [(Op::Append, 1), (Op::Append, 2), (Op::AppendLast, 1)] {
                    unknown(op, written, found_out, meddling).await;
                }
            }
        }
    }
}

async fn unknown(
    (op, nth): (Op, usize),
    written: bool,
    found_out: bool,
    meddling: Option<Meddling>,
) {
    let lab = Lab::new().await;
    let case = format!("{op} {nth}, written {written}, found out {found_out}, {meddling:?}");
    let fault = if written {
        Fault::UnknownWritten
    } else {
        Fault::UnknownNotWritten
    };
    lab.gate.nth(op, nth).answer(fault);
    let recover = lab.gate.pause(Op::Recover);
    let turn = lab.session.send("hi");
    let mut walk = Walk {
        lab,
        turn,
        steers: Vec::new(),
        meddling,
        at: 0,
        settle: true,
        visited: Vec::new(),
        outcome: None,
    };
    if (op, nth) != (Op::Append, 1) {
        let mut call = walk.lab.script.next_call().await;
        walk.steer("planned");
        call.steer_offered().await.take();
        call.finish(Reply::text("ok"));
        call.dropped().await;
    }
    recover.reached().await;
    walk.point(&case).await;
    if found_out {
        recover.release();
    } else {
        recover.answer(Fault::NotWritten);
    }
    // Where it goes on, the responder answers.
    let turn = walk.turn.clone();
    let plays = async {
        walk.lab.script.next_call().await.finish(Reply::text("ok"));
        std::future::pending::<()>().await;
    };
    futures_util::future::select(Box::pin(plays), Box::pin(turn.result())).await;
    if found_out && meddling != Some(Meddling::LoseHold) {
        walk.check().await;
    } else {
        // What is in the journal is for the next hold to say: that it says so, and goes on, is all there is to ask.
        let mut walk = walk;
        let status = walk.turn.result().await.unwrap_err().status();
        let events = all(walk.turn.events().unwrap()).await;
        assert_eq!(end(&events).status, status, "{case}");
        for (input, told) in walk.steers.drain(..) {
            if let Err(refused) = told.await {
                assert_eq!(&*refused.input, input);
            }
        }
        walk.lab.session.refresh().await.unwrap();
        walk.lab.is_usable().await;
        walk.lab.gate.all_released().await;
    }
}
