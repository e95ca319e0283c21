//! Random workflows whose models, tools and people do what they like, with secrets in all that they say: at each moment the rows hold
//! what [`Film`](crate::film::Film) asks of any run.

use std::time::Duration;

use chat_conformance::{ModelCall, ModelScript, ScriptedModel, ScriptedTool, ToolCall, ToolScript};
use chat_core::ResponderError;
use chat_responder_agent::{self as agent, Agent, AgentResponder, Catch, Parallel, Sequence};
use proptest::prelude::*;
use serde_json::json;

use crate::{
    film::{Film, SECRETS},
    stage::{Stage, ask_for, model, used},
};

/// Steps and tasks are named by their places.
#[derive(Debug, Clone)]
enum Node {
    Step { limited: bool, streams: bool },
    Task { fails: bool },
    Agent(Vec<Node>),
    Sequence(Vec<Node>),
    Parallel(Vec<Node>),
    Catch(Box<[Node; 2]>),
}

fn node() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        4 => any::<(bool, bool)>().prop_map(|(limited, streams)| Node::Step { limited, streams }),
        1 => any::<bool>().prop_map(|fails| Node::Task { fails }),
    ];
    leaf.prop_recursive(4, 10, 3, |node| {
        let nodes = || prop::collection::vec(node.clone(), 1..4);
        prop_oneof![
            1 => nodes().prop_map(Node::Agent),
            2 => nodes().prop_map(Node::Sequence),
            4 => nodes().prop_map(Node::Parallel),
            3 => (node.clone(), node.clone()).prop_map(|(body, fallback)| Node::Catch(Box::new([body, fallback]))),
        ]
    })
}

/// What workflows are built with.
#[derive(Clone)]
struct Workshop {
    model: ScriptedModel,
    tools: Vec<ScriptedTool>,
}

impl Workshop {
    fn build(&self, node: &Node, place: &str) -> agent::Node {
        let inner = |nodes: &[Node]| -> Vec<agent::Node> {
            (0..)
                .zip(nodes)
                .map(|(at, node): (usize, _)| self.build(node, &format!("{place}.{at}")))
                .collect()
        };
        match node {
            Node::Step { limited, streams } => {
                let mut step = agent::Step::new(place).prompt(place);
                if *limited {
                    step = step.timeout(Duration::from_secs(10));
                }
                if *streams {
                    step.stream().into()
                } else {
                    step.into()
                }
            }
            Node::Task { fails } => {
                let result = if *fails {
                    Err(ResponderError::new(leak()))
                } else {
                    Ok(json!({"password": SECRETS[3]}))
                };
                agent::Task::new(place, move |_| {
                    let result = result.clone();
                    async move { result }
                })
                .into()
            }
            Node::Agent(nodes) => self.agent(inner(nodes)).into(),
            Node::Sequence(nodes) => inner(nodes).into_iter().collect::<Sequence>().into(),
            Node::Parallel(nodes) => inner(nodes).into_iter().collect::<Parallel>().into(),
            Node::Catch(nodes) => {
                let [body, fallback] = &**nodes;
                let (workshop, fallback, named) =
                    (self.clone(), fallback.clone(), format!("{place}.or"));
                Catch::new(self.build(body, &format!("{place}.0")))
                    .or(move |_| workshop.build(&fallback, &named))
                    .into()
            }
        }
    }

    fn agent(&self, nodes: Vec<agent::Node>) -> Agent {
        let made = self
            .tools
            .iter()
            .cloned()
            .fold(Agent::new(self.model.clone()), Agent::tool);
        nodes.into_iter().fold(made, Agent::then)
    }
}

/// An exception's text with secrets in it.
fn leak() -> String {
    format!(
        "401: Authorization: Basic {}, sent {}",
        SECRETS[4], SECRETS[0]
    )
}

/// The test's side: what waits to be played.
struct Cast {
    model: ModelScript,
    tools: Vec<ToolScript>,
    models: Vec<ModelCall>,
    calls: Vec<ToolCall>,
}

impl Cast {
    fn look(&mut self) {
        self.models
            .extend(std::iter::from_fn(|| self.model.try_next_call()));
        for tool in &mut self.tools {
            self.calls
                .extend(std::iter::from_fn(|| tool.try_next_call()));
        }
        self.models.retain(|call| !call.is_dropped());
        self.calls.retain(|call| !call.is_dropped());
    }

    /// One of those that are waited for does something.
    fn act(&mut self, stage: &Stage, which: u8, what: u8) {
        let requests = stage.turn.requests();
        let waits = self.models.len() + self.calls.len() + requests.len();
        let Some(mut at) = usize::from(which).checked_rem(waits) else {
            return;
        };
        if at < self.models.len() {
            if what.is_multiple_of(4) {
                return self.models[at].text("Once upon a time ");
            }
            return say(self.models.remove(at), what);
        }
        at -= self.models.len();
        if at < self.calls.len() {
            let call = self.calls.remove(at);
            return match what % 3 {
                0 => call.fail(ResponderError::new(leak())),
                _ => call.answer(json!({"found": [SECRETS[1], SECRETS[2]], "cookie": SECRETS[3]})),
            };
        }
        let request = &requests[at - self.calls.len()].id;
        let answered = if what.is_multiple_of(3) {
            stage.turn.deny(request, "no")
        } else {
            stage.turn.approve(request)
        };
        answered.unwrap();
    }
}

fn say(call: ModelCall, what: u8) {
    let input = json!({"n": what, "secret": SECRETS[3], "text": format!("key {}", SECRETS[0])});
    let tools = ["fetch", "push", "deploy", "deploy", "missing", "fetch"];
    call.usage(used(u64::from(what), 7));
    match what % 16 {
        count @ 1..=8 => {
            let first = usize::from(count) % tools.len();
            let tools = tools[first..].iter().take(1 + usize::from(what) / 100);
            ask_for(call, tools.map(|tool| (*tool, input.clone())));
        }
        9 => call.fail(ResponderError::new(leak())),
        10 => call.cut(),
        _ => call.answer(format!("{} and {}", SECRETS[1], SECRETS[0])),
    }
}

async fn play(root: &Node, moves: &[(u8, u8)]) -> Film {
    let (model, script) = model();
    let (fetch, fetches) = ScriptedTool::new("fetch");
    let (push, pushes) = ScriptedTool::new("push");
    let (deploy, deploys) = ScriptedTool::new("deploy");
    let workshop = Workshop {
        model,
        tools: vec![fetch, push.exclusive(), deploy.needing_approval()],
    };
    let root = root.clone();
    let responder = AgentResponder::new("random", move |_| {
        workshop.agent(vec![workshop.build(&root, "s")])
    });
    let stage = Stage::begin(responder.reply(|_| "All done.")).await;
    let mut cast = Cast {
        model: script,
        tools: vec![fetches, pushes, deploys],
        models: Vec::new(),
        calls: Vec::new(),
    };
    for (which, what) in moves {
        stage.pass(if *what > 250 { 15_000 } else { 100 }).await;
        cast.look();
        cast.act(&stage, *which, *what);
    }
    stage.pass(100).await;
    if !stage.turn.is_done() {
        stage.turn.cancel("enough");
    }
    stage.end().await
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
    #[test]
    fn p2_c66_c67_rows_of_any_run_are_stable_and_what_a_view_says_and_say_no_secret(
        root in node(), moves in prop::collection::vec(any::<(u8, u8)>(), 0..30),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let film = runtime.block_on(play(&root, &moves));
        prop_assert!(!film.rows.is_empty() && !film.text.is_empty());
    }
}
