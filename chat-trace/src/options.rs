//! What a projection goes by besides the tree.

use std::sync::Arc;

use chat_core::{ApprovalRequest, Redactor};

/// How long a summary is at most, in characters, unless said otherwise.
pub(crate) const SUMMARY_CHARS: usize = 120;

/// What a projection goes by besides the tree: which approvals wait, what is secret, how long summaries may be.
///
/// ```
/// use chat_trace::ProjectOptions;
///
/// let options = ProjectOptions::default().secret("hunter2!").summary_chars(80);
/// assert!(!format!("{options:?}").contains("hunter2"));
/// ```
#[derive(Debug, Clone)]
pub struct ProjectOptions {
    pub(crate) requests: Vec<Arc<ApprovalRequest>>,
    pub(crate) redactor: Redactor,
    pub(crate) summary_chars: usize,
}

impl Default for ProjectOptions {
    fn default() -> Self {
        Self {
            requests: Vec::new(),
            redactor: Redactor::default(),
            summary_chars: SUMMARY_CHARS,
        }
    }
}

impl ProjectOptions {
    /// The approval requests that wait for an answer, as `Turn::requests` gives them: each becomes a row.
    #[must_use]
    pub fn requests(
        mut self,
        requests: impl IntoIterator<Item = impl Into<Arc<ApprovalRequest>>>,
    ) -> Self {
        self.requests = requests.into_iter().map(Into::into).collect();
        self
    }

    /// A value that no row may show, wherever it stands: an API key, say. See [`Redactor::with_secret`].
    #[must_use]
    pub fn secret(mut self, secret: impl AsRef<str>) -> Self {
        self.redactor = self.redactor.with_secret(secret);
        self
    }

    /// How many characters (Unicode scalar values) the summary of an input, an output or an error has at most; 120 unless set.
    #[must_use]
    pub fn summary_chars(mut self, chars: usize) -> Self {
        self.summary_chars = chars;
        self
    }
}
