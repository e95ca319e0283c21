//! The Events law: the JSON of every event has the fields of the contract's table, and is read back as the same event.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::{TraceKind, TraceNode, TraceStatus};

/// The contract's table: each type with its fields, those that may be absent behind a question mark.
const TABLE: [(&str, &str); 17] = [
    ("turn-start", "sessionId turnId"),
    ("text-delta", "text step?"),
    ("reasoning-delta", "text step? kind? provider? data?"),
    ("run-update", "tree"),
    ("approval-request", "request"),
    ("approval-resolved", "id outcome reason?"),
    ("step-start", "step number"),
    ("step-end", "step number usage? finishReason?"),
    ("step-retry", "step? number attempt delayMs error"),
    ("tool-call-start", "step number index callId tool"),
    (
        "tool-call-delta",
        "step number index callId tool nameFragment? argumentsFragment?",
    ),
    ("tool-call-ready", "step number index callId tool input"),
    ("tool-execution-start", "step number index callId tool"),
    (
        "tool-execution-end",
        "step number index callId tool outcome durationMs",
    ),
    ("tool-result", "callId tool result"),
    ("steered", "input"),
    ("turn-end", "turn"),
];

/// Every type twice: with all its fields, then with those alone that it can't do without.
fn every_event() -> Vec<[ChatEvent; 2]> {
    let at = Timestamp::from_millis(1_769_851_800_250).unwrap();
    let turn_id = TurnId::parse("t1").unwrap();
    let call = Arc::new(ToolCallRef {
        step: "draft".into(),
        number: 2,
        index: 0,
        call_id: "call-1".into(),
        tool: "search".into(),
    });
    let usage = Usage {
        input_tokens: Some(3),
        output_tokens: Some(0),
        ..Usage::default()
    };
    let error = RecordedError::of("overloaded", "overloaded", Some(true));
    let always = |event: ChatEvent| [event.clone(), event];

    let mut tree = TraceTree::default();
    let run = tree.push(None, TraceNode::new("run", TraceKind::Agent, "engineer"));
    let step = tree.push(
        Some(run),
        TraceNode::new("run/draft", TraceKind::Step, "draft"),
    );
    tree.update(step, |node| {
        node.status = TraceStatus::Running;
        node.started_at = Some(at);
        node.partial_text.push("Once".into());
    });

    let request = ApprovalRequest {
        id: "a1".into(),
        call_id: "call-1".into(),
        tool_name: "deploy".into(),
        input: json!({"env": "prod"}).into(),
        step: "draft".into(),
        requested_at: at,
    };
    let ended = TurnRecord {
        status: crate::TurnStatus::Completed,
        output: Some("Hello".into()),
        steering: vec!["briefly".into()],
        accepted_at: Some(at),
        ended_at: Some(at),
        ..TurnRecord::queued(turn_id.clone(), "Hi".into())
    };
    let reasoning = Reasoning {
        text: "Hm".into(),
        step: None,
        kind: None,
        provider: None,
        data: None,
    };
    let full_reasoning = Reasoning {
        step: Some("draft".into()),
        kind: Some("summary".into()),
        provider: Some("openai".into()),
        data: Some(json!({"signature": "x"}).into()),
        ..reasoning.clone()
    };
    let retry = StepRetry {
        step: None,
        number: 1,
        attempt: 1,
        delay_ms: 250,
        error,
    };
    let full_retry = StepRetry {
        step: Some("draft".into()),
        ..retry.clone()
    };

    vec![
        always(ChatEvent::TurnStart {
            seq: 0,
            session_id: SessionId::parse("s1").unwrap(),
            turn_id,
        }),
        [
            ChatEvent::TextDelta {
                seq: 1,
                text: "Hel".into(),
                step: Some("draft".into()),
            },
            ChatEvent::TextDelta {
                seq: 1,
                text: "".into(),
                step: None,
            },
        ],
        [
            ChatEvent::ReasoningDelta {
                seq: 2,
                reasoning: full_reasoning.into(),
            },
            ChatEvent::ReasoningDelta {
                seq: 2,
                reasoning: reasoning.into(),
            },
        ],
        [
            ChatEvent::RunUpdate { seq: 3, tree },
            ChatEvent::RunUpdate {
                seq: 3,
                tree: TraceTree::default(),
            },
        ],
        always(ChatEvent::ApprovalRequest {
            seq: 4,
            request: request.into(),
        }),
        [
            ChatEvent::ApprovalResolved {
                seq: 5,
                id: "a1".into(),
                outcome: ApprovalOutcome::Denied,
                reason: Some("not now".into()),
            },
            ChatEvent::ApprovalResolved {
                seq: 5,
                id: "a1".into(),
                outcome: ApprovalOutcome::Withdrawn,
                reason: None,
            },
        ],
        always(ChatEvent::StepStart {
            seq: 6,
            step: "draft".into(),
            number: 1,
        }),
        [
            ChatEvent::StepEnd {
                seq: 7,
                step: "draft".into(),
                number: 1,
                usage: Some(usage.into()),
                finish_reason: Some(FinishReason::ToolCalls),
            },
            ChatEvent::StepEnd {
                seq: 7,
                step: "draft".into(),
                number: 1,
                usage: None,
                finish_reason: None,
            },
        ],
        [
            ChatEvent::StepRetry {
                seq: 8,
                retry: full_retry.into(),
            },
            ChatEvent::StepRetry {
                seq: 8,
                retry: retry.into(),
            },
        ],
        always(ChatEvent::ToolCallStart {
            seq: 9,
            call: call.clone(),
        }),
        [
            ChatEvent::ToolCallDelta {
                seq: 10,
                call: call.clone(),
                name_fragment: Some("sea".into()),
                arguments_fragment: Some("{\"q\"".into()),
            },
            ChatEvent::ToolCallDelta {
                seq: 10,
                call: call.clone(),
                name_fragment: None,
                arguments_fragment: None,
            },
        ],
        always(ChatEvent::ToolCallReady {
            seq: 11,
            call: call.clone(),
            input: json!({"q": "x"}).into(),
        }),
        always(ChatEvent::ToolExecutionStart {
            seq: 12,
            call: call.clone(),
        }),
        always(ChatEvent::ToolExecutionEnd {
            seq: 13,
            call,
            outcome: ToolOutcome::Aborted,
            duration_ms: 1500,
        }),
        always(ChatEvent::ToolResult {
            seq: 14,
            call_id: "call-1".into(),
            tool: "search".into(),
            result: json!([1, null]).into(),
        }),
        always(ChatEvent::Steered {
            seq: 15,
            input: "briefly".into(),
        }),
        always(ChatEvent::TurnEnd {
            seq: 16,
            turn: ended.into(),
        }),
    ]
}

