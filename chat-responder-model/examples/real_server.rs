//! The model responder against llama.cpp's own server: `cargo xtask conformance --model --server`. One line a check; the last
//! line is `N passed, N failed`, and a failure is the exit status, too.
#![allow(clippy::print_stdout, reason = "a command's output is its purpose")]

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use chat_core::{
    FinishReason, LanguageModel, Message, ModelEvent, ModelRequest, ResponderError, Usage,
};
use chat_responder_model::{ModelError, OpenAi, Settings};
use futures_util::StreamExt;
use reqwest::Client;
use serde_json::Value;

/// What a check found, in a few words; else what was other than it should be.
type Found = Result<String, String>;

/// A question with an answer of some hundred tokens.
const QUESTION: &str = "Write a long story about a lighthouse.";

/// How long a slot may take to be free: the server looks for a closed connection between two tokens.
const FREED: Duration = Duration::from_secs(2);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [server, router, log] = args.as_slice() else {
        eprintln!("usage: real_server BASE_URL ROUTER_BASE_URL LOG");
        return ExitCode::from(2);
    };
    let checks = [
        ("a streamed reply", streamed(server).await),
        ("usage", usage(server).await),
        ("a length stop", length(server).await),
        ("a cancel frees the slot", cancel(server, log).await),
        ("any name, one model", any_name(server).await),
        ("a wrong model name", wrong_name(router).await),
        ("a wrong path", wrong_path(server).await),
        ("a context too long", too_long(server).await),
    ];
    for (check, found) in &checks {
        let (verdict, words) = match found {
            Ok(words) => ("passed", words),
            Err(words) => ("failed", words),
        };
        println!("{verdict}  {check:<24} {words}");
    }
    let failed = checks.iter().filter(|(_, found)| found.is_err()).count();
    println!("\n{} passed, {failed} failed", checks.len() - failed);
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

async fn streamed(server: &str) -> Found {
    let started = Instant::now();
    let mut answer = ask(server, "smollm2", QUESTION, 64);
    let (mut pieces, mut bytes, mut first, mut finish) = (0, 0, None, None);
    while let Some(event) = answer.next().await {
        match event.map_err(said)? {
            ModelEvent::Text(text) => {
                first.get_or_insert_with(|| started.elapsed());
                pieces += 1;
                bytes += text.len();
            }
            ModelEvent::Finish(reason) => finish = Some(reason),
            _ => {}
        }
    }
    let (first, whole) = (first.unwrap_or_default(), started.elapsed());
    let found = format!(
        "{pieces} pieces, {bytes} bytes, the first after {} ms of {}, finish {finish:?}",
        first.as_millis(),
        whole.as_millis()
    );
    verdict(pieces > 8 && first * 2 < whole && finish.is_some(), found)
}

async fn usage(server: &str) -> Found {
    let (usage, _) = read(server, "smollm2", "Say hello.", 16).await?;
    let sum = usage.input_tokens.zip(usage.output_tokens);
    let is_whole =
        sum.is_some_and(|(input, output)| input > 0 && usage.total_tokens == Some(input + output));
    verdict(is_whole, format!("{usage:?}"))
}

async fn length(server: &str) -> Found {
    let (usage, finish) = read(server, "smollm2", QUESTION, 5).await?;
    let is_cut = finish == Some(FinishReason::Length) && usage.output_tokens == Some(5);
    verdict(
        is_cut,
        format!("finish {finish:?} with {:?} tokens", usage.output_tokens),
    )
}

