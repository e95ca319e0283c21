//! The answer reader against the bytes that libFuzzer chooses: `cargo xtask fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| chat_responder_model::fuzzing::read(body));
