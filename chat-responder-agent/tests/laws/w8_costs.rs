//! W8: what a commit or a delta costs does not grow; neither does what runs it.

use std::sync::{Arc, Mutex};

use chat_conformance::ScriptedModel;
use chat_core::TraceTree;
use chat_responder_agent::{Agent, MAX_DEPTH, Node, Parallel, Sequence, Step, Task};

use crate::support::{say, send, streaming};

fn task(n: usize) -> Task {
    Task::new(format!("task-{n}"), move |_| async move { Ok(n) })
}

#[tokio::test]
async fn w8_a_commit_copies_the_nodes_it_changes_and_no_other() {
    let (model, mut script) = ScriptedModel::new();
    let trees = Arc::new(Mutex::new(Vec::<TraceTree>::new()));
    let seen = trees.clone();
    let responder = streaming(move || {
        let many: Parallel = (0..1000).map(task).collect();
        Agent::new(model.clone())
            .then(many)
            .then(Step::new("reply").prompt("Hello"))
    })
    .on_update(move |tree| seen.lock().unwrap().push(tree.clone()));
    let sent = send(responder).await;
    let call = script.next_call().await;
    for n in 0..100 {
        call.text(format!("{n} "));
        call.heard().await;
    }
    call.answer("end");
    let run = sent.end().await.1.unwrap().run.unwrap();
    assert_eq!(run.steps.len(), 1001);
    let trees = trees.lock().unwrap();
    assert!(trees.len() > 2100, "{} commits", trees.len());
    for pair in trees.windows(2) {
        let changed = pair[0]
            .iter()
            .zip(pair[1].iter())
            .filter(|((_, before), (_, after))| !Arc::ptr_eq(before, after))
            .count();
        assert!(changed <= 1, "{changed} nodes changed in one commit");
    }
}

#[tokio::test]
async fn a_workflow_as_deep_as_allowed_runs() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(streaming(move || {
        let agent = Agent::new(model.clone()).then(Step::new("reply").prompt("Hello"));
        (2..MAX_DEPTH).fold(Node::from(agent), |node, level| {
            if level % 2 == 0 {
                Sequence::new().then(node).into()
            } else {
                Parallel::new().and(node).into()
            }
        })
    }))
    .await;
    say(&mut script, "deep").await;
    assert_eq!(&*sent.end().await.1.unwrap().text, "deep");
}

#[tokio::test]
async fn a_sequence_of_a_thousand_tasks_runs_and_so_do_as_many_side_by_side() {
    let (model, mut script) = ScriptedModel::new();
    let responder = streaming(move || {
        let first: Sequence = (0..1000).map(task).collect();
        let then: Parallel = (1000..2000).map(task).collect();
        Agent::new(model.clone())
            .then(first)
            .then(then)
            .then(Step::new("reply").prompt("Hello"))
    });
    let sent = send(responder.concurrency(7)).await;
    say(&mut script, "done").await;
    let run = sent.end().await.1.unwrap().run.unwrap();
    assert_eq!(run.steps.len(), 2001);
    assert!(run.trace.iter().all(|(_, node)| !node.status.is_open()));
}
