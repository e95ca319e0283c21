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

/// The rows that failed, each indented by those above it that did; of many the first. What several fail by, one after the other, is
/// told once.
pub(super) fn failed(rows: &[Arc<TraceRow>], at: Moment, columns: usize) -> Vec<String> {
    // The depths of those above that failed.
    let mut above: Vec<usize> = Vec::new();
    let mut lines = Vec::new();
    let mut more = 0;
    let mut told = None;
    for row in rows {
        above.retain(|depth| *depth < row.depth);
        if row.status != Some(RowStatus::Error) {
            continue;
        }
        if lines.len() == MAX_FAILED {
            more += 1;
            continue;
        }
        let mut alone = TraceRow::clone(row);
        alone.depth = above.len();
        if told == Some(&row.error) {
            alone.error = None;
        }
        told = Some(&row.error);
        lines.push(line(&alone, at, columns));
        above.push(row.depth);
    }
    if more > 0 {
        lines.push(fit(&format!("… {more} more"), columns).into_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::progress::layout::tests::{NOW, row};

    #[test]
    fn c_rows_that_failed_stand_in_those_that_failed_too() {
        let failed_by = |why: &str| json!({"status": "error", "error": why});
        let mut rows = vec![
            row(0, "draft", failed_by("no host")),
            row(1, "m", failed_by("no host")),
            row(1, "fetch", failed_by("gone")),
            row(1, "n", json!({})),
            row(0, "both", json!({"status": "stopped"})),
            row(1, "left", failed_by("late")),
            row(3, "k", failed_by("late")),
            row(1, "right", failed_by("late")),
        ];
        let lines = |rows: &[Arc<TraceRow>]| failed(rows, NOW, 40);
        let expected = [
            "✗ draft  no host",
            "  ✗ m",
            "  ✗ fetch  gone",
            "✗ left  late",
            "  ✗ k",
            "✗ right",
        ];
        assert_eq!(lines(&rows), expected);
        rows.extend((0..5).map(|_| row(0, "more", json!({"status": "error"}))));
        let lines = lines(&rows);
        assert_eq!(lines.len(), MAX_FAILED + 1);
        assert_eq!(lines.last().unwrap(), "… 3 more");
    }
}
