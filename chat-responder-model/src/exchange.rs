//! One answer over HTTP, from the request to its last event: sends, waits no longer than told, retries before the first
//! output, and reads only as fast as it is read.
//!
//! async-openai says where a request goes, with which headers and in which shapes, and we send it with the HTTP client it is
//! built on. Its own streaming call can't be used (0.43): a task of its own reads at full speed into a queue without bound,
//! however slow the reader (C46, law M5); error bodies in any form but OpenAI's lose their status (C45, law M4); `[DONE]` and
//! a cut connection end its stream alike (C44, law M3); what it can't read it logs, keys that a server repeats included (law
//! M6); and it retries without saying so.

use std::{borrow::Cow, collections::VecDeque, time::Duration};

use bytes::Bytes;
use chat_core::{FinishReason, ModelEvent, RecordedError, ToolName};
use reqwest::{
    Response,
    header::{
        ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    },
};
use tokio::time::{Instant, sleep};

use crate::{
    ModelError, OpenAiModel, TimeoutKind,
    answer::{AnswerReader, Progress},
    failing::Failing,
    finish::MAX_WORD_BYTES,
    limit::{Limit, Timer, from_now, within},
    refusal::{self, Answered},
    said::Said,
    sse::MAX_STRAY_BYTES,
};

/// The longest wait between tries. A server that asks for more fails the request at once, with its own figure in the error.
pub(crate) const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// Once the model has said why it stopped, only the usage is missing: not worth a longer wait.
const TAIL: Duration = Duration::from_secs(10);

/// One answer, asked for when it is first read.
pub(crate) struct Exchange {
    model: OpenAiModel,
    body: Bytes,
    /// The names of the tools that the model was given.
    tools: Vec<ToolName>,
    phase: Phase,
    /// What was read and not yet given, at most what one piece of the body held.
    pending: VecDeque<ModelEvent>,
    /// Retries made so far.
    retries: u32,
    /// Something was given: it can't be taken back by asking again.
    spoke: bool,
    deadline: Option<(Instant, Duration)>,
    timer: Timer,
    started: bool,
}

enum Phase {
    /// To be sent, after a wait.
    Send {
        after: Duration,
    },
    Read(Box<Reading>),
    /// Failed, once what is pending was given.
    Failed(ModelError),
    Over,
}

struct Reading {
    response: Response,
    reader: AnswerReader,
    answered: Answered,
    /// When the first piece must be here; then each piece has its own time.
    first: Option<(Instant, Duration)>,
    /// Until when to wait for more once the model has finished, whatever else comes.
    tail: Option<(Instant, Duration)>,
}

impl Exchange {
    pub(crate) fn new(model: OpenAiModel, body: Bytes, tools: Vec<ToolName>) -> Self {
        Self {
            model,
            body,
            tools,
            phase: Phase::Send {
                after: Duration::ZERO,
            },
            pending: VecDeque::new(),
            retries: 0,
            spoke: false,
            deadline: None,
            timer: None,
            started: false,
        }
    }

