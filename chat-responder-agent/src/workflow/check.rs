//! Looks a workflow over before anything of it runs.

use std::collections::BTreeSet;

use chat_core::StepId;

use crate::CheckError;

use super::Node;

/// Looks a workflow over: what is wrong with it is said before anything of it runs. `stream` is the step whose text is to be the
/// reply as it is written, if any.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(workflow: &Node, stream: Option<&StepId>) -> Result<(), CheckError> {
    Ids::default().check_workflow(workflow, stream)
}

/// The ids of all steps and tasks seen so far. A run keeps it, to look over the fallbacks that it renders on its way.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    ids: BTreeSet<StepId>,
}

/// Where a fallback stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Within {
    /// How many nodes are around it: those that stand in none have 0.
    pub(crate) depth: usize,
    /// Whether one of those is an agent.
    pub(crate) agent: bool,
}

impl Ids {
    pub(crate) fn check_workflow(
        &mut self,
        _workflow: &Node,
        _stream: Option<&StepId>,
    ) -> Result<(), CheckError> {
        Ok(())
    }

    /// The same for a fallback, where it stands.
    pub(crate) fn check_fallback(
        &mut self,
        _fallback: &Node,
        _stream: Option<&StepId>,
        _within: Within,
    ) -> Result<(), CheckError> {
        Ok(())
    }
}
