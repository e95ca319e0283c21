//! `chat show`: a session's turns, as its journal tells them.

use std::{collections::BTreeSet, fmt::Write as _};

use chat_core::{
    Metadata, Place, Salvaged, SessionId, Transcript, TurnId, TurnRecord, TurnStatus, Turns, Usage,
};
use chat_runtime::Chat;
use serde::Serialize;

use crate::{
    again::{Again, Call},
    desk::Desk,
    errors::Problem,
    exit::Exit,
    lookup,
    retry::unanswered,
};

/// Shows all turns of a session whose journal is sound.
pub(crate) async fn show(chat: &Chat, given: &SessionId, desk: &mut Desk) -> Result<Exit, Problem> {
    let session = lookup::open(chat, given).await?;
    print(session.id(), &session.turns(), &[], desk);
    Ok(Exit::Completed)
}

/// Shows what is readable of a damaged journal, and where something is missing.
pub(crate) async fn salvage(
    chat: &Chat,
    given: &SessionId,
    desk: &mut Desk,
) -> Result<Exit, Problem> {
    let (id, pieces) = lookup::with(chat, given, async |id| chat.salvage_session(id).await).await?;
    let mut transcript = Transcript::default();
    let mut gaps = Vec::new();
    for piece in pieces {
        match piece {
            Salvaged::Entry(entry) => transcript.apply(&entry),
            Salvaged::Gap { place, bytes, what } => {
                let after_turns = transcript.turns().len();
                gaps.push(Gap::new(after_turns, &place, bytes, &what));
            }
        }
    }
    print(&id, &transcript.turns(), &gaps, desk);
    Ok(Exit::Completed)
}

fn print(id: &SessionId, turns: &Turns, gaps: &[Gap], desk: &mut Desk) {
    if desk.json {
        let turns = turns.iter().collect();
        return desk.screen.json(&Shown { id, turns, gaps });
    }
    let mut page = Page {
        session: id,
        // A damaged journal takes no new turn.
        again: gaps.is_empty().then_some(&desk.again),
        is_whole: gaps.is_empty(),
        unanswered: unanswered(turns).map(|turn| &turn.id).collect(),
        text: String::new(),
    };
    page.session(turns);
    for (place, turn) in turns.iter().enumerate() {
        page.gaps(gaps.iter().filter(|gap| gap.after_turns == place));
        page.turn(turn);
    }
    page.gaps(gaps.iter().filter(|gap| gap.after_turns == turns.len()));
    desk.screen.text(&page.text);
}

/// A session as programs get it.
#[derive(Serialize)]
struct Shown<'a> {
    id: &'a SessionId,
    turns: Vec<&'a TurnRecord>,
    #[serde(skip_serializing_if = "<[Gap]>::is_empty")]
    gaps: &'a [Gap],
}

/// Something of a journal that can't be read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Gap {
    /// How many turns were accepted before it.
    after_turns: usize,
    place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    what: String,
}

impl Gap {
    fn new(after_turns: usize, place: &Place, bytes: Option<u64>, what: &str) -> Self {
        Self {
            after_turns,
            place: place.to_string(),
            line: place.line,
            offset: place.offset,
            bytes,
            what: what.to_owned(),
        }
    }

    fn said(&self) -> String {
        let bytes = self
            .bytes
            .map_or_else(String::new, |bytes| format!(", {bytes} bytes"));
        format!("{} can't be read: {}{bytes}", self.place, self.what)
    }
}

/// The text of a session for a person. Writing to a string can't fail, so that what `write!` gives says nothing.
struct Page<'a> {
    session: &'a SessionId,
    again: Option<&'a Again>,
    is_whole: bool,
    unanswered: BTreeSet<&'a TurnId>,
    text: String,
}

impl Page<'_> {
    fn session(&mut self, turns: &Turns) {
        let plural = if turns.len() == 1 { "" } else { "s" };
        self.line(&format!(
            "session {}, {} turn{plural}",
            self.session,
            turns.len()
        ));
    }

    fn turn(&mut self, turn: &TurnRecord) {
        self.line("");
        self.line(&heading(turn));
        if let Some(earlier) = &turn.retry_of {
            self.line(&format!("answers turn {earlier} again"));
        }
        self.quote("> ", &turn.input);
        for input in &turn.steering {
            self.quote("+ ", input);
        }
        match turn.status {
            TurnStatus::Completed => self.line(turn.output.as_deref().unwrap_or_default()),
            TurnStatus::Failed => {
                if let Some(error) = &turn.error {
                    self.line(&format!("failed ({}): {}", error.kind, error.message));
                }
            }
            TurnStatus::Canceled => match &turn.reason {
                Some(reason) => self.line(&format!("canceled: {reason}")),
                None => self.line("canceled"),
            },
            TurnStatus::Interrupted if !self.is_whole => self.line("no outcome of it can be read"),
            TurnStatus::Interrupted => {
                self.line("interrupted: what answered it ended before its outcome was recorded");
            }
            TurnStatus::Running | TurnStatus::Queued => {
                self.line("being answered by another process");
            }
        }
        self.propose_retry(turn);
    }

    fn propose_retry(&mut self, turn: &TurnRecord) {
        if !self.unanswered.contains(&turn.id) {
            return;
        }
        let call = Call::of("retry")
            .word(self.session.as_str())
            .word(turn.id.as_str());
        if let Some(command) = self.again.and_then(|again| again.command(call)) {
            self.line(&format!("answer it again: {command}"));
        }
    }

    fn gaps<'g>(&mut self, gaps: impl Iterator<Item = &'g Gap>) {
        for gap in gaps {
            self.line("");
            self.line(&format!("-- {} --", gap.said()));
        }
    }

    fn quote(&mut self, mark: &str, text: &str) {
        for line in text.lines() {
            self.line(&format!("{mark}{line}"));
        }
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }
}

/// What one line says of a turn: which, how it stands, when, how long, by whom, for how much.
fn heading(turn: &TurnRecord) -> String {
    let mut heading = format!("turn {}, {}", turn.id, turn.status);
    let mut add = |text: &str| {
        let _ = write!(heading, ", {text}");
    };
    if let Some(at) = turn.accepted_at {
        add(&at.to_string());
    }
    if let (Some(from), Some(to)) = (turn.accepted_at, turn.ended_at) {
        // A clock may have been set back meanwhile.
        let millis = u32::try_from(to.as_millis() - from.as_millis()).unwrap_or(0);
        add(&took(millis));
    }
    let Metadata {
        model,
        usage,
        finish_reason,
        responder: _,
    } = &turn.metadata;
    if let Some(model) = model {
        add(&model.model_id);
    }
    if let Some(usage) = usage {
        tokens(usage).iter().for_each(|tokens| add(tokens));
    }
    if let Some(reason) = finish_reason
        .as_ref()
        .filter(|reason| reason.as_str() != "stop")
    {
        add(&format!("stopped: {reason}"));
    }
    heading
}

fn took(millis: u32) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        _ => format!("{:.1} s", f64::from(millis) / 1000.0),
    }
}

fn tokens(usage: &Usage) -> Option<String> {
    match (usage.input_tokens, usage.output_tokens) {
        (Some(input), Some(output)) => Some(format!("{input} + {output} tokens")),
        (Some(input), None) => Some(format!("{input} tokens in")),
        (None, Some(output)) => Some(format!("{output} tokens out")),
        (None, None) => usage.total_tokens.map(|total| format!("{total} tokens")),
    }
}
