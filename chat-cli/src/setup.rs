//! From options and environment to a chat. Flags stand above the environment; a variable that is set to nothing is not set.

use std::sync::Arc;

use chat_core::{Redactor, Responder};
use chat_runtime::Chat;
use chat_trace::ProjectOptions;
use etcetera::BaseStrategy as _;
use serde_json::{Map, Value};

use crate::{
    again::Again,
    answering,
    args::{Args, Command, Options},
    errors::Problem,
    store_at::StoreAt,
};

/// Reads a variable of the environment.
pub(crate) type Vars<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A variable of this process's environment.
pub(crate) fn var(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    value.filter(|value| !value.trim().is_empty())
}

/// The chat that a program's command line and this process's environment describe, and how to come back to its store. The
/// responder is made only where something will be asked of it.
pub(crate) fn chat(
    program: &'static str,
    args: &Args,
    responder: impl FnOnce() -> Result<Arc<dyn Responder>, Problem>,
) -> Result<(Chat, Again), Problem> {
    let responder = if args.wants_replies() {
        responder()?
    } else {
        answering::echo()
    };
    let at = store_at(program, &args.options, &var)?;
    refuse_itself(&at, args.command.as_ref())?;
    let again = Again::on(program, &at, args.options.store.is_some());
    Ok((Chat::new(responder, at.open()?), again))
}

/// How rows are made in a program that reads these variables: none shows a key that one of them holds, or one of `chat`'s own.
pub(crate) fn without_keys(variables: &[(&str, &str)], vars: Vars<'_>) -> ProjectOptions {
    let redactor = Redactor::default();
    let mut options = ProjectOptions::default();
    for (name, _) in answering::MODEL_VARIABLES.iter().chain(variables) {
        if let Some(value) = vars(name) {
            let fields = Map::from_iter([((*name).to_owned(), Value::from(&*value))]);
            if redactor.hides_field(&fields, name) {
                options = options.secret(value);
            }
        }
    }
    options
}

/// Refuses what would open the store's own file once more beside the store: SQLite's locks on it would go with that.
fn refuse_itself(at: &StoreAt, command: Option<&Command>) -> Result<(), Problem> {
    match command {
        Some(Command::Copy { to, .. }) if to.path().is_some_and(|to| at.is_in(to)) => {
            Err(Problem::usage(format!("{to} is the store to copy from"))
                .advise("name another place: --to PATH"))
        }
        Some(Command::Import {
            file: Some(file), ..
        }) if at.is_in(file) => Err(Problem::usage(format!(
            "{} is the store itself",
            file.display()
        ))
        .advise("name a file that `export` wrote; `copy` is for whole stores")),
        Some(
            Command::Ask { .. }
            | Command::Sessions
            | Command::Show { .. }
            | Command::Retry { .. }
            | Command::Export { .. }
            | Command::Import { .. }
            | Command::Copy { .. }
            | Command::Delete { .. },
        )
        | None => Ok(()),
    }
}

fn store_at(program: &str, options: &Options, vars: Vars<'_>) -> Result<StoreAt, Problem> {
    match (&options.store, vars("CHAT_STORE")) {
        (Some(at), _) => Ok(at.clone()),
        (None, Some(text)) => {
            let refused = |why| Problem::usage(format!("CHAT_STORE is {text:?}: {why}"));
            text.parse().map_err(refused)
        }
        (None, None) => data_folder(program),
    }
}

fn data_folder(program: &str) -> Result<StoreAt, Problem> {
    let base = etcetera::choose_base_strategy().map_err(|_| {
        Problem::failed("there is no home folder to keep journals in")
            .advise("name one: --store PATH")
    })?;
    Ok(StoreAt::Folder(base.data_dir().join(program)))
}

#[cfg(test)]
mod tests {
    use chat_core::{TraceKind, TraceNode, TraceTree};
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::args::ChatArgs;

    #[test]
    fn c_a_responder_is_made_only_where_something_is_asked_of_it() {
        for (line, made) in [
            ("chat ask hi", true),
            ("chat", true),
            ("chat sessions", false),
        ] {
            let words = line.split(' ').chain(["--store", "memory:"]);
            let args = ChatArgs::try_parse_from(words).unwrap().args;
            let refused = || Err(Problem::usage("nobody"));
            assert_eq!(chat("chat", &args, refused).is_err(), made, "{line}");
        }
    }

    #[test]
    fn c66_keys_of_the_environment_are_shown_in_no_row() {
        let variables = [("ACME_API_KEY", ""), ("ACME_TOKEN", ""), ("ACME_URL", "")];
        let vars = |name: &str| Some(format!("value of {name}"));
        let options = without_keys(&variables, &vars);
        // That of the model is known, whatever a program says it reads.
        let unnamed = without_keys(&[], &vars);
        let mut tree = TraceTree::default();
        let mut node = TraceNode::new("fetch", TraceKind::Tool, "fetch");
        let names = ["OPENAI_API_KEY", "ACME_API_KEY", "ACME_TOKEN", "ACME_URL"];
        let values = names.map(|name| format!("value of {name}"));
        node.input = Some(Arc::new(json!(values.join(", "))));
        tree.push(None, node);
        let shown = |options: &ProjectOptions| {
            let rows = chat_trace::project(&tree, &options.clone().summary_chars(1_000));
            let input = rows[0].input.clone().unwrap();
            names.map(|name| input.contains(name))
        };
        assert_eq!(shown(&options), [false, false, false, true]);
        assert_eq!(shown(&unnamed), [false, true, true, true]);
    }

    #[test]
    fn c_a_store_that_the_environment_misspells_is_named() {
        let options = Options {
            store: None,
            json: false,
        };
        let vars = |name: &str| (name == "CHAT_STORE").then(|| "fil:here".to_owned());
        let problem = store_at("chat", &options, &vars).unwrap_err();
        let said = problem.text(&Again::plain("chat"));
        assert!(said.contains("CHAT_STORE"), "{said}");
    }
}
