//! The simulated store as a process: one thread, and one line of JSON each way on each connection.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize};

use super::message::{Envelope, Reply};
use super::service::{CallId, Command, Outcome, Service};
use super::{Options, boottime};

/// A line that a client sends.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Line {
    Call(Envelope),
    Command(Command),
}

/// A line that the server sends.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Reply(Reply),
    Outcome(Outcome),
}

struct Connection {
    stream: UnixStream,
    received: Vec<u8>,
    /// The call that the connection waits for, once its line was read.
    call: Option<CallId>,
}

struct Server {
    listener: UnixListener,
    service: Service,
    connections: BTreeMap<u64, Connection>,
    next: u64,
}

/// Serves a simulated store at this socket until standard input ends. That happens when the process
/// that started this one is dead.
///
/// # Errors
/// Returns an error if the socket cannot be created, or if waiting fails.
pub fn serve(socket: &Path, options: Options) -> io::Result<()> {
    let listener = UnixListener::bind(socket)?;
    listener.set_nonblocking(true)?;
    let service = Service::new(options);
    let mut server = Server { listener, service, connections: BTreeMap::new(), next: 0 };
    while server.turn()? {}
    Ok(())
}

impl Server {
    /// Waits for an event and handles it. Returns `false` when the server has to end.
    fn turn(&mut self) -> io::Result<bool> {
        let Ready { starter_gone, newcomers, lines } = self.wait()?;
        if starter_gone {
            return Ok(false);
        }
        for key in lines {
            self.read(key);
        }
        if newcomers {
            self.accept()?;
        }
        self.service.run(boottime());
        self.answer();
        Ok(true)
    }

    fn wait(&self) -> io::Result<Ready> {
        let stdin = io::stdin();
        let mut fds = vec![
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
        ];
        let keys: Vec<u64> = self.connections.keys().copied().collect();
        let streams = self.connections.values().map(|connection| connection.stream.as_fd());
        fds.extend(streams.map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        match poll(&mut fds, self.timeout()) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        let lines = keys.into_iter().zip(&ready[2..]).filter(|(_, ready)| **ready);
        Ok(Ready {
            starter_gone: ready[0],
            newcomers: ready[1],
            lines: lines.map(|(key, _)| key).collect(),
        })
    }

    /// Returns the time to the next event in whole milliseconds, rounded up. The event then happens as
    /// of its own time.
    fn timeout(&self) -> PollTimeout {
        let Some(due) = self.service.next_due() else { return PollTimeout::NONE };
        let millis = due.since(boottime()).as_nanos().div_ceil(1_000_000);
        PollTimeout::try_from(i32::try_from(millis).unwrap_or(i32::MAX)).unwrap_or(PollTimeout::MAX)
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    let connection = Connection { stream, received: Vec::new(), call: None };
                    self.connections.insert(self.next, connection);
                    self.next += 1;
                    // Most clients have sent their line already.
                    self.read(self.next - 1);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn read(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let mut chunk = [0; 4096];
        let open = loop {
            match connection.stream.read(&mut chunk) {
                Ok(0) => break false,
                Ok(count) => connection.received.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break false,
            }
        };
        // A line counts even if its client died after it was sent.
        if connection.received.last() == Some(&b'\n') {
            let line = std::mem::take(&mut connection.received);
            self.take_in(key, &line);
        }
        if !open && let Some(connection) = self.connections.remove(&key) {
            connection.call.into_iter().for_each(|call| self.service.abandon(call));
        }
    }

    fn take_in(&mut self, key: u64, line: &[u8]) {
        match serde_json::from_slice(line) {
            Ok(Line::Call(envelope)) => {
                let call = self.service.receive(boottime(), envelope);
                if let Some(connection) = self.connections.get_mut(&key) {
                    connection.call = Some(call);
                }
            }
            Ok(Line::Command(command)) => {
                let outcome = self.service.command(boottime(), command);
                self.write(key, &Answer::Outcome(outcome));
            }
            Err(_) => _ = self.connections.remove(&key),
        }
    }

    fn answer(&mut self) {
        let replies: Vec<(CallId, Reply)> = self.service.take_all().collect();
        for (call, reply) in replies {
            let waits = |(_, connection): &(&u64, &Connection)| connection.call == Some(call);
            if let Some((&key, _)) = self.connections.iter().find(waits) {
                self.write(key, &Answer::Reply(reply));
            }
        }
    }

    /// Writes the one answer of a connection. A stopped client that does not read must not stop the
    /// store. A reply fits into the socket, and only a test's own command may block.
    fn write(&mut self, key: u64, answer: &Answer) {
        let Some(mut connection) = self.connections.remove(&key) else { return };
        let Ok(mut line) = serde_json::to_vec(answer) else { return };
        line.push(b'\n');
        let _ = connection.stream.set_nonblocking(matches!(answer, Answer::Reply(_)));
        let _ = connection.stream.write_all(&line);
    }
}

/// The events that one wait has found.
struct Ready {
    starter_gone: bool,
    newcomers: bool,
    lines: Vec<u64>,
}
