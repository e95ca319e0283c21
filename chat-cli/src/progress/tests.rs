//! A run as a person sees it go by, on a terminal in memory and by a clock that stands unless a test moves it.

use std::io;

use chat_core::{ApprovalOutcome, NodeIndex, TraceKind, TraceNode, TraceStatus, TurnId, Usage};
use serde_json::{Value, json};

use super::*;
use crate::{
    notes::{Notes, Size, tests::Glass},
    screen::{Screen, tests::Paper},
};

/// A run, and someone who looks on.
struct Stage {
    glass: Glass,
    desk: Desk,
    progress: Progress,
    tree: TraceTree,
    requests: Vec<Arc<ApprovalRequest>>,
    began: Instant,
}

impl Stage {
    /// At a terminal of so many lines, where the reply goes too or elsewhere.
    fn at(lines: u16, reply_here: bool) -> Self {
        const SIZE: Size = Size {
            columns: 60,
            lines: 12,
        };
        let glass = Glass::new(lines, 60);
        let mut desk = Desk::of(None, io::sink());
        desk.notes = Notes::terminal(glass.clone(), || Some(SIZE));
        desk.rows = Rows::Drawn;
        if reply_here {
            desk.screen = Screen::of(true, Box::new(glass.clone()));
        }
        Self::with(desk, glass)
    }

    fn with(desk: Desk, glass: Glass) -> Self {
        Self {
            glass,
            progress: Progress::since(Timestamp::UNIX_EPOCH, &desk),
            desk,
            tree: TraceTree::default(),
            requests: Vec::new(),
            began: Instant::now(),
        }
    }

    fn now(&self) -> Timestamp {
        let millis = self.began.elapsed().as_millis();
        Timestamp::from_millis(millis.try_into().unwrap()).unwrap()
    }

    /// A node that is at work from now on.
    fn begins(
        &mut self,
        within: Option<NodeIndex>,
        kind: TraceKind,
        name: &str,
        input: Value,
    ) -> NodeIndex {
        let mut node = TraceNode::new(format!("{name} {}", self.tree.len()), kind, name);
        node.status = TraceStatus::Running;
        node.started_at = Some(self.now());
        node.input = (!input.is_null()).then(|| Arc::new(input));
        let index = self.tree.push(within, node);
        self.tells();
        index
    }

    fn ends(&mut self, index: NodeIndex, status: TraceStatus) {
        let now = self.now();
        self.tree.update(index, |node| {
            node.status = status;
            node.ended_at = Some(now);
        });
        self.tells();
    }

    fn fails_by(&mut self, index: NodeIndex, why: &str) {
        let error = chat_core::RecordedError::of(why, "error", None);
        self.tree.update(index, |node| node.error = Some(error));
    }

    fn tells(&mut self) {
        let tree = self.tree.clone();
        self.sees(&ChatEvent::RunUpdate { seq: 0, tree });
    }

    fn says(&mut self, text: &str) {
        self.desk.reply(text);
        self.sees(&ChatEvent::TextDelta {
            seq: 0,
            text: text.into(),
            step: None,
        });
    }

    fn turn_ends(&mut self, status: TurnStatus) {
        let mut turn = TurnRecord::queued("t".parse::<TurnId>().unwrap(), "hi".into());
        turn.status = status;
        turn.accepted_at = Some(Timestamp::UNIX_EPOCH);
        turn.ended_at = Some(self.now());
        turn.metadata.usage = Some(Usage {
            total_tokens: Some(1_431),
            ..Usage::default()
        });
        self.desk.screen.end_line();
        let turn = Arc::new(turn);
        self.sees(&ChatEvent::TurnEnd { seq: 0, turn });
    }

    fn sees(&mut self, event: &ChatEvent) {
        let pending = || self.requests.clone();
        self.progress.see(event, &pending, &mut self.desk);
    }

    /// Draws as often as it is due while so much time passes, as the loop over a turn's events does.
    async fn passes(&mut self, millis: u64) {
        let end = Instant::now() + Duration::from_millis(millis);
        while let Some(due) = self.progress.due(&self.desk).filter(|due| *due <= end) {
            tokio::time::advance(due.saturating_duration_since(Instant::now())).await;
            let pending = || self.requests.clone();
            self.progress.draw(&pending, &mut self.desk);
        }
        tokio::time::advance(end - Instant::now()).await;
    }

