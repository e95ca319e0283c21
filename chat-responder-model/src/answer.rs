//! Reads a model's answer: bytes in, model events out. Does no IO, and holds an answer for whole only if the server says so.

use std::collections::VecDeque;

use chat_core::{FinishReason, ModelEvent, Usage};
use serde_json::{Value, json};

use crate::{
    mend, plain,
    said::Said,
    sse::{MAX_EVENT_BYTES, SseEvent, SseReader, TooLarge},
    tool_calls::{TooManyCalls, ToolCalls},
    wire::{Choice, Chunk, Delta},
};

/// Why an answer can't be read on.
#[derive(Debug, PartialEq)]
pub(crate) enum Fault {
    /// The server said that something went wrong.
    Said(Said),
    /// What came is no answer. The excerpt is as the server wrote it.
    Malformed { what: &'static str, excerpt: String },
    /// It ended before the server said that it was whole (law M3).
    Truncated(Ended),
}

/// How an answer ended that is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With `[DONE]`, and no finish reason.
    Done,
    /// Without either.
    Short,
    /// Before it said anything.
    Empty,
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
    /// It went on behind a finish reason, as gateways have it that write one into every chunk.
    goes_on: bool,
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
            goes_on: false,
            read_any: false,
        }
    }

    /// Whether the model said why it stopped: all that can still come is how many tokens it took. Of a server that says so all
    /// along, only the end of the body tells.
    pub(crate) fn has_finished(&self) -> bool {
        self.finish.is_some() && !self.goes_on
    }

    /// Reads on, and adds the events that are whole. After an error or [`Progress::Whole`] it is not fed again.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<Progress, Fault> {
        loop {
            match self.sse.next(&mut bytes) {
                Ok(Some(event)) => {
                    if self.read(&event, out)? == Progress::Whole {
                        return Ok(Progress::Whole);
                    }
                }
                Ok(None) => return Ok(Progress::Reading),
                Err(TooLarge) => {
                    return Err(Fault::Malformed {
                        what: "an event of more than 8 MiB",
                        excerpt: String::new(),
                    });
                }
            }
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
        if !self.read_any
            && let Ok(json) = serde_json::from_str(self.sse.stray())
            && self.read_whole(json, out)?
        {
            return Ok(());
        }
        Err(self.unfinished(Ended::Short))
    }

    /// Reads an answer in one piece; whether it is one.
    fn read_whole(&mut self, json: Value, out: &mut VecDeque<ModelEvent>) -> Result<bool, Fault> {
        if Said::of_error(&json).is_some() {
            return Ok(false);
        }
        let mut chunk = read_chunk(json);
        let first = chunk.choices.iter_mut().find(|choice| choice.index == 0);
        let Some(choice) = first.filter(|choice| !choice.finish_reason.is_empty()) else {
            return Ok(false);
        };
        choice.delta = std::mem::take(&mut choice.message);
        self.take(chunk, out)?;
        if let Some(reason) = self.finish.take() {
            self.close(reason, out);
        }
        Ok(true)
    }

    /// What it means that the answer is not whole: perhaps the server said why, outside of any event.
    fn unfinished(&self, ended: Ended) -> Fault {
        let stray = self.sse.stray().trim();
        let mut told = std::iter::once(stray).chain(stray.lines());
        if let Some(said) = told.find_map(Said::of_stray_line) {
            return Fault::Said(said);
        }
        match (self.read_any, stray) {
            (true, _) => Fault::Truncated(ended),
            (false, "") => Fault::Truncated(Ended::Empty),
            (false, body) => Fault::Malformed {
                what: "a body that is no event stream",
                excerpt: body.to_owned(),
            },
        }
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
        if !is_error && let Some(text) = plain::text(data) {
            if !text.is_empty() {
                self.goes_on |= self.finish.is_some();
                out.push_back(ModelEvent::Text(text.into()));
            }
            return Ok(Progress::Reading);
        }
        match parse(data) {
            Ok(json) => {
                if let Some(said) = Said::of_error(&json) {
                    return Err(Fault::Said(said));
                }
                if is_error {
                    return Err(Fault::Said(Said::of_text(data)));
                }
                self.take(read_chunk(json), out)?;
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
            None => return Err(self.unfinished(Ended::Done)),
        };
        self.close(reason, out);
        Ok(Progress::Whole)
    }

    fn take(&mut self, chunk: Chunk, out: &mut VecDeque<ModelEvent>) -> Result<(), Fault> {
        let usage = usage(&chunk);
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            self.read_choice(choice, out)?;
        }
        if let Some(usage) = usage.filter(|usage| *usage != self.usage) {
            self.usage = usage;
            out.push_back(ModelEvent::Usage(usage));
        }
        Ok(())
    }

    fn read_choice(&mut self, choice: Choice, out: &mut VecDeque<ModelEvent>) -> Result<(), Fault> {
        let before = out.len();
        out.extend(reasoning(&choice.delta));
        // A refusal is what the model says instead of an answer: the person should read it.
        for text in [choice.delta.content.text, choice.delta.refusal] {
            if !text.is_empty() {
                out.push_back(ModelEvent::Text(text.into()));
            }
        }
        for delta in choice.delta.tool_calls {
            let read = self.calls.read(delta, out);
            read.map_err(|TooManyCalls| Fault::Malformed {
                what: "more than 1,024 tool calls in one answer",
                excerpt: String::new(),
            })?;
        }
        self.goes_on |= self.finish.is_some() && out.len() > before;
        match choice.finish_reason.to_ascii_lowercase().as_str() {
            "" => {}
            // What it wrote is not what it wanted to write.
            "error" | "abort" | "insufficient_system_resource" => {
                return Err(Fault::Said(Said::of_text(&format!(
                    "the model stopped with {}",
                    choice.finish_reason
                ))));
            }
            "stop" => self.finish = Some(FinishReason::Stop),
            "length" | "max_tokens" | "model_length" => self.finish = Some(FinishReason::Length),
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

fn parse(data: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(data).or_else(|error| {
        let mended = mend::mended(data).ok_or(error)?;
        serde_json::from_str(&mended)
    })
}

/// Every field is lenient, so nothing is there to be lost where the JSON is no object.
fn read_chunk(json: Value) -> Chunk {
    serde_json::from_value(json).unwrap_or_default()
}

fn reasoning(delta: &Delta) -> Option<ModelEvent> {
    let details = &delta.reasoning_details;
    // Some gateways send the same piece under both names.
    let (text, kind, data) = match (
        delta.reasoning_content.as_str(),
        delta.reasoning.as_str(),
        delta.content.thinking.as_str(),
    ) {
        ("", "", "") if details.is_null() => return None,
        // Mistral refuses the field in which others want it back.
        ("", "", thinking) if details.is_null() => (
            thinking,
            "thinking",
            Some(json!({ "reasoning_content": null })),
        ),
        ("", text, _) => (text, "reasoning", None),
        (text, _, _) => (text, "reasoning_content", None),
    };
    let details = (!details.is_null()).then(|| json!({ "reasoning_details": details }));
    Some(ModelEvent::Reasoning {
        text: text.into(),
        kind: Some(kind.into()),
        data: details.or(data).map(Into::into),
    })
}

/// The tokens that a chunk tells of, wherever it does.
fn usage(chunk: &Chunk) -> Option<Usage> {
    let choices = chunk.choices.iter().map(|choice| &choice.usage);
    [&chunk.usage, &chunk.x_groq.usage]
        .into_iter()
        .chain(choices)
        .map(|wire| Usage {
            input_tokens: wire.prompt_tokens,
            output_tokens: wire.completion_tokens,
            total_tokens: wire.total_tokens,
            reasoning_tokens: wire.completion_tokens_details.reasoning_tokens,
            cached_input_tokens: wire
                .prompt_tokens_details
                .cached_tokens
                .or(wire.cached_tokens)
                .or(wire.prompt_cache_hit_tokens),
        })
        .find(|usage| !usage.is_unknown())
}

#[cfg(test)]
mod tests;
