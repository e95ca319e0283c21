//! Two runtimes of two threads each over one store: many sessions, turns, cancels, steers and retries at random, for a second.
//! Whatever happened, each turn has one outcome, and what it was told agrees with the journal (T2, T3, T5, T6, T8).

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use chat_core::{
    Entry, EntryBody, MemoryStore, Reply, ResponderError, SessionId, Transcript, TurnError, TurnId,
    TurnReply,
};
use chat_runtime::{Chat, responder_fn};

use crate::kit::{all, end, journal};

const SESSIONS: usize = 6;
const LONG: Duration = Duration::from_millis(500);

type Told = (SessionId, TurnId, Result<TurnReply, TurnError>);

/// Answers after a few steps, and sometimes fails.
fn moody() -> impl chat_core::Responder {
    responder_fn(|request, out| async move {
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
    })
}

async fn one_host(store: MemoryStore, sessions: Vec<SessionId>) -> Vec<Told> {
    let chat = Chat::new(moody(), store);
    let tasks: Vec<_> = sessions
        .into_iter()
        .map(|id| {
            let chat = chat.clone();
            tokio::spawn(async move {
                let session = chat.open_session(&id).await.unwrap();
                let (mut told, began) = (Vec::new(), Instant::now());
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
                    let steer = session.steer("never taken");
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
                    assert_eq!(&*steer.await.unwrap_err().input, "never taken");
                    for turn in turns {
                        let events = all(turn.events().unwrap()).await;
                        let result = turn.result().await;
                        let status = result.as_ref().err().map(TurnError::status);
                        let shown = end(&events).status;
                        assert_eq!(shown, status.unwrap_or(chat_core::TurnStatus::Completed));
                        told.push((id.clone(), turn.id().clone(), result));
                    }
                }
                told
            })
        })
        .collect();
    let mut told = Vec::new();
    for task in tasks {
        told.extend(task.await.unwrap());
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
    told.extend(elsewhere.join().unwrap());

    let mut transcripts = BTreeMap::new();
    for id in sessions {
        let journal = first.block_on(journal(&store, &id));
        one_at_a_time(&journal);
        let mut transcript = Transcript::default();
        journal.iter().for_each(|entry| transcript.apply(entry));
        transcripts.insert(id, transcript);
    }
    let mut accepted = 0;
    for (session, turn, result) in &told {
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
    println!("{} turns, {written} of them accepted", told.len());
}