    fn shows(&self, screen: &str) {
        assert_eq!(self.glass.shows(), screen);
    }
}

#[tokio::test(start_paused = true)]
async fn c_rows_stand_while_a_run_goes_on_and_one_line_of_them_stays() {
    let mut stage = Stage::at(12, true);
    stage.desk.note("> Deploy.");
    stage.passes(1_000).await;
    stage.shows("> Deploy.");
    let step = stage.begins(None, TraceKind::Step, "reply", Value::Null);
    let model = stage.begins(Some(step), TraceKind::Model, "m", Value::Null);
    stage.shows("> Deploy.");
    stage.passes(100).await;
    stage.shows("> Deploy.\n⠙ Running reply\n  ⠙ Asking m");
    stage.passes(1_200).await;
    stage.shows("> Deploy.\n⠸ Running reply  1 s\n  ⠸ Asking m  1 s");
    stage.ends(model, TraceStatus::Done);
    let input = json!({"env": "staging"});
    let tool = stage.begins(Some(step), TraceKind::Tool, "deploy", input);
    stage.passes(100).await;
    let shown = stage.glass.shows();
    let shown: Vec<_> = shown.lines().collect();
    assert_eq!(shown[2], "  ✓ m answered  1.3 s");
    assert!(shown[3].starts_with("  ⠼ Running deploy  "), "{shown:?}");
    assert!(shown[3].contains("staging"), "{shown:?}");
    stage.ends(tool, TraceStatus::Done);
    stage.says("It is deployed.");
    stage.shows("> Deploy.\nIt is deployed.");
    stage.passes(10_000).await;
    stage.shows("> Deploy.\nIt is deployed.");
    stage.ends(step, TraceStatus::Done);
    stage.turn_ends(TurnStatus::Completed);
    stage.passes(10_000).await;
    stage.shows(
        "> Deploy.\nIt is deployed.\n✓ 1 step, 1 model call, 1 tool call · 1,431 tokens · 12 s",
    );
}

#[tokio::test(start_paused = true)]
async fn c_rows_come_back_below_a_reply_that_rests_at_the_start_of_a_line() {
    let mut stage = Stage::at(12, true);
    stage.begins(None, TraceKind::Step, "reply", Value::Null);
    stage.passes(150).await;
    for _ in 0..5 {
        stage.says("A line.\n");
        stage.passes(900).await;
        assert!(!stage.glass.shows().contains("Running"));
    }
    stage.passes(200).await;
    let lines = "A line.\n".repeat(5);
    assert!(stage.glass.shows().starts_with(&lines));
    assert!(stage.glass.shows().contains(" Running reply  "));
    stage.says("And");
    stage.shows(&format!("{lines}And"));
    assert_eq!(stage.glass.cursor(), (5, 3));
}

#[tokio::test(start_paused = true)]
async fn c_rows_stay_where_the_reply_goes_elsewhere() {
    let mut stage = Stage::at(12, false);
    stage.begins(None, TraceKind::Step, "reply", Value::Null);
    stage.says("It is");
    stage.passes(1_200).await;
    stage.shows("⠹ Running reply  1 s");
    stage.says(" deployed.");
    stage.shows("⠹ Running reply  1 s");
}

