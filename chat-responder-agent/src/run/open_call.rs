//! One model call while it is open: its node in the trace, its number, and that it ends once.

use std::sync::Arc;

use chat_core::{
    CallId, FinishReason, ResponderError, ResponderEvent, ToolCallRef, ToolName, TraceKind,
    TraceNode, Usage,
};
use serde_json::Value;

use crate::MAX_NAME_BYTES;

use super::{node::OpenNode, step::StepScope};

/// A model call that has begun. Dropped so, it was aborted.
pub(crate) struct OpenCall<'a> {
    scope: &'a StepScope,
    pub(crate) number: u32,
    pub(crate) usage: Option<Usage>,
    /// `None` once it has ended.
    node: Option<OpenNode>,
}

impl<'a> OpenCall<'a> {
    /// Begins a call, the nth of its step.
    pub(crate) fn begin(scope: &'a StepScope, nth: u32) -> Self {
        let StepScope {
            state,
            agent,
            id,
            node,
            ..
        } = scope;
        let number = state.begin_call(&agent.model_ref);
        let open = OpenNode::push(state, *node, format!("{id}/model-{nth}"), |id| {
            let mut model = TraceNode::new(id, TraceKind::Model, agent.model_ref.model_id.clone());
            model.model = Some(agent.model_ref.clone());
            model
        });
        state.emit(ResponderEvent::StepStart {
            step: id.clone(),
            number,
        });
        Self {
            scope,
            number,
            usage: None,
            node: Some(open),
        }
    }

    /// A tool call of it, with names of a bounded length.
    pub(crate) fn call_ref(&self, index: u32, call_id: CallId, tool: ToolName) -> Arc<ToolCallRef> {
        Arc::new(ToolCallRef {
            step: self.scope.id.clone(),
            number: self.number,
            index,
            call_id: cut(call_id.as_str()).map_or(call_id, Into::into),
            tool: cut(tool.as_str()).map_or(tool, Into::into),
        })
    }

    pub(crate) fn done(mut self, reason: &FinishReason, text: &Arc<Value>) {
        let usage = self.usage;
        if let Some(node) = self.node.take() {
            let has_text = text.as_str().is_some_and(|text| !text.is_empty());
            node.done(|node| {
                node.usage = usage;
                node.output = has_text.then(|| text.clone());
            });
        }
        self.end(Some(reason));
    }

    pub(crate) fn failed(mut self, error: &ResponderError) {
        let usage = self.usage;
        if let Some(node) = self.node.take() {
            node.failed(error, |node| node.usage = usage);
        }
        self.end(None);
    }

    fn end(&self, reason: Option<&FinishReason>) {
        let state = &self.scope.state;
        state.end_call(self.number, &self.scope.id, reason);
        state.emit(ResponderEvent::StepEnd {
            step: self.scope.id.clone(),
            number: self.number,
            usage: self.usage.map(Box::new),
            finish_reason: reason.cloned(),
        });
    }
}

/// The beginning of a name that is too long.
fn cut(name: &str) -> Option<String> {
    (name.len() > MAX_NAME_BYTES)
        .then(|| name[..name.floor_char_boundary(MAX_NAME_BYTES)].to_owned())
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if let Some(node) = self.node.take() {
            drop(node);
            self.end(None);
        }
    }
}
