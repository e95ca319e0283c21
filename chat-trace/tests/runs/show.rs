//! Rows as text, and what changed between two moments: `+` stands before rows that are new, `~` before those that changed, `-` before
//! those that are gone.

use std::{fmt::Write as _, time::Duration};

use chat_core::Usage;
use chat_trace::{RowKind, RowStatus, TraceRow};

/// The rows that are others than before.
pub(crate) fn changes(before: &[TraceRow], rows: &[TraceRow]) -> String {
    let mut text = String::new();
    for gone in before {
        if !rows.iter().any(|row| row.id == gone.id) {
            writeln!(text, "  - {}", line(gone)).unwrap();
        }
    }
    for row in rows {
        let line = line(row);
        let sign = match before.iter().find(|before| before.id == row.id) {
            None => '+',
            Some(before) if self::line(before) != line => '~',
            Some(_) => continue,
        };
        writeln!(text, "  {sign} {line}").unwrap();
    }
    text
}

pub(crate) fn all(rows: &[TraceRow]) -> String {
    rows.iter()
        .map(|row| format!("    {}\n", line(row)))
        .collect()
}

/// One row: what it says, then what it holds.
pub(crate) fn line(row: &TraceRow) -> String {
    let mark = match (row.status, row.kind) {
        (_, RowKind::Approval) => '?',
        (None, _) => '✓',
        (Some(RowStatus::Running), _) => '▸',
        (Some(RowStatus::Pending), _) => '·',
        (Some(RowStatus::Error), _) => '✗',
        (Some(_), _) => '■',
    };
    let said = [
        row.duration_ms
            .map(|millis| seconds(Duration::from_millis(millis))),
        row.usage.as_ref().map(tokens),
        row.input.as_ref().map(|input| format!("in: {input}")),
        row.output.as_ref().map(|output| format!("out: {output}")),
        row.error.as_ref().map(|error| format!("error: {error}")),
    ];
    let said: String = said
        .into_iter()
        .flatten()
        .map(|said| format!(" | {said}"))
        .collect();
    format!("{}{mark} {}{said}", "  ".repeat(row.depth), row.title)
}

pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn tokens(usage: &Usage) -> String {
    let count = |tokens: Option<u64>| tokens.map_or("?".to_owned(), |tokens| tokens.to_string());
    format!(
        "{} in, {} out",
        count(usage.input_tokens),
        count(usage.output_tokens)
    )
}