#[test]
fn events_law_every_event_has_the_fields_of_the_table() {
    let events = every_event();
    assert_eq!(events.len(), TABLE.len());
    for ((place, pair), (kind, fields)) in (0..).zip(&events).zip(TABLE) {
        let [all, needed] = pair.each_ref().map(|event| {
            assert_eq!((event.kind(), event.seq()), (kind, place));
            let json = serde_json::to_value(event).unwrap();
            assert_eq!((&json["type"], &json["seq"]), (&json!(kind), &json!(place)));
            let mut keys: BTreeSet<String> = json.as_object().unwrap().keys().cloned().collect();
            keys.remove("type");
            keys.remove("seq");
            keys
        });
        let known: BTreeSet<String> = fields
            .replace('?', "")
            .split(' ')
            .map(str::to_owned)
            .collect();
        let required: BTreeSet<String> = fields
            .split(' ')
            .filter(|f| !f.ends_with('?'))
            .map(str::to_owned)
            .collect();
        assert_eq!((all, needed), (known, required), "{kind}");
    }
    assert_eq!(KNOWN, TABLE.map(|(kind, _)| kind));
}

#[test]
fn events_law_every_event_is_written_like_this() {
    let mut lines: Vec<_> = every_event()
        .iter()
        .flatten()
        .map(|event| serde_json::to_string(event).unwrap())
        .collect();
    lines.dedup();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn events_law_every_event_is_read_back_as_itself() {
    for event in every_event().iter().flatten() {
        let text = serde_json::to_string(event).unwrap();
        assert_eq!(
            serde_json::from_str::<ChatEvent>(&text).unwrap(),
            *event,
            "{text}"
        );
        // What a later program adds is ignored.
        let more = text.replacen('{', r#"{"addedLater":[1],"#, 1);
        assert_eq!(
            serde_json::from_str::<ChatEvent>(&more).unwrap(),
            *event,
            "{more}"
        );
    }
}

#[test]
fn events_law_an_event_without_a_field_it_needs_is_refused() {
    for (event, (_, fields)) in every_event().iter().zip(TABLE) {
        for field in fields
            .split(' ')
            .filter(|field| !field.ends_with('?'))
            .chain(["seq", "type"])
        {
            let mut json = serde_json::to_value(&event[0]).unwrap();
            json.as_object_mut().unwrap().remove(field);
            assert!(
                serde_json::from_value::<ChatEvent>(json.clone()).is_err(),
                "{json} without {field}"
            );
        }
    }
}

#[test]
fn events_law_an_unknown_type_becomes_unknown_and_keeps_its_fields() {
    let text = r#"{"depth":{"x":[1,null]},"seq":7,"type":"hologram"}"#;
    let event: ChatEvent = serde_json::from_str(text).unwrap();
    assert!(matches!(&event, ChatEvent::Unknown { seq: 7, .. }));
    assert_eq!((event.kind(), event.seq()), ("hologram", 7));
    assert_eq!(
        serde_json::to_value(&event).unwrap(),
        serde_json::from_str::<Value>(text).unwrap()
    );
    for bad in [
        r#"{"seq":7}"#,
        r#"{"type":"hologram"}"#,
        r#"{"type":7,"seq":7}"#,
        r#"{"type":"x","seq":-1}"#,
        "[]",
        "7",
    ] {
        assert!(serde_json::from_str::<ChatEvent>(bad).is_err(), "{bad}");
    }
    // The name of our own variant is no type.
    assert_eq!(
        serde_json::from_str::<ChatEvent>(r#"{"type":"unknown","seq":1}"#)
            .unwrap()
            .kind(),
        "unknown"
    );
}

#[test]
fn events_law_an_event_is_small_enough_to_move_by_the_million() {
    assert!(size_of::<ChatEvent>() <= 64, "{}", size_of::<ChatEvent>());
}
