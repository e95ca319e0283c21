//! A run as it was watched, moment after moment: the rows of each, checked against the laws on the way.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use chat_core::{ApprovalRequest, ChatEvent, Timestamp, TraceTree};
use chat_trace::{ProjectOptions, RowChange, RowKind, TraceRow, TraceView, project};

use crate::{show, stage::Moment};

/// What no row may show, whatever a run puts it in. The first is known to nobody but the host; the others are credentials by their
/// form or the name they stand under.
pub(crate) const SECRETS: [&str; 5] = [
    "correct-horse-battery",
    "sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "hunter2hunter2",
    "dXNlcjpzM2NyM3Q=",
];

/// What a run showed.
pub(crate) struct Film {
    /// The rows of each moment at which they changed, as text.
    pub(crate) text: String,
    /// The rows of the last moment, by the clock of the test.
    pub(crate) rows: Vec<TraceRow>,
    /// The trace of the last moment.
    pub(crate) tree: TraceTree,
}

impl Film {
    /// Projects each moment, and holds it against the laws.
    pub(crate) fn of(moments: Vec<Moment>) -> Self {
        let mut reel = Reel::new();
        let last_at: Vec<_> = moments
            .iter()
            .skip(1)
            .map(|moment| Some(moment.at))
            .collect();
        for (moment, next) in moments.into_iter().zip(last_at.into_iter().chain([None])) {
            let rests = next != Some(moment.at);
            reel.see(moment, rests);
        }
        assert!(reel.waiting.is_empty(), "a request outlived its turn");
        Self {
            text: reel.text,
            rows: reel.drawn,
            tree: reel.tree,
        }
    }

    /// Whether a secret stands anywhere in what the rows were made of.
    pub(crate) fn was_planted(&self, secret: &str) -> bool {
        self.tree
            .iter()
            .any(|(_, node)| format!("{node:?}").contains(secret))
    }
}

/// Makes a film.
struct Reel {
    options: ProjectOptions,
    tree: TraceTree,
    /// The requests that events have told of and not yet closed.
    waiting: Vec<Arc<ApprovalRequest>>,
    /// Brought up to date with each event.
    view: TraceView,
    /// What a list is to which all changes were applied.
    listed: Vec<Arc<TraceRow>>,
    /// Brought up to date with each `run-update`, by what the turn says waits: the loop that users write.
    simple: TraceView,
    /// What each row was first seen as. Approvals come and go, other rows stay.
    known: HashMap<Arc<str>, TraceRow>,
    clock: HashMap<Arc<str>, Clock>,
    drawn: Vec<TraceRow>,
    text: String,
    count: usize,
    /// Something changed since all rows were noted.
    is_new: bool,
}

/// When a row was first seen to have begun and to have ended: runs note the time of day, which no test decides.
#[derive(Default, Clone, Copy)]
struct Clock {
    began: Option<Duration>,
    ended: Option<Duration>,
}

impl Reel {
    fn new() -> Self {
        let options = ProjectOptions::default().secret(SECRETS[0]);
        Self {
            view: TraceView::new(options.clone()),
            simple: TraceView::new(options.clone()),
            options,
            tree: TraceTree::default(),
            waiting: Vec::new(),
            listed: Vec::new(),
            known: HashMap::new(),
            clock: HashMap::new(),
            drawn: Vec::new(),
            text: String::new(),
            count: 0,
            is_new: false,
        }
    }

