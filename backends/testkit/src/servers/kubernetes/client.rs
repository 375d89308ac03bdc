//! A minimal HTTP client: one request on one connection, whose answer it reads to the end.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::program::PATIENCE;

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'a str,
    /// The path with its query.
    pub path: &'a str,
    /// The bearer token.
    pub token: Option<&'a str>,
    /// The body, as JSON or, with PATCH, as a merge patch. Empty means no body.
    pub body: &'a [u8],
    /// The time limit for each part of the answer.
    pub patience: Duration,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        let none: &[u8] = &[];
        Self { method: "GET", path: "/", token: None, body: none, patience: PATIENCE }
    }
}

impl Ask<'_> {
    /// Returns the header lines besides the request line and the host.
    pub(super) fn headers(&self) -> Vec<String> {
        let mut lines = vec!["Accept: application/json".to_owned(), "Connection: close".to_owned()];
        lines.extend(self.token.map(|token| format!("Authorization: Bearer {token}")));
        if !self.body.is_empty() {
            let kind = if self.method == "PATCH" { "merge-patch+json" } else { "json" };
            lines.push(format!("Content-Type: application/{kind}"));
            lines.push(format!("Content-Length: {}", self.body.len()));
        }
        lines
    }

    /// Returns the bytes of the request to this host.
    pub fn bytes(&self, host: &str) -> Vec<u8> {
        let Self { method, path, body, .. } = self;
        let lines = self.headers().join("\r\n");
        let mut bytes =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n\r\n").into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }
}

/// Sends a request, and returns status and body. The body is JSON if it can be parsed, else a text. For a watch it
/// is all that came before its end.
///
/// # Errors
/// Returns an error without a complete answer.
pub fn ask(address: SocketAddr, what: &Ask<'_>) -> io::Result<(u16, Value)> {
    let mut stream = TcpStream::connect_timeout(&address, what.patience)?;
    stream.set_read_timeout(Some(what.patience))?;
    // A server that has answered enough may refuse the rest of the request.
    let sent = stream.write_all(&what.bytes(&address.to_string()));
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    if bytes.is_empty() {
        sent?;
        read?;
    }
    parse(&bytes)
}

/// Returns status and body of an answer that was read to its end.
///
/// # Errors
/// [`InvalidData`](io::ErrorKind::InvalidData) if it is no answer, or not a complete one.
pub fn parse(answer: &[u8]) -> io::Result<(u16, Value)> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, String::from_utf8_lossy(answer));
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(broken)?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let status =
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
    let rest = &answer[end + 4..];
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let body = if head.contains("transfer-encoding: chunked") {
        joined(rest).ok_or_else(broken)?
    } else if length.is_some_and(|length| length.trim().parse() != Ok(rest.len())) {
        return Err(broken());
    } else {
        rest.to_vec()
    };
    let text = || String::from_utf8_lossy(&body).into_owned().into();
    Ok((status, serde_json::from_slice(&body).unwrap_or_else(|_| text())))
}

/// Joins chunks to one body. Returns `None` if the last is missing.
fn joined(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?, 16).ok()?;
        let chunk = rest.get(end + 2..end + 2 + size)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunk);
        rest = rest.get(end + size + 4..)?;
    }
}
