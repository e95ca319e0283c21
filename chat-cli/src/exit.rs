//! The exit codes that scripts can rely on.

use std::process::ExitCode;

use chat_core::{TurnError, TurnStatus};

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Completed,
    /// Something failed; what was recorded can be retried.
    Failed,
    /// It was asked for something that makes no sense.
    Usage,
    /// A person stopped it.
    Canceled,
}

impl Exit {
    /// The code as a shell sees it.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            // What shells give for a program that SIGINT ended.
            Self::Canceled => 130,
        }
    }

    /// How a command ends whose turn ended so.
    pub(crate) fn of_turn(error: &TurnError) -> Self {
        match error.status() {
            TurnStatus::Canceled => Self::Canceled,
            TurnStatus::Failed
            | TurnStatus::Interrupted
            | TurnStatus::Completed
            | TurnStatus::Queued
            | TurnStatus::Running => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
