//! The corpus of server behaviors and its scripted server, as the model responder's tests play them, for any client.
#![allow(dead_code, reason = "what only those tests need is here too")]

#[path = "../../chat-responder-model/tests/corpus/behavior.rs"]
mod behavior;
#[path = "../../chat-responder-model/tests/corpus/clock.rs"]
mod clock;
#[path = "../../chat-responder-model/tests/corpus/server.rs"]
mod server;

use std::{cell::RefCell, path::Path, pin::pin, sync::mpsc, thread, time::Duration};

use anyhow::{Context, Result, anyhow};
use chat_conformance::ScriptedServer;
use futures_util::FutureExt;
use tokio::sync::{oneshot, watch};

pub(crate) use self::behavior::{Ask, Behavior, Call, Gives, Step, Tokens};
use self::clock::Clock;
use crate::clients::{Client, Outcome, Setup};

/// The key that every request carries. No error may show it.
pub(crate) const KEY: &str = "canary-5f0c8d2e-key";

/// How long a client may take for one behavior before it is held for stuck: on the clock that the server stops, and on the wall.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);
const WALL_PATIENCE: Duration = Duration::from_secs(20);

/// Every behavior, by name.
pub(crate) fn corpus() -> Result<Vec<(String, Behavior)>> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../chat-responder-model/tests/servers");
    behavior::corpus_in(&folder)
        .into_iter()
        // All clients here share one reqwest, which unpacks what comes because genai has that feature of it on.
        .filter(|(name, _)| !name.starts_with("gzip"))
        .map(|(name, behavior)| {
            let behavior = behavior.map_err(|why| anyhow!("{name}: {why}"))?;
            Ok((name, behavior))
        })
        .collect()
}

/// What a client made of a behavior.
#[derive(Debug, Default)]
pub(crate) struct Played {
    pub(crate) outcome: Outcome,
    /// It never came to an end.
    pub(crate) stuck: bool,
    /// It asked a server that it was not told to ask.
    pub(crate) went_elsewhere: bool,
    /// It took more than it had a reader for.
    pub(crate) took_too_much: bool,
}

/// What begins a chunk that leaves out what every chunk has.
const DRESS: &str = r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"tiny","choices":"#;

/// Where a client hands over its text, piece by piece.
pub(crate) struct Reader {
    text: watch::Sender<String>,
    awake: watch::Receiver<bool>,
    pauses_at: Option<String>,
}

impl Reader {
    /// Takes a piece of text; with the text at which the behavior has it pause, it pauses.
    pub(crate) async fn take(&mut self, piece: &str) {
        self.text.send_modify(|text| text.push_str(piece));
        if self.pauses_at.as_ref() == Some(&*self.text.borrow()) {
            // An error is a server that is gone.
            let _ = self.awake.wait_for(|awake| *awake).await;
        }
    }

    /// All that was taken.
    pub(crate) fn text(&self) -> String {
        self.text.borrow().clone()
    }
}

/// Plays a behavior to a client, on a thread and a stopped clock of its own: every wait is over once nothing else can happen.
pub(crate) fn play(client: Client, behavior: &Behavior) -> Result<Played> {
    let mut behavior = behavior.clone();
    dress(&mut behavior);
    // A client that loses text would have the server wait for it forever.
    for answer in &mut behavior.answers {
        answer
            .send
            .retain(|step| !matches!(step, Step::Given { .. }));
    }
    let (stuck, is_stuck) = oneshot::channel();
    let (ended, has_ended) = mpsc::channel::<()>();
    let watcher = thread::spawn(move || {
        if has_ended.recv_timeout(WALL_PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = stuck.send(());
        }
    });
    let played = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime")?
        .block_on(meet(client, &behavior, is_stuck));
    drop(ended);
    watcher
        .join()
        .map_err(|_| anyhow!("the watcher panicked"))?;
    played
}

/// Most files leave out what every chunk has, where that is not what they are about. A client that insists on it must not fail for
/// that, so it is put in; a file that writes any of it, or is about its absence, means what it says.
fn dress(behavior: &mut Behavior) {
    let is_written = |text: &str| {
        ["\"object\":", "\"created\":"]
            .iter()
            .any(|field| text.contains(field))
    };
    let is_about_it = behavior.proves.iter().any(|proved| proved == "C42");
    let mut texts: Vec<&mut String> = behavior
        .answers
        .iter_mut()
        .flat_map(|answer| &mut answer.send)
        .filter_map(|step| match step {
            Step::Event(text) | Step::Text { text, .. } => Some(text),
            _ => None,
        })
        .collect();
    if texts.iter().any(|text| is_written(text)) || is_about_it {
        return;
    }
    for text in &mut texts {
        **text = text.replace("{\"choices\":", DRESS).replace(
            "\"choices\":[{\"delta\":",
            "\"choices\":[{\"index\":0,\"delta\":",
        );
    }
}

async fn meet(
    client: Client,
    behavior: &Behavior,
    is_stuck: oneshot::Receiver<()>,
) -> Result<Played> {
    let (server, elsewhere) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let clock = Clock::default();
    clock.stop();
    let (faults, answered) = (RefCell::new(Vec::new()), RefCell::new(0));
    let (sender, text) = watch::channel(String::new());
    let (wake, awake) = watch::channel(false);
    let mut reader = Reader {
        text: sender,
        awake,
        pauses_at: behavior.ask.pauses_at.clone(),
    };
    let setup = Setup::new(&behavior.ask, &server.url());
    let serving = async {
        let stage = server::Stage {
            clock: &clock,
            text,
            wake,
            faults: &faults,
            answered: &answered,
        };
        server::serve(&behavior.answers, &server, &elsewhere, &stage).await;
    };
    let mut played = Played::default();
    {
        let reading = pin!(client.read(&setup, &mut reader));
        tokio::select! {
            biased;
            outcome = reading => played.outcome = outcome?,
            () = serving => unreachable!("serving never ends by itself"),
            _ = is_stuck => played.stuck = true,
            () = tokio::time::sleep(PATIENCE) => played.stuck = true,
        }
    }
    played.outcome.text = reader.text();
    played.went_elsewhere = elsewhere.next_connection().now_or_never().is_some();
    let took_too_much = |fault: &String| fault.ends_with("were taken without a reader");
    played.took_too_much = faults.borrow().iter().any(took_too_much);
    Ok(played)
}
