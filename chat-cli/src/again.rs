//! The commands that hints and errors propose, so that they reach the same store when they are pasted into a shell.

use crate::store_at::StoreAt;

/// What the command is to be called with.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Which subcommand; none for a conversation.
    verb: Option<&'static str>,
    words: Vec<String>,
    options: Vec<String>,
}

impl Call {
    /// A conversation.
    pub(crate) fn conversation() -> Self {
        Self {
            verb: None,
            words: Vec::new(),
            options: Vec::new(),
        }
    }

    /// A subcommand.
    pub(crate) fn of(verb: &'static str) -> Self {
        Self {
            verb: Some(verb),
            ..Self::conversation()
        }
    }

    /// With one more word, such as a session's id.
    pub(crate) fn word(mut self, word: impl AsRef<str>) -> Self {
        self.words.push(word.as_ref().to_owned());
        self
    }

    /// With an option that has no value.
    pub(crate) fn flag(mut self, flag: &'static str) -> Self {
        self.options.push(flag.to_owned());
        self
    }

    /// With an option and its value.
    pub(crate) fn option(mut self, option: &'static str, value: impl AsRef<str>) -> Self {
        let value = value.as_ref();
        // A value that looks like an option belongs to this one only where it is glued to it.
        let glue = if value.starts_with('-') { '=' } else { ' ' };
        self.options
            .push(format!("{option}{glue}{}", quoted(value)));
        self
    }

    fn shown(self, program: &str) -> String {
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        let command = [program].into_iter().chain(self.verb);
        let options = self.options.iter().map(String::as_str);
        let words = words.iter().map(String::as_str);
        let parts: Vec<&str> = if self.words.iter().any(|word| word.starts_with('-')) {
            // What stands behind the dashes is no option, whatever it looks like.
            command.chain(options).chain(["--"]).chain(words).collect()
        } else {
            command.chain(words).chain(options).collect()
        };
        parts.join(" ")
    }
}

/// How this command is to be called once more.
#[derive(Debug, Clone)]
pub(crate) struct Again {
    program: &'static str,
    store: Reach,
}

/// How a later call comes to the same store.
#[derive(Debug, Clone)]
enum Reach {
    /// It is found without being named.
    Plain,
    /// It is named by `--store`.
    Named(String),
    /// Not at all: what was said ends with this process.
    Never,
}

impl Again {
    /// On the store that is found without being named.
    pub(crate) fn plain(program: &'static str) -> Self {
        Self {
            program,
            store: Reach::Plain,
        }
    }

    /// For the store that is used, and whether a flag named it.
    pub(crate) fn on(program: &'static str, store: &StoreAt, by_flag: bool) -> Self {
        let store = match store {
            StoreAt::Memory => Reach::Never,
            StoreAt::Path(_) | StoreAt::Folder(_) | StoreAt::Sqlite(_) if by_flag => {
                Reach::Named(store.to_string())
            }
            StoreAt::Path(_) | StoreAt::Folder(_) | StoreAt::Sqlite(_) => Reach::Plain,
        };
        Self { program, store }
    }

    /// The program's name.
    pub(crate) fn program(&self) -> &'static str {
        self.program
    }

    /// The program called so; `None` where it would find nothing.
    pub(crate) fn command(&self, call: Call) -> Option<String> {
        match &self.store {
            Reach::Plain => Some(call.shown(self.program)),
            Reach::Named(store) => Some(call.option("--store", store).shown(self.program)),
            Reach::Never => None,
        }
    }
}

/// A word as a shell needs it.
fn quoted(word: &str) -> String {
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
        let command =
            |store, by_flag| Again::on("chat", store, by_flag).command(Call::of("sessions"));
        assert_eq!(command(&folder, false).as_deref(), Some("chat sessions"));
        assert_eq!(
            command(&folder, true).as_deref(),
            Some("chat sessions --store 'file:my chats'")
        );
        assert_eq!(command(&StoreAt::Memory, true), None);
    }

    #[test]
    fn c_an_id_that_looks_like_an_option_is_proposed_as_none() {
        let delete = |id| Call::of("delete").word(id).flag("--yes");
        let plain = Again::plain("chat");
        let here = Again::on("chat", &StoreAt::Path("-here".into()), true);
        for (again, call, command) in [
            (&plain, delete("s"), "chat delete s --yes"),
            (&plain, delete("--all"), "chat delete --yes -- --all"),
            (
                &here,
                delete("-s t"),
                "chat delete --yes --store=-here -- '-s t'",
            ),
            (
                &plain,
                Call::conversation().option("--session", "-s"),
                "chat --session=-s",
            ),
        ] {
            assert_eq!(again.command(call).as_deref(), Some(command));
        }
    }
}
