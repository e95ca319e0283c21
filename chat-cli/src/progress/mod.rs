//! A workflow's run while it is at work: its rows, drawn in place on a terminal, or said in lines where there is none; one line of
//! it at the end. A turn without a run shows nothing of this.

mod closing;
mod layout;
mod plain;
#[cfg(test)]
mod tests;
mod words;

use std::{sync::Arc, time::Duration};

use chat_core::{ApprovalRequest, ChatEvent, Timestamp, TraceTree, TurnRecord, TurnStatus};
use chat_runtime::{Environment as _, SystemEnvironment};
use chat_trace::{RowChange, RowStatus, TraceRow, TraceView};
use tokio::time::Instant;

use self::{layout::Moment, plain::Plain};
use crate::desk::{Desk, Rows};

/// How often rows are drawn at most.
const PACE: Duration = Duration::from_millis(100);
/// How long a reply on the same terminal has to rest before rows come back below it: while it is written none flash between its lines.
const REST: Duration = Duration::from_secs(1);

/// Tells the approvals that wait.
pub(crate) type Pending<'a> = &'a dyn Fn() -> Vec<Arc<ApprovalRequest>>;

/// One turn's run as it is shown.
pub(crate) struct Progress {
    /// The run as it was told last; `None` for a turn without one.
    tree: Option<TraceTree>,
    view: TraceView,
    /// Whether there is news that the view has not seen.
    is_stale: bool,
    /// Whether what was drawn last had lines: where a terminal has no room, no rows have.
    stands: bool,
    /// Whether a row runs, of those that were drawn last.
    moves: bool,
    plain: Plain,
    clock: Clock,
    /// When rows may be drawn again.
    next: Instant,
}

/// The time of day, which goes on as the runtime's clock does.
#[derive(Debug, Clone, Copy)]
struct Clock {
    began: Instant,
    began_at: Timestamp,
}

impl Progress {
    /// Nothing is known of a run yet.
    pub(crate) fn new(desk: &Desk) -> Self {
        Self::since(SystemEnvironment.now(), desk)
    }

    fn since(began_at: Timestamp, desk: &Desk) -> Self {
        let began = Instant::now();
        Self {
            tree: None,
            view: TraceView::new(desk.trace.clone()),
            is_stale: false,
            stands: false,
            moves: false,
            plain: Plain::default(),
            clock: Clock { began, began_at },
            next: began + PACE,
        }
    }

    /// Takes an event of the turn into account, behind what is shown of the event itself.
    pub(crate) fn see(&mut self, event: &ChatEvent, pending: Pending<'_>, desk: &mut Desk) {
        if desk.rows == Rows::None {
            return;
        }
        match event {
            ChatEvent::RunUpdate { tree, .. } => {
                self.tree = Some(tree.clone());
                self.is_stale = true;
            }
            ChatEvent::ApprovalRequest { .. } | ChatEvent::ApprovalResolved { .. } => {
                self.is_stale = self.tree.is_some();
            }
            ChatEvent::TextDelta { .. } if desk.screen.is_terminal() => {
                self.next = Instant::now() + REST;
            }
            ChatEvent::TurnEnd { turn, .. } => {
                self.end(turn, pending, desk);
            }
            // No others change a run's rows.
            _ => {}
        }
        if self.is_stale && desk.rows == Rows::Said {
            self.say(pending, desk);
        }
    }

    /// When there is something to draw next.
    pub(crate) fn due(&self, desk: &Desk) -> Option<Instant> {
        if self.tree.is_none() || !desk.is_free() {
            return None;
        }
        let is_due = match desk.rows {
            Rows::None => false,
            Rows::Said => !self.plain.is_empty(),
            Rows::Drawn => {
                // Rows that a note took the place of come back.
                let is_gone = self.stands && !desk.notes.is_drawn();
                self.is_stale || is_gone || self.moves
            }
        };
        is_due.then_some(self.next)
    }

    /// Draws what is due.
    pub(crate) fn draw(&mut self, pending: Pending<'_>, desk: &mut Desk) {
        match desk.rows {
            Rows::None => {}
            Rows::Said => self.say(pending, desk),
            Rows::Drawn => {
                self.refresh(pending);
                let rows = self.view.rows();
                let runs = |row: &Arc<TraceRow>| row.status == Some(RowStatus::Running);
                let lines = layout::block(rows, self.clock.moment(), desk.notes.size());
                self.stands = !lines.is_empty();
                self.moves = self.stands && rows.iter().any(runs);
                desk.notes.draw(lines);
                self.next = Instant::now() + PACE;
            }
        }
    }

    /// Says what has begun and ended since, once that breaks no line of the reply.
    fn say(&mut self, pending: Pending<'_>, desk: &mut Desk) {
        let changes = self.refresh(pending);
        self.plain.see(&changes);
        if desk.is_free() {
            for line in self.plain.take() {
                desk.notes.say(&format!("{line}\n"));
            }
        }
    }

    fn refresh(&mut self, pending: Pending<'_>) -> Vec<RowChange> {
        match (std::mem::take(&mut self.is_stale), &self.tree) {
            (true, Some(tree)) => self.view.update(tree, &pending()),
            (false, _) | (true, None) => Vec::new(),
        }
    }

    /// Leaves one line of all.
    fn end(&mut self, turn: &TurnRecord, pending: Pending<'_>, desk: &mut Desk) {
        let changes = self.refresh(pending);
        if self.tree.take().is_none() {
            return;
        }
        let rows = self.view.rows();
        let summary = closing::summary(rows, turn);
        match desk.rows {
            Rows::None => {}
            Rows::Said => {
                self.plain.see(&changes);
                for line in self.plain.take().iter().chain([&summary]) {
                    desk.note(line);
                }
            }
            Rows::Drawn => {
                if turn.status != TurnStatus::Completed {
                    let columns = desk.notes.size().columns.saturating_sub(1);
                    for line in closing::failed(rows, self.clock.moment(), columns) {
                        desk.note(&line);
                    }
                }
                desk.note(&format!("{} {summary}", closing::mark(turn.status)));
            }
        }
    }
}

impl Clock {
    fn moment(self) -> Moment {
        let millis = self.began.elapsed().as_millis();
        let now = i64::try_from(millis).ok().and_then(|millis| {
            let now = self.began_at.as_millis().checked_add(millis)?;
            Timestamp::from_millis(now).ok()
        });
        let frame = millis / PACE.as_millis();
        Moment {
            now: now.unwrap_or(self.began_at),
            frame: usize::try_from(frame).unwrap_or_default(),
        }
    }
}
