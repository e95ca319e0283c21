//! One session that two processes want all the time, and a holder that never lets go.

use std::sync::Arc;

use chat_core::{Store, StoreError};
use fastrand::Rng;

use super::{Ended, say, session, writing::Writing};
use crate::linux::{entries::Maker, lines::Line, task::Task};

/// The session which they want.
pub(crate) const SESSION: &str = "wanted";

/// So many turns, one after the other, each as soon as it may.
pub(super) async fn run(task: &Task, store: Arc<dyn Store>) -> Ended {
    let session = session(SESSION);
    let mut maker = Maker::new(format!("r{}", task.slot), Rng::with_seed(task.seed));
    let mut known = None;
    for _ in 0..task.count {
        let writing = Writing::acquire(&*store, &session, known.as_ref()).await?;
        let mut writing = writing.ok_or_else(|| StoreError::Missing {
            session: session.clone(),
        })?;
        let turn = maker.turn();
        let accepted = maker.accepted(writing.next(), &turn);
        writing.append(accepted, false).await?;
        let outcome = maker.outcome(writing.next(), &turn);
        writing.append(outcome, true).await?;
        say(&Line::Turn);
        known = Some(writing.known.clone());
    }
    Ok(())
}

/// Takes the session and keeps it.
pub(super) async fn hold(task: &Task, store: Arc<dyn Store>) -> Ended {
    let session = session(SESSION);
    let mut maker = Maker::new(format!("h{}", task.seed), Rng::with_seed(task.seed));
    if let Some(mut writing) = Writing::acquire(&*store, &session, None).await? {
        let turn = maker.turn();
        let accepted = maker.accepted(writing.next(), &turn);
        writing.append(accepted, false).await?;
        say(&Line::Said("held".to_owned()));
        std::future::pending::<()>().await;
    }
    Ok(())
}
