//! Makes what a responder says an event that callers see, by giving it its place.

use crate::{ApprovalOutcome, ChatEvent, ResponderEvent};

/// The event at a place; `None` where it is not for showing.
pub(super) fn numbered(event: ResponderEvent, seq: u64) -> Option<ChatEvent> {
    Some(match event {
        ResponderEvent::TextDelta { text, step } => ChatEvent::TextDelta { seq, text, step },
        ResponderEvent::ReasoningDelta(reasoning) => ChatEvent::ReasoningDelta { seq, reasoning },
        ResponderEvent::RunUpdate(tree) => ChatEvent::RunUpdate { seq, tree },
        ResponderEvent::ApprovalRequest(request) => ChatEvent::ApprovalRequest { seq, request },
        ResponderEvent::ApprovalWithdrawn { id, reason } => ChatEvent::ApprovalResolved {
            seq,
            id,
            outcome: ApprovalOutcome::Withdrawn,
            reason,
        },
        ResponderEvent::StepStart { step, number } => ChatEvent::StepStart { seq, step, number },
        ResponderEvent::StepEnd {
            step,
            number,
            usage,
            finish_reason,
        } => ChatEvent::StepEnd {
            seq,
            step,
            number,
            usage,
            finish_reason,
        },
        ResponderEvent::StepRetry(retry) => ChatEvent::StepRetry { seq, retry },
        ResponderEvent::ToolCallStart(call) => ChatEvent::ToolCallStart { seq, call },
        ResponderEvent::ToolCallDelta {
            call,
            name_fragment,
            arguments_fragment,
        } => ChatEvent::ToolCallDelta {
            seq,
            call,
            name_fragment,
            arguments_fragment,
        },
        ResponderEvent::ToolCallReady { call, input } => {
            ChatEvent::ToolCallReady { seq, call, input }
        }
        ResponderEvent::ToolExecutionStart(call) => ChatEvent::ToolExecutionStart { seq, call },
        ResponderEvent::ToolExecutionEnd {
            call,
            outcome,
            duration_ms,
        } => ChatEvent::ToolExecutionEnd {
            seq,
            call,
            outcome,
            duration_ms,
        },
        ResponderEvent::ToolResult {
            call_id,
            tool,
            result,
        } => ChatEvent::ToolResult {
            seq,
            call_id,
            tool,
            result,
        },
        ResponderEvent::Usage(_) => return None,
    })
}
