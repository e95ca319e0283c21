//! The sans-IO heart of a conversation: turns, events, journal entries, and the machine that keeps them honest.
//!
//! A **turn** is one user input, answered once. It streams live [`ChatEvent`]s while it runs, settles with a reply or an error,
//! and leaves a few [`Entry`]s in its session's journal. [`SessionMachine`] decides all of it and does nothing itself: it is
//! told what happened, and answers with an ordered list of things to do. No clock, no randomness, no files, no runtime: time and
//! ids are handed in.
//!
//! Who only wants to hold a conversation takes `chat-runtime`, which carries out on tokio what the machine decides. This crate is
//! for whoever writes a store ([`Store`]), a responder ([`Responder`]), a model ([`LanguageModel`]) or another shell:
//!
//! ```
//! use chat_core::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let now = Timestamp::UNIX_EPOCH;
//! let mut machine = SessionMachine::new("s1".parse()?, ResponderInfo::default(), Transcript::default());
//! machine.send(NewTurn {
//!     id: "t1".parse()?,
//!     input: TurnInput::New("What is a turn?".into()),
//!     labels: None,
//!     context: None,
//!     accepted_id: "e1".parse()?,
//!     outcome_id: "e2".parse()?,
//! });
//! // First the hold on the journal; with it comes what others wrote meanwhile: nothing, here.
//! assert!(matches!(machine.poll_output(), Some(Output::Acquire { .. })));
//! machine.handle_acquired(now, Ok(vec![]));
//! // Then the input is written. Until that is durable, nothing is seen of it.
//! assert!(matches!(machine.poll_output(), Some(Output::Append { last: false, .. })));
//! assert!(machine.poll_output().is_none());
//! machine.handle_appended(now, Appended::Written);
//! assert!(matches!(machine.poll_output(), Some(Output::Accepted { result: Ok(()), .. })));
//! assert!(matches!(machine.poll_output(), Some(Output::Emit { event: ChatEvent::TurnStart { .. }, .. })));
//! assert!(matches!(machine.poll_output(), Some(Output::Respond(_))));
//! # Ok(())
//! # }
//! ```

#[cfg(test)]
mod arbitrary;
mod codec;
mod context;
mod entry;
mod error;
mod event;
mod event_log;
mod harmless;
pub mod hold;
mod id;
mod journal;
mod labels;
mod machine;
mod memory;
mod message;
mod metadata;
mod model;
mod record;
mod redact;
mod responder;
mod store;
mod text;
mod time;
mod tool;
mod trace;
mod transcript;

pub use codec::DecodeError;
pub use context::{Context, ContextPolicy};
pub use entry::{Entry, EntryBody, FORMAT};
pub use error::{
    AnswerError, Damage, Interruption, MAX_ERROR_BYTES, NotAccepted, Place, RecordedError,
    ResponderError, RetryRefused, SteerError, SteerRefused, StoreError, TurnError,
};
pub use event::{
    ApprovalOutcome, ApprovalRequest, ChatEvent, Reasoning, StepRetry, ToolCallRef, ToolOutcome,
};
pub use event_log::{EventLog, UNREAD_CAP};
pub use harmless::{harmless, is_harmless, one_line};
pub use id::{
    ApprovalId, CallId, EntryId, IdError, MAX_ID_BYTES, Seq, SessionId, StepId, ToolName, TurnId,
};
pub use journal::{
    Copied, CopyError, Gap, Journal, JournalLines, LineError, MAX_LINE_BYTES, copy_all,
    copy_salvaged, copy_session,
};
pub use labels::{Labels, LabelsError, MAX_LABELS_BYTES};
pub use machine::{
    Decision, NewSteer, NewTurn, Output, SessionMachine, Shutdown, Start, SteerId, TurnInput,
};
pub use memory::MemoryStore;
pub use message::{Message, Part, Role};
pub use metadata::{FinishReason, Metadata, ModelRef, ResponderInfo, Usage};
pub use model::{LanguageModel, ModelEvent, ModelRequest, OutputSchema, ToolSpec};
pub use record::{TurnRecord, TurnReply, TurnStatus};
pub use redact::Redactor;
pub use responder::{Control, Execution, Reply, Responder, ResponderEvent, TurnRequest};
pub use store::{
    Acquired, Appended, Capabilities, Cursor, Durability, HoldRelease, JournalPart, JournalWriter,
    ListRequest, MAX_TITLE_CHARS, Recovered, Salvaged, SessionPage, SessionSummary, Store,
    TornTail,
};
pub use time::{Timestamp, TimestampError};
pub use tool::{Tool, ToolContext};
pub use trace::{
    NodeIndex, PartialText, RunResult, StepResultError, TraceKind, TraceNode, TraceStatus,
    TraceTree,
};
pub use transcript::{Transcript, Turns};
