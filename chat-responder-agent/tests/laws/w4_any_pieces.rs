//! W4, for any pieces a model writes: the deltas add up to the reply, whatever comes between them and whatever the caller takes.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use chat_core::{
    ChatEvent, FinishReason, LanguageModel, MemoryStore, ModelEvent, ModelRef, ModelRequest,
    ResponderError, TurnError,
};
use chat_responder_agent::{Agent, AgentResponder, Step, function_tool};
use chat_runtime::Chat;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use proptest::prelude::*;
use serde_json::json;

use crate::support::deltas;

/// What a model says in one piece, or that it has nothing to say just now.
#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Reasoning(String),
    ToolCall,
    Pause,
}

/// How the reply relates to what the step wrote.
#[derive(Debug, Clone)]
enum Taken {
    AsStreamed,
    Same,
    Longer(String),
    /// So many characters shorter.
    Shorter(usize),
    Other,
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        4 => "[ -~é日🦀\n]{0,6}".prop_map(Piece::Text),
        1 => "[a-zé]{0,3}".prop_map(Piece::Reasoning),
        1 => Just(Piece::ToolCall),
        2 => Just(Piece::Pause),
    ]
}

fn taken() -> impl Strategy<Value = Taken> {
    prop_oneof![
        Just(Taken::AsStreamed),
        Just(Taken::Same),
        "[a-zé🦀]{1,4}".prop_map(Taken::Longer),
        (1usize..4).prop_map(Taken::Shorter),
        Just(Taken::Other),
    ]
}

/// Plays its calls in order; one that asks for no tool is the last.
struct Played(Mutex<VecDeque<Vec<Piece>>>);

impl LanguageModel for Played {
    fn model(&self) -> ModelRef {
        ModelRef::new("test", "played")
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ResponderError>> {
        let pieces = self.0.lock().unwrap().pop_front().unwrap();
        let said = stream::iter(pieces.into_iter().zip(0..)).filter_map(async |(piece, index)| {
            Some(match piece {
                Piece::Text(text) => ModelEvent::Text(text.into()),
                Piece::Reasoning(text) => ModelEvent::Reasoning {
                    text: text.into(),
                    kind: None,
                    data: None,
                },
                Piece::ToolCall => ModelEvent::ToolCall {
                    index,
                    call_id: format!("call-{index}").into(),
                    tool: "look".into(),
                    input: json!({}).into(),
                },
                Piece::Pause => {
                    tokio::task::yield_now().await;
                    return None;
                }
            })
        });
        let end = ModelEvent::Finish(FinishReason::Stop);
        said.chain(stream::iter([end])).map(Ok).boxed()
    }
}

/// What a step that plays these calls writes: the texts of its calls, a blank line between them.
fn written(calls: &[Vec<Piece>]) -> String {
    let texts: Vec<_> = calls
        .iter()
        .map(|pieces| {
            let texts = pieces.iter().map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                Piece::Reasoning(_) | Piece::ToolCall | Piece::Pause => "",
            });
            texts.collect::<String>()
        })
        .filter(|text| !text.is_empty())
        .collect();
    texts.join("\n\n")
}

/// The reply that is taken, and whether it goes on from what was written.
fn reply(taken: &Taken, written: &str) -> (String, bool) {
    let reply = match taken {
        Taken::AsStreamed | Taken::Same => written.to_owned(),
        Taken::Longer(more) => format!("{written}{more}"),
        Taken::Shorter(by) => {
            let kept = written.chars().count().saturating_sub(*by);
            written.chars().take(kept).collect()
        }
        Taken::Other => format!("\u{1}{written}"),
    };
    let goes_on = reply.starts_with(written);
    (reply, goes_on)
}

async fn answer(
    calls: Vec<Vec<Piece>>,
    taken: Taken,
) -> (Vec<ChatEvent>, Result<Arc<str>, TurnError>) {
    let model = Arc::new(Played(Mutex::new(calls.into())));
    let responder = AgentResponder::new("test", move |_| {
        let look = function_tool("look", "Looks.", |(): (), _| async { Ok("seen") });
        Agent::new(model.clone())
            .tool(look)
            .then(Step::new("reply").prompt("Hello"))
    });
    let mut responder = responder.stream("reply");
    if !matches!(taken, Taken::AsStreamed) {
        responder = responder.reply(move |run| {
            let written = run.text("reply")?;
            Some(reply(&taken, &written).0)
        });
    }
    let session = Chat::new(responder, MemoryStore::new())
        .create_session()
        .await
        .unwrap();
    let turn = session.send("Hello");
    let mut events = turn.events().unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        seen.push(event);
    }
    (seen, turn.result().await.map(|reply| reply.text))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn w4_the_deltas_add_up_to_the_reply(
        mut calls in prop::collection::vec(prop::collection::vec(piece(), 0..8), 1..5),
        taken in taken(),
    ) {
        let last = calls.len() - 1;
        for (place, pieces) in calls.iter_mut().enumerate() {
            pieces.retain(|piece| place < last || !matches!(piece, Piece::ToolCall));
            if place < last {
                pieces.push(Piece::ToolCall);
            }
        }
        let written = written(&calls);
        let (expected, goes_on) = reply(&taken, &written);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (events, result) = runtime.block_on(answer(calls, taken));
        let shown = deltas(&events).concat();
        if goes_on {
            prop_assert_eq!(&*result.unwrap(), expected.as_str());
            prop_assert_eq!(shown, expected);
        } else {
            let Err(TurnError::Failed(error)) = result else {
                return Err(TestCaseError::fail(format!("no failure: {result:?}")));
            };
            prop_assert_eq!(error.kind(), "reply-contradicts");
            prop_assert_eq!(shown, written);
        }
    }
}
