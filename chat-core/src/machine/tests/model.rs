//! What must hold of any history, in straight code over all of it: no second machine, only questions asked afterwards.

use std::collections::BTreeMap;

use super::{
    endings::{check_cancel, check_events, check_journal, check_steers},
    world::{Ask, Fact, Hold, World},
};
use crate::{
    ChatEvent, ContextPolicy, Entry, EntryBody, Output, Seq, Transcript, TurnError, TurnId,
    TurnReply, TurnStatus,
};

/// All that was told of one turn, each with its place in the history.
#[derive(Default)]
pub(super) struct Story<'a> {
    pub(super) sent: usize,
    pub(super) retry_of: Option<&'a TurnId>,
    pub(super) accepted: Vec<(usize, &'a Result<(), TurnError>)>,
    pub(super) settled: Vec<(usize, &'a Result<TurnReply, TurnError>)>,
    pub(super) events: Vec<(usize, &'a ChatEvent)>,
    pub(super) responded: Option<usize>,
    pub(super) signaled: Option<usize>,
    pub(super) abandoned: Option<usize>,
    pub(super) appended: Vec<(usize, &'a Entry)>,
    pub(super) last_told: usize,
}

/// Checks a history that has come to its end.
pub(super) fn check(world: &World) {
    let stories = stories(&world.facts);
    assert!(world.machine.is_idle(), "the machine is not idle");
    assert!(
        matches!(
            world.ask,
            None | Some(Ask::Append { .. } | Ask::Recover { .. })
        ),
        "{:?}",
        world.ask
    );
    assert_eq!(world.hold, Hold::Free, "the hold was not let go");
    for (turn, story) in &stories {
        check_story(world, turn, story);
        check_journal(world, turn, story);
        check_cancel(&world.facts, turn, story);
        check_events(turn, story);
    }
    check_order(world, &stories);
    check_steers(world);
    check_contexts(world);
}

fn stories(facts: &[Fact]) -> BTreeMap<&TurnId, Story<'_>> {
    let mut stories: BTreeMap<&TurnId, Story<'_>> = BTreeMap::new();
    for (at, fact) in facts.iter().enumerate() {
        if let Fact::Sent { turn, retry_of } = fact {
            stories.insert(
                turn,
                Story {
                    sent: at,
                    retry_of: retry_of.as_ref(),
                    ..Story::default()
                },
            );
        }
        let Fact::Told(output) = fact else { continue };
        let of = match output {
            Output::Acquire { .. }
            | Output::GiveUpAcquire
            | Output::Release
            | Output::Recover { .. } => continue,
            Output::Steered { .. } => continue,
            Output::Append { entry, .. } => entry
                .body()
                .turn_id()
                .expect("every entry of ours is of a turn"),
            Output::Respond(start) => &start.turn_id,
            Output::Signal(turn)
            | Output::Abandon(turn)
            | Output::Answer { turn, .. }
            | Output::OfferSteer { turn, .. }
            | Output::WithdrawSteer { turn, .. }
            | Output::Emit { turn, .. }
            | Output::Accepted { turn, .. }
            | Output::Settle { turn, .. } => turn,
        };
        let story = stories
            .get_mut(of)
            .expect("only what was sent is spoken of");
        story.last_told = at;
        match output {
            Output::Append { entry, .. } => story.appended.push((at, entry)),
            Output::Respond(_) => assert!(
                story.responded.replace(at).is_none(),
                "{of} was answered twice"
            ),
            Output::Signal(_) => assert!(
                story.signaled.replace(at).is_none(),
                "{of} was signaled twice"
            ),
            Output::Abandon(_) => assert!(
                story.abandoned.replace(at).is_none(),
                "{of} was dropped twice"
            ),
            Output::Emit { event, .. } => story.events.push((at, event)),
            Output::Accepted { result, .. } => story.accepted.push((at, result)),
            Output::Settle { result, .. } => story.settled.push((at, result)),
            Output::Answer { .. } | Output::OfferSteer { .. } | Output::WithdrawSteer { .. } => {
                assert!(
                    story.responded.is_some() && story.abandoned.is_none(),
                    "{of} is not at work"
                );
            }
            Output::Acquire { .. }
            | Output::GiveUpAcquire
            | Output::Release
            | Output::Recover { .. }
            | Output::Steered { .. } => {}
        }
    }
    stories
}

/// T1, T3, T5: every turn is accepted or not once, settles once, and ends once, in this order, and nothing comes after.
fn check_story(world: &World, turn: &TurnId, story: &Story<'_>) {
    let [(accepted_at, accepted)] = story.accepted[..] else {
        panic!(
            "{turn} was told {} times whether it was accepted",
            story.accepted.len()
        );
    };
    let [(settled_at, _)] = story.settled[..] else {
        panic!("{turn} settled {} times", story.settled.len());
    };
    assert_eq!(
        story.last_told, settled_at,
        "{turn} was spoken of after it settled"
    );
    let ends: Vec<_> = story
        .events
        .iter()
        .filter(|(_, event)| matches!(event, ChatEvent::TurnEnd { .. }))
        .collect();
    assert_eq!(ends.len(), 1, "{turn} ended {} times", ends.len());
    let (ended_at, last) = *story.events.last().unwrap();
    assert!(
        matches!(last, ChatEvent::TurnEnd { .. }),
        "{turn}: {last:?} is the last event"
    );
    assert!(accepted_at < ended_at && ended_at < settled_at);
    for (place, (_, event)) in story.events.iter().enumerate() {
        assert_eq!(event.seq(), place as u64, "{turn}: {event:?}");
        assert_eq!(
            matches!(event, ChatEvent::TurnStart { .. }),
            place == 0 && accepted.is_ok(),
            "{turn}: {event:?}"
        );
    }
    if accepted.is_ok() {
        let written =
            journaled(world, &format!("{turn}.accepted")).expect("accepted means written");
        assert!(
            written < accepted_at,
            "{turn} was accepted before it was written"
        );
        assert!(
            story
                .responded
                .is_none_or(|responded| responded > story.events[0].0)
        );
    } else {
        assert_eq!(
            (story.events.len(), story.responded),
            (1, None),
            "{turn} was not accepted and yet begun"
        );
    }
    // An execution is dropped or ends, and where it is dropped its signal fires first.
    assert_eq!(story.signaled.is_some(), story.abandoned.is_some());
    assert!(story.signaled < story.abandoned || story.signaled.is_none());
}

/// T2, T9: accepted in the order sent; nothing completed is answered again; tools can tell a retry.
fn check_order(world: &World, stories: &BTreeMap<&TurnId, Story<'_>>) {
    let mut sent_before = 0;
    let mut transcript = Transcript::default();
    for entry in &world.journal {
        if let EntryBody::TurnAccepted {
            turn_id, retry_of, ..
        } = entry.body()
            && let Some(story) = stories.get(turn_id)
        {
            assert!(sent_before <= story.sent, "{turn_id} came before its turn");
            sent_before = story.sent;
            assert_eq!(retry_of.as_ref(), story.retry_of);
            if let Some(original) = retry_of {
                let original = transcript.turn(original).expect("what is retried is there");
                assert_ne!(
                    original.status,
                    TurnStatus::Completed,
                    "{turn_id} retries what completed"
                );
            }
        }
        transcript.apply(entry);
    }
}

/// T2: a responder sees every entry before its own turn's, whoever wrote it, and its own turn as running.
fn check_contexts(world: &World) {
    for fact in &world.facts {
        let Fact::Told(Output::Respond(start)) = fact else {
            continue;
        };
        let mut transcript = Transcript::default();
        for entry in &world.journal {
            transcript.apply(entry);
            if matches!(entry.body(), EntryBody::TurnAccepted { turn_id, .. } if *turn_id == start.turn_id)
            {
                break;
            }
        }
        transcript.set_live(Some(&start.turn_id));
        assert!(
            start.history.iter().eq(transcript.turns().iter()),
            "{} saw another history",
            start.turn_id
        );
        assert_eq!(start.root_turn_id, *transcript.root_of(&start.turn_id));
        let place = world.turns.iter().position(|turn| *turn == start.turn_id);
        assert!(
            matches!(start.context, Some(ContextPolicy::LastTurns(n)) if Some(n) == place.map(|at| at + 1))
        );
    }
}

/// Where in the history an entry of ours got into the journal, where it did.
pub(super) fn journaled(world: &World, id: &str) -> Option<usize> {
    let place = world
        .journal
        .iter()
        .position(|entry| entry.id().as_str() == id)?;
    let seq = Seq(place as u64);
    world
        .facts
        .iter()
        .position(|fact| matches!(fact, Fact::Journaled(at) if *at == seq))
}
