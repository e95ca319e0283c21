//! What must hold of the reader whatever bytes come. The fuzz target asks it of bytes that a fuzzer chose, tests of those that
//! once broke it. No part of the API: compiled for tests, and where cargo-fuzz sets `--cfg fuzzing`.

use std::collections::VecDeque;

use chat_core::ModelEvent;

use crate::{
    answer::{AnswerReader, Fault, Progress},
    sse::{MAX_STRAY_BYTES, SseEvent, SseReader, TooLarge},
};

/// Events so small that a short body passes the limit.
const LIMIT: usize = 64;

/// Reads a body as every way of cutting it into chunks must have it read.
///
/// # Panics
/// If the reader does, gives other events when the body is cut, or holds more than it promises to.
pub fn read(body: &[u8]) {
    for done_suffices in [false, true] {
        same_however_cut(body, |pieces| answer(done_suffices, pieces));
    }
    same_however_cut(body, events);
}

fn same_however_cut<T: std::fmt::Debug + PartialEq>(body: &[u8], read: impl Fn(&[&[u8]]) -> T) {
    let whole = read(&[body]);
    let bytes: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(read(&bytes), whole, "byte by byte");
    // The same places each time, so that what fails fails again.
    let mut random = fastrand::Rng::with_seed(7);
    let mut pieces = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(random.usize(0..=rest.len().min(40)));
        pieces.push(piece);
        rest = after;
    }
    assert_eq!(read(&pieces), whole, "in pieces {pieces:?}");
}

fn answer(done_suffices: bool, pieces: &[&[u8]]) -> (VecDeque<ModelEvent>, Result<(), Fault>) {
    let mut reader = AnswerReader::new(done_suffices);
    let mut events = VecDeque::new();
    for piece in pieces {
        match reader.feed(piece, &mut events) {
            Ok(Progress::Reading) => {}
            Ok(Progress::Whole) => return (events, Ok(())),
            Err(fault) => return (events, Err(fault)),
        }
    }
    let end = reader.end(&mut events);
    (events, end)
}

fn events(pieces: &[&[u8]]) -> (Vec<SseEvent>, Result<String, TooLarge>) {
    let mut reader = SseReader::new(LIMIT);
    let mut events = Vec::new();
    for piece in pieces {
        let read = reader.feed(piece, &mut events);
        let held = reader.held();
        assert!(held <= 2 * LIMIT + MAX_STRAY_BYTES, "it holds {held} bytes");
        if let Err(TooLarge) = read {
            return (events, Err(TooLarge));
        }
    }
    events.extend(reader.end());
    for event in &events {
        let size = event.name.len() + event.data.len();
        assert!(size <= LIMIT, "an event of {size} bytes");
    }
    (events, Ok(reader.stray().to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::*;

    proptest! {
        #[test]
        fn m5_no_bytes_break_the_reader(
            parts in prop::collection::vec(select(PARTS), 0..40),
            noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let mut body = parts.concat();
            for (place, byte) in noise {
                if !body.is_empty() {
                    let place = place.index(body.len());
                    body[place] = byte;
                }
            }
            read(&body);
        }
    }

    #[test]
    fn m5_an_event_is_as_large_as_it_is_kept() {
        // Each byte that is no UTF-8 is kept as three.
        let mut body = b"data: ".to_vec();
        body.extend([0xff; LIMIT / 2]);
        body.extend(b"\n\n");
        read(&body);
        // A name is kept, too.
        let name = "n".repeat(LIMIT - 20);
        read(format!("event: {name}\ndata: {name}\n\n").as_bytes());
    }

    #[test]
    fn m3_what_comes_after_done_is_not_read() {
        read(b"data: [DONE]\n\n{\"detail\":\"no\"}\n");
    }

    /// What bodies are made of, and what they are broken with.
    const PARTS: &[&[u8]] = &[
        b"data: ",
        b"data:",
        b"data",
        b"event: error",
        b"event: ping",
        b": ping",
        b"error: ",
        b"\n",
        b"\n\n",
        b"\r\n\r\n",
        b"\r",
        b"[DONE]",
        b"\xef\xbb\xbf",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        "\u{1f600}".as_bytes(),
        b"{\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}",
        b"{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}",
        b"{\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}",
        b"{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}",
        b"{\"error\":{\"message\":\"no\",\"code\":500}}",
        b"{\"usage\":{\"prompt_tokens\":NaN,\"completion_tokens\":\"2\"}}",
    ];
}
