//! A tool that does only what the test lets it do: every call waits for a word.

use std::{fmt, sync::Arc};

use chat_core::{ResponderError, Tool, ToolContext, ToolName, ToolSpec};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use crate::script::Calls;

/// A [`Tool`] whose every call is played by a test through its [`ToolScript`]. Clones are the same tool.
///
/// It takes any object, needs no approval and runs beside others, unless it is told otherwise. By itself it heeds no cancel
/// token: what stops a tool that ignores its token is what tests want to know.
///
/// ```
/// use chat_conformance::ScriptedTool;
/// use chat_core::Tool;
/// use serde_json::json;
///
/// # async fn a_test(context: chat_core::ToolContext) {
/// let (deploy, mut script) = ScriptedTool::new("deploy");
/// let deploy = deploy.needing_approval_if(|input| input["env"] == "prod").exclusive();
/// assert!(deploy.needs_approval(&json!({"env": "prod"})));
/// let running = deploy.call(json!({"env": "test"}).into(), context);    // a workflow does this
///
/// let call = script.next_call().await;
/// assert_eq!(call.input()["env"], "test");
/// assert_eq!(call.context().step.as_str(), "ship");
/// call.answer(json!({"url": "https://test.example"}));
/// assert!(running.await.is_ok());
/// # }
/// ```
///
/// A script that waits for a call which does not come says nothing of it, as that of a [`ScriptedModel`](crate::ScriptedModel):
/// wait for the turn's end beside it where the test could be wrong about that.
#[derive(Clone)]
pub struct ScriptedTool {
    spec: ToolSpec,
    needs_approval: Arc<dyn Fn(&Value) -> bool + Send + Sync>,
    exclusive: bool,
    calls: UnboundedSender<ToolCall>,
}

/// The test's side of a [`ScriptedTool`]: the calls that reach it, in order.
#[derive(Debug)]
pub struct ToolScript {
    calls: Calls<ToolCall>,
}

/// One call of a [`ScriptedTool`]. A call that hangs is one that is kept and not answered; dropping it fails it, so that a test
/// that failed hangs nobody.
#[derive(Debug)]
pub struct ToolCall {
    input: Arc<Value>,
    context: ToolContext,
    answer: oneshot::Sender<Answer>,
}

#[derive(Debug)]
enum Answer {
    Result(Result<Value, ResponderError>),
    Panic(Arc<str>),
}

impl ScriptedTool {
    /// A tool of this name, and its script.
    #[must_use]
    pub fn new(name: impl Into<ToolName>) -> (Self, ToolScript) {
        let (sender, calls) = Calls::new();
        let tool = Self {
            spec: ToolSpec {
                name: name.into(),
                description: "Does what the test says.".into(),
                input_schema: Arc::new(json!({"type": "object"})),
            },
            needs_approval: Arc::new(|_| false),
            exclusive: false,
            calls: sender,
        };
        (tool, ToolScript { calls })
    }

    /// Says which arguments it takes, as a JSON schema.
    #[must_use]
    pub fn taking(mut self, input_schema: Value) -> Self {
        self.spec.input_schema = Arc::new(input_schema);
        self
    }

    /// Every call needs a person's approval.
    #[must_use]
    pub fn needing_approval(self) -> Self {
        self.needing_approval_if(|_| true)
    }

    /// Calls with such arguments need a person's approval.
    #[must_use]
    pub fn needing_approval_if(
        self,
        needs_approval: impl Fn(&Value) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            needs_approval: Arc::new(needs_approval),
            ..self
        }
    }

    /// No other tool of the same answer may run beside it.
    #[must_use]
    pub fn exclusive(self) -> Self {
        Self {
            exclusive: true,
            ..self
        }
    }
}

impl Tool for ScriptedTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn call(
        &self,
        input: Arc<Value>,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Value, ResponderError>> {
        let (answer, answered) = oneshot::channel();
        let call = ToolCall {
            input,
            context,
            answer,
        };
        // A script that is gone plays nothing: the call is dropped, which fails it.
        let _ = self.calls.send(call);
        Box::pin(async move {
            match answered.await {
                Ok(Answer::Result(result)) => result,
                Ok(Answer::Panic(message)) => panic!("{message}"),
                Err(_) => {
                    Err(ResponderError::new("the test dropped the call").with_kind("scripted"))
                }
            }
        })
    }

    fn needs_approval(&self, input: &Value) -> bool {
        (self.needs_approval)(input)
    }

    fn is_exclusive(&self) -> bool {
        self.exclusive
    }
}

impl fmt::Debug for ScriptedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedTool")
            .field("spec", &self.spec)
            .field("exclusive", &self.exclusive)
            .finish_non_exhaustive()
    }
}

impl ToolScript {
    /// Waits for the next call, for ever where none comes: one reaches the script when the tool is called, polled or not.
    /// Cancel-safe.
    ///
    /// # Panics
    /// Where every clone of the tool is gone, so that no call can come.
    pub async fn next_call(&mut self) -> ToolCall {
        self.next_call_where(|_, _| true).await
    }

