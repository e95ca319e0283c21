//! From options and environment to a chat. Flags stand above the environment; a variable that is set to nothing is not set.

use std::sync::Arc;

use chat_core::{Reply, Responder};
use chat_responder_model::{EndpointError, ModelResponder, OpenAi};
use chat_runtime::{Chat, responder_fn};
use etcetera::BaseStrategy as _;

use crate::{
    again::Again,
    args::{Args, Command, Options, Who},
    errors::Problem,
    store_at::StoreAt,
};

const OPENAI: &str = "https://api.openai.com/v1";
const DEFAULT_MODEL: &str = "gpt-5-mini";

/// Reads a variable of the environment.
type Vars<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The chat that the command line and this process's environment describe, and how to come back to its store.
pub(crate) fn chat(args: &Args) -> Result<(Chat, Again), Problem> {
    let vars: Vars<'_> = &|name| {
        let value = std::env::var(name).ok();
        value.filter(|value| !value.trim().is_empty())
    };
    let responder = if args.wants_replies() {
        responder(&args.options, vars)?
    } else {
        // Nothing is asked of it.
        echo()
    };
    let at = store_at(&args.options, vars)?;
    refuse_itself(&at, args.command.as_ref())?;
    let again = Again::on(&at, args.options.store.is_some());
    Ok((Chat::new(responder, at.open()?), again))
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
        .advise("name a file that `chat export` wrote; `chat copy` is for whole stores")),
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

fn store_at(options: &Options, vars: Vars<'_>) -> Result<StoreAt, Problem> {
    match (&options.store, vars("CHAT_STORE")) {
        (Some(at), _) => Ok(at.clone()),
        (None, Some(text)) => {
            let refused = |why| Problem::usage(format!("CHAT_STORE is {text:?}: {why}"));
            text.parse().map_err(refused)
        }
        (None, None) => data_folder(),
    }
}

fn data_folder() -> Result<StoreAt, Problem> {
    let base = etcetera::choose_base_strategy().map_err(|_| {
        Problem::failed("there is no home folder to keep journals in")
            .advise("name one: --store PATH")
    })?;
    Ok(StoreAt::Folder(base.data_dir().join("chat")))
}

fn responder(options: &Options, vars: Vars<'_>) -> Result<Arc<dyn Responder>, Problem> {
    let base_url = options.base_url.clone().or_else(|| vars("OPENAI_BASE_URL"));
    let key = vars("OPENAI_API_KEY");
    let url = match (options.responder, base_url, &key) {
        (Some(Who::Echo), _, _) => return Ok(echo()),
        (Some(Who::Model) | None, Some(url), _) => url,
        (Some(Who::Model) | None, None, Some(_)) => OPENAI.to_owned(),
        (Some(Who::Model) | None, None, None) => return Err(nobody_to_ask()),
    };
    let refused = |error: EndpointError| Problem::usage(error.to_string());
    let mut server = OpenAi::new(url).map_err(refused)?;
    if let Some(key) = key {
        server = server.api_key(key.trim()).map_err(refused)?;
    }
    let model = options.model.clone().or_else(|| vars("CHAT_MODEL"));
    let model = server.model(model.unwrap_or_else(|| DEFAULT_MODEL.to_owned()));
    let responder = ModelResponder::new(model);
    Ok(match &options.instructions {
        Some(instructions) => Arc::new(responder.instructions(instructions.as_str())),
        None => Arc::new(responder),
    })
}

fn nobody_to_ask() -> Problem {
    Problem::usage("there is nobody to ask: set OPENAI_API_KEY to your key for OpenAI,")
        .advise("or name a server, which may want no key: --base-url http://localhost:8080/v1 --model NAME,")
        .advise("or try it without a model, the input comes back: --responder echo")
}

/// Streams the words of the input back.
fn echo() -> Arc<dyn Responder> {
    Arc::new(responder_fn(|request, out| async move {
        for word in request.input.split_inclusive(' ') {
            out.text(word);
        }
        Ok(Reply::streamed())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options {
            store: None,
            base_url: None,
            model: None,
            instructions: None,
            responder: None,
            json: false,
        }
    }

    #[test]
    fn c_without_key_server_or_echo_the_error_says_all_three_ways_in_three_lines() {
        let problem = responder(&options(), &|_| None).err().unwrap();
        let said = problem.text(&Again::Plain);
        assert_eq!(said.lines().count(), 3, "{said}");
        for way in ["OPENAI_API_KEY", "--base-url", "--responder echo"] {
            assert!(said.contains(way), "{said}");
        }
    }

    #[test]
    fn c_a_key_or_a_server_is_enough() {
        for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL"] {
            let vars = |asked: &str| (asked == name).then(|| "http://localhost:1/v1".to_owned());
            assert!(responder(&options(), &vars).is_ok(), "{name}");
        }
    }

    #[test]
    fn c_a_store_that_the_environment_misspells_is_named() {
        let vars = |name: &str| (name == "CHAT_STORE").then(|| "fil:here".to_owned());
        let problem = store_at(&options(), &vars).unwrap_err();
        assert!(
            problem.text(&Again::Plain).contains("CHAT_STORE"),
            "{problem:?}"
        );
    }
}
