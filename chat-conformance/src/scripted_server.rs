//! An HTTP/1.1 server on loopback whose every byte waits for the test. It serves nothing by itself, one request a connection.

use std::{fmt, net::SocketAddr};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The most a request's head may hold, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// A server that a test plays by hand: it takes a request when asked to, and sends each chunk when told.
///
/// ```
/// use chat_conformance::ScriptedServer;
/// use tokio::{io::{AsyncReadExt, AsyncWriteExt}, net::TcpStream};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let server = ScriptedServer::start().await;
/// let mut client = TcpStream::connect(server.address()).await?;
/// client.write_all(b"GET /hello HTTP/1.1\r\nHost: here\r\n\r\n").await?;
///
/// let mut exchange = server.next().await;
/// assert_eq!(exchange.path(), "/hello");
/// exchange.respond(200, [("content-type", "text/plain")]).await;
/// exchange.chunk("Hi").await;
/// exchange.end().await;
///
/// let mut answer = String::new();
/// client.read_to_string(&mut answer).await?;
/// assert!(answer.ends_with("\r\n\r\n2\r\nHi\r\n0\r\n\r\n"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ScriptedServer {
    listener: TcpListener,
    address: SocketAddr,
}

/// One request and its answer, played by the test. Dropping it closes the connection where it stands.
///
/// Sending answers whether the client's side of the connection still took the bytes. On loopback a send waits once the
/// buffers between the two are full, so a reader that pauses is felt here.
pub struct Exchange {
    stream: TcpStream,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl ScriptedServer {
    /// Starts on a free port of the loopback interface.
    ///
    /// # Panics
    /// Where the machine has no free port there.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("loopback has a free port");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        Self { listener, address }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Takes the next connection, and reads nothing from it: for clients that must wait.
    ///
    /// # Panics
    /// Where the connection can't be taken.
    pub async fn next_connection(&self) -> TcpStream {
        let (stream, _) = self
            .listener
            .accept()
            .await
            .expect("a loopback connection can be taken");
        stream
            .set_nodelay(true)
            .expect("a loopback socket takes its options");
        stream
    }

    /// Takes the next request, whole. Not cancel-safe: a request that was read in part is lost.
    ///
    /// # Panics
    /// Where what comes is no whole HTTP/1.1 request with a `content-length`.
    pub async fn next(&self) -> Exchange {
        Exchange::read(self.next_connection().await).await
    }
}

impl Exchange {
    async fn read(mut stream: TcpStream) -> Self {
        let mut read = Vec::new();
        loop {
            if let Some((exchange_head, head_bytes)) = parse_head(&read) {
                let Head {
                    method,
                    path,
                    headers,
                } = exchange_head;
                let length = headers.iter().find(|(name, _)| name == "content-length");
                let length: usize = length.map_or(0, |(_, value)| {
                    value.parse().expect("a content-length is a number")
                });
                let mut body = read.split_off(head_bytes);
                let missing = length
                    .checked_sub(body.len())
                    .expect("a client sends one request a connection");
                let start = body.len();
                body.resize(start + missing, 0);
                stream
                    .read_exact(&mut body[start..])
                    .await
                    .expect("the client sends its whole body");
                return Self {
                    stream,
                    method,
                    path,
                    headers,
                    body,
                };
            }
            assert!(
                read.len() < MAX_HEAD_BYTES,
                "a request's head holds at most {MAX_HEAD_BYTES} bytes"
            );
            let count = stream
                .read_buf(&mut read)
                .await
                .expect("the client sends its request");
            assert!(count > 0, "the client left in the middle of its request");
        }
    }

    /// The request's method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The request's path, with its query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A header of the request, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The request's body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The request's body as JSON.
    ///
    /// # Panics
    /// Where it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the request's body is JSON")
    }

    /// Sends a status and headers, and says that a body in chunks follows.
    pub async fn respond<'h>(
        &mut self,
        status: u16,
        headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    ) -> bool {
        let mut head = format!(
            "HTTP/1.1 {status} Scripted\r\nconnection: close\r\ntransfer-encoding: chunked\r\n"
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.raw(head).await
    }

    /// Sends status 200 and says that server-sent events follow.
    pub async fn respond_events(&mut self) -> bool {
        self.respond(200, [("content-type", "text/event-stream")])
            .await
    }

    /// Sends a status with a whole body, and ends the answer.
    pub async fn respond_whole(mut self, status: u16, content_type: &str, body: impl AsRef<[u8]>) {
        self.respond(status, [("content-type", content_type)]).await;
        self.chunk(body).await;
        self.end().await;
    }

    /// Sends one chunk of the body.
    pub async fn chunk(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let bytes = bytes.as_ref();
        if bytes.is_empty() {
            // An empty chunk would end the body.
            return true;
        }
        let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
        framed.extend_from_slice(bytes);
        framed.extend_from_slice(b"\r\n");
        self.raw(framed).await
    }

    /// Sends one server-sent event with this data.
    pub async fn event(&mut self, data: impl fmt::Display) -> bool {
        self.chunk(format!("data: {data}\n\n")).await
    }

    /// Sends bytes as they are, outside any framing.
    pub async fn raw(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).await.is_ok()
    }

    /// Ends the body and closes the connection.
    pub async fn end(mut self) {
        self.raw("0\r\n\r\n").await;
        // A client that left already needs no goodbye.
        let _ = self.stream.shutdown().await;
    }

    /// Waits until the client has closed its side of the connection. Cancel-safe.
    pub async fn closed(&mut self) {
        let mut ignored = [0; 1024];
        // An error is a reset: closed, too.
        while matches!(self.stream.read(&mut ignored).await, Ok(1..)) {}
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

struct Head {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
}

/// The head of a request and its length in bytes, once it is whole.
fn parse_head(read: &[u8]) -> Option<(Head, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(bytes) =
        request.parse(read).expect("the client speaks HTTP/1.1")
    else {
        return None;
    };
    let headers = request.headers.iter().map(|header| {
        (
            header.name.to_ascii_lowercase(),
            String::from_utf8_lossy(header.value).into_owned(),
        )
    });
    let head = Head {
        headers: headers.collect(),
        method: request.method.unwrap_or_default().to_owned(),
        path: request.path.unwrap_or_default().to_owned(),
    };
    Some((head, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_is_read_whole_however_it_arrives() {
        let server = ScriptedServer::start().await;
        let mut client = TcpStream::connect(server.address()).await.unwrap();
        let reading = async {
            let exchange = server.next().await;
            assert_eq!((exchange.method(), exchange.path()), ("POST", "/v1/x?y=1"));
            assert_eq!(exchange.header("x-key"), Some("value"));
            assert_eq!(exchange.json()["a"], 1);
        };
        let writing = async {
            for byte in
                b"POST /v1/x?y=1 HTTP/1.1\r\nX-Key: value\r\ncontent-length: 7\r\n\r\n{\"a\":1}"
            {
                client.write_all(&[*byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(reading, writing);
    }

    #[tokio::test]
    async fn a_client_that_leaves_is_noticed() {
        let server = ScriptedServer::start().await;
        let mut client = TcpStream::connect(server.address()).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut exchange = server.next().await;
        exchange.respond_events().await;
        drop(client);
        exchange.closed().await;
    }
}
