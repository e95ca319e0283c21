//! An execution as the suite polls it: events and result side by side, and a look at what is left of it.

use std::sync::Arc;

use chat_core::{
    Context, Control, Execution, Reply, Responder, ResponderError, ResponderEvent, TurnRequest,
};
use futures_util::{
    StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};

/// An execution under way.
pub(super) struct Watched {
    pub(super) events: BoxStream<'static, Result<ResponderEvent, ResponderError>>,
    pub(super) result: BoxFuture<'static, Result<Reply, ResponderError>>,
    pub(super) control: Option<Arc<dyn Control>>,
}

/// What shows whether anything of an execution goes on: its input, which whatever works on it holds.
pub(super) struct Trace {
    input: Arc<str>,
    pub(super) cancel: tokio_util::sync::CancellationToken,
}

impl Watched {
    /// Asks for an answer to an input.
    pub(super) fn begin(responder: &dyn Responder, input: &str) -> (Self, Trace) {
        let input: Arc<str> = input.into();
        let cancel = tokio_util::sync::CancellationToken::new();
        let id = |text: &str| format!("{text}-{}", input.len());
        let turn_id = chat_core::TurnId::parse(id("turn")).expect("letters and digits are an id");
        let Execution {
            result,
            events,
            control,
        } = responder.respond(TurnRequest {
            input: input.clone(),
            messages: Context::default(),
            cancel: cancel.clone(),
            session_id: chat_core::SessionId::parse("suite").expect("letters are an id"),
            root_turn_id: turn_id.clone(),
            turn_id,
        });
        let events = events.unwrap_or_else(|| stream::empty().boxed());
        let watched = Self {
            events,
            result,
            control,
        };
        (watched, Trace { input, cancel })
    }

    /// Polls it to its end, as a turn does: the text that streamed, and the reply.
    pub(super) async fn finish(&mut self) -> (String, Reply) {
        let events = async {
            let mut text = String::new();
            while let Some(event) = self.events.next().await {
                if let ResponderEvent::TextDelta { text: piece, .. } = event.expect("no event errs")
                {
                    text.push_str(&piece);
                }
            }
            text
        };
        let (text, reply) = futures_util::future::join(events, &mut self.result).await;
        (text, reply.expect("it has a reply"))
    }

    /// Polls it until it has said some text.
    pub(super) async fn say_something(&mut self) {
        let said = async {
            loop {
                let event = self.events.next().await.expect("it says some text first");
                if let ResponderEvent::TextDelta { .. } = event.expect("no event errs") {
                    return;
                }
            }
        };
        match futures_util::future::select(Box::pin(said), &mut self.result).await {
            futures_util::future::Either::Left(_) => {}
            futures_util::future::Either::Right(_) => panic!("it goes on until it is stopped"),
        }
    }
}

impl Trace {
    /// Waits until nothing is left that works on the input. The suite's deadline ends it where something goes on.
    pub(super) async fn gone(self) {
        // Nobody tells when the last holder lets go: asked anew until the deadline.
        while Arc::strong_count(&self.input) > 1 {
            tokio::task::yield_now().await;
        }
    }
}
