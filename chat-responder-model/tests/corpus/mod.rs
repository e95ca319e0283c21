//! The corpus of server behaviors: how each is written down, played and judged. Shared by the tests and the table.

mod behavior;
mod clock;
mod cut;
mod judge;
mod parts;
mod reader;
mod server;
mod watchdog;

use std::{cell::RefCell, pin::pin};

use chat_conformance::ScriptedServer;
use futures_util::FutureExt;
use tokio::sync::watch;

pub(crate) use behavior::{Behavior, corpus};
use clock::Clock;
pub(crate) use cut::{bodies, cut_anywhere};
use reader::Read;
use watchdog::watchdog;

/// The key that every request carries, unless the behavior says otherwise. No error may show it.
pub(crate) const KEY: &str = "canary-5f0c8d2e-key";

/// Plays a behavior of this name, and says what was other than its file says.
pub(crate) fn play(name: &str, behavior: &Behavior) -> Result<(), String> {
    let _watchdog = watchdog(name);
    let (read, faults) = run(behavior);
    let faults: Vec<String> = faults
        .into_iter()
        .chain(judge::differences(&read, &behavior.gives))
        .collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("\n"))
    }
}

/// Plays a behavior on a clock of its own: what was read, and what the server had to find fault with.
fn run(behavior: &Behavior) -> (Read, Vec<String>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a machine that runs tests has threads and sockets")
        .block_on(meet(behavior))
}

async fn meet(behavior: &Behavior) -> (Read, Vec<String>) {
    let (server, elsewhere) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let clock = Clock::default();
    let faults = RefCell::new(Vec::new());
    let answered = RefCell::new(0);
    let (told, text) = watch::channel(String::new());
    let (wake, awake) = watch::channel(false);
    let reading = pin!(reader::read(behavior, &server, &clock, told, awake));
    let serving = async {
        server::serve(
            &behavior.answers,
            &server,
            &elsewhere,
            &server::Stage {
                clock: &clock,
                text,
                wake,
                faults: &faults,
                answered: &answered,
            },
        )
        .await;
        std::future::pending().await
    };
    let read = tokio::select! {
        biased;
        read = reading => read,
        () = serving => unreachable!("serving never ends by itself"),
    };
    let mut faults = faults.into_inner();
    let (asked, answers) = (answered.into_inner(), behavior.answers.len());
    if asked != answers {
        faults.push(format!("{asked} of {answers} answers were asked for"));
    }
    if server.next_connection().now_or_never().is_some() {
        faults.push("there was one more request than answers".to_owned());
    }
    if elsewhere.next_connection().now_or_never().is_some() {
        faults.push("a request went elsewhere".to_owned());
    }
    (read, faults)
}
