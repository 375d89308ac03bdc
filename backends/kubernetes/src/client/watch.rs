//! Reads the events of a watch, line by line.

use std::time::Duration;

use elect_remote::in_full;
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

use super::connection::Connection;
use super::{Failure, LONGEST, value};

/// The events of a watch. Dropped, it is closed.
pub(crate) struct WatchStream {
    /// Closed with it.
    _connection: Connection,
    body: Incoming,
    server: String,
    /// The bytes of the next lines.
    pub(super) buffer: Vec<u8>,
    /// The number of those bytes that have no end of a line.
    searched: usize,
}

impl WatchStream {
    pub(super) fn new(connection: Connection, answer: Response<Incoming>, server: String) -> Self {
        let body = answer.into_body();
        Self { _connection: connection, body, server, buffer: Vec::new(), searched: 0 }
    }

    /// Returns the next event, or `None` when the server has ended the watch.
    ///
    /// # Errors
    /// [`Failure::Unknown`] if no bytes came for as long as `idle`, or they were no event. The watch is over then.
    ///
    /// # Cancellation
    /// No event is lost.
    pub(crate) async fn next(&mut self, idle: Duration) -> Result<Option<Value>, Failure> {
        loop {
            if let Some(line) = self.line()? {
                return Ok(Some(line));
            }
            let broken =
                |why: String| Failure::Unknown(format!("the watch at {}: {why}", self.server));
            let frame = timeout(idle, self.body.frame()).await.map_err(|_| {
                broken(format!("nothing came for {}", humantime::format_duration(idle)))
            })?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => {
                    return Err(broken(format!("it broke off: {}", in_full(&error))));
                }
                Some(Ok(frame)) => self.buffer.extend(frame.data_ref().into_iter().flatten()),
            }
        }
    }

    /// Takes the next whole line from the buffer.
    fn line(&mut self) -> Result<Option<Value>, Failure> {
        let Some(end) = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n') else {
            self.searched = self.buffer.len();
            if self.searched > LONGEST {
                let server = &self.server;
                return Err(Failure::Unknown(format!(
                    "the watch at {server}: an event has no end"
                )));
            }
            return Ok(None);
        };
        let line: Vec<u8> = self.buffer.drain(..=self.searched + end).collect();
        self.searched = 0;
        value(&line).map(Some).map_err(|error| {
            let server = &self.server;
            Failure::Unknown(format!("the watch at {server}: what came is no event: {error}"))
        })
    }
}
