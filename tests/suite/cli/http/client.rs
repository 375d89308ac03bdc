//! A client of few words, that says what it wants byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use elect_testkit::program::{Elect, PATIENCE, Running, eventually};
use elect_testkit::servers::free_port;
use serde_json::Value;

use crate::support::Ground;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(super) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Reads all that is there until the end of the connection.
    fn read(mut stream: impl Read) -> Option<Self> {
        let mut text = Vec::new();
        // A connection that is reset has said what it had to say.
        let _ = stream.read_to_end(&mut text);
        Self::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(text: &str) -> Option<Self> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let code = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        Some(Self { code, head: head.to_owned(), body: body.to_owned() })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub(super) fn connect(server: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Sends these bytes, and reads what comes of it.
pub(super) fn exchange(server: SocketAddr, request: &[u8]) -> Option<Answer> {
    let mut stream = connect(server).ok()?;
    stream.write_all(request).ok()?;
    Answer::read(stream)
}

pub(super) fn try_get(server: SocketAddr, path: &str) -> Option<Answer> {
    exchange(server, request(path).as_bytes())
}

pub(super) fn request(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

#[track_caller]
pub(crate) fn get(server: SocketAddr, path: &str) -> Answer {
    eventually("an answer", || try_get(server, path))
}

/// The value of the sample of Prometheus that begins like this, or of all of them together.
pub(crate) fn sample(page: &str, begin: &str) -> Option<f64> {
    let values = page.lines().filter(|line| line.starts_with(begin));
    let values = values.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
    values.reduce(|one, other| one + other)
}

/// One server-sent event.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) id: u64,
    pub(super) kind: String,
    pub(super) data: Value,
}

/// A stream of events. It ends with the connection.
pub(super) struct Events(BufReader<TcpStream>);

impl Events {
    #[track_caller]
    pub(super) fn of(server: SocketAddr) -> Self {
        let mut stream = connect(server).expect("a connection");
        // An older version of the protocol has no chunks to be taken apart.
        stream.write_all(b"GET /events HTTP/1.0\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut events = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            assert_ne!(events.read_line(&mut line).expect("a head"), 0, "the end");
        }
        Self(events)
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let (mut id, mut kind, mut data) = (None, None, None);
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", value)) => id = value.parse().ok(),
                Some(("event", value)) => kind = Some(value.to_owned()),
                Some(("data", value)) => data = serde_json::from_str(value).ok(),
                _ if line == "\n" && id.is_some() => {
                    return Some(Event { id: id?, kind: kind?, data: data? });
                }
                _ => {}
            }
        }
    }
}

/// Somewhere to serve HTTP.
pub(crate) fn address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

/// Returns `elect run` with `--http` in the election "job", without a command.
pub(super) fn serving(ground: &Ground, server: SocketAddr) -> Elect {
    ground.job().args(["--http", &server.to_string()])
}

/// Waits until the candidate that serves there leads.
#[track_caller]
pub(super) fn wait_for_leader(server: SocketAddr) {
    eventually("a leader", || (get(server, "/leader").code == 200).then_some(()));
}

/// The sockets of a process.
pub(super) fn sockets(pid: i32) -> Vec<String> {
    let Ok(folder) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let links = folder.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let names = links.map(|link| link.display().to_string());
    names.filter(|name| name.starts_with("socket:")).collect()
}

/// A leader on the local disk that serves there.
#[track_caller]
pub(super) fn leader(ground: &Ground, server: SocketAddr) -> Running {
    let leader = serving(ground, server).sh(crate::usage::STAY).spawn();
    ground.said("started");
    leader
}
