//! The suites and the test kit that prove chat-core stores and responders against its contract.
