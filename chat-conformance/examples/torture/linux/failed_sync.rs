//! Syncs that fail: an append whose sync failed is never said to be written before recovery has made sure of it, and later appends are
//! sound (S2).

use std::{path::Path, time::Duration};

use chat_core::Durability;

use super::{
    backend::Backend,
    lab::{Lab, Outcome, Unproved, ensure},
    ledger::Ledger,
    lines::Line,
    no_room::create,
    seen,
    strace::{self, Call, Traced},
    task::{Part, Task},
    worker::{appends::name, writing::RECOVERY_FAILED},
};

const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run(lab: &Lab, backend: Backend) -> Outcome {
    strace::check()?;
    let mut rng = lab.rng("failed-sync", backend);
    let (mut failed, mut unknown, mut again, mut refused, mut entries) = (0, 0, 0, 0, 0);
    let rounds = if lab.is_long() { 6 } else { 2 };
    for round in 0..rounds {
        lab.go_on()?;
        let folder = lab.empty_folder()?;
        let task = Task {
            part: Part::Appends,
            backend,
            durability: Durability::Full,
            place: backend.place(folder.path()),
            seed: rng.u64(..),
            slot: 0,
            count: 60,
            seconds: LIMIT.as_secs(),
        };
        let mut ledger = Ledger::default();
        create(lab, &task, &name(0), &mut ledger)?;
        // Strace counts the calls of each thread by itself.
        let (first, more) = (rng.u32(3..8), rng.u32(3..9));
        let when = if round % 2 == 0 {
            // Primes, so that it is not the same sync of each recovery.
            format!("{first}+{}", [5, 7, 11][rng.usize(..3)])
        } else {
            // Several in a row: recovery's own among them.
            format!("{first}..{}", first + more)
        };
        let inject = format!("inject=fsync,fdatasync:error=EIO:when={when}");
        let Traced { lines, calls } = strace::run(lab, &task, &lab.time(LIMIT), Some(&inject))?;
        failed += never_written_before_recovery(&calls, &backend.grows(&task.place, &name(0)))?;
        for line in &lines {
            ledger.hear(line);
            unknown += usize::from(matches!(line, Line::Unknown(_)));
            again += usize::from(
                matches!(line, Line::Said(words) if words.starts_with(RECOVERY_FAILED)),
            );
            refused += usize::from(matches!(line, Line::NotWritten(_)));
        }
        let last = lines.iter().rev().find_map(|line| match line {
            Line::Written(_) => Some(Ok(())),
            Line::Failed(kind, words) => Some(Err(format!("{kind}: {words}"))),
            _ => None,
        });
        ensure(matches!(last, Some(Ok(()))), || {
            format!("most syncs work, and the last append does not: {last:?}")
        })?;
        let store = backend.open(&task.place, Durability::Full)?;
        let seen = lab.block_on(seen::look(&*store, ledger.sessions()))??;
        let findings = ledger.judge(&seen);
        entries += findings.entries;
        findings.sound().map_err(Unproved::Failed)?;
    }
    ensure(failed > 0, || "no sync was made to fail".to_owned())?;
    ensure(unknown > 0, || "no append was unknown".to_owned())?;
    Ok(format!(
        "{failed} failed syncs: {unknown} answers unknown, {refused} not written, none written; {again} recoveries failed and were asked again; \
         {entries} entries, 0 lost"
    ))
}

/// After a failed sync of what an append writes to, the next thing said is not that something is written, whatever was tried in between.
/// How many failed.
fn never_written_before_recovery(calls: &[Call], grows: &Path) -> Outcome<usize> {
    let (mut failed, mut fresh) = (0, false);
    for call in calls {
        if call.was_injected() {
            failed += 1;
            // A sync of something else may fail without harm: SQLite's of the database behind a log that has it all.
            fresh |= call
                .file
                .as_deref()
                .is_some_and(|file| Path::new(file) == grows);
        } else if let Some(said) = call.said() {
            ensure(!(fresh && said.starts_with("written ")), || {
                format!("a sync failed, and the worker was told: {said}")
            })?;
            fresh = false;
        }
    }
    Ok(failed)
}
