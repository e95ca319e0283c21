//! How nodes stand to each other: one after another, side by side, or one in the place of another that failed.

use std::fmt;

use crate::StepError;

use super::{Node, Nodes};

/// Nodes one after another. The first that fails ends it.
#[derive(Debug, Default)]
pub struct Sequence {
    pub(crate) nodes: Nodes,
}

impl Sequence {
    /// A sequence of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node behind the others.
    #[must_use]
    pub fn then(mut self, node: impl Into<Node>) -> Self {
        self.nodes.push(node.into());
        self
    }
}

impl<N: Into<Node>> FromIterator<N> for Sequence {
    fn from_iter<I: IntoIterator<Item = N>>(nodes: I) -> Self {
        let mut sequence = Self::default();
        sequence.nodes.extend(nodes);
        sequence
    }
}

/// Nodes side by side. The first that fails ends it, and the others are aborted (law W1).
///
/// ```
/// use chat_responder_agent::{Parallel, Task};
/// let pages = ["a", "b", "c"];
/// let fetch: Parallel = pages
///     .into_iter()
///     .map(|page| Task::new(format!("fetch-{page}"), move |_| async move { Ok(page) }))
///     .collect();
/// ```
#[derive(Debug, Default)]
pub struct Parallel {
    pub(crate) nodes: Nodes,
}

impl Parallel {
    /// Nothing side by side yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node beside the others.
    #[must_use]
    pub fn and(mut self, node: impl Into<Node>) -> Self {
        self.nodes.push(node.into());
        self
    }
}

impl<N: Into<Node>> FromIterator<N> for Parallel {
    fn from_iter<I: IntoIterator<Item = N>>(nodes: I) -> Self {
        let mut parallel = Self::default();
        parallel.nodes.extend(nodes);
        parallel
    }
}

/// What renders a fallback, once its body has failed.
pub(crate) type Fallback = Box<dyn FnOnce(&StepError) -> Node + Send>;

/// A node with a fallback. Where the body fails, what it left open is aborted, the fallback is rendered and runs in its place.
///
/// ```
/// use chat_responder_agent::{Catch, Task};
/// let stars = Catch::new(Task::new("fetch", |_| async { Ok(u32::from_str_radix("zwölf", 10)?) }))
///     .or(|error| {
///         let why = error.to_string();
///         Task::new("guess", move |_| async move { Ok(format!("nobody knows: {why}")) })
///     });
/// ```
pub struct Catch {
    /// One node; none where it would stand too deep.
    pub(crate) body: Nodes,
    pub(crate) fallback: Option<Fallback>,
}

impl Catch {
    /// A node that may fail. [`or`](Self::or) says what then.
    #[must_use]
    pub fn new(body: impl Into<Node>) -> Self {
        let mut nodes = Nodes::default();
        nodes.push(body.into());
        Self {
            body: nodes,
            fallback: None,
        }
    }

    /// What runs in the body's place once it failed. The fallback sees the error and stands where the body stood: within the same
    /// agent, and with steps of ids of its own.
    #[must_use]
    pub fn or<N: Into<Node>>(
        self,
        fallback: impl FnOnce(&StepError) -> N + Send + 'static,
    ) -> Self {
        Self {
            fallback: Some(Box::new(|error| fallback(error).into())),
            ..self
        }
    }
}

impl fmt::Debug for Catch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catch")
            .field("body", &self.body)
            .field("fallback", &self.fallback.is_some())
            .finish()
    }
}
