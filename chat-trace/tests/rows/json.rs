//! Rows and changes as JSON.

use std::sync::Arc;

use chat_core::{
    ApprovalRequest, ModelRef, RecordedError, Timestamp, TraceKind, TraceNode, TraceStatus,
    TraceTree, Usage,
};
use chat_trace::{ProjectOptions, RowChange, TraceRow, TraceView, project};
use serde_json::json;

fn at(millis: i64) -> Option<Timestamp> {
    Timestamp::from_millis(millis).ok()
}

fn tree() -> TraceTree {
    let mut tree = TraceTree::default();
    let run = tree.push(None, TraceNode::new("0", TraceKind::Agent, "engineer"));
    let mut step = TraceNode::new("draft", TraceKind::Step, "draft");
    step.status = TraceStatus::Running;
    step.started_at = at(1_000);
    let step = tree.push(Some(run), step);
    let mut model = TraceNode::new("draft/model-1", TraceKind::Model, "gpt-5-mini");
    model.status = TraceStatus::Done;
    (model.started_at, model.ended_at) = (at(1_001), at(2_251));
    model.model = Some(ModelRef::new("openai", "gpt-5-mini"));
    model.usage = Some(Usage {
        input_tokens: Some(812),
        output_tokens: Some(40),
        ..Usage::default()
    });
    model.output = Some(Arc::new("I will deploy it.".into()));
    tree.push(Some(step), model);
    let mut failed = TraceNode::new("draft/tool-1", TraceKind::Tool, "read_file");
    failed.status = TraceStatus::Failed;
    (failed.started_at, failed.ended_at) = (at(2_260), at(2_250));
    failed.error = Some(RecordedError::of("no such file: a.rs", "error", None));
    tree.push(Some(step), failed);
    let mut waits = TraceNode::new("draft/tool-2", TraceKind::Tool, "deploy");
    waits.status = TraceStatus::Waiting;
    waits.call_id = Some("call-2".into());
    tree.push(Some(step), waits);
    tree
}

fn request() -> Arc<ApprovalRequest> {
    Arc::new(ApprovalRequest {
        id: "draft/2".into(),
        call_id: "call-2".into(),
        tool_name: "deploy".into(),
        input: Arc::new(json!("production")),
        step: "draft".into(),
        requested_at: Timestamp::UNIX_EPOCH,
    })
}

#[test]
fn p2_rows_are_json_in_camel_case() {
    let rows = project(&tree(), &ProjectOptions::default().requests([request()]));
    let json = serde_json::to_string_pretty(&rows).unwrap();
    assert_eq!(serde_json::from_str::<Vec<TraceRow>>(&json).unwrap(), rows);
    insta::assert_snapshot!(json);
}

#[test]
fn p2_changes_are_json_in_kebab_and_camel_case() {
    let mut view = TraceView::new(ProjectOptions::default());
    view.update(&tree(), &[request()]);
    let mut grown = tree();
    grown.push(None, TraceNode::new("review", TraceKind::Task, "review"));
    let changes = view.update(&grown, &[]);
    let json = serde_json::to_string_pretty(&changes).unwrap();
    assert_eq!(
        serde_json::from_str::<Vec<RowChange>>(&json).unwrap(),
        changes
    );
    insta::assert_snapshot!(json);
}
