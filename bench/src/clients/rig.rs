//! rig, with its chat completions of OpenAI's form.

use anyhow::Result;
use futures_util::StreamExt;
use rig_core::{
    completion::CompletionRequest,
    providers::openai::OpenAIConfig,
    streaming::{Item, StreamEvent},
};

use super::{Take, give};
use crate::corpus::KEY;

pub(super) async fn stream(base: &str, take: &mut dyn Take) -> Result<()> {
    let model = OpenAIConfig::new(KEY)
        .with_base_url(base)
        .client()
        .chat("tiny");
    let mut items = model.stream(CompletionRequest::new("Hello"))?;
    while let Some(item) = items.next().await {
        if let Item::Event(StreamEvent::Text { text, .. }) = item? {
            give(take, &text).await;
        }
    }
    Ok(())
}
