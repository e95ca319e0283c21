//! What must hold of how turns and steers end, in straight code over a whole history.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    model::{Story, journaled},
    world::{Fact, World, labels},
};
use crate::{
    ChatEvent, EntryBody, Output, Shutdown, SteerId, TurnError, TurnId, TurnStatus,
    responder::ReplyText,
};

/// T3, T10, T11, T13, J5: what a turn settled with is what the journal says, and each costs what it may cost.
pub(super) fn check_journal(world: &World, turn: &TurnId, story: &Story<'_>) {
    let of_turn: Vec<_> = world
        .journal
        .iter()
        .filter(|entry| entry.body().turn_id() == Some(turn))
        .collect();
    let accepted = journaled(world, &format!("{turn}.accepted"));
    let outcome = journaled(world, &format!("{turn}.outcome"));
    let unknown = |id: &str| {
        world
            .unknown
            .iter()
            .any(|unknown| unknown.as_str() == format!("{turn}.{id}"))
    };
    let steers = of_turn
        .iter()
        .filter(|entry| matches!(entry.body(), EntryBody::TurnSteered { .. }))
        .count();
    assert_eq!(
        of_turn.len(),
        steers + usize::from(accepted.is_some()) + usize::from(outcome.is_some()),
        "{turn} costs more"
    );
    let body = of_turn.last().map(|entry| entry.body());
    let (_, settled) = story.settled[0];
    let (_, last) = *story.events.last().unwrap();
    let ChatEvent::TurnEnd { turn: record, .. } = last else {
        panic!("{last:?}")
    };
    let ended_at = story.events.last().unwrap().0;
    match (settled, body) {
        (Ok(reply), Some(EntryBody::TurnCompleted { text, .. })) => {
            assert_eq!(reply.text, *text);
            assert_eq!(record.output.as_ref(), Some(text));
            assert_eq!(
                reply.text,
                said(world, turn, story),
                "{turn}: another reply than the responder's"
            );
        }
        (
            Err(TurnError::Failed(error)),
            Some(EntryBody::TurnFailed {
                error: recorded, ..
            }),
        ) => {
            assert_eq!(*recorded.message, *error.message());
        }
        (
            Err(TurnError::Canceled { reason }),
            Some(EntryBody::TurnCanceled {
                reason: recorded,
                responder,
                ..
            }),
        ) => {
            assert_eq!(recorded, reason);
            assert_eq!(responder.is_some(), story.responded.is_some());
        }
        (Err(TurnError::Canceled { .. } | TurnError::NotAccepted(_)), None) => {
            assert!(story.accepted[0].1.is_err());
        }
        (Err(TurnError::Interrupted(_)), _) => {
            assert!(
                outcome.is_none() || unknown("outcome"),
                "{turn} has an outcome and was interrupted"
            );
            assert!(
                story.accepted[0].1.is_ok() || unknown("accepted"),
                "{turn} was interrupted before it was accepted"
            );
        }
        (settled, body) => panic!("{turn} settled with {settled:?}, the journal has {body:?}"),
    }
    if let (Some(written), false) = (outcome, matches!(settled, Err(TurnError::Interrupted(_)))) {
        assert!(
            written < ended_at,
            "{turn}: its end was seen before it was durable"
        );
    }
    assert_eq!(record.retry_of.as_ref(), story.retry_of);
    assert_eq!(record.labels, Some(labels(turn)));
    if !matches!(settled, Err(TurnError::Interrupted(_))) {
        let shown = world.machine.transcript().turn(turn);
        assert!(
            shown.is_none_or(|shown| shown == &**record),
            "{turn} ended as {record:?} and shows as {shown:?}"
        );
        assert!(
            !unknown("accepted") && !unknown("outcome"),
            "{turn}: nobody knew"
        );
    }
    assert_eq!(
        record.status,
        settled
            .as_ref()
            .map_or_else(TurnError::status, |_| TurnStatus::Completed)
    );
    assert!(record.output.is_none() || record.status == TurnStatus::Completed);
}

/// The reply as the responder gave it.
fn said(world: &World, turn: &TurnId, story: &Story<'_>) -> Arc<str> {
    let (_, reply) = world
        .replies
        .iter()
        .find(|(of, _)| of == turn)
        .expect("it replied");
    match &reply.text {
        ReplyText::Text(text) => text.clone(),
        ReplyText::Streamed => story
            .events
            .iter()
            .filter_map(|(_, event)| match event {
                ChatEvent::TextDelta { text, .. } => Some(&**text),
                _ => None,
            })
            .collect::<String>()
            .into(),
    }
}

