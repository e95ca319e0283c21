//! Appends and nothing else, between two lines that say where they begin and end: for who counts the system calls behind them, or
//! lets some of those fail.

use std::sync::Arc;

use chat_core::{SessionId, Store, StoreError};
use fastrand::Rng;

use super::{
    Ended, failed, say, session,
    writing::{Known, Writing},
};
use crate::linux::{entries::Maker, lines::Line, task::Task};

/// How many sessions [`many`] writes at once; `many-0` is also that of the other parts.
pub(crate) const SESSIONS: usize = 32;

/// The names of those sessions.
pub(crate) fn name(at: usize) -> SessionId {
    session(&format!("many-{at}"))
}

/// Where counting begins and ends.
pub(crate) const BEGIN: &str = "begin";
pub(crate) const END: &str = "end";

const ENTRY: usize = 300;

/// Appends under one hold. What the store refuses is told and let be; the next entry takes its place.
pub(super) async fn under_one_hold(task: &Task, store: Arc<dyn Store>) -> Ended {
    let mut maker = maker(task, 0);
    let mut writing = acquire(&*store, &name(0), None).await?;
    say(&Line::Said(BEGIN.to_owned()));
    for _ in 0..task.count {
        let entry = maker.sized(writing.next(), ENTRY);
        if let Some(refusal) = writing.offer(entry, false).await? {
            say(&failed(&refusal));
        }
    }
    say(&Line::Said(END.to_owned()));
    Ok(())
}

/// Turns of two entries, each under a hold of its own.
pub(super) async fn turns(task: &Task, store: Arc<dyn Store>) -> Ended {
    let mut maker = maker(task, 0);
    // What is known of the journal makes the turns alike.
    let mut known = None;
    for at in 0..=task.count {
        let mut writing = acquire(&*store, &name(0), known.as_ref()).await?;
        let turn = maker.turn();
        let accepted = maker.accepted(writing.next(), &turn);
        writing.append(accepted, false).await?;
        let outcome = maker.outcome(writing.next(), &turn);
        writing.append(outcome, true).await?;
        known = Some(writing.known.clone());
        if at == 0 {
            say(&Line::Said(BEGIN.to_owned()));
        }
    }
    say(&Line::Said(END.to_owned()));
    Ok(())
}

/// Appends to many sessions at once, each under its hold.
pub(super) async fn many(task: &Task, store: Arc<dyn Store>) -> Ended {
    let mut held = Vec::new();
    for at in 0..SESSIONS {
        held.push((at, acquire(&*store, &name(at), None).await?));
    }
    say(&Line::Said(BEGIN.to_owned()));
    let mut writers = tokio::task::JoinSet::new();
    for (at, mut writing) in held {
        let (mut maker, count) = (maker(task, at), task.count / SESSIONS);
        writers.spawn(async move {
            for _ in 0..count {
                let entry = maker.sized(writing.next(), ENTRY);
                writing.append(entry, false).await?;
            }
            Ok::<(), StoreError>(())
        });
    }
    while let Some(ended) = writers.join_next().await {
        ended.map_err(|error| StoreError::backend(error.to_string()))??;
    }
    say(&Line::Said(END.to_owned()));
    Ok(())
}

fn maker(task: &Task, at: usize) -> Maker {
    let name = format!("p{}s{}a{at}", task.seed, task.slot);
    Maker::new(name, Rng::with_seed(task.seed))
}

async fn acquire(
    store: &dyn Store,
    session: &SessionId,
    known: Option<&Known>,
) -> Result<Writing, StoreError> {
    let missing = || StoreError::Missing {
        session: session.clone(),
    };
    Writing::acquire(store, session, known)
        .await?
        .ok_or_else(missing)
}
