//! A responder at work: what it says is numbered and shown, and once all of it is in, the turn concludes (laws T4, R1, R2).

use std::sync::Arc;

use super::{
    Output, SessionMachine, State,
    state::{Active, Completed, Ending, Phase, Replied, Running, Write},
};
use crate::{
    Entry, EntryBody, Reply, ResponderError, ResponderEvent, SteerRefused, Timestamp, TurnId,
    responder::ReplyText,
};

impl SessionMachine {
    /// The running turn, where it is this one. What is said for any other turn is dropped, never credited to it (law T5).
    fn running(&mut self, turn: &TurnId) -> Option<(&mut Active, &mut Running)> {
        match &mut self.state {
            State::Active(active, Phase::Running(running)) if active.id == *turn => {
                Some((active, running))
            }
            State::Active(..) | State::Idle | State::Acquiring | State::GivingUp => None,
        }
    }

    /// What a responder said, in order.
    pub fn handle_events(
        &mut self,
        now: Timestamp,
        turn: &TurnId,
        batch: impl IntoIterator<Item = ResponderEvent>,
    ) {
        let State::Active(active, Phase::Running(running)) = &mut self.state else {
            return;
        };
        if active.id != *turn || running.events_ended {
            return;
        }
        for event in batch {
            match note(now, active, running, &event) {
                Noted::Show => active.show(&mut self.outputs, event),
                Noted::Drop => {}
                Noted::Fail(error) => return self.fail(now, turn, error),
            }
        }
    }

    /// The responder's events have ended, or will not go on. An execution without events has ended them at once.
    pub fn handle_events_ended(
        &mut self,
        now: Timestamp,
        turn: &TurnId,
        result: Result<(), ResponderError>,
    ) {
        let Some((_, running)) = self.running(turn) else {
            return;
        };
        if running.events_ended {
            return;
        }
        match result {
            Ok(()) => {
                running.events_ended = true;
                self.conclude(now);
            }
            Err(error) => self.fail(now, turn, error),
        }
    }

    /// The responder's reply is in, or why there is none. A failure is told once what its stream had ready was taken.
    pub fn handle_result(
        &mut self,
        now: Timestamp,
        turn: &TurnId,
        result: Result<Reply, ResponderError>,
    ) {
        let Some((_, running)) = self.running(turn) else {
            return;
        };
        if running.reply.is_some() {
            return;
        }
        match result {
            Ok(Reply {
                text,
                metadata,
                run,
            }) => {
                let text = match text {
                    ReplyText::Text(text) => Some(text),
                    ReplyText::Streamed => None,
                };
                running.reply = Some(Replied {
                    text,
                    metadata,
                    run,
                });
                self.conclude(now);
            }
            Err(error) => self.fail(now, turn, error),
        }
    }

    /// The first failure decides (law T4).
    fn fail(&mut self, now: Timestamp, turn: &TurnId, error: ResponderError) {
        if self.running(turn).is_none() {
            return;
        }
        if let Some((active, Phase::Running(running))) = self.take_active() {
            self.stop(now, active, *running, Ending::Failed(error));
        }
    }

    /// Goes on with a running turn: writes the next steer that was taken, and where all is in and written, the outcome.
    pub(super) fn conclude(&mut self, now: Timestamp) {
        let next = self.transcript.next_seq();
        let State::Active(active, Phase::Running(running)) = &mut self.state else {
            return;
        };
        let all_in = running.reply.is_some() && running.events_ended;
        let late = if all_in {
            // Nobody acts on an answer any more.
            for event in running.open.close(now) {
                active.show(&mut self.outputs, event);
            }
            std::mem::take(&mut running.offered)
        } else {
            Vec::new()
        };
        if running.writing.is_none()
            && let Some(steer) = running.taken.pop_front()
        {
            let body = EntryBody::TurnSteered {
                turn_id: active.id.clone(),
                input: steer.input.clone(),
            };
            let entry = Entry::new(next, steer.entry_id.clone(), now, body);
            self.outputs.push_back(Output::Append {
                entry: Box::new(entry.clone()),
                last: false,
            });
            running.writing = Some((steer, Write::of(entry)));
        }
        let written = running.writing.is_none();
        self.refuse_all(late, &SteerRefused::ReplyIn);
        if all_in && written {
            self.complete(now);
        }
    }

    fn complete(&mut self, now: Timestamp) {
        let Some((active, phase)) = self.take_active() else {
            return;
        };
        let Phase::Running(mut running) = phase else {
            self.state = State::Active(active, phase);
            return;
        };
        let Some(Replied {
            text,
            mut metadata,
            run,
        }) = running.reply.take()
        else {
            self.state = State::Active(active, Phase::Running(running));
            return;
        };
        metadata.usage = metadata
            .usage
            .filter(|usage| !usage.is_unknown())
            .or(active.usage);
        let text = text.unwrap_or_else(|| Arc::from(running.streamed));
        self.record(
            now,
            active,
            Ending::Completed(Box::new(Completed {
                text,
                metadata,
                run,
            })),
        );
    }
}

/// What is to be done with an event.
enum Noted {
    Show,
    Drop,
    Fail(ResponderError),
}

/// Keeps in mind what an event opens and closes.
fn note(
    now: Timestamp,
    active: &mut Active,
    running: &mut Running,
    event: &ResponderEvent,
) -> Noted {
    match event {
        ResponderEvent::TextDelta { text, step: _ } => running.streamed.push_str(text),
        ResponderEvent::RunUpdate(tree) => running.open.updated(tree),
        ResponderEvent::ApprovalRequest(request) => {
            if !running.open.request(request) {
                let message = format!(
                    "the responder asked for two approvals with one id, {}",
                    request.id
                );
                return Noted::Fail(ResponderError::new(message).with_kind("duplicate-approval"));
            }
        }
        ResponderEvent::ApprovalWithdrawn { id, reason: _ } => {
            if !running.open.withdraw(id) {
                return Noted::Drop;
            }
        }
        ResponderEvent::StepStart { step, number } => running.open.step_started(step, *number),
        ResponderEvent::StepEnd { step, number, .. } => running.open.step_ended(step, *number),
        ResponderEvent::ToolCallReady { call, .. } => running.open.tool_called(call),
        ResponderEvent::ToolExecutionStart(call) => running.open.tool_started(call, now),
        ResponderEvent::ToolExecutionEnd { call, .. } => running.open.tool_ended(call),
        ResponderEvent::Usage(usage) => {
            if !usage.is_unknown() {
                active.usage = Some(**usage);
            }
            return Noted::Drop;
        }
        ResponderEvent::ReasoningDelta(_)
        | ResponderEvent::StepRetry(_)
        | ResponderEvent::ToolCallStart(_)
        | ResponderEvent::ToolCallDelta { .. }
        | ResponderEvent::ToolResult { .. } => {}
    }
    Noted::Show
}
