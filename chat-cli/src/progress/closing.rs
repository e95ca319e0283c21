//! What stays of a run's rows once its turn has ended: one line, and above it what failed where the turn did.

use std::sync::Arc;

use chat_core::{TurnRecord, TurnStatus};
use chat_trace::{RowKind, RowStatus, TraceRow};

use super::{
    layout::{Moment, line},
    words::{count, fit, took},
};

/// How many of the rows that failed stay.
const MAX_FAILED: usize = 8;

/// `2 steps, 3 model calls, 1 tool call · 1,431 tokens · 5.2 s`, behind how it ended where that is not well.
pub(super) fn summary(rows: &[Arc<TraceRow>], turn: &TurnRecord) -> String {
    let begun = |kind| {
        let rows = rows.iter().filter(|row| row.kind == kind);
        rows.filter(|row| has_begun(row)).count() as u64
    };
    let done: Vec<_> = [
        (RowKind::Step, "step"),
        (RowKind::Task, "task"),
        (RowKind::Model, "model call"),
        (RowKind::Tool, "tool call"),
    ]
    .into_iter()
    .filter_map(|(kind, what)| match begun(kind) {
        0 => None,
        number => Some(count(number, what)),
    })
    .collect();
    let done = done.join(", ");
    let how = match (how_it_ended(turn.status), done.is_empty()) {
        (None, false) => done,
        (None, true) => "done".to_owned(),
        (Some(how), false) => format!("{how} after {done}"),
        (Some(how), true) => how.to_owned(),
    };
    let usage = turn.metadata.usage.as_ref();
    let tokens = usage.and_then(|usage| usage.total_tokens);
    let tokens = tokens.map(|tokens| count(tokens, "token"));
    let parts = [Some(how), tokens, time(turn)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The mark that says how a turn ended.
pub(super) fn mark(status: TurnStatus) -> char {
    match status {
        TurnStatus::Completed => '✓',
        TurnStatus::Canceled => '■',
        TurnStatus::Failed | TurnStatus::Interrupted | TurnStatus::Queued | TurnStatus::Running => {
            '✗'
        }
    }
}

fn how_it_ended(status: TurnStatus) -> Option<&'static str> {
    match status {
        TurnStatus::Completed => None,
        TurnStatus::Failed => Some("failed"),
        TurnStatus::Canceled => Some("canceled"),
        // No turn ends as one of the last two.
        TurnStatus::Interrupted | TurnStatus::Queued | TurnStatus::Running => Some("interrupted"),
    }
}

fn has_begun(row: &TraceRow) -> bool {
    row.started_at.is_some() || row.status.is_none()
}

fn time(turn: &TurnRecord) -> Option<String> {
    let millis = turn.ended_at?.as_millis() - turn.accepted_at?.as_millis();
    u64::try_from(millis).ok().map(took)
}

/// The rows that failed, each indented by those above it that did; of many the first.
pub(super) fn failed(rows: &[Arc<TraceRow>], at: Moment, columns: usize) -> Vec<String> {
    let is_failed = |row: &&Arc<TraceRow>| row.status == Some(RowStatus::Error);
    // The depths of those above that failed.
    let mut above: Vec<usize> = Vec::new();
    let mut lines = Vec::new();
    let mut more = 0;
    for row in rows.iter().filter(is_failed) {
        if lines.len() == MAX_FAILED {
            more += 1;
            continue;
        }
        above.retain(|depth| *depth < row.depth);
        let mut alone = TraceRow::clone(row);
        alone.depth = above.len();
        lines.push(line(&alone, at, columns));
        above.push(row.depth);
    }
    if more > 0 {
        lines.push(fit(&format!("… {more} more"), columns).into_owned());
    }
    lines
}
