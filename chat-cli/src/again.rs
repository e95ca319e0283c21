//! The commands that hints and errors propose, so that they reach the same store when they are pasted into a shell.

use crate::store_at::StoreAt;

/// How this command is to be called once more.
#[derive(Debug, Clone)]
pub(crate) enum Again {
    /// On the store that is found without being named.
    Plain,
    /// On the store that was named by `--store`.
    Store(String),
    /// Not at all: what was said ends with this process.
    Never,
}

impl Again {
    /// For the store that is used, and whether a flag named it.
    pub(crate) fn on(store: &StoreAt, by_flag: bool) -> Self {
        match store {
            StoreAt::Memory => Self::Never,
            StoreAt::Path(_) | StoreAt::Folder(_) | StoreAt::Sqlite(_) if by_flag => {
                Self::Store(store.to_string())
            }
            StoreAt::Path(_) | StoreAt::Folder(_) | StoreAt::Sqlite(_) => Self::Plain,
        }
    }

    /// `chat` with these arguments; `None` where it would find nothing.
    pub(crate) fn command(&self, arguments: &str) -> Option<String> {
        match self {
            Self::Plain => Some(format!("chat {arguments}")),
            Self::Store(store) => Some(format!("chat {arguments} --store {}", quoted(store))),
            Self::Never => None,
        }
    }
}

/// A word as a shell needs it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_a_proposed_command_reaches_the_same_store() {
        let folder = StoreAt::Folder("my chats".into());
        let command = |store, by_flag| Again::on(store, by_flag).command("sessions");
        assert_eq!(command(&folder, false).as_deref(), Some("chat sessions"));
        assert_eq!(
            command(&folder, true).as_deref(),
            Some("chat sessions --store 'file:my chats'")
        );
        assert_eq!(command(&StoreAt::Memory, true), None);
    }
}