    /// Takes an event in. `rests`: nothing more happens at this time.
    fn see(&mut self, moment: Moment, rests: bool) {
        match &moment.event {
            ChatEvent::RunUpdate { tree, .. } => {
                self.tree = tree.clone();
                self.simple.update(tree, &moment.requests);
            }
            ChatEvent::ApprovalRequest { request, .. } => self.waiting.push(request.clone()),
            ChatEvent::ApprovalResolved { id, .. } => {
                self.waiting.retain(|request| request.id != *id);
            }
            _ => {}
        }
        let rows = self.project();
        self.check(&rows);
        if rests {
            let asked = |requests: &[Arc<ApprovalRequest>]| -> Vec<_> {
                requests.iter().map(|request| request.id.clone()).collect()
            };
            assert_eq!(
                asked(&moment.requests),
                asked(&self.waiting),
                "events and turn say what waits"
            );
            let simple: Vec<_> = self.simple.rows().iter().map(|row| &**row).collect();
            assert_eq!(
                simple,
                rows.iter().collect::<Vec<_>>(),
                "`run-update`s are enough"
            );
        }
        self.draw(rows, moment.at, rests);
    }

    fn project(&mut self) -> Vec<TraceRow> {
        let rows = project(
            &self.tree,
            &self.options.clone().requests(self.waiting.iter().cloned()),
        );
        let changes = self.view.update(&self.tree, &self.waiting);
        for change in &changes {
            if let RowChange::Upsert { row, .. } = change {
                assert!(rows.contains(row), "only what is there comes");
            }
        }
        changes
            .into_iter()
            .for_each(|change| change.apply(&mut self.listed));
        let listed: Vec<_> = self.listed.iter().map(|row| &**row).collect();
        assert_eq!(
            listed,
            rows.iter().collect::<Vec<_>>(),
            "the changes lead to what is there"
        );
        assert_eq!(self.view.rows(), self.listed);
        rows
    }

    fn check(&mut self, rows: &[TraceRow]) {
        let ids: HashSet<_> = rows.iter().map(|row| row.id.clone()).collect();
        assert_eq!(ids.len(), rows.len(), "ids are unique");
        for (id, row) in &self.known {
            assert!(
                ids.contains(id) || row.kind == RowKind::Approval,
                "{id} is gone"
            );
        }
        for row in rows {
            let first = self
                .known
                .entry(row.id.clone())
                .or_insert_with(|| row.clone());
            assert_eq!(
                (first.kind, first.depth, &first.parent),
                (row.kind, row.depth, &row.parent)
            );
        }
        let asked: Vec<_> = rows
            .iter()
            .filter_map(|row| row.approval_id.clone())
            .collect();
        let waiting: HashSet<_> = self
            .waiting
            .iter()
            .map(|request| request.id.clone())
            .collect();
        assert_eq!(asked.len(), waiting.len(), "a row for each that waits");
        assert_eq!(asked.into_iter().collect::<HashSet<_>>(), waiting);
        let json = serde_json::to_string(rows).unwrap();
        for secret in SECRETS {
            assert!(!json.contains(secret), "{secret} is shown: {json}");
        }
    }

    /// Notes what changed, and all rows before time goes on.
    fn draw(&mut self, rows: Vec<TraceRow>, at: Duration, rests: bool) {
        let rows: Vec<_> = rows
            .into_iter()
            .map(|row| self.by_the_clock(row, at))
            .collect();
        let changes = show::changes(&self.drawn, &rows);
        if !changes.is_empty() {
            self.count += 1;
            self.text += &format!("[{}] after {}\n{changes}", self.count, show::seconds(at));
            self.is_new = true;
        }
        if rests && std::mem::take(&mut self.is_new) {
            self.text += &format!("    so far:\n{}\n", show::all(&rows));
        }
        self.drawn = rows;
    }

    /// The row as if the time of day were that of the test, which begins in 1970.
    fn by_the_clock(&mut self, mut row: TraceRow, at: Duration) -> TraceRow {
        let clock = self.clock.entry(row.id.clone()).or_default();
        let stamp = |at: Duration| Timestamp::from_millis(at.as_millis() as i64).unwrap();
        row.started_at = row
            .started_at
            .map(|_| stamp(*clock.began.get_or_insert(at)));
        row.duration_ms = row.duration_ms.map(|_| {
            let took = *clock.ended.get_or_insert(at) - clock.began.unwrap_or(at);
            took.as_millis() as u64
        });
        row
    }
}
