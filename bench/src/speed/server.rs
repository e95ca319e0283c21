//! The server of the measurements: bytes that were made before anybody asks, and threads that write them.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

/// The first delta goes ahead by this much, so that a client has begun before it is measured.
const AHEAD: Duration = Duration::from_millis(100);

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";

/// Listens, says where on its output, and serves until it is killed.
pub(crate) fn run() -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    println!("http://{}", listener.local_addr()?);
    let waiting = Arc::new(Mutex::new(Vec::new()));
    for stream in listener.incoming() {
        let (stream, waiting) = (stream?, waiting.clone());
        // A client that leaves is no fault of the server's.
        thread::spawn(move || serve(stream, &waiting));
    }
    Ok(())
}

fn serve(mut stream: TcpStream, waiting: &Mutex<Vec<TcpStream>>) -> Result<()> {
    stream.set_nodelay(true)?;
    let path = request(&mut stream)?;
    let mut parts = path.trim_start_matches('/').split('/');
    let kind = parts.next().unwrap_or_default();
    let mut number = || parts.next().and_then(|part| part.parse::<usize>().ok());
    match kind {
        "full" => full(stream, number().context("how many")?),
        "flood" => flood(stream, number().context("how much")?),
        "paced" => {
            let streams = number().context("how many streams")?;
            let (deltas, ms) = (number().context("how many")?, number().context("how fast")?);
            let all = {
                let mut waiting = waiting.lock().map_err(|_| anyhow::anyhow!("a panic"))?;
                waiting.push(stream);
                if waiting.len() < streams {
                    return Ok(());
                }
                std::mem::take(&mut *waiting)
            };
            paced(all, deltas, Duration::from_millis(ms as u64))
        }
        _ => Ok(()),
    }
}

/// Reads a request to its end, and gives its path.
fn request(stream: &mut TcpStream) -> Result<String> {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer)?;
        read.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&read);
        if count == 0 {
            anyhow::bail!("the client left");
        }
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_it = name.eq_ignore_ascii_case("content-length");
            is_it.then(|| value.trim().parse::<usize>().ok())?
        });
        if body.len() >= length.unwrap_or_default() {
            let path = head.split(' ').nth(1).unwrap_or_default();
            return Ok(path.to_owned());
        }
    }
}

fn full(mut stream: TcpStream, deltas: usize) -> Result<()> {
    let mut rest = Vec::new();
    for number in 1..deltas {
        rest.extend(delta(number));
    }
    rest.extend(end());
    stream.write_all(HEAD)?;
    stream.write_all(&delta(0))?;
    thread::sleep(AHEAD);
    stream.write_all(&rest)?;
    Ok(())
}

fn flood(mut stream: TcpStream, mib: usize) -> Result<()> {
    let block: Vec<u8> = (1..4096).flat_map(delta).collect();
    stream.write_all(HEAD)?;
    stream.write_all(&delta(0))?;
    thread::sleep(AHEAD);
    for _ in 0..mib * 1024 * 1024 / block.len() {
        stream.write_all(&block)?;
    }
    stream.write_all(&end())?;
    Ok(())
}

fn paced(mut streams: Vec<TcpStream>, deltas: usize, pace: Duration) -> Result<()> {
    let chunks: Vec<Vec<u8>> = (0..deltas).map(delta).collect();
    for stream in &mut streams {
        stream.write_all(HEAD)?;
    }
    let start = Instant::now() + AHEAD;
    for (chunk, at) in chunks.iter().zip(0..) {
        thread::sleep((start + pace * at).saturating_duration_since(Instant::now()));
        for stream in &mut streams {
            stream.write_all(chunk)?;
        }
    }
    for stream in &mut streams {
        stream.write_all(&end())?;
    }
    Ok(())
}

/// An event as OpenAI sends it, in a chunk of its own.
fn delta(number: usize) -> Vec<u8> {
    let word = word(number);
    event(&format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"tiny","system_fingerprint":"fp_1","choices":[{{"index":0,"delta":{{"content":"{word}"}},"logprobs":null,"finish_reason":null}}],"usage":null}}"#
    ))
}

fn word(number: usize) -> &'static str {
    ["the", " turn", " of", " a", " conversation", ",", " and"][number % 7]
}

/// How much text so many deltas have.
pub(super) fn text_bytes(deltas: usize) -> usize {
    (0..deltas).map(|number| word(number).len()).sum()
}

fn end() -> Vec<u8> {
    let mut bytes = event(
        r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"tiny","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}"#,
    );
    bytes.extend(event(
        r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"tiny","choices":[],"usage":{"prompt_tokens":8,"completion_tokens":9,"total_tokens":17}}"#,
    ));
    bytes.extend(event("[DONE]"));
    bytes.extend(b"0\r\n\r\n");
    bytes
}

fn event(data: &str) -> Vec<u8> {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}
