//! What happened, one line each: commands and completions with `>`, what the machine told to do without.

use super::world::Fact;
use crate::{
    ApprovalOutcome, ChatEvent, Entry, EntryBody, Output, SteerError, TurnError, TurnRecord,
};

/// A history as lines.
pub(super) fn lines<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Vec<String> {
    facts.into_iter().filter_map(line).collect()
}

fn line(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::Sent {
            turn,
            retry_of: None,
        } => format!("> send {turn}"),
        Fact::Sent {
            turn,
            retry_of: Some(original),
        } => format!("> send {turn}, a retry of {original}"),
        Fact::Cancel { turn, reason } => format!("> cancel {turn} ({reason})"),
        Fact::Steer {
            ticket,
            turn: Some(turn),
        } => format!("> steer #{} to {turn}", ticket.0),
        Fact::Steer { ticket, turn: None } => format!("> steer #{}", ticket.0),
        Fact::Shutdown(step) => format!("> shutdown {step:?}").to_lowercase(),
        Fact::Abandon => "> abandon".into(),
        Fact::Did(what) => format!("> {what}"),
        Fact::Told(output) => told(output),
        Fact::Journaled(_) => return None,
    })
}

/// One thing to do, as a line.
pub(super) fn told(output: &Output) -> String {
    match output {
        Output::Acquire { from } => format!("acquire from {from}"),
        Output::GiveUpAcquire => "give up acquire".into(),
        Output::Release => "release".into(),
        Output::Append { entry, last } => {
            let last = if *last { " as the last" } else { "" };
            format!("append {}{last}", entry_line(entry))
        }
        Output::Recover { from } => format!("recover from {from}"),
        Output::Respond(start) => {
            let history: Vec<_> = start
                .history
                .iter()
                .map(|turn| format!("{} {}", turn.id, turn.status))
                .collect();
            format!(
                "respond {} {:?}, root {}, history [{}]",
                start.turn_id,
                &*start.input,
                start.root_turn_id,
                history.join(", ")
            )
        }
        Output::Signal(turn) => format!("signal {turn}"),
        Output::Abandon(turn) => format!("abandon {turn}"),
        Output::Answer {
            turn,
            request,
            decision,
        } => format!("answer {turn} {request} {decision:?}"),
        Output::OfferSteer {
            turn,
            ticket,
            input,
        } => format!("offer {turn} #{} {input:?}", ticket.0),
        Output::WithdrawSteer { turn, ticket } => format!("withdraw {turn} #{}", ticket.0),
        Output::Emit { turn, event } => {
            format!("emit {turn} {} {}", event.seq(), event_line(event))
        }
        Output::Accepted { turn, result } => format!(
            "accepted {turn}: {}",
            result_line(result.as_ref().map(|()| "ok".into()))
        ),
        Output::Settle { turn, result } => {
            format!(
                "settle {turn}: {}",
                result_line(
                    (**result)
                        .as_ref()
                        .map(|reply| format!("ok {:?}", &*reply.text))
                )
            )
        }
        Output::Steered {
            ticket,
            result: Ok(()),
        } => format!("steered #{}: ok", ticket.0),
        Output::Steered {
            ticket,
            result: Err(SteerError { input, why }),
        } => {
            format!("steered #{}: {input:?} refused: {why}", ticket.0)
        }
    }
}

fn result_line(result: Result<String, &TurnError>) -> String {
    match result {
        Ok(text) => text,
        Err(error) => format!("{} [{}]", error, error.kind()),
    }
}

fn entry_line(entry: &Entry) -> String {
    let said = match entry.body() {
        EntryBody::TurnAccepted { input, .. } | EntryBody::TurnSteered { input, .. } => {
            format!(" {input:?}")
        }
        EntryBody::TurnCompleted { text, .. } => format!(" {text:?}"),
        EntryBody::TurnFailed { error, .. } => format!(" {:?}", error.message),
        EntryBody::TurnCanceled {
            reason, responder, ..
        } => {
            let answering = if responder.is_some() {
                ", was answering"
            } else {
                ""
            };
            format!(" {:?}{answering}", reason.as_deref().unwrap_or_default())
        }
        EntryBody::SessionCreated { .. } | EntryBody::Unknown { .. } => String::new(),
    };
    let turn = entry
        .body()
        .turn_id()
        .map(|turn| format!(" {turn}"))
        .unwrap_or_default();
    format!("{} {}{turn}{said}", entry.seq(), entry.body().kind())
}

fn event_line(event: &ChatEvent) -> String {
    let more = match event {
        ChatEvent::TextDelta { text, .. } => format!("{text:?}"),
        ChatEvent::Steered { input, .. } => format!("{input:?}"),
        ChatEvent::ApprovalRequest { request, .. } => request.id.to_string(),
        ChatEvent::ApprovalResolved { id, outcome, .. } => format!(
            "{id} {}",
            match outcome {
                ApprovalOutcome::Approved => "approved",
                ApprovalOutcome::Denied => "denied",
                ApprovalOutcome::Withdrawn => "withdrawn",
            }
        ),
        ChatEvent::StepStart { step, number, .. } | ChatEvent::StepEnd { step, number, .. } => {
            format!("{step}/{number}")
        }
        ChatEvent::ToolExecutionStart { call, .. } => format!("{}/{}", call.number, call.index),
        ChatEvent::ToolExecutionEnd {
            call,
            outcome,
            duration_ms,
            ..
        } => {
            format!(
                "{}/{} {outcome:?} after {duration_ms} ms",
                call.number, call.index
            )
        }
        ChatEvent::RunUpdate { tree, .. } => tree
            .iter()
            .map(|(_, node)| format!("{} {:?}", node.id, node.status))
            .collect::<Vec<_>>()
            .join(", "),
        ChatEvent::TurnEnd { turn, .. } => record_line(turn),
        _ => String::new(),
    };
    format!("{} {more}", event.kind()).trim_end().to_owned()
}

/// A turn as its `turn-end` shows it.
pub(super) fn record_line(turn: &TurnRecord) -> String {
    let mut line = turn.status.to_string();
    let mut add = |what: &str, text: Option<String>| {
        if let Some(text) = text {
            line.push_str(&format!(", {what} {text}"));
        }
    };
    add(
        "accepted",
        turn.accepted_at.is_none().then(|| "never".into()),
    );
    add(
        "output",
        turn.output.as_ref().map(|text| format!("{text:?}")),
    );
    add(
        "steering",
        (!turn.steering.is_empty()).then(|| format!("{:?}", turn.steering)),
    );
    add(
        "reason",
        turn.reason.as_ref().map(|text| format!("{text:?}")),
    );
    add(
        "error",
        turn.error
            .as_ref()
            .map(|error| format!("{:?}", error.message)),
    );
    add(
        "usage",
        turn.metadata
            .usage
            .and_then(|usage| usage.total_tokens)
            .map(|total| total.to_string()),
    );
    line
}
