//! What a run has come to so far, for prompts and tasks to read.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use chat_core::{ResponderError, SessionId, StepId, StepResultError, TurnId};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The results of the steps and tasks that are done, shared by all that reads them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Results(Arc<Mutex<BTreeMap<StepId, Arc<Value>>>>);

impl Results {
    pub(crate) fn insert(&self, step: StepId, result: Arc<Value>) {
        self.lock().insert(step, result);
    }

    pub(crate) fn get(&self, step: &str) -> Option<Arc<Value>> {
        self.lock().get(step).cloned()
    }

    /// All of them as they are now.
    pub(crate) fn snapshot(&self) -> BTreeMap<StepId, Arc<Value>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<StepId, Arc<Value>>> {
        // Nothing can panic between two changes that belong together: each is one call.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a person added while the run went on and models have read, shared by all that reads it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steers(Arc<Mutex<Vec<Arc<str>>>>);

impl Steers {
    pub(crate) fn extend(&self, inputs: &[Arc<str>]) {
        self.lock().extend_from_slice(inputs);
    }

    fn snapshot(&self) -> Vec<Arc<str>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        // Each change is one call, as with results.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What earlier steps and tasks gave. A step of a parallel branch is there once it is done, in whichever order that happens;
/// what stands before in a sequence always is.
#[derive(Debug, Clone)]
pub struct Progress {
    results: Results,
    steers: Steers,
    session_id: SessionId,
    turn_id: TurnId,
    /// The first text that was asked for and is not there, of all clones.
    missing: Arc<OnceLock<StepId>>,
}

impl Progress {
    pub(crate) fn new(
        results: Results,
        steers: Steers,
        session_id: SessionId,
        turn_id: TurnId,
    ) -> Self {
        Self {
            results,
            steers,
            session_id,
            turn_id,
            missing: Arc::default(),
        }
    }

    /// What a step or task gave as text: a string as it is, anything else as JSON.
    ///
    /// Where it has given nothing, the text is empty, and the step or task that asked fails with an error that names both. To
    /// ask whether it has, use [`get`](Self::get).
    #[must_use]
    pub fn text(&self, step: &str) -> Arc<str> {
        match self.results.get(step).as_deref() {
            Some(Value::String(text)) => text.as_str().into(),
            Some(other) => other.to_string().into(),
            None => {
                self.missing.get_or_init(|| step.into());
                "".into()
            }
        }
    }

    /// What a step or task gave, as a type.
    ///
    /// # Errors
    /// [`StepResultError::Missing`] names the steps that gave a result, [`StepResultError::Form`] the place that does not fit.
    pub fn json<T: DeserializeOwned>(&self, step: &str) -> Result<T, StepResultError> {
        let result = self
            .results
            .get(step)
            .ok_or_else(|| self.missing(step.into()))?;
        T::deserialize(&*result).map_err(|error| StepResultError::Form {
            step: step.into(),
            source: Arc::new(error),
        })
    }

    /// What a step or task gave; `None` where it has given nothing yet, or never will.
    #[must_use]
    pub fn get(&self, step: &str) -> Option<Arc<Value>> {
        self.results.get(step)
    }

    /// What the person has added to the turn so far, in order: each input that a step's model has read (law W5). Steps that begin
    /// later don't read it unless their prompts pass it on.
    ///
    /// ```
    /// use chat_responder_agent::Step;
    /// let reply = Step::new("reply").prompt_with(|run| {
    ///     let steering = run.steering().join("\n");
    ///     format!("Write it well: {}\n{steering}", run.text("draft"))
    /// });
    /// ```
    #[must_use]
    pub fn steering(&self) -> Vec<Arc<str>> {
        self.steers.snapshot()
    }

    /// The session.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// The turn.
    #[must_use]
    pub fn turn_id(&self) -> &TurnId {
        &self.turn_id
    }

    /// An error where a text was asked for that was not there.
    pub(crate) fn all_there(&self) -> Result<(), ResponderError> {
        match self.missing.get() {
            Some(step) => {
                let error = ResponderError::from(self.missing(step.clone()));
                Err(error.with_kind("result-missing"))
            }
            None => Ok(()),
        }
    }

    fn missing(&self, step: StepId) -> StepResultError {
        StepResultError::Missing {
            step,
            steps: self.results.snapshot().into_keys().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use chat_core::Message;
    use serde_json::json;

    use crate::{
        Step,
        workflow::{Prompt, PromptSource},
    };

    use super::*;

    fn progress() -> Progress {
        let results = Results::default();
        results.insert("draft".into(), Arc::new(json!("Once")));
        results.insert("count".into(), Arc::new(json!([1, 2])));
        let (session, turn) = (SessionId::parse("s1"), TurnId::parse("t1"));
        let steers = Steers::default();
        Progress::new(results, steers, session.unwrap(), turn.unwrap())
    }

    fn prompt(step: Step) -> Result<Prompt, ResponderError> {
        step.prompt.map(|prompt| prompt.make(&progress())).unwrap()
    }

    #[test]
    fn results_read_as_text_as_a_type_and_as_they_are() {
        let progress = progress();
        assert_eq!(&*progress.text("draft"), "Once");
        assert_eq!(&*progress.text("count"), "[1,2]");
        assert_eq!(progress.json::<Vec<u8>>("count").unwrap(), [1, 2]);
        assert_eq!(progress.get("draft").as_deref(), Some(&json!("Once")));
        assert_eq!(progress.turn_id().as_str(), "t1");
        assert_eq!(progress.session_id().as_str(), "s1");
        assert!(progress.all_there().is_ok());
    }

    #[test]
    fn only_a_text_that_is_missing_fails_whoever_asked() {
        let progress = progress();
        assert_eq!(progress.get("reply"), None);
        let error = progress.json::<u8>("reply").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no step reply gave a result, but count, draft"
        );
        assert!(progress.all_there().is_ok());
        assert_eq!(&*progress.text("reply"), "");
        assert_eq!(&*progress.text("other"), "");
        let error = progress.all_there().unwrap_err();
        assert_eq!(
            error.message(),
            "no step reply gave a result, but count, draft"
        );
        assert_eq!(error.kind(), "result-missing");
    }

    #[test]
    fn a_result_shows_once_it_is_there() {
        let progress = progress();
        progress
            .results
            .insert("reply".into(), Arc::new(json!("Hi")));
        assert_eq!(&*progress.text("reply"), "Hi");
        assert_eq!(progress.results.snapshot().len(), 3);
    }

    #[test]
    fn w5_what_was_steered_shows_in_order() {
        let progress = progress();
        assert!(progress.steering().is_empty());
        progress.steers.extend(&["in French".into()]);
        progress.steers.extend(&["no, in German".into()]);
        assert_eq!(
            progress.steering(),
            ["in French".into(), "no, in German".into()]
        );
    }

    #[test]
    fn a_prompt_is_made_of_texts_messages_and_results() {
        for step in [
            Step::new("s").prompt("Hi"),
            Step::new("s").prompt(String::from("Hi")),
            Step::new("s").prompt(Arc::<str>::from("Hi")),
            Step::new("s").prompt(Message::user("Hi")),
            Step::new("s").prompt(vec![Message::user("Hi")]),
            Step::new("s").prompt_with(|_| "Hi"),
            Step::new("s").prompt_with(|_| Ok::<_, ResponderError>("Hi")),
        ] {
            assert_eq!(prompt(step).unwrap().messages(), [Message::user("Hi")]);
        }
        let step = Step::new("s").prompt_with(|run| format!("{} and more", run.text("draft")));
        assert_eq!(prompt(step).unwrap(), Prompt::from("Once and more"));
        assert!(matches!(
            Step::new("s").prompt("Hi").prompt,
            Some(PromptSource::Fixed(_))
        ));
    }

    #[test]
    fn w1_a_prompt_without_what_it_asks_for_is_an_error() {
        let step = Step::new("s").prompt_with(|run| format!("Review: {}", run.text("review")));
        assert_eq!(prompt(step).unwrap_err().kind(), "result-missing");
        let step = Step::new("s").prompt_with(|run| {
            let count: u8 = run.json("count")?;
            Ok::<_, ResponderError>(count.to_string())
        });
        let unread =
            "the result of step count does not read as asked: invalid type: sequence, expected u8";
        assert_eq!(prompt(step).unwrap_err().message(), unread);
        let step =
            Step::new("s").prompt_with(|run| run.json("count").map(|count: u8| count.to_string()));
        assert_eq!(prompt(step).unwrap_err().message(), unread);
    }
}