    /// Waits for the next call with such arguments and context, for ever where none comes. Calls that are passed over keep their
    /// order. Cancel-safe.
    ///
    /// # Panics
    /// Where every clone of the tool is gone, so that no call can come: it names the arguments of those that were passed over.
    pub async fn next_call_where(
        &mut self,
        wanted: impl Fn(&Value, &ToolContext) -> bool,
    ) -> ToolCall {
        let call = self.calls.next(|call| wanted(&call.input, &call.context));
        call.await.unwrap_or_else(|| {
            let inputs = self.calls.passed_over().map(|call| call.input.to_string());
            let inputs: Vec<String> = inputs.collect();
            panic!("no such call can come, the tool is gone; those that came have {inputs:?}")
        })
    }

    /// The next call where one was made already.
    pub fn try_next_call(&mut self) -> Option<ToolCall> {
        self.calls.try_next()
    }
}

impl ToolCall {
    /// The arguments.
    #[must_use]
    pub fn input(&self) -> &Value {
        &self.input
    }

    /// What the tool was told of the call: ids, idempotency key and cancel token.
    #[must_use]
    pub fn context(&self) -> &ToolContext {
        &self.context
    }

    /// Gives the result.
    pub fn answer(self, result: impl Into<Value>) {
        self.say(Answer::Result(Ok(result.into())));
    }

    /// Fails the call.
    pub fn fail(self, error: impl Into<ResponderError>) {
        self.say(Answer::Result(Err(error.into())));
    }

    /// Panics in the call's poll.
    pub fn panic(self, message: impl Into<Arc<str>>) {
        self.say(Answer::Panic(message.into()));
    }

    /// Waits until the call's cancel token has fired. Cancel-safe.
    pub async fn signaled(&self) {
        self.context.cancel.cancelled().await;
    }

    /// Waits until the call's future was dropped. Cancel-safe.
    pub async fn dropped(&mut self) {
        self.answer.closed().await;
    }

    /// Whether the call's future was dropped.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.answer.is_closed()
    }

    fn say(self, answer: Answer) {
        // A call that was dropped hears nothing; a test learns it from `dropped`.
        let _ = self.answer.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn context(call_id: &str) -> ToolContext {
        ToolContext {
            cancel: tokio_util::sync::CancellationToken::new(),
            session_id: "s".parse().unwrap(),
            turn_id: "t".parse().unwrap(),
            root_turn_id: "t".parse().unwrap(),
            step: "ship".into(),
            call_id: call_id.into(),
            idempotency_key: "t/ship/0".into(),
        }
    }

    #[tokio::test]
    async fn each_call_ends_as_the_test_says() {
        let (tool, mut script) = ScriptedTool::new("deploy");
        let mut call = || {
            let running = tool.call(json!({}).into(), context("c"));
            (running, script.try_next_call().unwrap())
        };
        let (running, answered) = call();
        answered.answer("done");
        assert_eq!(running.await.unwrap(), json!("done"));

        let (running, failed) = call();
        failed.fail(ResponderError::new("no"));
        assert_eq!(running.await.unwrap_err().message(), "no");

        let (running, panicked) = call();
        panicked.panic("boom");
        let panic = std::panic::AssertUnwindSafe(running).catch_unwind().await;
        assert_eq!(panic.unwrap_err().downcast_ref::<String>().unwrap(), "boom");

        let (running, dropped) = call();
        drop(dropped);
        assert_eq!(running.await.unwrap_err().kind(), "scripted");
    }

    #[tokio::test]
    async fn a_call_that_hangs_is_seen_being_signaled_and_dropped() {
        let (tool, mut script) = ScriptedTool::new("deploy");
        let context = context("c");
        let cancel = context.cancel.clone();
        let running = tool.call(json!({}).into(), context);
        let mut call = script.next_call().await;
        assert!(call.signaled().now_or_never().is_none());
        cancel.cancel();
        call.signaled().await;
        assert!(!call.is_dropped());
        drop(running);
        call.dropped().await;
        assert!(call.is_dropped());
    }

    #[tokio::test]
    async fn calls_side_by_side_are_told_apart() {
        let (tool, mut script) = ScriptedTool::new("deploy");
        let _running = [
            tool.call(json!({"env": "test"}).into(), context("c1")),
            tool.call(json!({"env": "prod"}).into(), context("c2")),
        ];
        let prod = script.next_call_where(|input, _| input["env"] == "prod");
        assert_eq!(prod.await.context().call_id.as_str(), "c2");
        let first = script.next_call_where(|_, context| context.call_id.as_str() == "c1");
        assert_eq!(first.await.input()["env"], "test");
    }

    #[tokio::test]
    #[should_panic(
        expected = r#"no such call can come, the tool is gone; those that came have ["{}"]"#
    )]
    async fn a_call_that_can_not_come_is_told_with_those_that_came() {
        let (tool, mut script) = ScriptedTool::new("deploy");
        let _running = tool.call(json!({}).into(), context("c"));
        drop(tool);
        script
            .next_call_where(|input, _| input["env"] == "prod")
            .await;
    }

    #[test]
    fn it_is_what_it_was_told_to_be() {
        let (plain, _script) = ScriptedTool::new("deploy");
        assert!(!plain.needs_approval(&json!({})) && !plain.is_exclusive());
        let tool = plain
            .taking(json!({"type": "object", "required": ["env"]}))
            .needing_approval()
            .exclusive();
        assert!(tool.needs_approval(&json!({})) && tool.is_exclusive());
        assert_eq!(tool.spec().input_schema["required"][0], "env");
    }
}
