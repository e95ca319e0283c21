//! A command like `chat` around a responder of one's own: the terminal, the subcommands and the stores are `chat`'s.

use std::{error::Error, process::ExitCode, sync::Arc};

use chat_core::Responder;

use crate::{
    again::Again, answering::SetupError, args::Args, desk::Desk, errors::Problem, front_door,
    notices, setup,
};

/// A program whose turns a responder of its own answers, at the terminal: `ask`, a conversation, `sessions`, `show`, `retry`,
/// `export`, `import`, `copy` and `delete`, with `--session`, `--store` and `--json`, as `chat` has them (law group C). Approvals
/// are asked on the terminal. `--version` tells the program's.
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
        enter(self.name, args, || match responder() {
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
    args: Args,
    responder: impl FnOnce() -> Result<Arc<dyn Responder>, Problem>,
) -> ExitCode {
    notices::to_stderr(program);
    let json = args.options.json;
    let exit = match setup::chat(program, &args, responder) {
        Ok((chat, again)) => {
            let desk = Desk::of_this_process(again, json);
            front_door::enter(chat, args.command, args.session, desk).await
        }
        Err(problem) => Desk::of_this_process(Again::plain(program), json).tell(&problem),
    };
    exit.into()
}
