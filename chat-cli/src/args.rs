//! What can be asked of the command, as clap reads it. Checks forms only; nothing here opens or asks anything.

use std::path::PathBuf;

use chat_core::{SessionId, TurnId};
use clap::{
    Args as _, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    error::ErrorKind,
};

use crate::{program::Program, store_at::StoreAt};

const ABOUT: &str = "Ask a model from the terminal, and keep the conversation in a journal";

// One line a paragraph: clap wraps it to the terminal.
const MORE: &str = "\
Without a subcommand it is a conversation: type, and read the reply as it is written. Ctrl-C cancels the reply, a second one \
quits, Ctrl-D leaves. Without a terminal each line of standard input is a turn, one after the other.

Replies go to standard output, everything else to standard error. Each turn is in the session's journal before it is \
answered, so that nothing asked is lost: what failed or was cut off can be answered again with `retry`.";

const ENVIRONMENT: &str = "\
Environment:
  OPENAI_API_KEY   The key; a local server may want none. It is never printed or stored.
  OPENAI_BASE_URL  The server, unless --base-url names one.
  CHAT_MODEL       The model, unless --model names one.
  CHAT_STORE       The store, unless --store names one.

Exit codes:
  0 completed   1 failed   2 not understood   130 canceled

Examples:
  chat ask \"What is a journal?\"
  git diff | chat ask --instructions \"Review this diff.\"
  chat ask --json hi | jq -r 'select(.type == \"text-delta\").text'
  chat --base-url http://localhost:8080/v1 --model qwen3";

/// What stands at the end of other programs' help, behind their own variables.
const OTHERS_ENVIRONMENT: &str = "\
  CHAT_STORE       The store, unless --store names one.

Exit codes:
  0 completed   1 failed   2 not understood   130 canceled";

/// The whole command line of `chat`.
#[derive(Debug, Parser)]
#[command(name = "chat", version, about = ABOUT, long_about = format!("{ABOUT}.\n\n{MORE}"), after_help = ENVIRONMENT)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) args: Args,

    #[command(flatten)]
    pub(crate) model: ModelOptions,
}

/// What every program of this kind understands, whoever answers.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session to continue: its id, or the beginning of one that was made up for it. A new one is created under this name.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,

    #[command(flatten)]
    pub(crate) options: Options,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every subcommand understands, before it or after it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Where journals are kept: a folder, an SQLite file (one that is there, or a name that ends in .db, .sqlite or .sqlite3), or
    /// `memory:`, which ends with the command. `file:DIR` and `sqlite:FILE` leave no doubt [default: a folder of this command's name in
    /// your data folder].
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) store: Option<StoreAt>,

    /// Print JSON for programs, one object a line: of a turn its events. A workflow's `run-update` is printed where a node has
    /// begun, ended or come, not for each piece of text. Standard error then tells nothing of how a workflow goes on.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Who answers, and how: what `chat` alone is told.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ModelOptions {
    /// The OpenAI-compatible server to ask [default: OpenAI's].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// The model to ask [default: gpt-5-mini].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// What the model is told beforehand; never stored.
    #[arg(long, global = true, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,

    /// Who answers.
    #[arg(long, global = true, value_name = "WHO")]
    pub(crate) responder: Option<Who>,
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Who {
    /// A model of the server.
    Model,
    /// The input itself comes back: to try things without a model.
    Echo,
}

/// What is wanted of the command.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Ask one thing, and print the reply as it is written.
    Ask {
        /// What to ask; `-`, or nothing with input from a pipe, reads standard input.
        #[arg(value_name = "INPUT")]
        input: Option<String>,
        /// The session to continue: its id, or the beginning of one that was made up for it. A new one is created under this name.
        #[arg(long, value_name = "ID")]
        session: Option<SessionId>,
    },
    /// List the sessions, the one with the newest activity first.
    Sessions,
    /// Show a session's turns.
    Show {
        /// The session: its id, or the beginning of it.
        #[arg(value_name = "SESSION")]
        session: SessionId,
        /// Read what is readable of a damaged journal, and say where its gaps are.
        #[arg(long)]
        salvage: bool,
    },
    /// Answer a failed, canceled or interrupted turn again, as a new turn.
    Retry {
        /// The session: its id, or the beginning of it.
        #[arg(value_name = "SESSION")]
        session: SessionId,
        /// The turn: its id, or the beginning of it [default: the newest that has no reply].
        #[arg(value_name = "TURN")]
        turn: Option<TurnId>,
    },
    /// Write a session to standard output: its journal, an entry a line, as `import` reads it.
    Export {
        /// The session: its id, or the beginning of it.
        #[arg(value_name = "SESSION")]
        session: SessionId,
        /// Of a damaged journal, write what is readable, and say what is not.
        #[arg(long)]
        salvage: bool,
    },
    /// Make a session of what `export` wrote, and print its id.
    Import {
        /// The file; `-`, or nothing with input from a pipe, reads standard input.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// The new session's id [default: the file's name without its ending, or a new one].
        #[arg(long, value_name = "ID")]
        session: Option<SessionId>,
    },
    /// Copy sessions into another store, under their ids. One that is there already is left as it is.
    Copy {
        /// The store to copy into, named as for `--store`.
        #[arg(long, value_name = "PATH")]
        to: StoreAt,
        /// The sessions: their ids, or the beginnings of them.
        #[arg(
            value_name = "SESSION",
            required_unless_present = "all",
            conflicts_with = "all"
        )]
        sessions: Vec<SessionId>,
        /// All sessions there are.
        #[arg(long)]
        all: bool,
        /// Of damaged journals, copy what is readable, and say what is not.
        #[arg(long)]
        salvage: bool,
    },
    /// Delete a session for good, once you have said yes.
    Delete {
        /// The session: its id, or the beginning of it.
        #[arg(value_name = "SESSION")]
        session: SessionId,
        /// Don't ask; the id has to be the whole one then.
        #[arg(long, short)]
        yes: bool,
    },
}

