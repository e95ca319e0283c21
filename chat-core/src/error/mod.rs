//! Errors: one enum an operation, all of them `Clone`, misuse apart from failures of the world.

mod responder;
mod store;
mod turn;

pub use responder::{MAX_ERROR_BYTES, RecordedError, ResponderError};
pub use store::{Damage, Place, StoreError};
pub use turn::{
    AnswerError, Interruption, NotAccepted, RetryRefused, SteerError, SteerRefused, TurnError,
};
