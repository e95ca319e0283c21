//! A chat-core responder and language model over any OpenAI-compatible server.