/// Reads a little of a long answer, drops it, and asks the server what it is still doing.
async fn cancel(server: &str, log: &str) -> Found {
    let before = canceled(log)?;
    let mut answer = ask(server, "smollm2", QUESTION, 512);
    while let Some(event) = answer.next().await {
        if let ModelEvent::Text(_) = event.map_err(said)? {
            break;
        }
    }
    let busy = busy_slots(server).await?;
    drop(answer);
    let dropped = Instant::now();
    while busy_slots(server).await? > 0 && dropped.elapsed() < FREED {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (left, freed) = (busy_slots(server).await?, dropped.elapsed());
    let canceled = canceled(log)? - before;
    let found = format!(
        "{busy} busy slot, {left} {} ms after the cancel; its log says `cancel task` {canceled} time",
        freed.as_millis()
    );
    verdict(busy == 1 && left == 0 && canceled == 1, found)
}

/// What a server of one model does with another name is its own affair: it answers.
async fn any_name(server: &str) -> Found {
    let (_, finish) = read(server, "no-such-model", "Say hello.", 4).await?;
    verdict(
        finish.is_some(),
        "this server answers to any; a router of the same program refuses, below".to_owned(),
    )
}

async fn wrong_name(router: &str) -> Found {
    refused(router, "no-such-model", "Hello", |error| {
        matches!(error, ModelError::NotFound { model, refusal }
            if &**model == "no-such-model" && refusal.said.contains("no-such-model"))
    })
    .await
}

async fn wrong_path(server: &str) -> Found {
    refused(
        &format!("{server}/nowhere"),
        "smollm2",
        "Hello",
        |error| matches!(error, ModelError::NotFound { refusal, .. } if refusal.status == 404),
    )
    .await
}

async fn too_long(server: &str) -> Found {
    refused(
        server,
        "smollm2",
        &"word ".repeat(6000),
        |error| matches!(error, ModelError::ContextTooLong(refusal) if refusal.said.contains("6")),
    )
    .await
}

async fn refused(
    base_url: &str,
    model: &str,
    text: &str,
    is_it: impl Fn(&ModelError) -> bool,
) -> Found {
    let mut answer = ask(base_url, model, text, 4);
    match answer.next().await {
        Some(Err(error)) => {
            let cause = error.source().and_then(|source| source.downcast_ref());
            verdict(cause.is_some_and(is_it), said(error))
        }
        other => Err(format!("it gave {other:?}")),
    }
}

fn ask(
    base_url: &str,
    model: &str,
    text: &str,
    most: u32,
) -> futures_util::stream::BoxStream<'static, Result<ModelEvent, ResponderError>> {
    let endpoint = OpenAi::new(base_url).expect("xtask gives a base URL");
    let settings = Settings {
        max_output_tokens: Some(most),
        max_retries: 0,
        ..Settings::default()
    };
    endpoint
        .model(model)
        .with_settings(settings)
        .stream(ModelRequest {
            messages: vec![Message::user(text)],
            ..ModelRequest::default()
        })
}

/// An answer's usage and finish.
async fn read(
    base_url: &str,
    model: &str,
    text: &str,
    most: u32,
) -> Result<(Usage, Option<FinishReason>), String> {
    let (mut usage, mut finish) = (Usage::default(), None);
    let mut answer = ask(base_url, model, text, most);
    while let Some(event) = answer.next().await {
        match event.map_err(said)? {
            ModelEvent::Usage(tokens) => usage = tokens,
            ModelEvent::Finish(reason) => finish = Some(reason),
            _ => {}
        }
    }
    Ok((usage, finish))
}

/// How many of the server's slots work on something, as it says itself.
async fn busy_slots(server: &str) -> Result<usize, String> {
    let url = format!("{}/slots", server.trim_end_matches("/v1"));
    let slots = async {
        let client = Client::builder().no_proxy().tls_certs_only([]).build()?;
        client.get(url).send().await?.text().await
    };
    let slots = slots.await.map_err(|error| error.to_string())?;
    let slots: Vec<Value> = serde_json::from_str(&slots).map_err(|error| error.to_string())?;
    Ok(slots
        .iter()
        .filter(|slot| slot["is_processing"] == true)
        .count())
}

/// How many tasks the server was made to give up, by its log.
fn canceled(log: &str) -> Result<usize, String> {
    let log = std::fs::read_to_string(log).map_err(|error| format!("{log}: {error}"))?;
    Ok(log.matches("cancel task").count())
}

fn verdict(holds: bool, found: String) -> Found {
    if holds { Ok(found) } else { Err(found) }
}

fn said(error: ResponderError) -> String {
    format!("{}: {}", error.kind(), error.message())
}
