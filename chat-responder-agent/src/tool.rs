//! Tools made of async functions.

use std::{fmt, marker::PhantomData, sync::Arc};

use chat_core::{ResponderError, Tool, ToolContext, ToolName, ToolSpec};
use futures_util::{FutureExt, future::BoxFuture};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::schema;

/// A tool made of an async function, by [`function_tool`]. A clone shares all of it.
pub struct FunctionTool<I> {
    spec: ToolSpec,
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
    Always,
    If(Arc<dyn Fn(&Value) -> bool + Send + Sync>),
}

/// Makes a tool of an async function.
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
    let call = move |input: Arc<Value>, context: ToolContext| match I::deserialize(&*input) {
        Ok(input) => function(input, context)
            .map(|result| Ok(serde_json::to_value(result?)?))
            .boxed(),
        Err(error) => std::future::ready(Err(ResponderError::from(error))).boxed(),
    };
    FunctionTool {
        spec: ToolSpec {
            name: name.into(),
            description: description.into(),
            input_schema: schema::input_of::<I>(),
        },
        call: Arc::new(call),
        approval: Approval::Never,
        exclusive: false,
        input: PhantomData,
    }
}

impl<I: DeserializeOwned + 'static> FunctionTool<I> {
    /// A person has to agree to every call (law W3).
    #[must_use]
    pub fn needs_approval(self) -> Self {
        Self {
            approval: Approval::Always,
            ..self
        }
    }

    /// A person has to agree to the calls of which this function says so (law W3).
    #[must_use]
    pub fn needs_approval_if(self, needs: impl Fn(&I) -> bool + Send + Sync + 'static) -> Self {
        let needs = move |input: &Value| I::deserialize(input).is_ok_and(|input| needs(&input));
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
            Approval::Always => true,
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

/// An error as a model gets it in the place of a result (law W2).
pub(crate) fn error_result(message: &str) -> Value {
    serde_json::json!({ "error": message })
}

/// How many bytes a value has as JSON, without writing it.
pub(crate) fn json_len(value: &Value) -> usize {
    let _ = value;
    todo!()
}
