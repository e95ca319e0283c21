//! A run in lines that stay, for what is no terminal: what begins, what is done, what failed, each said once.

use std::{collections::HashMap, sync::Arc};

use chat_core::one_line;
use chat_trace::{RowChange, RowKind, RowStatus, TraceRow};

use super::words::{fit, took};

/// How many columns a line has at most.
const MAX_COLUMNS: usize = 160;
/// Rows that stand deeper are not indented further.
const MAX_INDENTS: usize = 8;

/// What was said of a run.
#[derive(Debug, Default)]
pub(super) struct Plain {
    said: HashMap<Arc<str>, Said>,
    /// The error that was told last.
    error: Option<Arc<str>>,
    due: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Begun,
    Ended,
}

impl Plain {
    /// Takes changes of the rows into account.
    pub(super) fn see(&mut self, changes: &[RowChange]) {
        for change in changes {
            // A row that goes is said no more of; nor is what a later version knows.
            if let RowChange::Upsert { row, .. } = change {
                self.see_row(row);
            }
        }
    }

    /// The lines that nobody took yet.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.due)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    fn see_row(&mut self, row: &TraceRow) {
        if row.kind == RowKind::Approval {
            // Who can be asked is asked, and who can't is told of.
            return;
        }
        let said = self.said.get(&row.id).copied();
        let now = match row.status {
            Some(RowStatus::Running) => Said::Begun,
            None | Some(RowStatus::Error) => Said::Ended,
            // What never began did not stop either.
            Some(RowStatus::Stopped) if said.is_some() => Said::Ended,
            Some(_) => return,
        };
        if said != Some(now) {
            self.said.insert(row.id.clone(), now);
            // A step fails by what failed in it, which was told just before.
            let is_told = row.error.is_some() && row.error == self.error;
            self.due.push(line(row, is_told));
            if let Some(error) = &row.error {
                self.error = Some(error.clone());
            }
        }
    }
}

fn line(row: &TraceRow, is_told: bool) -> String {
    let indent = "  ".repeat(row.depth.min(MAX_INDENTS));
    let mut text = format!("{indent}{}", row.title);
    if let Some(millis) = row.duration_ms {
        text.push_str(&format!(", {}", took(millis)));
    }
    if let (Some(error), false) = (&row.error, is_told) {
        text.push_str(&format!(": {error}"));
    }
    fit(&one_line(&text), MAX_COLUMNS).into_owned()
}
