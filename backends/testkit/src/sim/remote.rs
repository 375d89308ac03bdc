use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use elect_api::{Error, ErrorKind, Promise, Store};
use tokio::net::UnixStream;

use super::Kind;
use super::controls::Steer;
use super::message::{Envelope, Reply};
use super::options::WEAK;
use super::server::{Answer, Line};
use super::service::{Command, Outcome};
use super::store;
use super::transport::Transport;
use crate::program::PATIENCE;

/// Connects to the simulated store at a URL: `sim:///PATH/OF/SOCKET`, followed by `?kind=queue` (the
/// default), `?kind=record` or `?kind=record&order=race`. With `&promise=weak` after it, the promise is weak.
///
/// # Errors
/// [`Unfit`](ErrorKind::Unfit) if the URL names no such store.
pub fn connect(url: &str) -> Result<Box<dyn Store>, Error> {
    let unfit = || Error::new(ErrorKind::Unfit, format!("{url} is no URL of a simulated store"));
    let rest = url.strip_prefix("sim://").filter(|rest| rest.starts_with('/')).ok_or_else(unfit)?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, "kind=queue"));
    let (query, promise) = match query.strip_suffix(WEAK) {
        Some(query) => (query, Promise::Weak),
        None => (query, Promise::Strong),
    };
    let kind = match query {
        "kind=queue" => Kind::Queue,
        "kind=record" => Kind::Record,
        "kind=record&order=race" => Kind::Race,
        _ => return Err(unfit()),
    };
    let transport = Arc::new(Socket::new(path.as_ref()));
    Ok(store::connect(transport, (kind, promise), url.to_owned()))
}

/// The socket of a server. Each request has its own connection, which a dropped call closes. So a late
/// reply never answers another request.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
}

impl Socket {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    fn failed(&self, kind: ErrorKind, what: &str, error: io::Error) -> Error {
        Error::new(kind, format!("cannot {what} the store at {}", self.path.display()))
            .because(error)
    }
}

#[async_trait]
impl Transport for Socket {
    async fn call(&self, envelope: Envelope) -> Result<Reply, Error> {
        let line = line(&Line::Call(envelope))?;
        let stream = UnixStream::connect(&self.path)
            .await
            .map_err(|error| self.failed(ErrorKind::Unreachable, "connect to", error))?;
        let ambiguous = |error| self.failed(ErrorKind::Ambiguous, "talk to", error);
        write_all(&stream, &line).await.map_err(ambiguous)?;
        let answer = read_to_end(&stream).await.map_err(ambiguous)?;
        match serde_json::from_slice(&answer) {
            Ok(Answer::Reply(reply)) => Ok(reply),
            // The server died as it wrote, or before.
            _ => Err(self.failed(
                ErrorKind::Ambiguous,
                "get an answer from",
                io::ErrorKind::UnexpectedEof.into(),
            )),
        }
    }
}

impl Steer for Socket {
    fn steer(&self, command: Command) -> Outcome {
        self.command(command).unwrap_or_else(|error| {
            panic!("the simulated store at {} does not obey: {error}", self.path.display())
        })
    }
}

impl Socket {
    fn command(&self, command: Command) -> io::Result<Outcome> {
        let mut stream = BlockingStream::connect(&self.path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(&line(&Line::Command(command)).map_err(io::Error::other)?)?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        match serde_json::from_str(&answer) {
            Ok(Answer::Outcome(outcome)) => Ok(outcome),
            _ => Err(io::Error::other(format!("it answers {answer:?}"))),
        }
    }
}

async fn write_all(stream: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn read_to_end(stream: &UnixStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut chunk) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

fn line(line: &Line) -> Result<Vec<u8>, Error> {
    let mut bytes = serde_json::to_vec(line).map_err(|error| {
        Error::new(ErrorKind::Unfit, "cannot put the request into JSON").because(error)
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use elect_api::Promise;

    use super::connect;

    #[test]
    fn urls() {
        for good in [
            "sim:///a/b",
            "sim:///a?kind=queue",
            "sim:///a?kind=record",
            "sim:///a?kind=record&order=race",
            "sim:///a?kind=queue&promise=weak",
        ] {
            let profile = connect(good).expect("a store").profile();
            assert_eq!(profile.location, good);
            assert_eq!(profile.promise == Promise::Weak, good.ends_with("weak"));
        }
        for bad in ["sim:", "sim://a/b", "file:///a", "sim:///a?kind=heap", "sim:///a?"] {
            assert!(connect(bad).is_err(), "{bad}");
        }
    }
}
