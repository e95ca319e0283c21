//! "Events" of the contract: what a turn shows, and what it closes before its end on every path.

use std::sync::Arc;

use super::{
    completions::Luck,
    model,
    stage::At,
    world::{Blow, World, turn},
};
use crate::{
    ApprovalRequest, ChatEvent, Decision, Output, Reply, ResponderError, ResponderEvent, Timestamp,
    ToolCallRef, ToolOutcome, TraceKind, TraceNode, TraceStatus, TraceTree, Usage,
};

pub(super) fn request(id: &str) -> ResponderEvent {
    ResponderEvent::ApprovalRequest(Arc::new(ApprovalRequest {
        id: id.into(),
        call_id: "call".into(),
        tool_name: "deploy".into(),
        input: Arc::default(),
        step: "reply".into(),
        requested_at: Timestamp::UNIX_EPOCH,
    }))
}

fn call(index: u32) -> Arc<ToolCallRef> {
    Arc::new(ToolCallRef {
        step: "reply".into(),
        number: 1,
        index,
        // Some servers give one id to several calls.
        call_id: "call".into(),
        tool: "deploy".into(),
    })
}

fn tree(statuses: &[TraceStatus]) -> TraceTree {
    let mut tree = TraceTree::default();
    for (n, status) in statuses.iter().enumerate() {
        let node = tree.push(
            None,
            TraceNode::new(format!("n{n}"), TraceKind::Step, "step"),
        );
        tree.update(node, |node| node.status = *status);
    }
    tree
}

pub(super) fn used(total: Option<u64>) -> ResponderEvent {
    ResponderEvent::Usage(Box::new(Usage {
        total_tokens: total,
        ..Usage::default()
    }))
}

/// A turn in which two of everything began, and one of each ended. One tool was called and has not begun.
pub(super) fn half_done() -> World {
    let step = |number| ResponderEvent::StepStart {
        step: "reply".into(),
        number,
    };
    let mut world = At::Running.world();
    world.say(vec![
        step(1),
        step(2),
        ResponderEvent::StepEnd {
            step: "reply".into(),
            number: 1,
            usage: None,
            finish_reason: None,
        },
        request("a1"),
        request("a2"),
        request("a3"),
        ResponderEvent::ToolExecutionStart(call(0)),
        ResponderEvent::ToolExecutionStart(call(1)),
        ResponderEvent::ToolExecutionStart(call(2)),
        ResponderEvent::ToolExecutionEnd {
            call: call(1),
            outcome: ToolOutcome::Ok,
            duration_ms: 7,
        },
        ResponderEvent::ToolCallReady {
            call: call(3),
            input: Arc::default(),
        },
        ResponderEvent::RunUpdate(tree(&[
            TraceStatus::Done,
            TraceStatus::Running,
            TraceStatus::Waiting,
        ])),
    ]);
    world.answer("t1", "a2", Decision::Approve).unwrap();
    world.log();
    world
}

/// How it is closed, so long after its tools began.
fn closed(ms: u32) -> [String; 7] {
    [
        "approval-resolved a1 withdrawn".into(),
        "approval-resolved a3 withdrawn".into(),
        format!("tool-execution-end 1/0 Aborted after {ms} ms"),
        format!("tool-execution-end 1/2 Aborted after {ms} ms"),
        "tool-execution-end 1/3 Aborted after 0 ms".into(),
        "step-end reply/2".into(),
        "run-update n0 Done, n1 Aborted, n2 Aborted".into(),
    ]
}

/// C3: on every path what is open is closed in one order, and `turn-end` is last.
#[test]
fn events_c3_what_is_left_open_is_closed_in_order_before_the_end_on_every_path() {
    let ends: [(&str, Blow); 5] = [
        ("canceled", |world| world.cancel("t1", "enough")),
        ("failed", |world| {
            world.replied(Err(ResponderError::new("it broke")));
        }),
        ("failed", |world| {
            world.events_end(Luck::Bad);
        }),
        ("interrupted", |world| {
            world.hold_lost();
        }),
        ("interrupted", |world| world.abandon(false)),
    ];
    for (status, end) in ends {
        let mut world = half_done();
        end(&mut world);
        world.settle();
        let emitted: Vec<_> = world
            .told()
            .into_iter()
            .filter(|line| line.starts_with("emit t1 "))
            .collect();
        let (last, before) = emitted.split_last().unwrap();
        // The events before were numbered 0 to 13, `turn-start` and the answer among them.
        let expected: Vec<_> = (14..)
            .zip(closed(1000))
            .map(|(seq, what)| format!("emit t1 {seq} {what}"))
            .collect();
        assert_eq!(before, expected, "{status}");
        assert!(
            last.starts_with(&format!("emit t1 21 turn-end {status}")),
            "{last}"
        );
        model::check(&world);
    }
}

