//! What a workflow's run came to.

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;
use serde_json::Value;

use super::TraceTree;
use crate::{StepId, Usage};

/// What a workflow's run came to. In memory only: never stored (law W7).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunResult {
    /// Each step's result, by step id.
    pub steps: BTreeMap<StepId, Arc<Value>>,
    /// The trace as it ended.
    pub trace: TraceTree,
    /// All tokens used, as far as known.
    pub usage: Option<Usage>,
}

/// Why a step's result is not there in the form it was asked for.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StepResultError {
    /// No step of that name gave a result.
    #[error("no step {step} gave a result, {}", listed(steps))]
    Missing {
        /// What was asked for.
        step: StepId,
        /// The steps that did.
        steps: Vec<StepId>,
    },
    /// The result has another form.
    #[error("the result of step {step} does not read as asked: {source}")]
    Form {
        /// The step.
        step: StepId,
        /// Where it differs, and how.
        source: Arc<serde_json::Error>,
    },
}

fn listed(steps: &[StepId]) -> String {
    match steps {
        [] => "and no other did".to_owned(),
        [_, ..] => {
            let names: Vec<_> = steps.iter().map(StepId::as_str).collect();
            format!("but {}", names.join(", "))
        }
    }
}

impl RunResult {
    /// A run's result.
    #[must_use]
    pub fn new(
        steps: BTreeMap<StepId, Arc<Value>>,
        trace: TraceTree,
        usage: Option<Usage>,
    ) -> Self {
        Self {
            steps,
            trace,
            usage,
        }
    }

    /// A step's result as text: a string as it is, anything else as JSON; nothing where there is no such step.
    #[must_use]
    pub fn text(&self, step: &str) -> Option<String> {
        self.steps.get(step).map(|value| match &**value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }

    /// A step's result, read as a `T`.
    ///
    /// # Errors
    /// [`StepResultError::Missing`] names the steps that gave a result, [`StepResultError::Form`] the place that does not fit.
    ///
    /// ```
    /// # use std::{collections::BTreeMap, sync::Arc};
    /// # use chat_core::{RunResult, TraceTree};
    /// # use serde_json::json;
    /// #[derive(serde::Deserialize)]
    /// struct Review { approved: bool }
    ///
    /// # let steps = BTreeMap::from([("review".into(), Arc::new(json!({"approved": true})))]);
    /// # let result = RunResult::new(steps, TraceTree::default(), None);
    /// assert!(result.json::<Review>("review").unwrap().approved);
    /// assert!(result.json::<Review>("draft").is_err());
    /// ```
    pub fn json<'a, T: Deserialize<'a>>(&'a self, step: &str) -> Result<T, StepResultError> {
        let value = self
            .steps
            .get(step)
            .ok_or_else(|| StepResultError::Missing {
                step: step.into(),
                steps: self.steps.keys().cloned().collect(),
            })?;
        T::deserialize(&**value).map_err(|error| StepResultError::Form {
            step: step.into(),
            source: Arc::new(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(steps: &[(&str, Value)]) -> RunResult {
        let steps = steps
            .iter()
            .map(|(id, value)| (StepId::from(*id), Arc::new(value.clone())))
            .collect();
        RunResult::new(steps, TraceTree::default(), None)
    }

    #[test]
    fn a_steps_result_reads_as_text_or_as_what_is_asked_for() {
        let result = result(&[("draft", json!("Once")), ("count", json!([1, 2]))]);
        assert_eq!(result.text("draft").as_deref(), Some("Once"));
        assert_eq!(result.text("count").as_deref(), Some("[1,2]"));
        assert_eq!(result.json::<&str>("draft").unwrap(), "Once");
        assert_eq!(result.json::<Vec<u8>>("count").unwrap(), [1, 2]);
    }

    #[test]
    fn a_missing_step_names_those_there_are_and_a_misfit_the_place() {
        let run = result(&[("draft", json!("Once")), ("count", json!({"n": "x"}))]);
        let check = |run: &RunResult, step, said| {
            let error = run.json::<BTreeMap<String, u8>>(step).unwrap_err();
            assert_eq!(error.to_string(), said);
        };
        check(
            &run,
            "reply",
            "no step reply gave a result, but count, draft",
        );
        check(
            &result(&[]),
            "reply",
            "no step reply gave a result, and no other did",
        );
        check(
            &run,
            "count",
            "the result of step count does not read as asked: invalid type: string \"x\", expected u8",
        );
    }
}
