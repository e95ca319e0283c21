//! A closure made a responder keeps the laws of responders.

use std::sync::Arc;

use chat_conformance::ResponderFactory;
use chat_core::{Reply, Responder};
use chat_runtime::responder_fn;

struct Closures;

impl ResponderFactory for Closures {
    async fn answering(&self) -> Arc<dyn Responder> {
        Arc::new(responder_fn(|request, out| async move {
            for word in request.input.split_inclusive(' ') {
                out.text(word);
                tokio::task::yield_now().await;
            }
            Ok(Reply::streamed())
        }))
    }

    async fn endless(&self) -> Arc<dyn Responder> {
        Arc::new(responder_fn(|request, out| async move {
            loop {
                out.text(request.input.clone());
                tokio::task::yield_now().await;
            }
        }))
    }
}

chat_conformance::responder_laws!(Closures);
