//! What a store fails with (law S7): each kind its own variant, with session, path and cause where there are any.

use std::{error::Error, fmt, path::PathBuf, sync::Arc};

use crate::{Seq, SessionId};

/// Where in a journal something is wrong. Whatever the backend knows is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// The byte offset from the journal's start.
    pub offset: Option<u64>,
    /// The entry's place.
    pub seq: Option<Seq>,
    /// The file.
    pub path: Option<PathBuf>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.seq) {
            (Some(line), _) => write!(f, "line {line}")?,
            (None, Some(seq)) => write!(f, "entry {seq}")?,
            (None, None) => write!(f, "the journal")?,
        }
        if let Some(offset) = self.offset {
            write!(f, " (byte {offset})")?;
        }
        if let Some(path) = &self.path {
            write!(f, " of {}", path.display())?;
        }
        Ok(())
    }
}

/// A journal that is wrong in a way which no crash explains (law S3): it is never skipped or repaired silently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("session {session} can't be read: {place} is damaged ({what})")]
pub struct Damage {
    /// The session.
    pub session: SessionId,
    /// Where.
    pub place: Place,
    /// What is wrong there, in a few words.
    pub what: Arc<str>,
}

/// Why a store could not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such session.
    #[error("there is no session {session}")]
    Missing {
        /// The session.
        session: SessionId,
    },
    /// The id is taken; the session that has it is unchanged.
    #[error("session {session} exists already")]
    Taken {
        /// The session.
        session: SessionId,
    },
    /// The journal is wrong in a way no crash explains (law S3).
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// A newer program wrote this; it was left untouched (law J2).
    #[error(
        "{what} has format {found}, this program reads up to {supported}; use the newer program that wrote it"
    )]
    NewerFormat {
        /// Which session, file or database.
        what: Arc<str>,
        /// The format found.
        found: u32,
        /// The newest format known here.
        supported: u32,
    },
    /// What stands at the store's place was not made by a store: it was left untouched.
    #[error("{} is not a chat store: {what}", path.display())]
    Foreign {
        /// Where.
        path: PathBuf,
        /// What was found instead.
        what: Arc<str>,
    },
    /// The disk, quota or file size limit is reached.
    #[error("no space left to {action} {}: make room, nothing written before is lost", path.display())]
    Full {
        /// What was being done.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// The place can't be written.
    #[error("can't {action} {}: it is read-only or not ours to write ({source})", path.display())]
    ReadOnly {
        /// What was being done.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// A journal that was open vanished or was replaced.
    #[error("the journal of session {session} was removed or replaced while it was open: {}", path.display())]
    Lost {
        /// The session.
        session: SessionId,
        /// Where it was.
        path: PathBuf,
    },
    /// The session was deleted, and another one made under its id, by another process or another store handle (law S7).
    #[error(
        "session {session} was deleted and made anew elsewhere; open it again to go on with the new one"
    )]
    Replaced {
        /// The session.
        session: SessionId,
    },
    /// The session can't be deleted while this process has a turn queued or running there.
    #[error("session {session} has a turn queued or running; cancel it or wait for it first")]
    Busy {
        /// The session.
        session: SessionId,
    },
    /// The hold on the session was lost to another holder (law T13).
    #[error("the hold on session {session} was lost; another process may be writing it")]
    HoldLost {
        /// The session.
        session: SessionId,
    },
    /// The writer was used against its contract; nothing was written.
    #[error("the journal writer of session {session} was misused: {what}")]
    Misuse {
        /// The session.
        session: SessionId,
        /// Which rule was broken.
        what: Arc<str>,
    },
    /// Any other failure of the system.
    #[error("can't {action} {}: {source}", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// Any other failure of the backend.
    #[error("the store failed: {message}")]
    Backend {
        /// What happened.
        message: Arc<str>,
        /// The cause, where there is one.
        source: Option<Arc<dyn Error + Send + Sync>>,
    },
}

impl StoreError {
    /// A failure of the backend without a variant of its own.
    #[must_use]
    pub fn backend(message: impl Into<Arc<str>>) -> Self {
        Self::Backend {
            message: message.into(),
            source: None,
        }
    }

    /// Sorts a failure of the system into the variant that says what to do about it.
    #[must_use]
    pub fn from_io(action: &'static str, path: impl Into<PathBuf>, error: std::io::Error) -> Self {
        use std::io::ErrorKind as K;
        let (path, kind, source) = (path.into(), error.kind(), Arc::new(error));
        if matches!(kind, K::StorageFull | K::QuotaExceeded | K::FileTooLarge) {
            Self::Full {
                action,
                path,
                source,
            }
        } else if matches!(kind, K::ReadOnlyFilesystem | K::PermissionDenied) {
            Self::ReadOnly {
                action,
                path,
                source,
            }
        } else {
            Self::Io {
                action,
                path,
                source,
            }
        }
    }

    /// One word for the kind of failure, the same for every backend.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "session-missing",
            Self::Taken { .. } => "session-taken",
            Self::Damaged(_) => "journal-damaged",
            Self::NewerFormat { .. } => "newer-format",
            Self::Foreign { .. } => "foreign-format",
            Self::Full { .. } => "store-full",
            Self::ReadOnly { .. } => "store-read-only",
            Self::Lost { .. } => "journal-lost",
            Self::Replaced { .. } => "session-replaced",
            Self::Busy { .. } => "session-busy",
            Self::HoldLost { .. } => "hold-lost",
            Self::Misuse { .. } => "writer-misuse",
            Self::Io { .. } => "store-io",
            Self::Backend { .. } => "store-backend",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s7_failures_of_the_system_keep_path_and_cause() {
        use std::io::{Error as E, ErrorKind as K};
        for (kind, word) in [
            (K::StorageFull, "store-full"),
            (K::QuotaExceeded, "store-full"),
            (K::FileTooLarge, "store-full"),
            (K::ReadOnlyFilesystem, "store-read-only"),
            (K::PermissionDenied, "store-read-only"),
            (K::NotFound, "store-io"),
            (K::Other, "store-io"),
        ] {
            let error = StoreError::from_io("append to", "/x/journal.jsonl", E::from(kind));
            assert_eq!(error.kind(), word);
            assert!(error.to_string().contains("/x/journal.jsonl"), "{error}");
            assert!(error.source().is_some());
        }
    }

    #[test]
    fn s3_damage_names_session_line_and_file() {
        let damage = Damage {
            session: SessionId::parse("s1").unwrap(),
            place: Place {
                line: Some(7),
                offset: Some(812),
                seq: Some(Seq(6)),
                path: Some("/x/s1.jsonl".into()),
            },
            what: "checksum differs".into(),
        };
        assert_eq!(
            StoreError::from(damage).to_string(),
            "session s1 can't be read: line 7 (byte 812) of /x/s1.jsonl is damaged (checksum differs)"
        );
    }
}