impl ChatArgs {
    /// Those of this process. Ends it where they can't be understood, or only ask for help.
    pub(crate) fn of_this_process() -> Self {
        let Self { args, model } = Self::parse();
        let args = args.checked(Self::command());
        Self { args, model }
    }
}

impl Args {
    /// Those of this process, as another program than `chat` reads them. Ends it where they can't be understood, or only ask for
    /// help or the version.
    pub(crate) fn of_this_process(program: &Program) -> Self {
        let mut command = command_of(program);
        let matches = command.get_matches_mut();
        Self::from_arg_matches(&matches)
            .unwrap_or_else(|error| error.format(&mut command).exit())
            .checked(command)
    }

    /// Ends the command where `--session` stands before a subcommand that has no use for it: clap can't tell.
    fn checked(self, mut command: clap::Command) -> Self {
        let misplaced = match (&self.session, &self.command) {
            (Some(_), Some(Command::Ask { session, .. } | Command::Import { session, .. })) => {
                session.is_some()
            }
            (
                Some(_),
                Some(
                    Command::Sessions
                    | Command::Show { .. }
                    | Command::Retry { .. }
                    | Command::Export { .. }
                    | Command::Copy { .. }
                    | Command::Delete { .. },
                ),
            ) => true,
            (Some(_), None) | (None, _) => false,
        };
        if misplaced {
            let said = "--session is for `ask`, `import` and a conversation, once; name the session after the subcommand";
            command.error(ErrorKind::ArgumentConflict, said).exit();
        }
        self
    }

    /// Whether anything will be answered.
    pub(crate) fn wants_replies(&self) -> bool {
        match &self.command {
            Some(Command::Ask { .. } | Command::Retry { .. }) | None => true,
            Some(
                Command::Sessions
                | Command::Show { .. }
                | Command::Export { .. }
                | Command::Import { .. }
                | Command::Copy { .. }
                | Command::Delete { .. },
            ) => false,
        }
    }
}

/// The command line of a program that brings a responder of its own.
fn command_of(program: &Program) -> clap::Command {
    let about = program.about;
    let variables = program.variables.iter();
    let variables: String = variables
        .map(|(name, what)| format!("  {name:<15}  {what}\n"))
        .collect();
    Args::augment_args(clap::Command::new(program.name))
        .version(program.version)
        .about(about)
        .long_about(format!("{about}.\n\n{MORE}"))
        .after_help(format!("Environment:\n{variables}{OTHERS_ENVIRONMENT}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engineer() -> Program {
        Program::new("engineer").about("Ships code")
    }

    #[test]
    fn c_the_command_line_is_sound() {
        ChatArgs::command().debug_assert();
        command_of(&engineer()).debug_assert();
    }

    #[test]
    fn c_a_program_with_a_responder_of_its_own_has_no_options_for_a_model() {
        let parse = |line: &str| command_of(&engineer()).try_get_matches_from(line.split(' '));
        assert!(parse("engineer ask hi --json --store memory:").is_ok());
        for option in ["--model", "--base-url", "--instructions", "--responder"] {
            let refused = parse(&format!("engineer ask hi {option} echo")).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::UnknownArgument, "{option}");
        }
        let help = command_of(&engineer()).render_long_help().to_string();
        assert!(help.starts_with("Ships code.\n"), "{help}");
        assert!(
            !help.contains("OPENAI") && !help.contains("model"),
            "{help}"
        );
    }

    #[test]
    fn c_a_program_tells_its_version_and_the_variables_it_reads() {
        let version = |program: &Program| command_of(program).render_version();
        let built_on = concat!("engineer (chat-cli ", env!("CARGO_PKG_VERSION"), ")\n");
        assert_eq!(version(&engineer()), built_on);
        assert_eq!(version(&engineer().version("2.1")), "engineer 2.1\n");
        let asks = engineer().variables(crate::MODEL_VARIABLES);
        let help = command_of(&asks).render_long_help().to_string();
        let variables = help.split_once("Environment:\n").unwrap().1;
        let names = variables
            .lines()
            .map_while(|line| line.split_whitespace().next());
        let names: Vec<_> = names.collect();
        let all = [
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "CHAT_MODEL",
            "CHAT_STORE",
        ];
        assert_eq!(names, all, "{help}");
    }

    #[test]
    fn c_options_stand_before_or_after_the_subcommand() {
        for line in ["chat --model m ask hi", "chat ask hi --model m"] {
            let args = ChatArgs::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(args.model.model.as_deref(), Some("m"), "{line}");
        }
    }
}
