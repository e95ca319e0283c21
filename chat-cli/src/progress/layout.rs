//! A run's rows as the lines of a terminal: which of them, in which order, how wide. Pure: the time and the terminal's size come in.

use std::sync::Arc;

use chat_core::{Timestamp, one_line};
use chat_trace::{RowKind, RowStatus, TraceRow};

use super::words::{fit, so_far, took, width};
use crate::notes::Size;

/// How many lines there are at most, however high the terminal: what was said before stays in sight.
const MAX_LINES: usize = 16;
/// Rows that stand deeper are not indented further.
const MAX_INDENTS: usize = 8;
/// Less room than this is not used for what went in or wrong.
const MIN_DETAIL: usize = 12;

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The moment that is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) now: Timestamp,
    /// Which picture of the spinner.
    pub(super) frame: usize,
}

/// The lines for so many rows, each narrower than the terminal and all of them lower by two: the line below them is the cursor's,
/// and one above them stays.
pub(super) fn block(rows: &[Arc<TraceRow>], at: Moment, size: Size) -> Vec<String> {
    let room = MAX_LINES.min(size.lines.saturating_sub(2));
    let columns = size.columns.saturating_sub(1);
    if rows.len() <= room {
        return rows.iter().map(|row| line(row, at, columns)).collect();
    }
    let Some(room) = room.checked_sub(1) else {
        return Vec::new();
    };
    let more = format!("… {} more", rows.len() - room);
    let shown = worthiest(rows, room);
    let lines = shown.into_iter().map(|row| line(&rows[row], at, columns));
    lines.chain([fit(&more, columns).into_owned()]).collect()
}

/// One row on one line, at its place.
pub(super) fn line(row: &TraceRow, at: Moment, columns: usize) -> String {
    let indent = "  ".repeat(row.depth.min(MAX_INDENTS));
    let time = match time(row, at.now) {
        Some(time) => format!("  {time}"),
        None => String::new(),
    };
    let mark = mark(row, at.frame);
    let head = format!("{indent}{mark} ");
    let room = columns.saturating_sub(width(&head) + width(&time));
    let title = one_line(&row.title);
    let mut text = format!("{head}{}{time}", fit(&title, room));
    let room = columns.saturating_sub(width(&text) + 2);
    if let (Some(detail), MIN_DETAIL..) = (detail(row), room) {
        text.push_str("  ");
        text.push_str(&fit(&one_line(detail), room));
    }
    fit(&text, columns).into_owned()
}

fn mark(row: &TraceRow, frame: usize) -> char {
    match row.status {
        None => '✓',
        Some(RowStatus::Error) => '✗',
        Some(RowStatus::Stopped) => '■',
        Some(RowStatus::Running) => SPINNER[frame % SPINNER.len()],
        Some(RowStatus::Pending) if waits(row) => '?',
        // Also what a later version knows.
        Some(_) => '·',
    }
}

/// Whether it is a person that it waits for.
fn waits(row: &TraceRow) -> bool {
    row.kind == RowKind::Approval
        || row.status == Some(RowStatus::Pending) && row.started_at.is_some()
}

fn time(row: &TraceRow, now: Timestamp) -> Option<String> {
    if row.status != Some(RowStatus::Running) {
        return row.duration_ms.map(took);
    }
    let millis = now.as_millis().saturating_sub(row.started_at?.as_millis());
    // Nothing for what has only begun, nor for a clock that was put back.
    let millis = u64::try_from(millis).ok().filter(|millis| *millis >= 1_000);
    millis.map(so_far)
}

/// What went wrong; or what went in, where that is short; or how much has come out of what is still writing.
fn detail(row: &TraceRow) -> Option<&str> {
    let of_kind = match row.kind {
        RowKind::Tool | RowKind::Approval | RowKind::Task => row.input.as_deref(),
        _ => None,
    };
    let so_far = || match row.status {
        Some(RowStatus::Running) => row.output.as_deref(),
        _ => None,
    };
    row.error.as_deref().or(of_kind).or_else(so_far)
}

/// So many rows, by what they are worth to someone who looks on, in their order.
fn worthiest(rows: &[Arc<TraceRow>], room: usize) -> Vec<usize> {
    let mut ranks: [Vec<usize>; 4] = Default::default();
    for (index, row) in rows.iter().enumerate() {
        ranks[rank(row)].push(index);
    }
    // What failed or is done: the latest. What runs or is to come: the first, so that it stays in its place.
    ranks[1].reverse();
    ranks[2].reverse();
    let mut chosen: Vec<_> = ranks.into_iter().flatten().take(room).collect();
    chosen.sort_unstable();
    chosen
}