/// T6, T14: the first reason stands, a cancel before the outcome is chosen wins, and the responder is stopped before it is written.
pub(super) fn check_cancel(facts: &[Fact], turn: &TurnId, story: &Story<'_>) {
    let chosen = story
        .appended
        .iter()
        .find(|(_, entry)| entry.id().as_str() == format!("{turn}.outcome"))
        .map(|(at, _)| *at);
    let (settled_at, settled) = story.settled[0];
    let decided = chosen.unwrap_or(settled_at);
    let began = story.appended.first().map_or(usize::MAX, |(at, _)| *at);
    let first = facts.iter().enumerate().find_map(|(at, fact)| match fact {
        _ if at <= story.sent || at >= decided => None,
        Fact::Cancel {
            turn: of, reason, ..
        } if of == turn => Some(reason.as_str()),
        // It cancels what is queued; the turn that has begun goes on.
        Fact::Shutdown(Shutdown::Begin) if at < began => Some("shutting down"),
        Fact::Shutdown(Shutdown::Cancel) if at > began => Some("shutting down"),
        _ => None,
    });
    match (settled, first) {
        (Err(TurnError::Canceled { reason }), Some(first)) => {
            assert_eq!(reason.as_deref(), Some(first))
        }
        (Err(TurnError::Canceled { .. }), None) => panic!("{turn} was canceled by nobody"),
        (Ok(_) | Err(TurnError::Failed(_) | TurnError::NotAccepted(_)), Some(first)) => {
            panic!("{turn} was canceled ({first}) and yet {settled:?}")
        }
        (Ok(_) | Err(_), _) => {}
    }
    let canceled = story
        .appended
        .iter()
        .find(|(_, entry)| matches!(entry.body(), EntryBody::TurnCanceled { .. }));
    if let (Some((written, _)), Some(_)) = (canceled, story.responded) {
        assert!(
            story
                .abandoned
                .is_some_and(|abandoned| abandoned < *written),
            "{turn} was still at work"
        );
    }
}

/// R2 and the closing order: what began has ended, each request is resolved once, answers go out at most once.
pub(super) fn check_events(turn: &TurnId, story: &Story<'_>) {
    let (mut requests, mut tools, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    let mut open_tree = false;
    for (_, event) in &story.events {
        match event {
            ChatEvent::ApprovalRequest { request, .. } => requests.push(request.id.clone()),
            ChatEvent::ApprovalResolved { id, outcome, .. } => {
                let place = requests.iter().position(|request| request == id);
                requests.remove(
                    place.unwrap_or_else(|| panic!("{turn}: {id} was resolved twice, {outcome:?}")),
                );
            }
            ChatEvent::ToolExecutionStart { call, .. } => tools.push((call.number, call.index)),
            ChatEvent::ToolExecutionEnd { call, .. } => {
                tools.retain(|open| *open != (call.number, call.index))
            }
            ChatEvent::StepStart { step, number, .. } => steps.push((step.clone(), *number)),
            ChatEvent::StepEnd { step, number, .. } => {
                steps.retain(|open| *open != (step.clone(), *number))
            }
            ChatEvent::RunUpdate { tree, .. } => {
                open_tree = tree.iter().any(|(_, node)| node.status.is_open())
            }
            _ => {}
        }
    }
    assert!(
        requests.is_empty() && tools.is_empty() && steps.is_empty() && !open_tree,
        "{turn} left something open"
    );
}

/// T8: a steer is answered once; acknowledged means in the journal, before the outcome and once, and refused means not.
pub(super) fn check_steers(world: &World) {
    let mut answers: BTreeMap<SteerId, Vec<(usize, bool)>> = BTreeMap::new();
    for (at, fact) in world.facts.iter().enumerate() {
        match fact {
            Fact::Steer { ticket, .. } => {
                answers.entry(*ticket).or_default();
            }
            Fact::Told(Output::Steered { ticket, result }) => answers
                .entry(*ticket)
                .or_default()
                .push((at, result.is_ok())),
            _ => {}
        }
    }
    for (ticket, answers) in answers {
        let [(at, taken)] = answers[..] else {
            panic!("steer {ticket:?} was answered {} times", answers.len());
        };
        let id = format!("s{}", ticket.0);
        let written = journaled(world, &id);
        if taken {
            assert!(
                written.is_some_and(|written| written < at),
                "steer {ticket:?} was acknowledged and lost"
            );
        } else {
            let unknown = world.unknown.iter().any(|unknown| unknown.as_str() == id);
            assert!(
                written.is_none() || unknown,
                "steer {ticket:?} was refused and kept"
            );
        }
    }
    let mut ended = Vec::new();
    for entry in &world.journal {
        match entry.body() {
            EntryBody::TurnSteered { turn_id, .. } => assert!(
                !ended.contains(turn_id),
                "{turn_id} was steered after its end"
            ),
            EntryBody::TurnCompleted { turn_id, .. }
            | EntryBody::TurnFailed { turn_id, .. }
            | EntryBody::TurnCanceled { turn_id, .. } => ended.push(turn_id.clone()),
            EntryBody::SessionCreated { .. }
            | EntryBody::TurnAccepted { .. }
            | EntryBody::Unknown { .. } => {}
        }
    }
}
