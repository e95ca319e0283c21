//! A chat-core store of one JSONL journal per session, safe against crashes and other processes.
