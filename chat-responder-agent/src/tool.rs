//! Tools made of async functions.

use std::{fmt, io, marker::PhantomData, sync::Arc};

use chat_core::{ResponderError, Tool, ToolContext, ToolName, ToolSpec};
use futures_util::{FutureExt, future::BoxFuture};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::schema::{self, Form, bounded};

/// A tool made of an async function, by [`function_tool`]. A clone shares all of it.
pub struct FunctionTool<I> {
    spec: ToolSpec,
    form: Form,
    call: Arc<CallFn>,
    approval: Approval,
    exclusive: bool,
    input: PhantomData<fn(I)>,
}

type CallFn = dyn Fn(Arc<Value>, ToolContext) -> BoxFuture<'static, Result<Value, ResponderError>>
    + Send
    + Sync;

/// When a person has to agree first.
#[derive(Clone)]
enum Approval {
    Never,
    If(Arc<dyn Fn(&Value) -> bool + Send + Sync>),
}

/// Makes a tool of an async function. Its schema is that of the input's type; where that is no object, models are asked for one
/// whose field `value` it is, and `()` is an empty one.
///
/// The description is for the model to read. Any error becomes a [`ResponderError`] with `?`, and then the call's result, so that
/// the model can go on (law W2). The function must not block its thread, and is dropped once its call is no longer wanted. Of a
/// result, a number that JSON does not have (infinite, or none) is `null`.
///
/// ```
/// use chat_core::Tool;
/// use chat_responder_agent::{JsonSchema, function_tool};
///
/// #[derive(JsonSchema, serde::Deserialize)]
/// struct Deploy {
///     /// Where to: staging or prod.
///     environment: String,
/// }
///
/// let deploy = function_tool("deploy", "Deploys to an environment.", |input: Deploy, context| async move {
///     let port: u16 = "8080".parse()?;
///     Ok(format!("{} runs on port {port}, as {}", input.environment, context.idempotency_key))
/// })
/// .needs_approval_if(|input| input.environment == "prod")
/// .exclusive();
/// assert_eq!(deploy.spec().input_schema["required"], serde_json::json!(["environment"]));
/// ```
pub fn function_tool<I, O, F, R>(
    name: impl Into<ToolName>,
    description: impl Into<Arc<str>>,
    function: F,
) -> FunctionTool<I>
where
    I: DeserializeOwned + JsonSchema + 'static,
    O: Serialize,
    F: Fn(I, ToolContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ResponderError>> + Send + 'static,
{
    let (input_schema, form) = schema::input_of::<I>();
    let call =
        move |input: Arc<Value>, context: ToolContext| match I::deserialize(form.value(&input)) {
            Ok(input) => function(input, context)
                .map(|result| Ok(serde_json::to_value(result?)?))
                .boxed(),
            Err(error) => {
                let error = ResponderError::from(error).with_kind("bad-arguments");
                std::future::ready(Err(error)).boxed()
            }
        };
    FunctionTool {
        spec: ToolSpec {
            name: name.into(),
            description: description.into(),
            input_schema,
        },
        form,
        call: Arc::new(call),
        approval: Approval::Never,
        exclusive: false,
        input: PhantomData,
    }
}

impl<I: DeserializeOwned + 'static> FunctionTool<I> {
    /// A person has to agree to every call (law W3).
    ///
    /// Arguments that can't be read as the input's type are not asked about: their call fails before it runs. The schema lets
    /// few of them through: `5.0` for an integer, what only a `Deserialize` of one's own refuses.
    #[must_use]
    pub fn needs_approval(self) -> Self {
        self.needs_approval_if(|_| true)
    }

    /// A person has to agree to the calls of which this function says so (law W3). As with
    /// [`needs_approval`](Self::needs_approval), nobody is asked about arguments that can't be read.
    #[must_use]
    pub fn needs_approval_if(self, needs: impl Fn(&I) -> bool + Send + Sync + 'static) -> Self {
        let form = self.form;
        let needs =
            move |input: &Value| I::deserialize(form.value(input)).is_ok_and(|input| needs(&input));
        Self {
            approval: Approval::If(Arc::new(needs)),
            ..self
        }
    }

    /// No other tool of the same answer runs beside it (law W2).
    #[must_use]
    pub fn exclusive(self) -> Self {
        Self {
            exclusive: true,
            ..self
        }
    }
}

impl<I: 'static> Tool for FunctionTool<I> {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn call(
        &self,
        input: Arc<Value>,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Value, ResponderError>> {
        (self.call)(input, context)
    }

    fn needs_approval(&self, input: &Value) -> bool {
        match &self.approval {
            Approval::Never => false,
            Approval::If(needs) => needs(input),
        }
    }

    fn is_exclusive(&self) -> bool {
        self.exclusive
    }
}

impl<I> Clone for FunctionTool<I> {
    fn clone(&self) -> Self {
        Self {
            spec: self.spec.clone(),
            form: self.form,
            call: self.call.clone(),
            approval: self.approval.clone(),
            exclusive: self.exclusive,
            input: PhantomData,
        }
    }
}

impl<I> fmt::Debug for FunctionTool<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool")
            .field("name", &self.spec.name)
            .field("exclusive", &self.exclusive)
            .finish_non_exhaustive()
    }
}

/// An error as a model gets it in the place of a result (law W2): bounded, and without secrets.
pub(crate) fn error_result(message: &str) -> Value {
    json!({ "error": &*bounded(message) })
}

/// How many levels of lists and objects a value may have, which is as many as servers' JSON is read with.
const MAX_LEVELS: usize = 128;

/// Whether a value has too many levels for what writes, compares or drops it level by level on the stack.
pub(crate) fn is_too_deep(value: &Value) -> bool {
    let mut left = vec![(value, 0)];
    while let Some((value, level)) = left.pop() {
        let level = level + 1;
        match value {
            Value::Array(_) | Value::Object(_) if level > MAX_LEVELS => return true,
            Value::Array(list) => left.extend(list.iter().map(|value| (value, level))),
            Value::Object(fields) => left.extend(fields.values().map(|value| (value, level))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

/// A result that is not too deep. Takes any other apart, one level after the other.
pub(crate) fn shallow(result: Value) -> Result<Value, ResponderError> {
    if !is_too_deep(&result) {
        return Ok(result);
    }
    let mut left = vec![result];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(list) => left.extend(list),
            Value::Object(fields) => left.extend(fields.into_iter().map(|(_, value)| value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let deep = format!("the result is nested more than {MAX_LEVELS} levels deep");
    Err(ResponderError::new(deep).with_kind("result-too-deep"))
}

/// How many bytes a value has as JSON text. Writes none of it.
pub(crate) fn json_len(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value)
        .expect("a JSON value is JSON, and counting can't fail");
    count.0
}

#[cfg(test)]
mod tests;
