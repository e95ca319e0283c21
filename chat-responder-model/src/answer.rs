//! Reads a model's answer: bytes in, model events out. Does no IO, and holds an answer for whole only if the server says so.

use std::collections::VecDeque;

use chat_core::{FinishReason, ModelEvent, Usage};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::{
    finish::Stop,
    parse::{Unread, parse},
    plain,
    reasoning::reasoning,
    said::Said,
    sse::{MAX_EVENT_BYTES, SseEvent, SseReader, TooLarge},
    tool_calls::{TooManyCalls, ToolCalls},
    usage::{newer, usage},
    wire::{Choice, Chunk, Delta, MAX_ITEMS, ToolCallDelta},
};

/// Why an answer can't be read on.
#[derive(Debug, PartialEq)]
pub(crate) enum Fault {
    /// The server said that something went wrong.
    Said(Said),
    /// What came is no answer. The excerpt is as the server wrote it.
    Malformed { what: &'static str, excerpt: String },
    /// It ended before the server said that it was whole (law M3); and what it said outside of any event.
    Truncated(Ended, String),
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
    /// It said something that is part of the answer.
    spoke: bool,
    /// The newest message that a choice held beside its delta, or instead of one.
    message: Option<Delta>,
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
            spoke: false,
            message: None,
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
            let is_whole = !last.data.is_empty() && last.data.lines().all(is_event);
            let whole = last.name == "error" || is_event(&last.data) || is_whole;
            if whole && self.read(&last, out)? == Progress::Whole {
                return Ok(());
            }
        }
        if let Some(reason) = self.finish.take() {
            return self.close(reason, out);
        }
        if !self.read_any {
            match parse(self.sse.stray()) {
                Ok(json) => {
                    if self.read_whole(json, out)? {
                        return Ok(());
                    }
                }
                Err(Unread::TooMany) => return Err(too_many_values()),
                Err(Unread::NoJson) => {}
            }
        }
        Err(self.unfinished(Ended::Short))
    }

    /// Reads an answer in one piece; whether it is one.
    fn read_whole(&mut self, json: Value, out: &mut VecDeque<ModelEvent>) -> Result<bool, Fault> {
        if Said::of_error(&json).is_some() {
            return Ok(false);
        }
        self.take(read_chunk(json), out)?;
        let Some(reason) = self.finish.take() else {
            return Ok(false);
        };
        self.close(reason, out)?;
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
            (true, words) => Fault::Truncated(ended, words.to_owned()),
            (false, "") => Fault::Truncated(Ended::Empty, String::new()),
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
                self.spoke = true;
                out.push_back(ModelEvent::Text(text.into()));
            }
            return Ok(Progress::Reading);
        }
        match parse(data) {
            Ok(json) => {
                // Words under a name of the server's own are signs of life, too.
                let is_chunk = is_error || matches!(event.name.as_str(), "" | "message");
                let said = Said::of_error(&json).filter(|_| {
                    is_chunk || json.get("error").is_some_and(|error| !error.is_null())
                });
                if let Some(said) = said {
                    // What came with it was said, too. What else is wrong with it matters less.
                    let _ = self.take(read_chunk(json), out);
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
            Err(Unread::TooMany) => Err(too_many_values()),
            // Without the empty lines between them, events look like lines of one.
            Err(Unread::NoJson) if data.contains('\n') && data.lines().all(is_event) => {
                for line in data.lines() {
                    let line = SseEvent {
                        name: event.name.clone(),
                        data: line.to_owned(),
                    };
                    if self.read(&line, out)? == Progress::Whole {
                        return Ok(Progress::Whole);
                    }
                }
                Ok(Progress::Reading)
            }
            Err(Unread::NoJson) => Err(Fault::Malformed {
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
        self.close(reason, out)?;
        Ok(Progress::Whole)
    }

    fn take(&mut self, chunk: Chunk, out: &mut VecDeque<ModelEvent>) -> Result<(), Fault> {
        let usage = usage(&chunk);
        let is_cut = chunk.choices.len() == MAX_ITEMS;
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            self.read_choice(choice, out)?;
        }
        if is_cut {
            return Err(too_many_items());
        }
        let usage = usage.map(|usage| newer(&self.usage, &usage));
        if let Some(usage) = usage.filter(|usage| *usage != self.usage) {
            self.usage = usage;
            out.push_back(ModelEvent::Usage(usage));
        }
        Ok(())
    }

    fn read_choice(&mut self, choice: Choice, out: &mut VecDeque<ModelEvent>) -> Result<(), Fault> {
        let before = out.len();
        // Kept until it is clear that nothing streams.
        self.message = choice.message.or(self.message.take());
        let delta = choice.delta.unwrap_or_default();
        self.say(delta, out)?;
        self.goes_on |= self.finish.is_some() && out.len() > before;
        match Stop::of(&choice.finish_reason) {
            Stop::NotYet => {}
            Stop::For(reason) => self.finish = Some(reason),
            // What it wrote is not what it wanted to write.
            Stop::GaveUp => {
                return Err(Fault::Said(Said::of_text(&format!(
                    "the model stopped with {}",
                    choice.finish_reason
                ))));
            }
        }
        Ok(())
    }

    /// Gives what a piece of the answer says.
    fn say(&mut self, delta: Delta, out: &mut VecDeque<ModelEvent>) -> Result<(), Fault> {
        let before = out.len();
        out.extend(reasoning(&delta));
        // A refusal is what the model says instead of an answer: the person should read it, once.
        let refusal = Some(delta.refusal).filter(|refusal| *refusal != delta.content.text);
        for text in [delta.content.text, refusal.unwrap_or_default()] {
            if !text.is_empty() {
                out.push_back(ModelEvent::Text(text.into()));
            }
        }
        // The form from before there were several calls. Some servers write both.
        let only = Some(delta.function_call).filter(|call| {
            delta.tool_calls.is_empty() && !(call.name.is_empty() && call.arguments.is_null())
        });
        let only = only.map(|function| ToolCallDelta {
            function,
            ..ToolCallDelta::default()
        });
        if !delta.tool_calls.is_empty() || only.is_some() {
            self.calls.begin_list();
        }
        let is_cut = delta.tool_calls.len() == MAX_ITEMS;
        for delta in delta.tool_calls.into_iter().chain(only) {
            let read = self.calls.read(delta, out);
            read.map_err(|TooManyCalls| Fault::Malformed {
                what: "more than 1,024 tool calls in one answer",
                excerpt: String::new(),
            })?;
        }
        self.spoke |= out.len() > before;
        if is_cut {
            return Err(too_many_items());
        }
        Ok(())
    }

    /// Every tool call is whole now, also where the reason given is another one (C48).
    fn close(&mut self, reason: FinishReason, out: &mut VecDeque<ModelEvent>) -> Result<(), Fault> {
        // An answer in one piece, in an event or instead of any.
        if let Some(message) = self.message.take().filter(|_| !self.spoke) {
            self.say(message, out)?;
        }
        let is_cut = matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
        out.extend(std::mem::take(&mut self.calls).complete(is_cut));
        out.push_back(ModelEvent::Finish(reason));
        Ok(())
    }
}

/// What is beyond that was not read, and may have been part of the answer.
fn too_many_items() -> Fault {
    Fault::Malformed {
        what: "a list of more than 1,024 pieces",
        excerpt: String::new(),
    }
}

fn too_many_values() -> Fault {
    Fault::Malformed {
        what: "JSON of more than 100,000 values",
        excerpt: String::new(),
    }
}

/// Whether this can be all of an event's data.
fn is_event(data: &str) -> bool {
    data.trim() == DONE || serde_json::from_str::<IgnoredAny>(data).is_ok()
}

/// How servers end a stream.
const DONE: &str = "[DONE]";

/// Every field is lenient, so nothing is there to be lost where the JSON is no object.
fn read_chunk(json: Value) -> Chunk {
    serde_json::from_value(json).unwrap_or_default()
}

#[cfg(test)]
mod tests;
