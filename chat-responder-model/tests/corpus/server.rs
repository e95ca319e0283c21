//! The server's side: takes each request in turn, looks at it, and answers it step by step.

use std::{cell::RefCell, time::Duration};

use chat_conformance::{Exchange, ScriptedServer};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    behavior::{Answer, End, Sees, Step},
    clock::Clock,
};

/// How long the server waits for the reader to be given something: only where it never is does that pass.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the server's side shares with the reader's.
pub(super) struct Stage<'a> {
    pub(super) clock: &'a Clock,
    /// The text that the reader was given.
    pub(super) text: watch::Receiver<String>,
    /// Ends the reader's pause.
    pub(super) wake: watch::Sender<bool>,
    pub(super) faults: &'a RefCell<Vec<String>>,
    pub(super) answered: &'a RefCell<usize>,
}

impl Stage<'_> {
    fn fault(&self, fault: String) {
        self.faults.borrow_mut().push(fault);
    }
}

/// Answers as many requests as there are answers.
pub(super) async fn serve(
    answers: &[Answer],
    server: &ScriptedServer,
    elsewhere: &ScriptedServer,
    stage: &Stage<'_>,
) {
    let mut open = Vec::new();
    for answer in answers {
        let mut exchange = server.next().await;
        *stage.answered.borrow_mut() += 1;
        look(&exchange, &answer.sees, stage);
        if answer.head {
            let place = elsewhere.url();
            let headers: Vec<(&str, String)> = answer
                .headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.replace("{elsewhere}", &place)))
                .collect();
            let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
            exchange.respond(answer.status, headers).await;
        }
        for step in &answer.send {
            if !take(step, answer.head, &mut exchange, stage).await {
                // The reader has left; whether it should have is for the judge to say.
                break;
            }
            stage.clock.settle().await;
        }
        match answer.end {
            End::Clean if answer.head => exchange.end().await,
            End::Clean | End::Cut => drop(exchange),
            End::Never => {
                open.push(exchange);
                // Only a wait of the reader's own can end this one.
                if open.len() == 1 {
                    stage.clock.stop();
                }
            }
        }
    }
    stage.clock.settle().await;
    // Whatever the reader still waits for will not come.
    stage.clock.stop();
    std::future::pending().await
}

/// Takes a step; `false` once the reader has closed the connection.
async fn take(step: &Step, framed: bool, exchange: &mut Exchange, stage: &Stage<'_>) -> bool {
    match step {
        Step::Event(_) | Step::Text { .. } | Step::Hex { .. } => {
            let bytes = step.bytes().unwrap_or_default();
            if framed {
                exchange.chunk(bytes).await
            } else {
                exchange.raw(bytes).await
            }
        }
        Step::Pieces(pieces) => {
            for piece in pieces {
                if !exchange.chunk(piece).await {
                    return false;
                }
            }
            true
        }
        Step::Given { given } => {
            let mut text = stage.text.clone();
            let is_given = text.wait_for(|text| text == given);
            let in_time = tokio::time::timeout(PATIENCE, is_given).await.is_ok();
            if !in_time {
                stage.fault(format!("the reader was not given {given:?}"));
            }
            in_time
        }
        Step::Pass { pass } => {
            stage.clock.pass(Duration::from_secs(*pass)).await;
            true
        }
        Step::Flood {
            flood,
            of_kib,
            taken_at_most,
        } => {
            let text = "x".repeat(of_kib * 1024);
            let event = json!({"choices": [{"index": 0, "delta": {"content": text}}]}).to_string();
            self::flood(*flood, &event, *taken_at_most, exchange, stage).await
        }
    }
}

/// Sends as fast as it is taken. When nothing more is taken, all buffers between the two are full.
async fn flood(
    events: usize,
    event: &str,
    taken_at_most: usize,
    exchange: &mut Exchange,
    stage: &Stage<'_>,
) -> bool {
    let mut paused = true;
    for taken in 0..events {
        let mut sending = std::pin::pin!(exchange.event(event));
        let sent = loop {
            tokio::select! {
                biased;
                sent = &mut sending => break sent,
                () = stage.clock.settle(), if paused => {
                    paused = false;
                    if taken > taken_at_most {
                        stage.fault(format!("{taken} events were taken without a reader"));
                    }
                    stage.wake.send_replace(true);
                }
            }
        };
        if !sent {
            return false;
        }
    }
    if paused {
        stage.fault(format!("all {events} events were taken without a reader"));
        stage.wake.send_replace(true);
    }
    true
}

fn look(exchange: &Exchange, sees: &Sees, stage: &Stage<'_>) {
    if let Some(path) = sees.path.as_deref().filter(|path| *path != exchange.path()) {
        stage.fault(format!("the path is {}, not {path}", exchange.path()));
    }
    for (name, value) in &sees.headers {
        let found = exchange.header(name).unwrap_or_default();
        if found != value {
            stage.fault(format!("the header {name} is {found:?}, not {value:?}"));
        }
    }
    let body = exchange.json();
    if !holds(&body, &sees.body) {
        stage.fault(format!("the body {body} does not hold {}", sees.body));
    }
    for pointer in &sees.lacks {
        if let Some(value) = body.pointer(pointer) {
            stage.fault(format!("the body has {value} at {pointer}"));
        }
    }
}

/// Whether all that is wanted is there: objects may hold more, lists may not.
fn holds(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (_, Value::Null) => true,
        (Value::Object(found), Value::Object(wanted)) => wanted
            .iter()
            .all(|(name, wanted)| found.get(name).is_some_and(|found| holds(found, wanted))),
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len()
                && found
                    .iter()
                    .zip(wanted)
                    .all(|(found, wanted)| holds(found, wanted))
        }
        (found, wanted) => found == wanted,
    }
}
