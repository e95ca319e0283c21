//! Reads a model's answer: bytes in, model events out. Does no IO, and holds an answer for whole only if the server says so.

use std::collections::VecDeque;

use chat_core::{FinishReason, ModelEvent, Usage};
use serde_json::{Value, json};

use crate::{
    said::Said,
    sse::{MAX_EVENT_BYTES, SseEvent, SseReader, TooLarge},
    tool_calls::ToolCalls,
    wire::{Choice, Chunk, Delta, WireUsage},
};

/// Why an answer can't be read on.
#[derive(Debug, PartialEq)]
pub(crate) enum Fault {
    /// The server said that something went wrong.
    Said(Said),
    /// What came is no answer. The excerpt is as the server wrote it.
    Malformed { what: &'static str, excerpt: String },
    /// It ended before the server said that it was whole (law M3).
    Truncated { done: bool },
}

/// Whether there is more to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More may come.
    Reading,
    /// The answer is whole, and its [`ModelEvent::Finish`] was given.
    Whole,
}

/// The reader of one answer.
#[derive(Debug)]
pub(crate) struct AnswerReader {
    sse: SseReader,
    done_suffices: bool,
    calls: ToolCalls,
    usage: Usage,
    finish: Option<FinishReason>,
    read_any: bool,
}

impl AnswerReader {
    /// A reader; `done_suffices` takes `[DONE]` for a finish (law M3).
    pub(crate) fn new(done_suffices: bool) -> Self {
        Self {
            sse: SseReader::new(MAX_EVENT_BYTES),
            done_suffices,
            calls: ToolCalls::default(),
            usage: Usage::default(),
            finish: None,
            read_any: false,
        }
    }

    /// Whether the model said why it stopped: all that can still come is how many tokens it took.
    pub(crate) fn has_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Reads on, and adds the events that are whole. After an error or [`Progress::Whole`] it is not fed again.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<Progress, Fault> {
        let mut events = Vec::new();
        let read = self.sse.feed(bytes, &mut events);
        for event in events {
            if self.read(&event, out)? == Progress::Whole {
                return Ok(Progress::Whole);
            }
        }
        match read {
            Ok(()) => Ok(Progress::Reading),
            Err(TooLarge) => Err(Fault::Malformed {
                what: "an event of more than 8 MiB",
                excerpt: String::new(),
            }),
        }
    }

    /// The body ended.
    pub(crate) fn end(&mut self, out: &mut VecDeque<ModelEvent>) -> Result<(), Fault> {
        if let Some(last) = self.sse.end() {
            // A last event without its empty line may be cut: only where it is whole is it an event.
            let whole = last.data == DONE || serde_json::from_str::<Value>(&last.data).is_ok();
            if whole && self.read(&last, out)? == Progress::Whole {
                return Ok(());
            }
        }
        if let Some(reason) = self.finish.take() {
            self.close(reason, out);
            return Ok(());
        }
        let stray = self.sse.stray().trim();
        if self.read_any || stray.is_empty() {
            return Err(Fault::Truncated { done: false });
        }
        Err(body_fault(stray))
    }

    fn read(
        &mut self,
        event: &SseEvent,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<Progress, Fault> {
        self.read_any = true;
        let data = event.data.trim();
        if data == DONE {
            return self.done(out);
        }
        let is_error = event.name == "error";
        match serde_json::from_str::<Value>(data) {
            Ok(json) => {
                if let Some(said) = Said::of_error(&json) {
                    return Err(Fault::Said(said));
                }
                if is_error {
                    return Err(Fault::Said(Said::of_text(data)));
                }
                self.read_chunk(json, out)?;
                Ok(Progress::Reading)
            }
            Err(_) if is_error => Err(Fault::Said(Said::of_text(data))),
            // Signs of life, under whatever name the server gives them.
            Err(_) if data.is_empty() || !matches!(event.name.as_str(), "" | "message") => {
                Ok(Progress::Reading)
            }
            Err(_) => Err(Fault::Malformed {
                what: "an event that is no JSON",
                excerpt: event.data.clone(),
            }),
        }
    }

    fn done(&mut self, out: &mut VecDeque<ModelEvent>) -> Result<Progress, Fault> {
        let reason = match self.finish.take() {
            Some(reason) => reason,
            None if self.done_suffices && !self.calls.is_empty() => FinishReason::ToolCalls,
            None if self.done_suffices => FinishReason::Other("done".into()),
            None => return Err(Fault::Truncated { done: true }),
        };
        self.close(reason, out);
        Ok(Progress::Whole)
    }

    fn read_chunk(&mut self, json: Value, out: &mut VecDeque<ModelEvent>) -> Result<(), Fault> {
        // Every field is lenient, so this fails only where the chunk is no object; there is nothing to lose then.
        let chunk = serde_json::from_value::<Chunk>(json).unwrap_or_default();
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            self.read_choice(choice, out)?;
        }
        let usage = usage(&chunk.usage);
        if !usage.is_unknown() && usage != self.usage {
            self.usage = usage;
            out.push_back(ModelEvent::Usage(usage));
        }
        Ok(())
    }

