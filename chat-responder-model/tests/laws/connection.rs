//! The connection belongs to the reader: it closes with the answer, and flows no faster than it is read (M5).

use std::time::{Duration, Instant};

use crate::support::*;

#[tokio::test]
async fn m5_cancel_closes_the_connection_within_50_ms() {
    let server = server().await;
    let model = model(&server);
    // Before the head, before the body, and in the middle of it.
    for stage in 0..3 {
        within_50_ms(&format!("stage {stage}"), async || {
            let (mut answer, mut exchange) = asked(&server, &model).await;
            if stage > 0 {
                exchange.respond_events().await;
            }
            if stage > 1 {
                exchange.event(HI).await;
                event(&mut answer).await;
            }
            let canceled = Instant::now();
            drop(answer);
            exchange.closed().await;
            canceled.elapsed()
        })
        .await;
    }
}

#[tokio::test]
async fn m5_c46_a_reader_that_pauses_stops_the_server() {
    const CHUNK: usize = 64 * 1024;
    const CHUNKS: usize = 512;
    let server = server().await;
    let (mut answer, mut exchange) = answering(&server, &model(&server)).await;
    exchange.event(HI).await;
    event(&mut answer).await;

    // The reader pauses; the server sends as fast as it is taken.
    let piece = "x".repeat(CHUNK);
    let (sent, watched) = tokio::sync::watch::channel(0_usize);
    let flood = tokio::spawn(async move {
        let chunk = HI.replace("Hi", &piece);
        for count in 1..=CHUNKS {
            exchange.event(&chunk).await;
            sent.send_replace(count);
        }
        exchange.event(STOP).await;
        exchange.event("[DONE]").await;
    });
    // A paused clock moves on only when nothing else can. Once nothing more was taken, all buffers between the two are full.
    tokio::time::pause();
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let taken = *watched.borrow();
        if taken == std::mem::replace(&mut before, taken) && taken > 0 {
            break;
        }
    }
    tokio::time::resume();
    let held = before * CHUNK;
    assert!(
        held < 16 * 1024 * 1024,
        "{held} bytes of {} were taken without a reader",
        CHUNK * CHUNKS
    );

    // What was held back is not lost.
    let (text, error) = rest(answer).await;
    assert_eq!((text.len(), error), (CHUNK * CHUNKS, None));
    flood.await.unwrap();
}
