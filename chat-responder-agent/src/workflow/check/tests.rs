//! What is wrong with a workflow is told before it runs.

use std::sync::Arc;

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{LanguageModel, Message, OutputSchema};
use serde_json::json;

use crate::{Agent, Catch, Parallel, Sequence, Step, Task, function_tool};

use super::*;

fn model() -> impl LanguageModel {
    ScriptedModel::new().0
}

fn agent() -> Agent {
    Agent::new(model()).name("engineer")
}

fn step(id: &str) -> Step {
    Step::new(id).prompt("Go on")
}

fn task(id: &str) -> Task {
    Task::new(id, |_| async { Ok(()) })
}

fn text(schema: serde_json::Value) -> OutputSchema {
    OutputSchema {
        name: "text".into(),
        schema: Arc::new(schema),
    }
}

fn tool(name: &str) -> crate::FunctionTool<()> {
    function_tool(name, "", |(): (), _| async { Ok(()) })
}

fn nested(depth: usize) -> Node {
    (1..depth).fold(task("t").into(), |node, _| {
        Sequence::new().then(node).into()
    })
}

fn why(workflow: impl Into<Node>, stream: Option<&str>) -> String {
    match check(&workflow.into(), stream.map(StepId::from).as_ref()) {
        Ok(()) => "fine".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn each_bad_workflow_is_told_what_is_wrong_where_and_what_to_do() {
    let cases: Vec<(Node, Option<&str>, &str)> = vec![
        (
            agent()
                .then(step("draft"))
                .then(Parallel::new().and(step("reply")).and(task("draft")))
                .into(),
            None,
            "draft is the id of two steps or tasks, the second in agent engineer > node 2 > parallel > node 2: give each one of \
             its own",
        ),
        (
            task("").into(),
            None,
            "\"\" can't be the id of a step or task, in the workflow: give it one of 1 to 256 bytes that has no /",
        ),
        (
            Sequence::new().then(task("a/b")).into(),
            None,
            "\"a/b\" can't be the id of a step or task, in sequence > node 1: give it one of 1 to 256 bytes that has no /",
        ),
        (
            agent().into(),
            None,
            "agent engineer has no nodes: give it one, or leave it out",
        ),
        (
            Sequence::new().then(task("a")).then(Parallel::new()).into(),
            None,
            "sequence > node 2 > parallel has no nodes: give it one, or leave it out",
        ),
        (
            Sequence::new().into(),
            None,
            "sequence has no nodes: give it one, or leave it out",
        ),
        (
            Parallel::new().and(step("draft")).into(),
            None,
            "step draft stands in no agent, and has no model to ask: put it into an `Agent`",
        ),
        (
            agent().then(Step::new("draft")).into(),
            None,
            "step draft has nothing to ask: give it a `prompt` with a message",
        ),
        (
            agent()
                .then(Step::new("draft").prompt(Vec::<Message>::new()))
                .into(),
            None,
            "step draft has nothing to ask: give it a `prompt` with a message",
        ),
        (
            agent().then(step("draft").max_calls(0)).into(),
            None,
            "step draft may make no model call: its `max_calls` has to be 1 or more",
        ),
        (
            Catch::new(task("a")).into(),
            None,
            "catch has no fallback: say with `or` what runs where its node fails",
        ),
        (
            agent()
                .tool(tool("x"))
                .tool(tool("y"))
                .tool(tool("x"))
                .then(step("draft"))
                .into(),
            None,
            "agent engineer has two tools of the name x: give each a name of its own",
        ),
        (
            Agent::new(model())
                .tool(tool(""))
                .then(step("draft"))
                .into(),
            None,
            "agent has a tool without a name: give it one",
        ),
        (
            agent()
                .tool(ScriptedTool::new("bad").0.taking(json!({"type": 7})))
                .then(step("draft"))
                .into(),
            None,
            "the input schema of tool bad of agent engineer is no JSON schema: 7 is not valid under any of the schemas listed in \
             the 'anyOf' keyword",
        ),
        (
            agent()
                .then(step("draft").output_schema(text(json!({"required": 7}))))
                .into(),
            None,
            "the output schema of step draft is no JSON schema: 7 is not of type \"array\"",
        ),
        (
            agent().then(step("draft").output::<u8>().stream()).into(),
            None,
            "step draft streams a structured output: stream the text of another step, or leave the output out",
        ),
        (
            agent().then(step("draft").output::<u8>()).into(),
            Some("draft"),
            "step draft streams a structured output: stream the text of another step, or leave the output out",
        ),
        (
            task("draft").into(),
            Some("draft"),
            "draft is to stream the reply but is a task, which writes no text: name a step",
        ),
        (
            agent()
                .then(step("one"))
                .then(task("two"))
                .then(step("three"))
                .into(),
            Some("reply"),
            "no step reply is there to stream the reply: the steps are one, three",
        ),
        (
            task("one").into(),
            Some("reply"),
            "no step reply is there to stream the reply: the workflow has no steps",
        ),
        (
            nested(MAX_DEPTH + 1),
            None,
            "its nodes stand in each other more than 64 deep: put those that follow each other into one sequence",
        ),
    ];
    for (workflow, stream, expected) in cases {
        assert_eq!(why(workflow, stream), expected);
    }
}

#[test]
fn what_is_sound_passes() {
    let workflow = agent()
        .tool(tool("x"))
        .tool(tool("y"))
        .then(step("draft").output::<u8>())
        .then(Agent::new(model()).tool(tool("x")).then(step("inner")))
        .then(
            Parallel::new()
                .and(task("a"))
                .and(Catch::new(step("b")).or(|_| task("c"))),
        )
        .then(step("reply").stream());
    assert_eq!(why(workflow, Some("reply")), "fine");
    assert_eq!(why(nested(MAX_DEPTH), None), "fine");
    assert_eq!(
        why(
            (0..1000)
                .map(|n| task(&n.to_string()))
                .collect::<Sequence>(),
            None
        ),
        "fine"
    );
}

#[test]
fn many_steps_are_not_all_named() {
    let workflow = (0..1000).fold(agent(), |agent, n| agent.then(step(&n.to_string())));
    let why = why(workflow, Some("reply"));
    assert!(why.ends_with(" and 980 more"), "{why}");
    assert!(why.len() < 300, "{why}");
}

#[test]
fn names_that_are_too_long_are_refused_and_not_told_whole() {
    let long = "é".repeat(500_000);
    let of_task = why(task(&long), None);
    assert!(of_task.contains("1 to 256 bytes"), "{of_task}");
    let of_tool = why(agent().tool(tool(&long)).then(step("draft")), None);
    assert!(of_tool.contains("at most 256 bytes"), "{of_tool}");
    assert!(of_task.len() + of_tool.len() < 1000);
    assert_eq!(why(task(&"x".repeat(MAX_NAME_BYTES)), None), "fine");
}

#[test]
fn the_step_to_stream_may_be_in_a_fallback_that_is_not_there_yet() {
    let workflow = Catch::new(task("a")).or(|_| agent().then(step("reply")));
    assert_eq!(why(workflow, Some("reply")), "fine");
}

#[test]
fn a_tree_too_deep_for_any_stack_is_refused_and_dropped() {
    assert!(matches!(
        check(&nested(1_000_000), None),
        Err(CheckError::TooDeep)
    ));
    let mut node: Node = task("t").into();
    for _ in 0..1_000_000 {
        node = Catch::new(node).or(|_| task("u")).into();
    }
    assert!(matches!(check(&node, None), Err(CheckError::TooDeep)));
}

#[test]
fn a_fallback_is_looked_over_where_it_stands() {
    let mut ids = Ids::default();
    ids.check_workflow(&agent().then(step("draft")).into(), None)
        .unwrap();
    let within = Within {
        depth: 2,
        agent: true,
    };
    assert_eq!(
        ids.check_fallback(&step("other").into(), None, within),
        Ok(())
    );
    let twice = Sequence::new().then(step("third")).then(step("draft"));
    let error = ids.check_fallback(&twice.into(), None, within).unwrap_err();
    assert_eq!(
        error.to_string(),
        "draft is the id of two steps or tasks, the second in fallback > sequence > node 2: give each one of its own"
    );
    // Neither was there.
    let third = step("third").into();
    assert_eq!(ids.check_fallback(&third, None, within), Ok(()));
    let outside = Within {
        agent: false,
        ..within
    };
    assert!(matches!(
        ids.check_fallback(&step("sixth").into(), None, outside),
        Err(CheckError::NoAgent { .. })
    ));
    let deep = Within {
        depth: MAX_DEPTH,
        ..within
    };
    assert!(matches!(
        ids.check_fallback(&step("fourth").into(), None, deep),
        Err(CheckError::TooDeep)
    ));
    let streamed = step("fifth").output::<u8>();
    assert!(matches!(
        ids.check_fallback(&streamed.into(), Some(&"fifth".into()), within),
        Err(CheckError::StreamedOutput { .. })
    ));
}