    /// The next event; `None` once the answer is over. Not cancel-safe: the stream around it keeps the future until it is
    /// ready, and drops both together.
    pub(crate) async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        if !self.started {
            self.started = true;
            self.deadline = from_now(self.model.endpoint().waits().total);
        }
        loop {
            if let Some(event) = self.pending.pop_front() {
                // Tokens that were counted can be counted again.
                self.spoke |= !matches!(event, ModelEvent::Usage(_));
                return Some(Ok(self.recordable(event)));
            }
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Failed(error) => return Some(self.fail(error)),
                Phase::Send { after } => {
                    if !after.is_zero() {
                        sleep(after).await;
                    }
                    self.phase = match self.send().await {
                        Ok(reading) => Phase::Read(Box::new(reading)),
                        Err(error) => Phase::Failed(error),
                    };
                }
                Phase::Read(mut reading) => {
                    self.phase = match self.read(&mut reading).await {
                        Ok(Progress::Reading) => Phase::Read(reading),
                        Ok(Progress::Whole) => Phase::Over,
                        Err(error) => Phase::Failed(error),
                    };
                }
            }
        }
    }

    /// Of what an answer says, its text is written as it is. A finish reason of the server's own and the names of what it calls
    /// get into errors and records by other ways, and must hold no key (law M6).
    fn recordable(&self, event: ModelEvent) -> ModelEvent {
        let words = self.model.endpoint().words();
        match event {
            ModelEvent::Finish(FinishReason::Other(word)) => {
                ModelEvent::Finish(FinishReason::Other(words.shown(&word, MAX_WORD_BYTES)))
            }
            ModelEvent::ToolCallStart {
                index,
                call_id,
                tool,
            } => ModelEvent::ToolCallStart {
                index,
                call_id: words.without_secrets(call_id.as_str()).into(),
                tool: self.tool(tool.as_str()).into(),
            },
            ModelEvent::ToolCallDelta {
                index,
                name_fragment: Some(name),
                arguments_fragment,
            } => ModelEvent::ToolCallDelta {
                index,
                name_fragment: Some(self.tool(&name).into()),
                arguments_fragment,
            },
            ModelEvent::ToolCall {
                index,
                call_id,
                tool,
                input,
            } => ModelEvent::ToolCall {
                index,
                call_id: words.without_secrets(call_id.as_str()).into(),
                tool: self.tool(tool.as_str()).into(),
                input,
            },
            other => other,
        }
    }

    /// The name of a tool, or a piece of it. One that we gave the model is no secret, whatever a header of the caller's own says.
    fn tool<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.tools.iter().any(|tool| tool.as_str().contains(name)) {
            Cow::Borrowed(name)
        } else {
            self.model.endpoint().words().without_secrets(name)
        }
    }

    /// Fails for good, or tells of the retry that comes.
    fn fail(&mut self, error: ModelError) -> Result<ModelEvent, ModelError> {
        let again =
            !self.spoke && error.is_retryable() && self.retries < self.model.settings().max_retries;
        let Some(delay) = again
            .then(|| delay(&error, self.retries))
            .filter(|delay| self.has_time_for(*delay))
        else {
            return Err(error);
        };
        self.retries += 1;
        self.phase = Phase::Send { after: delay };
        Ok(ModelEvent::Retry {
            attempt: self.retries,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            error: RecordedError::of(&error.to_string(), error.kind(), Some(true)),
        })
    }

    fn has_time_for(&self, delay: Duration) -> bool {
        delay <= MAX_RETRY_DELAY
            && self
                .deadline
                .is_none_or(|(at, _)| Instant::now() + delay < at)
    }

    async fn send(&mut self) -> Result<Reading, ModelError> {
        let endpoint = self.model.endpoint();
        let first = from_now(endpoint.waits().first_chunk);
        let request = self
            .model
            .client()?
            .post(endpoint.completions_url())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(ACCEPT, HeaderValue::from_static("text/event-stream"))
            // Without it, any encoding may be sent; and what compresses events tends to hold them back.
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
            // Last, since these take the place of ours.
            .headers(endpoint.headers())
            .body(self.body.clone())
            .send();
        let limit = self.limit(first.map(|limit| (limit, TimeoutKind::FirstChunk)));
        let mut response = match within(&mut self.timer, limit, request).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.failing(None).not_sent(&error)),
            Err(limit) => return Err(self.failing(None).timed_out(limit)),
        };
        let answered = Answered::of(&response);
        let encoding = header(&response, &CONTENT_ENCODING).filter(|name| !is_no_encoding(name));
        if !response.status().is_success() {
            // Other refusals may name a place as well, where one can read on: their words say more.
            let place = header(&response, &LOCATION).filter(|_| response.status().is_redirection());
            let said = match (place, encoding) {
                (Some(place), _) => Said::of_text(&format!("it redirects to {place}")),
                (None, Some(encoding)) => {
                    Said::of_text(&format!("what it said is compressed ({encoding})"))
                }
                (None, None) => Said::of_body(&self.whole_body(&mut response).await),
            };
            return Err(refusal::classify(&self.model, &answered, &said));
        }
        if let Some(encoding) = encoding {
            let what = format!("a compressed body ({encoding}), which nobody asked for");
            return Err(self.failing(Some(&answered)).no_answer(&what, ""));
        }
        let reader = AnswerReader::new(self.model.settings().done_suffices);
        Ok(Reading {
            response,
            reader,
            answered,
            first,
            tail: None,
        })
    }

    async fn read(&mut self, reading: &mut Reading) -> Result<Progress, ModelError> {
        let finished = reading.reader.has_finished();
        let between = from_now(self.model.endpoint().waits().between_chunks);
        reading.tail = if finished {
            reading.tail.or_else(|| from_now(Some(TAIL)))
        } else {
            None
        };
        // A server that always has more would never be timed out by waiting.
        let is_past = |limit: &(Instant, Duration)| limit.0 <= Instant::now();
        match (reading.tail.filter(is_past), self.deadline.filter(is_past)) {
            (Some(_), _) => return self.end(reading),
            (None, Some(_)) if finished => return self.end(reading),
            (None, Some((at, limit))) => {
                return Err(self.failing(Some(&reading.answered)).timed_out(Limit {
                    at,
                    which: TimeoutKind::Total,
                    limit,
                }));
            }
            (None, None) => {}
        }
        let wait = match reading.first {
            Some(first) => Some((first, TimeoutKind::FirstChunk)),
            None => [between, reading.tail]
                .into_iter()
                .flatten()
                .min_by_key(|(at, _)| *at)
                .map(|limit| (limit, TimeoutKind::BetweenChunks)),
        };
        let limit = self.limit(wait);
        match within(&mut self.timer, limit, reading.response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                reading.first = None;
                let read = reading.reader.feed(&bytes, &mut self.pending);
                read.map_err(|fault| self.failing(Some(&reading.answered)).fault(fault))
            }
            Ok(Ok(None)) => self.end(reading),
            // The answer was whole already: what ended the wait for the usage does not matter.
            Ok(Err(_)) | Err(_) if finished => self.end(reading),
            Ok(Err(error)) => Err(self.failing(Some(&reading.answered)).broke(&error)),
            Err(limit) => Err(self.failing(Some(&reading.answered)).timed_out(limit)),
        }
    }

    fn end(&mut self, reading: &mut Reading) -> Result<Progress, ModelError> {
        let ended = reading.reader.end(&mut self.pending);
        ended.map_err(|fault| self.failing(Some(&reading.answered)).fault(fault))?;
        Ok(Progress::Whole)
    }

    /// What comes of a body that is no stream. Bounded in size and time, and never an error: the status is known already, and
    /// worth more than the rest of the words (C50).
    async fn whole_body(&mut self, response: &mut Response) -> String {
        let mut body = Vec::new();
        let between = from_now(self.model.endpoint().waits().between_chunks);
        let limit = self.limit(between.map(|limit| (limit, TimeoutKind::BetweenChunks)));
        let reading = async {
            while let Ok(Some(bytes)) = response.chunk().await {
                let room = MAX_STRAY_BYTES - body.len();
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
                if body.len() == MAX_STRAY_BYTES {
                    break;
                }
            }
        };
        let _ = within(&mut self.timer, limit, reading).await;
        String::from_utf8_lossy(&body).into_owned()
    }

    /// The nearest of a wait's own limit and the whole answer's.
    fn limit(&self, wait: Option<((Instant, Duration), TimeoutKind)>) -> Option<Limit> {
        let total = self.deadline.map(|deadline| (deadline, TimeoutKind::Total));
        let limits = [wait, total].into_iter().flatten();
        limits
            .map(|((at, limit), which)| Limit { at, which, limit })
            .min_by_key(|limit| limit.at)
    }

    /// How this answer fails, as far as it has begun.
    fn failing<'a>(&'a self, answered: Option<&'a Answered>) -> Failing<'a> {
        Failing::new(&self.model, answered)
    }
}

/// Whether the name of an encoding says that there is none. Servers write `none` to keep proxies from compressing a stream.
fn is_no_encoding(name: &str) -> bool {
    let name = name.trim();
    name.is_empty() || name.eq_ignore_ascii_case("identity") || name.eq_ignore_ascii_case("none")
}

fn header(response: &Response, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// How long to wait before the next try: as long as the server asks, or else ever longer, and never in step with others.
fn delay(error: &ModelError, retries: u32) -> Duration {
    let asked = error.refusal().and_then(|refusal| refusal.retry_after);
    // No wait at all is honored once: a server that says so with every refusal has not thought of all who would hammer on it.
    if let Some(wait) = asked.filter(|wait| !wait.is_zero() || retries == 0) {
        return wait;
    }
    let longest = Duration::from_millis(500) * 2_u32.saturating_pow(retries.min(4));
    longest.mul_f64(0.5 + fastrand::f64() / 2.0)
}