fn rank(row: &TraceRow) -> usize {
    match row.status {
        Some(RowStatus::Running) => 0,
        Some(RowStatus::Pending) if waits(row) => 0,
        Some(RowStatus::Error) => 1,
        None | Some(RowStatus::Stopped) => 2,
        Some(_) => 3,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub(in crate::progress) const NOW: Moment = Moment {
        now: Timestamp::UNIX_EPOCH,
        frame: 1,
    };

    /// A row of the projection, as others read it.
    pub(in crate::progress) fn row(depth: usize, title: &str, more: Value) -> Arc<TraceRow> {
        let mut row =
            json!({"id": title, "depth": depth, "kind": "step", "name": title, "title": title});
        let Value::Object(more) = more else {
            panic!("{more}");
        };
        row.as_object_mut().unwrap().extend(more);
        Arc::new(serde_json::from_value(row).unwrap())
    }

    fn of_status(count: usize, status: &str) -> Vec<Arc<TraceRow>> {
        let rows = 1..=count;
        rows.map(|number| row(0, &format!("{status} {number}"), json!({"status": status})))
            .collect()
    }

    #[test]
    fn c_a_row_tells_its_state_its_time_and_what_went_in_or_wrong() {
        let began = "1969-12-31T23:59:48.000Z";
        let running = json!({"status": "running", "startedAt": began});
        let tool = json!({"kind": "tool", "durationMs": 340, "input": "environment: \"prod\""});
        let failed = json!({"kind": "tool", "durationMs": 340, "input": "x", "status": "error", "error": "no such host"});
        let writing = json!({"status": "running", "output": "1.2 kB so far"});
        let asked =
            json!({"kind": "approval", "status": "pending", "startedAt": began, "input": "x"});
        for (depth, title, more, line) in [
            (0, "Running draft", running, "⠙ Running draft  12 s"),
            (
                1,
                "deploy done",
                tool,
                "  ✓ deploy done  340 ms  environment: \"prod\"",
            ),
            (
                2,
                "deploy failed",
                failed,
                "    ✗ deploy failed  340 ms  no such host",
            ),
            (
                0,
                "Running draft",
                writing,
                "⠙ Running draft  1.2 kB so far",
            ),
            (1, "Approve deploy?", asked, "  ? Approve deploy?  x"),
            (
                0,
                "draft not started",
                json!({"status": "pending"}),
                "· draft not started",
            ),
            (
                0,
                "draft stopped",
                json!({"status": "stopped"}),
                "■ draft stopped",
            ),
            (99, "deep", json!({}), "                ✓ deep"),
        ] {
            assert_eq!(super::line(&row(depth, title, more), NOW, 79), line);
        }
    }

    #[test]
    fn c_a_narrow_terminal_cuts_what_went_in_first_and_the_time_last() {
        let more = json!({"kind": "tool", "durationMs": 1_200, "input": "要約する文書の題名"});
        let row = row(1, "translate done", more);
        for (columns, line) in [
            (79, "  ✓ translate done  1.2 s  要約する文書の題名"),
            (44, "  ✓ translate done  1.2 s  要約する文書の題…"),
            (36, "  ✓ translate done  1.2 s"),
            (20, "  ✓ translat…  1.2 s"),
            (8, "  ✓   1…"),
            (0, ""),
        ] {
            assert_eq!(super::line(&row, NOW, columns), line);
        }
    }

    #[test]
    fn c_rows_fit_into_a_terminal_of_any_size() {
        let wide = json!({"status": "running", "output": "👨‍👩‍👧‍👦 ❤️ 要約 e\u{301} \u{1b}[2J"});
        for count in [0, 1, 5, 40] {
            let mut rows = of_status(count, "pending");
            rows.push(row(3, "要約\nする", wide.clone()));
            for lines in 0..30 {
                for columns in 0..30 {
                    let block = block(&rows, NOW, Size { columns, lines });
                    assert!(block.len() <= lines.saturating_sub(2).min(MAX_LINES));
                    for line in &block {
                        assert!(width(line) < columns.max(1), "{line}");
                        assert!(!line.contains(char::is_control), "{line}");
                    }
                }
            }
        }
    }

    #[test]
    fn c_where_there_is_no_room_for_all_what_runs_waits_or_failed_stands() {
        let size = |lines| Size { columns: 40, lines };
        let mut rows = of_status(2, "error");
        rows.extend((1..=4).map(|number| row(0, &format!("done {number}"), json!({}))));
        rows.extend(of_status(2, "running"));
        rows.push(row(
            1,
            "Approve deploy?",
            json!({"kind": "approval", "status": "pending"}),
        ));
        rows.extend(of_status(3, "pending"));
        let titles = |lines| {
            let block = block(&rows, NOW, size(lines));
            let titles = block.iter().map(|line| line.trim_start().to_owned());
            titles.collect::<Vec<_>>()
        };
        assert_eq!(titles(40).len(), rows.len());
        assert_eq!(
            titles(10),
            [
                "✗ error 1",
                "✗ error 2",
                "✓ done 3",
                "✓ done 4",
                "⠙ running 1",
                "⠙ running 2",
                "? Approve deploy?",
                "… 5 more"
            ]
        );
        assert_eq!(
            titles(7),
            [
                "✗ error 2",
                "⠙ running 1",
                "⠙ running 2",
                "? Approve deploy?",
                "… 8 more"
            ]
        );
        assert_eq!(titles(3), ["… 12 more"]);
        assert_eq!(titles(2).len(), 0);
        let many = of_status(100, "running");
        let block = block(&many, NOW, size(100));
        assert_eq!(block.len(), MAX_LINES);
        assert_eq!(block.last().unwrap(), "… 85 more");
    }
}
