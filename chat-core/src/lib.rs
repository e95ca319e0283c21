//! The sans-IO heart of a conversation: turns, events, journal entries, and the machine that keeps them honest.

mod codec;
mod context;
mod entry;
mod error;
mod event;
mod event_log;
mod id;
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
mod time;
mod tool;
mod trace;
mod transcript;

pub use codec::DecodeError;
pub use context::{Context, ContextPolicy};
pub use entry::{Entry, EntryBody, FORMAT};
pub use error::{
    AnswerError, Damage, Interruption, MAX_ERROR_BYTES, NotAccepted, Place, RecordedError, ResponderError,
    RetryRefused, SteerError, SteerRefused, StoreError, TurnError,
};
pub use event::{
    ApprovalOutcome, ApprovalRequest, ChatEvent, Reasoning, StepRetry, ToolCallRef, ToolOutcome,
};
pub use event_log::{EventLog, UNREAD_CAP};
pub use id::{ApprovalId, CallId, EntryId, IdError, MAX_ID_BYTES, Seq, SessionId, StepId, TurnId};
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
pub use trace::{NodeIndex, PartialText, RunResult, TraceKind, TraceNode, TraceStatus, TraceTree};
pub use transcript::{Transcript, Turns};
