//! What workflows are made of: steps with tools, nodes side by side, fallbacks, agents in agents.

use chat_conformance::ScriptedTool;
use chat_core::{FinishReason, ResponderError};
use chat_responder_agent::{Agent, AgentResponder, Catch, Parallel, Sequence, Step, Task};
use serde_json::json;

use crate::{
    film::SECRETS,
    stage::{Stage, ask_for, model, used},
};

/// A research step with tools, a task, and the step that writes the reply.
#[tokio::test(start_paused = true)]
async fn p2_c66_c67_a_sequence_with_tools() {
    let (model, mut script) = model();
    let (search, mut searches) = ScriptedTool::new("search");
    let (read, mut reads) = ScriptedTool::new("read_file");
    let responder = AgentResponder::new("research", move |_| {
        Agent::new(model.clone())
            .tool(search.clone())
            .tool(read.clone())
            .then(Step::new("research").prompt("Find out why the build is slow."))
            .then(Task::new("count-words", |_| async {
                Ok(json!({"words": 14}))
            }))
            .then(Step::new("reply").prompt("Write it up.").stream())
    });
    let stage = Stage::begin(responder.stream("reply")).await;
    let call = script.next_call().await;
    stage.pass(900).await;
    call.text("I will look at the timings first.");
    call.usage(used(412, 37));
    ask_for(
        call,
        [
            (
                "search",
                json!({"query": "build timings", "limit": 5, "api_key": SECRETS[1]}),
            ),
            ("read_file", json!({"path": "ci/build.yml"})),
        ],
    );
    let (search, read) = (searches.next_call().await, reads.next_call().await);
    stage.pass(300).await;
    read.answer(
        "steps:\n  - run: cargo build --release\n    env:\n      PASSWORD: hunter2hunter2\n",
    );
    stage.pass(200).await;
    search.answer(json!({"hits": [{"title": "Why linking is slow", "score": 0.93}, {"title": "Caching"}], "total": 2}));
    let call = script.next_call().await;
    stage.pass(700).await;
    call.usage(used(980, 61));
    ask_for(call, [("search", json!({"query": "mold linker"}))]);
    let search = searches.next_call().await;
    stage.pass(100).await;
    let refused = format!("401 from https://bot:{}@search.example/v1", SECRETS[4]);
    search.fail(ResponderError::new(refused));
    let call = script.next_call().await;
    stage.pass(800).await;
    call.usage(used(1_240, 22));
    call.answer("Linking takes most of the time; caching helps.");
    let call = script.next_call().await;
    stage.pass(400).await;
    call.text("The build spends its time ");
    stage.pass(400).await;
    call.text("in the linker.");
    call.usage(used(96, 12));
    call.finish(FinishReason::Stop);
    let film = stage.end().await;
    for secret in [SECRETS[1], SECRETS[3]] {
        assert!(film.was_planted(secret), "{secret}");
    }
    insta::assert_snapshot!(film.text);
    insta::assert_json_snapshot!("p2_a_sequence_with_tools_json", film.rows);
}

/// Three side by side, of which one fails and has a fallback.
#[tokio::test(start_paused = true)]
async fn p2_c66_a_parallel_with_one_failure_caught() {
    let (model, mut script) = model();
    let responder = AgentResponder::new("report", move |_| {
        let weather = Catch::new(Step::new("weather").prompt("The weather in Oslo?"))
            .or(|_| Task::new("no-weather", |_| async { Ok("unknown") }));
        let both = Parallel::new()
            .and(
                Sequence::new()
                    .then(Step::new("news").prompt("The news?"))
                    .then(Step::new("headline").prompt("In one line?")),
            )
            .and(weather)
            .and(Task::new("stocks", |_| async {
                Ok(json!({"OBX": 1432.5}))
            }));
        Agent::new(model.clone())
            .then(both)
            .then(Step::new("reply").prompt("Write it up.").stream())
    });
    let stage = Stage::begin(responder.stream("reply")).await;
    let (news, weather) = (
        script.call_asking("news").await,
        script.call_asking("weather").await,
    );
    stage.pass(1_000).await;
    let leaks = format!(
        "{} was refused (Authorization: Bearer {})",
        SECRETS[0], SECRETS[2]
    );
    weather.fail(ResponderError::new(leaks));
    stage.pass(500).await;
    news.answer("It snowed in Oslo, and nobody minded.");
    let headline = script.call_asking("one line").await;
    stage.pass(500).await;
    headline.answer("Snow in Oslo.");
    let reply = script.call_asking("Write").await;
    stage.pass(500).await;
    reply.answer("Snow, says the news; the weather service says nothing.");
    let film = stage.end().await;
    assert!(
        film.was_planted(SECRETS[0]),
        "the error's text knows no secret of the host"
    );
    insta::assert_snapshot!(film.text);
}

/// An agent in the agent, with another model, instructions and tools.
#[tokio::test(start_paused = true)]
async fn p2_a_nested_agent() {
    let (model, mut script) = model();
    let (clerk, mut clerks) = chat_conformance::ScriptedModel::new();
    let clerk = clerk.with_model(chat_core::ModelRef::new("local", "qwen3-0.6b"));
    let (lookup, mut lookups) = ScriptedTool::new("lookup");
    let responder = AgentResponder::new("desk", move |_| {
        let librarian = Agent::new(clerk.clone())
            .name("librarian")
            .tool(lookup.clone())
            .then(Step::new("find").prompt("Which page?"))
            .then(Step::new("quote").prompt("Quote it."));
        Agent::new(model.clone())
            .then(librarian)
            .then(Step::new("reply").prompt("Answer.").stream())
    });
    let stage = Stage::begin(responder.stream("reply")).await;
    let call = clerks.next_call().await;
    stage.pass(200).await;
    ask_for(call, [("lookup", json!({"words": ["turn", "journal"]}))]);
    let lookup = lookups.next_call().await;
    stage.pass(50).await;
    lookup.answer(json!([{"page": 12}, {"page": 40}]));
    clerks.next_call().await.answer("Page 12.");
    let call = clerks.next_call().await;
    stage.pass(150).await;
    call.answer("\"A turn is one input, answered once.\"");
    let call = script.next_call().await;
    stage.pass(600).await;
    call.answer("One input, answered once.");
    insta::assert_snapshot!(stage.end().await.text);
}
