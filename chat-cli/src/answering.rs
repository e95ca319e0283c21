//! Who answers: the model that options and environment name, or an echo. Flags stand above the environment.

use std::{fmt, sync::Arc};

use chat_core::{Reply, Responder};
use chat_responder_model::{EndpointError, ModelResponder, OpenAi, OpenAiModel};
use chat_runtime::responder_fn;

use crate::{
    args::{ModelOptions, Who},
    errors::Problem,
    setup::{Vars, var},
};

const OPENAI: &str = "https://api.openai.com/v1";
const DEFAULT_MODEL: &str = "gpt-5-mini";

/// Why the environment names no model. A [`Program`](crate::Program) tells it as `chat` tells such things, what to do included.
#[derive(Debug)]
pub struct SetupError(pub(crate) Problem);

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.words().collect::<Vec<_>>().join("\n"))
    }
}

impl std::error::Error for SetupError {}

/// The variables that [`model_from_env`] reads, and what they name: for the help of a program that calls it
/// ([`Program::variables`](crate::Program::variables)).
pub const MODEL_VARIABLES: &[(&str, &str)] = &[
    (
        "OPENAI_API_KEY",
        "The key; a local server may want none. It is never printed or stored.",
    ),
    ("OPENAI_BASE_URL", "The server [default: OpenAI's]."),
    ("CHAT_MODEL", "The model [default: gpt-5-mini]."),
];

/// The model that the environment names, by the variables that `chat` reads: the key from `OPENAI_API_KEY`, the server from
/// `OPENAI_BASE_URL` (OpenAI's own unless set; the key may then be missing), the model from `CHAT_MODEL` (`gpt-5-mini` unless
/// set). Nothing is asked of the server yet.
///
/// # Errors
/// [`SetupError`] where neither a key nor a server is named, or one of them makes no sense: it says what to set.
pub fn model_from_env() -> Result<OpenAiModel, SetupError> {
    let model = model(&ModelOptions::default(), &var).map_err(SetupError)?;
    model.ok_or_else(nobody_named)
}

fn nobody_named() -> SetupError {
    SetupError(nobody_to_ask().advise(
        "or name a server, which may want no key: OPENAI_BASE_URL=http://localhost:8080/v1 CHAT_MODEL=NAME",
    ))
}

/// Who answers in `chat`.
pub(crate) fn responder(
    options: &ModelOptions,
    vars: Vars<'_>,
) -> Result<Arc<dyn Responder>, Problem> {
    if options.responder == Some(Who::Echo) {
        return Ok(echo());
    }
    let model = model(options, vars)?.ok_or_else(|| {
        nobody_to_ask()
            .advise("or name a server, which may want no key: --base-url http://localhost:8080/v1 --model NAME,")
            .advise("or try it without a model, the input comes back: --responder echo")
    })?;
    let responder = ModelResponder::new(model);
    Ok(match &options.instructions {
        Some(instructions) => Arc::new(responder.instructions(instructions.as_str())),
        None => Arc::new(responder),
    })
}

/// Streams the words of the input back.
pub(crate) fn echo() -> Arc<dyn Responder> {
    Arc::new(responder_fn(|request, out| async move {
        for word in request.input.split_inclusive(' ') {
            out.text(word);
        }
        Ok(Reply::streamed())
    }))
}

/// The model that is named; `None` where there is neither a server nor a key for OpenAI's.
fn model(options: &ModelOptions, vars: Vars<'_>) -> Result<Option<OpenAiModel>, Problem> {
    let base_url = options.base_url.clone().or_else(|| vars("OPENAI_BASE_URL"));
    let key = vars("OPENAI_API_KEY");
    let url = match (base_url, &key) {
        (Some(url), _) => url,
        (None, Some(_)) => OPENAI.to_owned(),
        (None, None) => return Ok(None),
    };
    let refused = |error: EndpointError| Problem::usage(error.to_string());
    let mut server = OpenAi::new(url).map_err(refused)?;
    if let Some(key) = key {
        server = server.api_key(key.trim()).map_err(refused)?;
    }
    let model = options.model.clone().or_else(|| vars("CHAT_MODEL"));
    Ok(Some(
        server.model(model.unwrap_or_else(|| DEFAULT_MODEL.to_owned())),
    ))
}

fn nobody_to_ask() -> Problem {
    Problem::usage("there is nobody to ask: set OPENAI_API_KEY to your key for OpenAI,")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::again::Again;

    #[test]
    fn c_without_key_server_or_echo_the_error_says_all_three_ways_in_three_lines() {
        let problem = responder(&ModelOptions::default(), &|_| None)
            .err()
            .unwrap();
        let said = problem.text(&Again::plain("chat"));
        assert_eq!(said.lines().count(), 3, "{said}");
        for way in ["OPENAI_API_KEY", "--base-url", "--responder echo"] {
            assert!(said.contains(way), "{said}");
        }
    }

    #[test]
    fn c_a_program_without_a_model_is_told_what_to_set_and_of_no_option() {
        let said = nobody_named().to_string();
        assert_eq!(said.lines().count(), 2, "{said}");
        for way in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "CHAT_MODEL"] {
            assert!(said.contains(way), "{said}");
        }
        assert!(!said.contains("--"), "{said}");
    }

    #[test]
    fn c_a_key_or_a_server_is_enough() {
        for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL"] {
            let vars = |asked: &str| (asked == name).then(|| "http://localhost:1/v1".to_owned());
            assert!(responder(&ModelOptions::default(), &vars).is_ok(), "{name}");
        }
    }
}
