//! Drives chat-core on tokio: chats, sessions and turns that stream, cancel, steer and retry.
