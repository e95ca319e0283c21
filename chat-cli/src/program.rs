//! A command like `chat` around a responder of one's own: the terminal, the subcommands and the stores are `chat`'s.

use std::{error::Error, process::ExitCode, sync::Arc};

use chat_core::Responder;

use crate::{
    again::Again, answering::SetupError, args::Args, desk::Desk, errors::Problem, front_door,
    notes::Notes, notices, setup,
};

/// A program whose turns a responder of its own answers, at the terminal: `ask`, a conversation, `sessions`, `show`, `retry`,
/// `export`, `import`, `copy` and `delete`, with `--session`, `--store` and `--json`, as `chat` has them (law group C). Approvals
/// are asked on the terminal. `--version` tells the program's.
///
/// While a turn's workflow runs, its steps, model calls and tool calls stand on standard error, and are drawn in place where that is
/// a terminal; once it has ended, one line of them is left:
///
/// ```text
/// ⠹ Running reply  4 s
///   ✓ gpt-5-mini answered  1.3 s
///   ✓ read_file done  12 ms  {path: "src/lib.rs"}
///   ⠹ Running deploy  2 s  {environment: "staging"}
///
/// ✓ 1 step, 2 model calls, 2 tool calls · 1,431 tokens · 5.2 s
/// ```
/// A reply, a question or a note on the same terminal takes their place meanwhile. Where standard error is no terminal, or `TERM` is
/// `dumb`, each is a plain line as it begins and as it ends; with `--json` there are none. A turn without a workflow has no rows,
/// and no row shows the key in `OPENAI_API_KEY`, or in one of [`variables`](Self::variables) whose name says so, such as `ACME_TOKEN`.
///
/// Its journals are in a folder of its name in the person's data folder, unless `--store` or `CHAT_STORE` names another place.
/// Who answers is the program's own affair: `--model`, `--base-url`, `--instructions` and `--responder` are `chat`'s alone, and
/// are not understood here. [`model_from_env`](crate::model_from_env) is for a responder that asks a model.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use chat_cli::{MODEL_VARIABLES, Program};
/// use chat_responder_model::ModelResponder;
///
/// fn main() -> ExitCode {
///     Program::new("poet")
///         .about("Answers in verse")
///         .version(env!("CARGO_PKG_VERSION"))
///         .variables(MODEL_VARIABLES)
///         .run(|| {
///             let model = chat_cli::model_from_env()?;
///             Ok(ModelResponder::new(model).instructions("You answer in verse."))
///         })
/// }
/// ```
#[derive(Debug)]
pub struct Program {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) version: &'static str,
    pub(crate) variables: &'static [(&'static str, &'static str)],
}

impl Program {
    /// A program of this name: what its messages begin with and its hints propose to call.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            about: "A conversation at the terminal, kept in a journal",
            version: concat!("(chat-cli ", env!("CARGO_PKG_VERSION"), ")"),
            variables: &[],
        }
    }

    /// What it is for, in a line without a full stop: the first line of its help.
    #[must_use]
    pub fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// What `--version` tells behind its name, such as `env!("CARGO_PKG_VERSION")`; the version of this crate unless set.
    #[must_use]
    pub fn version(self, version: &'static str) -> Self {
        Self { version, ..self }
    }

    /// The variables of the environment that its responder reads, and what each is for: its help lists them.
    /// [`MODEL_VARIABLES`](crate::MODEL_VARIABLES) where it calls [`model_from_env`](crate::model_from_env).
    #[must_use]
    pub fn variables(self, variables: &'static [(&'static str, &'static str)]) -> Self {
        Self { variables, ..self }
    }

    /// Runs what the process's arguments name, and gives the exit code: 0 completed, 1 failed, 2 usage, 130 canceled.
    ///
    /// The responder is made within the runtime, and only where something will be answered: who looks at sessions needs no key.
    /// What it fails with is told on standard error, a [`SetupError`] as a mistake of usage and any other as a failure.
    ///
    /// Starts a tokio runtime of its own: not to be called within one.
    pub fn run<R: Responder>(
        self,
        responder: impl FnOnce() -> Result<R, Box<dyn Error + Send + Sync>>,
    ) -> ExitCode {
        let args = Args::of_this_process(&self);
        enter(self.name, self.variables, args, || match responder() {
            Ok(responder) => Ok(Arc::new(responder)),
            Err(error) => Err(match error.downcast::<SetupError>() {
                Ok(setup) => setup.0,
                Err(other) => Problem::failed(other.to_string()),
            }),
        })
    }
}

/// Does what a program's arguments say.
#[tokio::main]
pub(crate) async fn enter(
    program: &'static str,
    variables: &[(&str, &str)],
    args: Args,
    responder: impl FnOnce() -> Result<Arc<dyn Responder>, Problem>,
) -> ExitCode {
    let notes = Notes::stderr();
    notices::to(notes.clone(), program);
    let json = args.options.json;
    let exit = match setup::chat(program, &args, responder) {
        Ok((chat, again)) => {
            let mut desk = Desk::of_this_process(again, notes, json);
            desk.trace = setup::without_keys(variables, &setup::var);
            front_door::enter(chat, args.command, args.session, desk).await
        }
        Err(problem) => Desk::of_this_process(Again::plain(program), notes, json).tell(&problem),
    };
    exit.into()
}