#[tokio::test(start_paused = true)]
async fn p2_a_question_has_a_clean_line_and_its_row_goes_with_it() {
    let mut stage = Stage::at(12, true);
    let step = stage.begins(None, TraceKind::Step, "reply", Value::Null);
    stage.begins(Some(step), TraceKind::Tool, "deploy", Value::Null);
    let request = Arc::new(ApprovalRequest {
        id: "a1".into(),
        call_id: "c1".into(),
        tool_name: "deploy".into(),
        input: Arc::new(json!({"env": "prod"})),
        step: "reply".into(),
        requested_at: stage.now(),
    });
    stage.requests = vec![request.clone()];
    stage.sees(&ChatEvent::ApprovalRequest { seq: 0, request });
    stage.passes(150).await;
    let shown = stage.glass.shows();
    assert!(shown.contains("? Approve deploy?"), "{shown}");
    stage.desk.note("deploy wants to run");
    stage.desk.ask("run it?");
    for _ in 0..3 {
        stage.tells();
        stage.passes(1_000).await;
        stage.shows("deploy wants to run\nrun it?");
        assert_eq!(stage.glass.cursor(), (1, 8));
    }
    // The answer is typed, and answered.
    stage.desk.note("");
    stage.requests.clear();
    stage.sees(&ChatEvent::ApprovalResolved {
        seq: 0,
        id: "a1".into(),
        outcome: ApprovalOutcome::Approved,
        reason: None,
    });
    stage.passes(150).await;
    let shown = stage.glass.shows();
    assert!(shown.starts_with("deploy wants to run\nrun it?"), "{shown}");
    assert!(shown.contains("Running deploy"), "{shown}");
    assert!(!shown.contains("Approve"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn c_a_note_stands_above_the_rows() {
    let mut stage = Stage::at(12, true);
    let step = stage.begins(None, TraceKind::Step, "reply", Value::Null);
    stage.passes(100).await;
    stage.desk.report("no answer; trying again in 1.0 s");
    stage.shows("chat: no answer; trying again in 1.0 s");
    stage.passes(100).await;
    stage.shows("chat: no answer; trying again in 1.0 s\n⠹ Running reply");
    // Also below what moves no more.
    stage.ends(step, TraceStatus::Done);
    stage.passes(100).await;
    stage.desk.report("late");
    stage.passes(100).await;
    assert!(stage.glass.shows().ends_with("late\n✓ reply done  200 ms"));
}

#[tokio::test(start_paused = true)]
async fn c_what_failed_stays_where_the_turn_did_and_nothing_else() {
    for (status, shown) in [
        (
            TurnStatus::Completed,
            "✓ 1 step, 1 model call, 1 tool call · 1,431 tokens · 1.0 s",
        ),
        (
            TurnStatus::Failed,
            "✗ reply failed  1.0 s  no host\n  ✗ fetch failed  1.0 s\n\
             ✗ failed after 1 step, 1 model call, 1 tool call · 1,431\n\
             tokens · 1.0 s",
        ),
        (
            TurnStatus::Canceled,
            "✗ reply failed  1.0 s  no host\n  ✗ fetch failed  1.0 s\n\
             ■ canceled after 1 step, 1 model call, 1 tool call · 1,4\n31 tokens · 1.0 s",
        ),
    ] {
        let mut stage = Stage::at(12, true);
        let step = stage.begins(None, TraceKind::Step, "reply", Value::Null);
        stage.begins(Some(step), TraceKind::Model, "m", Value::Null);
        let tool = stage.begins(Some(step), TraceKind::Tool, "fetch", Value::Null);
        stage.passes(1_000).await;
        for index in [tool, step] {
            stage.fails_by(index, "no host");
        }
        stage.ends(tool, TraceStatus::Failed);
        stage.ends(step, TraceStatus::Failed);
        stage.turn_ends(status);
        let whole = |text: &str| text.replace(['\n', ' '], "");
        assert_eq!(whole(&stage.glass.shows()), whole(shown));
    }
}

#[tokio::test(start_paused = true)]
async fn c_a_turn_without_a_run_shows_nothing_of_one() {
    let mut stage = Stage::at(12, true);
    stage.says("A list");
    stage.passes(1_000).await;
    stage.turn_ends(TurnStatus::Completed);
    stage.shows("A list");
    assert_eq!(stage.glass.writes(), 2, "the text, and the end of its line");
}

#[tokio::test(start_paused = true)]
async fn w8_a_text_that_grows_is_drawn_ten_times_a_second_at_most() {
    let mut stage = Stage::at(12, false);
    let step = stage.begins(None, TraceKind::Step, "reply", Value::Null);
    for _ in 0..2_000 {
        stage
            .tree
            .update(step, |node| node.partial_text.push("word ".into()));
        stage.tells();
        stage.passes(1).await;
    }
    assert!(stage.glass.writes() <= 20, "{}", stage.glass.writes());
    stage.passes(100).await;
    let shown = stage.glass.shows();
    assert!(shown.contains("Running reply  2 s  "), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn c_nothing_moves_while_nothing_runs() {
    let mut stage = Stage::at(12, true);
    let node = TraceNode::new("draft", TraceKind::Step, "draft");
    stage.tree.push(None, node);
    stage.tells();
    stage.passes(100).await;
    assert_eq!(stage.glass.writes(), 1);
    assert_eq!(stage.progress.due(&stage.desk), None);
}

/// What is said where standard error is a pipe, and the reply goes to a terminal or elsewhere.
fn piped() -> (Stage, Paper) {
    let notes = Paper::default();
    let desk = Desk::of(None, notes.clone());
    (Stage::with(desk, Glass::new(1, 1)), notes)
}

#[tokio::test(start_paused = true)]
async fn c_a_pipe_gets_plain_lines_of_what_begins_and_ends() {
    let (mut stage, notes) = piped();
    let step = stage.begins(None, TraceKind::Step, "reply", Value::Null);
    let draft = TraceNode::new("later", TraceKind::Step, "later");
    let later = stage.tree.push(None, draft);
    let tool = stage.begins(Some(step), TraceKind::Tool, "fetch", json!({"url": "x"}));
    for _ in 0..100 {
        stage
            .tree
            .update(step, |node| node.partial_text.push("word ".into()));
        stage.tells();
    }
    stage.passes(1_200).await;
    for index in [tool, step] {
        stage.fails_by(index, &"x".repeat(1_000));
        stage.ends(index, TraceStatus::Failed);
    }
    stage.ends(later, TraceStatus::Aborted);
    stage.turn_ends(TurnStatus::Completed);
    let said = notes.text();
    let said: Vec<_> = said.lines().collect();
    assert_eq!(said.len(), 5, "{said:?}");
    assert_eq!(said[..2], ["Running reply", "  Running fetch"]);
    assert!(
        said[2].starts_with("  fetch failed, 1.2 s: xxx"),
        "{said:?}"
    );
    assert!(said[2].chars().count() <= 160, "{said:?}");
    assert_eq!(
        said[3..],
        [
            "reply failed, 1.2 s",
            "1 step, 1 tool call · 1,431 tokens · 1.2 s"
        ]
    );
    assert!(!notes.text().contains('\u{1b}'));
}

#[tokio::test(start_paused = true)]
async fn c_a_terminal_that_knows_no_escapes_gets_plain_lines_between_those_of_the_reply() {
    let mut stage = Stage::at(12, true);
    stage.desk.rows = Rows::Said;
    let step = stage.begins(None, TraceKind::Step, "reply", Value::Null);
    stage.says("It is");
    stage.begins(Some(step), TraceKind::Tool, "fetch", Value::Null);
    stage.passes(1_000).await;
    stage.shows("Running reply\nIt is");
    stage.says(" done.\n");
    stage.passes(1_000).await;
    stage.shows("Running reply\nIt is done.\n  Running fetch");
}

#[tokio::test(start_paused = true)]
async fn c_json_gets_no_rows() {
    let mut stage = Stage::at(12, true);
    stage.desk.rows = Rows::None;
    stage.begins(None, TraceKind::Step, "reply", Value::Null);
    stage.passes(1_000).await;
    stage.turn_ends(TurnStatus::Failed);
    stage.shows("");
    assert_eq!(stage.glass.writes(), 0);
}

#[tokio::test(start_paused = true)]
async fn c_where_there_is_no_room_for_rows_nothing_is_due_until_there_is_news() {
    const SIZE: Size = Size {
        columns: 60,
        lines: 2,
    };
    let glass = Glass::new(2, 60);
    let mut desk = Desk::of(None, io::sink());
    desk.notes = Notes::terminal(glass.clone(), || Some(SIZE));
    desk.rows = Rows::Drawn;
    let mut stage = Stage::with(desk, glass);
    let step = stage.begins(None, TraceKind::Step, "draft", Value::Null);
    stage.passes(1_000).await;
    assert!(stage.progress.due(&stage.desk).is_none(), "it runs");
    stage.ends(step, TraceStatus::Done);
    assert!(stage.progress.due(&stage.desk).is_some());
    stage.passes(1_000).await;
    assert!(stage.progress.due(&stage.desk).is_none(), "it is done");
    stage.shows("");
}
