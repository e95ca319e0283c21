//! Compares what was read with what a behavior's file says.

use std::{error::Error, fmt::Debug};

use chat_core::{ModelEvent, ResponderError, Usage};
use chat_responder_model::ModelError;

use super::{
    KEY,
    behavior::{Call, Failure, Gives, Tokens},
    reader::Read,
};

/// Everything that is other than it should be.
pub(super) fn differences(read: &Read, gives: &Gives) -> Vec<String> {
    let mut judge = Judge(Vec::new());
    let texts = read.events.iter().map(|event| match event {
        ModelEvent::Text(text) => (&**text, ""),
        ModelEvent::Reasoning { text, .. } => ("", &**text),
        _ => ("", ""),
    });
    let (text, reasoning): (String, String) = texts.unzip();
    match gives.text_bytes {
        Some(bytes) => judge.same("the text's length", &text.len(), &bytes),
        None => judge.same("the text", &text, &gives.text),
    }
    judge.same("the reasoning", &reasoning, &gives.reasoning);
    judge.same("the tool calls", &calls(read), &gives.calls);
    if read.error.is_none() {
        let names = gives.calls.iter().map(|call| call.tool.clone()).collect();
        judge.same("the calls' names in pieces", &names_in_pieces(read), &names);
    }
    let usage = read.events.iter().rev().find_map(|event| match event {
        ModelEvent::Usage(usage) => Some(tokens(usage)),
        _ => None,
    });
    judge.same("the usage", &usage, &gives.usage);
    let finish = read.events.iter().rev().find_map(|event| match event {
        ModelEvent::Finish(reason) => Some(reason.as_str().to_owned()),
        _ => None,
    });
    judge.same("the finish reason", &finish, &gives.finish);
    judge.retries(read, gives);
    match (&read.error, &gives.error) {
        (Some(error), Some(expected)) => judge.error(error, expected),
        (None, None) => {}
        (Some(error), None) => judge.0.push(format!("it failed: {error:?}")),
        (None, Some(expected)) => judge.0.push(format!("it did not fail: {expected:?}")),
    }
    judge.0
}

struct Judge(Vec<String>);

impl Judge {
    fn same<T: PartialEq + Debug>(&mut self, what: &str, found: &T, expected: &T) {
        if found != expected {
            self.0
                .push(format!("{what} is {found:?}, not {expected:?}"));
        }
    }

    fn retries(&mut self, read: &Read, gives: &Gives) {
        let retries: Vec<(u32, &str, u64)> = read
            .events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::Retry {
                    attempt,
                    delay_ms,
                    error,
                } => Some((*attempt, &*error.kind, *delay_ms)),
                _ => None,
            })
            .collect();
        let expected: Vec<(u32, &str, u64)> = (1..)
            .zip(&gives.retries)
            .zip(
                retries
                    .iter()
                    .map(|retry| retry.2)
                    .chain(std::iter::repeat(0)),
            )
            .map(|((attempt, retry), found)| {
                let after = retry.after.map_or(found, |after| (after * 1000.0) as u64);
                (attempt, retry.kind.as_str(), after)
            })
            .collect();
        self.same("the retries", &retries, &expected);
    }

    fn error(&mut self, error: &ResponderError, expected: &Failure) {
        self.same("the error", &error.kind(), &expected.kind.as_str());
        let typed = error
            .source()
            .and_then(|source| source.downcast_ref::<ModelError>());
        let Some(typed) = typed else {
            self.0.push("the typed error is lost".to_owned());
            return;
        };
        let message = typed.to_string();
        for part in expected.says.iter().filter(|part| !message.contains(*part)) {
            self.0.push(format!("{message:?} does not say {part:?}"));
        }
        // Whatever a server does, its words never give the key away (law M6).
        let causes = std::iter::successors(Some(typed as &dyn Error), |cause| (*cause).source());
        for shown in causes.map(|cause| format!("{cause} {cause:?}")) {
            if shown.contains(KEY) {
                self.0.push(format!("the key is in {shown}"));
            }
        }
        let refusal = typed.refusal();
        let mut field = |what: &str, found: Option<String>, expected: Option<String>| {
            if expected.is_some() {
                self.same(what, &found, &expected);
            }
        };
        let status = |status: u16| status.to_string();
        field(
            "the status",
            refusal.map(|refusal| status(refusal.status)),
            expected.status.map(status),
        );
        field(
            "what the server said",
            refusal.map(|refusal| refusal.said.to_string()),
            expected.said.clone(),
        );
        field(
            "the code",
            refusal.map(|refusal| refusal.code.to_string()),
            expected.code.clone(),
        );
        field(
            "the request's id",
            refusal.and_then(|refusal| Some(refusal.request_id.as_ref()?.to_string())),
            expected.request_id.clone(),
        );
        field(
            "the wait asked for",
            refusal.and_then(|refusal| Some(refusal.retry_after?.as_secs_f64().to_string())),
            expected.retry_after.map(|after| after.to_string()),
        );
    }
}

fn calls(read: &Read) -> Vec<Call> {
    let call = |event: &ModelEvent| match event {
        ModelEvent::ToolCall {
            call_id,
            tool,
            input,
            ..
        } => Some(Call {
            id: call_id.to_string(),
            tool: tool.to_string(),
            input: (**input).clone(),
        }),
        _ => None,
    };
    read.events.iter().filter_map(call).collect()
}

/// The names of the calls as they were told piece by piece.
fn names_in_pieces(read: &Read) -> Vec<String> {
    let mut names: Vec<(u32, String)> = Vec::new();
    for event in &read.events {
        match event {
            ModelEvent::ToolCallStart { index, tool, .. } => {
                names.push((*index, tool.to_string()));
            }
            ModelEvent::ToolCallDelta {
                index,
                name_fragment: Some(fragment),
                ..
            } => {
                let begun = names.iter_mut().rfind(|(begun, _)| begun == index);
                begun
                    .expect("a call begins with its start")
                    .1
                    .push_str(fragment);
            }
            _ => {}
        }
    }
    names.into_iter().map(|(_, name)| name).collect()
}

fn tokens(usage: &Usage) -> Tokens {
    Tokens {
        input: usage.input_tokens,
        output: usage.output_tokens,
        total: usage.total_tokens,
        reasoning: usage.reasoning_tokens,
        cached: usage.cached_input_tokens,
    }
}