    fn read_choice(&mut self, choice: Choice, out: &mut VecDeque<ModelEvent>) -> Result<(), Fault> {
        out.extend(reasoning(&choice.delta));
        // A refusal is what the model says instead of an answer: the person should read it.
        for text in [choice.delta.content, choice.delta.refusal] {
            if !text.is_empty() {
                out.push_back(ModelEvent::Text(text.into()));
            }
        }
        for delta in choice.delta.tool_calls {
            self.calls.read(delta, out);
        }
        match choice.finish_reason.to_ascii_lowercase().as_str() {
            "" => {}
            "error" => {
                return Err(Fault::Said(Said::of_text(
                    "the model stopped with an error",
                )));
            }
            "stop" => self.finish = Some(FinishReason::Stop),
            "length" | "max_tokens" => self.finish = Some(FinishReason::Length),
            "content_filter" => self.finish = Some(FinishReason::ContentFilter),
            "tool_calls" | "function_call" => self.finish = Some(FinishReason::ToolCalls),
            // As it was sent: a secret in it must still be known for one.
            _ => {
                let word = &choice.finish_reason;
                let word = &word[..word.floor_char_boundary(MAX_WORD_BYTES)];
                self.finish = Some(FinishReason::Other(word.into()));
            }
        }
        Ok(())
    }

    /// Every tool call is whole now, also where the reason given is another one (C48).
    fn close(&mut self, reason: FinishReason, out: &mut VecDeque<ModelEvent>) {
        out.extend(std::mem::take(&mut self.calls).complete());
        out.push_back(ModelEvent::Finish(reason));
    }
}

/// The most that is kept of a finish reason that only this server gives: the journal keeps it, so a word is all it may be.
pub(crate) const MAX_WORD_BYTES: usize = 64;

/// How servers end a stream.
const DONE: &str = "[DONE]";

/// What a body that is no event stream means: an error the server tells with status 200, or nothing we can read.
fn body_fault(body: &str) -> Fault {
    match serde_json::from_str::<Value>(body)
        .ok()
        .and_then(|json| Said::of_error(&json))
    {
        Some(said) => Fault::Said(said),
        None => Fault::Malformed {
            what: "a body that is no event stream",
            excerpt: body.to_owned(),
        },
    }
}

fn reasoning(delta: &Delta) -> Option<ModelEvent> {
    // Some gateways send the same piece under both names.
    let (text, kind) = match (delta.reasoning_content.as_str(), delta.reasoning.as_str()) {
        ("", "") if delta.reasoning_details.is_null() => return None,
        ("", text) => (text, "reasoning"),
        (text, _) => (text, "reasoning_content"),
    };
    let details = &delta.reasoning_details;
    let data = (!details.is_null()).then(|| json!({ "reasoning_details": details }).into());
    Some(ModelEvent::Reasoning {
        text: text.into(),
        kind: Some(kind.into()),
        data,
    })
}

fn usage(wire: &WireUsage) -> Usage {
    Usage {
        input_tokens: wire.prompt_tokens,
        output_tokens: wire.completion_tokens,
        total_tokens: wire.total_tokens,
        reasoning_tokens: wire.completion_tokens_details.reasoning_tokens,
        cached_input_tokens: wire.prompt_tokens_details.cached_tokens,
    }
}

#[cfg(test)]
mod tests;
