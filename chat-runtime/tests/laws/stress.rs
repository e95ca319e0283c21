//! Two runtimes of two threads each over one store: many sessions, turns, cancels, steers and retries at random, for a second.
//! Whatever happened, each turn has one outcome, and what it was told agrees with the journal (T2, T3, T5, T6, T8).

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use chat_core::{
    Control, Entry, EntryBody, Execution, MemoryStore, Reply, Responder, ResponderError, SessionId,
    SteerRefused, Transcript, TurnError, TurnId, TurnReply, TurnRequest,
};
use chat_runtime::{Chat, responder_fn};
use futures_core::future::BoxFuture;

use crate::kit::{all, end, journal};

const SESSIONS: usize = 6;
const LONG: Duration = Duration::from_millis(500);

type Told = (SessionId, TurnId, Result<TurnReply, TurnError>);

/// What was told of turns, and of steers by their inputs.
#[derive(Default)]
struct Report {
    turns: Vec<Told>,
    steers: Vec<(String, bool)>,
}

/// Answers after a few steps, and sometimes fails; takes some of what it is offered.
struct Moody<R>(R);

impl<R: Responder> Responder for Moody<R> {
    fn respond(&self, request: TurnRequest) -> Execution {
        self.0.respond(request).with_control(Arc::new(Takes))
    }
}

struct Takes;

impl Control for Takes {
    fn steer(&self, _: Arc<str>) -> BoxFuture<'static, Result<(), SteerRefused>> {
        Box::pin(async {
            tokio::task::yield_now().await;
            match fastrand::u8(0..3) {
                0 => Err(SteerRefused::Responder("moody".into())),
                1 => Ok(()),
                _ => std::future::pending().await,
            }
        })
    }
}

fn moody() -> impl Responder {
    Moody(responder_fn(|request, out| async move {
        for piece in 0..fastrand::u32(0..8) {
            out.text(format!("{piece}"));
            if fastrand::bool() {
                tokio::task::yield_now().await;
            }
        }
        match fastrand::u8(0..8) {
            0 => Err(ResponderError::new("moody")),
            1 => panic!("very moody"),
            _ => Ok(Reply::text(request.input)),
        }
    }))
}

impl Report {
    fn add(&mut self, other: Self) {
        self.turns.extend(other.turns);
        self.steers.extend(other.steers);
    }
}

async fn one_host(store: MemoryStore, sessions: Vec<SessionId>) -> Report {
    let chat = Chat::new(moody(), store);
    let tasks: Vec<_> = sessions
        .into_iter()
        .map(|id| {
            let chat = chat.clone();
            tokio::spawn(async move {
                let session = chat.open_session(&id).await.unwrap();
                let (mut told, began) = (Report::default(), Instant::now());
                while began.elapsed() < LONG {
                    let mut turns: Vec<_> = (0..fastrand::usize(1..4))
                        .map(|_| session.send(format!("{}", fastrand::u64(..))))
                        .collect();
                    if let Some(last) = session
                        .turns()
                        .last()
                        .filter(|turn| turn.status.can_retry())
                    {
                        turns.push(session.retry(&last.id));
                    }
                    let input = format!("{}", fastrand::u64(..));
                    let steer = session.steer(input.clone());
                    for turn in &turns {
                        if fastrand::bool() {
                            let turn = turn.clone();
                            tokio::spawn(async move {
                                for _ in 0..fastrand::u8(0..20) {
                                    tokio::task::yield_now().await;
                                }
                                turn.cancel("at random");
                            });
                        }
                    }
                    let taken = steer.await;
                    if let Err(refused) = &taken {
                        assert_eq!(*refused.input, *input);
                    }
                    told.steers.push((input, taken.is_ok()));
                    for turn in turns {
                        let events = all(turn.events().unwrap()).await;
                        let result = turn.result().await;
                        let status = result.as_ref().err().map(TurnError::status);
                        let shown = end(&events).status;
                        assert_eq!(shown, status.unwrap_or(chat_core::TurnStatus::Completed));
                        told.turns.push((id.clone(), turn.id().clone(), result));
                    }
                }
                told
            })
        })
        .collect();
    let mut told = Report::default();
    for task in tasks {
        told.add(task.await.unwrap());
    }
    chat.shutdown(Duration::ZERO).await;
    told
}

/// That turns follow one another in a journal: accepted, then its outcome, then the next.
fn one_at_a_time(journal: &[Entry]) {
    let mut open: Option<&TurnId> = None;
    for entry in &journal[1..] {
        match entry.body() {
            EntryBody::TurnAccepted { turn_id, .. } => {
                assert_eq!(open.replace(turn_id), None, "two at once");
            }
            EntryBody::TurnCompleted { turn_id, .. }
            | EntryBody::TurnFailed { turn_id, .. }
            | EntryBody::TurnCanceled { turn_id, .. } => {
                assert_eq!(open.take(), Some(turn_id), "one outcome, of the open turn");
            }
            EntryBody::TurnSteered { turn_id, .. } => assert_eq!(open, Some(turn_id)),
            other => panic!("nothing else happened: {other:?}"),
        }
    }
    assert_eq!(open, None, "every turn ended");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap()
}

#[test]
fn t5_whatever_happens_each_turn_has_one_outcome_and_it_is_the_one_in_the_journal() {
    let (store, first) = (MemoryStore::new(), runtime());
    let sessions: Vec<SessionId> = first.block_on(async {
        let chat = Chat::new(moody(), store.clone());
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            sessions.push(chat.create_session().await.unwrap().id().clone());
        }
        sessions
    });
    let elsewhere = std::thread::spawn({
        let (store, sessions) = (store.clone(), sessions.clone());
        move || runtime().block_on(one_host(store, sessions))
    });
    let mut told = first.block_on(one_host(store.clone(), sessions.clone()));
    told.add(elsewhere.join().unwrap());

    let mut transcripts = BTreeMap::new();
    for id in sessions {
        let journal = first.block_on(journal(&store, &id));
        one_at_a_time(&journal);
        let mut transcript = Transcript::default();
        journal.iter().for_each(|entry| transcript.apply(entry));
        transcripts.insert(id, transcript);
    }
    let mut accepted = 0;
    for (session, turn, result) in &told.turns {
        let record = transcripts[session].turn(turn);
        accepted += usize::from(record.is_some());
        match (result, record) {
            (Ok(reply), Some(record)) => assert_eq!(record.output.as_ref(), Some(&reply.text)),
            (Err(error), Some(record)) => {
                assert_eq!(record.status, error.status());
                assert_eq!(record.output, None);
            }
            (Err(TurnError::Canceled { .. } | TurnError::NotAccepted(_)), None) => {}
            other => panic!("told one thing, written another: {other:?}"),
        }
    }
    let written: usize = transcripts.values().map(|known| known.turns().len()).sum();
    assert_eq!(accepted, written, "every turn in a journal was told of");
    let mut steering: Vec<_> = transcripts
        .values()
        .flat_map(|known| known.turns().iter().cloned().collect::<Vec<_>>())
        .flat_map(|turn| turn.steering)
        .map(|input| input.to_string())
        .collect();
    let taken = told.steers.iter().filter(|(_, taken)| *taken);
    let mut acknowledged: Vec<_> = taken.map(|(input, _)| input.clone()).collect();
    steering.sort();
    acknowledged.sort();
    assert_eq!(
        steering, acknowledged,
        "C1: acknowledged is written, and nothing else is"
    );
    println!(
        "{} turns, {written} of them accepted; {} steers, {} of them taken",
        told.turns.len(),
        told.steers.len(),
        steering.len()
    );
}