#[test]
fn events_what_a_completed_turn_left_open_is_closed_once_all_is_in() {
    let mut world = half_done();
    world.events_end(Luck::Good);
    assert!(world.told().is_empty());
    world.replied(Ok(Reply::text("done")));
    let told = world.told();
    let expected = (14..)
        .zip(closed(2000))
        .map(|(seq, what)| format!("emit t1 {seq} {what}"));
    assert!(told[..7].iter().cloned().eq(expected), "{told:?}");
    assert_eq!(
        told[7..],
        ["append 2 turn.completed t1 \"done\" as the last"]
    );
    world.settle();
    model::check(&world);
}

#[test]
fn events_the_last_tree_is_closed_and_none_is_shown_where_nothing_is_open() {
    let mut world = At::Running.world();
    world.say(vec![
        ResponderEvent::RunUpdate(tree(&[TraceStatus::Running])),
        ResponderEvent::RunUpdate(tree(&[TraceStatus::Done])),
    ]);
    world.log();
    world.cancel("t1", "enough");
    assert!(world.told().iter().all(|line| !line.contains("run-update")));
}

#[test]
fn events_every_kind_is_numbered_and_shown_but_usage() {
    let mut world = At::Running.world();
    world.say(vec![
        ResponderEvent::text("Hi"),
        ResponderEvent::ReasoningDelta(Box::new(crate::Reasoning {
            text: "hm".into(),
            step: None,
            kind: None,
            provider: None,
            data: None,
        })),
        ResponderEvent::ToolCallStart(call(0)),
        ResponderEvent::ToolCallDelta {
            call: call(0),
            name_fragment: None,
            arguments_fragment: Some("{".into()),
        },
        ResponderEvent::ToolCallReady {
            call: call(0),
            input: Arc::default(),
        },
        used(Some(3)),
        ResponderEvent::ToolResult {
            call_id: "call".into(),
            tool: "deploy".into(),
            result: Arc::default(),
        },
        ResponderEvent::StepRetry(Box::new(crate::StepRetry {
            step: None,
            number: 1,
            attempt: 1,
            delay_ms: 5,
            error: crate::RecordedError::of("busy", "busy", None),
        })),
    ]);
    assert_eq!(
        world.told(),
        [
            "emit t1 1 text-delta \"Hi\"",
            "emit t1 2 reasoning-delta",
            "emit t1 3 tool-call-start",
            "emit t1 4 tool-call-delta",
            "emit t1 5 tool-call-ready",
            "emit t1 6 tool-result",
            "emit t1 7 step-retry",
        ]
    );
}

/// Whoever shows many events takes them one behind the other, and nothing else, and no other turn's.
#[test]
fn events_of_one_turn_can_be_taken_without_looking_at_what_else_is_to_do() {
    let (mut world, now) = (At::Running.world(), Timestamp::UNIX_EPOCH);
    let (t1, t2) = (world.newest(), turn("t2"));
    let said = ["a", "b"].map(ResponderEvent::text);
    world.machine.handle_events(now, &t1, said);
    assert_eq!(world.machine.poll_event(&t2), None);
    let taken: Vec<_> = std::iter::from_fn(|| world.machine.poll_event(&t1)).collect();
    assert_eq!(taken.iter().map(ChatEvent::seq).collect::<Vec<_>>(), [1, 2]);
    world.machine.cancel(now, &t1, None);
    assert_eq!(world.machine.poll_event(&t1), None, "a signal is no event");
    assert!(matches!(world.machine.poll_output(), Some(Output::Signal(of)) if of == t1));
}
