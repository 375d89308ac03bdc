//! One direction of one proxied connection.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use elect_api::Boottime;

use super::garble::Garbler;
use super::{Count, Mode};

/// A lane reads no further while it has this many bytes. More than this stays in the sender's
/// buffers.
const ROOM: usize = 1 << 18;

/// Bytes on their way. A chunk without bytes is the end of the stream.
struct Chunk {
    bytes: Vec<u8>,
    due: Boottime,
}

#[derive(Default)]
pub(super) struct Lane {
    queue: VecDeque<Chunk>,
    /// The time at which the next byte may go, if bytes go one by one.
    next_byte: Option<Boottime>,
    garbler: Option<Garbler>,
    has_ended: bool,
}

impl Lane {
    /// Returns whether the stream has ended and all of it is passed on.
    pub(super) fn is_over(&self) -> bool {
        self.has_ended && self.queue.is_empty()
    }

    pub(super) fn wants_to_read(&self, mode: Mode) -> bool {
        let waiting: usize = self.queue.iter().map(|chunk| chunk.bytes.len()).sum();
        mode != Mode::Hold && !self.has_ended && waiting < ROOM
    }

    /// Returns when the next write is due, if `passed` bytes have gone in this direction.
    pub(super) fn due(&self, mode: Mode, passed: u64) -> Option<Boottime> {
        let due = self.queue.front()?.due;
        match mode {
            Mode::Hold => None,
            Mode::Until(most) if passed >= most => None,
            Mode::Trickle => Some(self.next_byte.map_or(due, |next| next.max(due))),
            _ => Some(due),
        }
    }

    /// Reads what the sender has sent.
    pub(super) fn read(
        &mut self,
        mut from: &TcpStream,
        mode: Mode,
        now: Boottime,
        count: &mut Count,
    ) -> io::Result<()> {
        let mut buffer = [0; 1 << 14];
        let bytes = match from.read(&mut buffer) {
            Ok(length) => &buffer[..length],
            Err(error) if must_retry(&error) => return Ok(()),
            // The far side must not learn of the error.
            Err(_) if mode == Mode::Swallow => &[],
            Err(error) => return Err(error),
        };
        self.has_ended = bytes.is_empty();
        count.chunks += u64::from(!self.has_ended);
        count.bytes += bytes.len() as u64;
        let garbled = match mode {
            Mode::Garble(garbling) if !self.has_ended => {
                let garbler =
                    self.garbler.get_or_insert_with(|| Garbler::new(garbling, count.chunks));
                Some(garbler.garble(bytes))
            }
            Mode::Misspell(word) if !self.has_ended => Some(misspelt(bytes, word.as_bytes())),
            _ => None,
        };
        let bytes = match &garbled {
            // The rest of the frame is yet to come.
            Some(garbled) if garbled.is_empty() => return Ok(()),
            Some(garbled) => garbled,
            None => bytes,
        };
        let (times, delay) = match mode {
            Mode::Swallow => return Ok(()),
            Mode::Duplicate => (2, Duration::ZERO),
            Mode::Delay(delay) => (1, delay),
            _ => (1, Duration::ZERO),
        };
        // A chunk never overtakes the one before it, so the stream stays in order when the delay
        // becomes shorter.
        let due = self.queue.back().map_or(now, |last| last.due).max(now + delay);
        self.queue.push_back(Chunk { bytes: bytes.repeat(times), due });
        Ok(())
    }

    /// Writes all chunks that are due.
    pub(super) fn write(
        &mut self,
        mut to: &TcpStream,
        mode: Mode,
        now: Boottime,
        count: &mut Count,
    ) -> io::Result<()> {
        while self.due(mode, count.passed).is_some_and(|due| due <= now) {
            let Some(chunk) = self.queue.front_mut() else { break };
            if chunk.bytes.is_empty() {
                // The receiver may be gone. Its own direction finds that out.
                let _ = to.shutdown(Shutdown::Write);
                self.queue.pop_front();
                continue;
            }
            let most = match mode {
                Mode::Trickle => 1,
                Mode::Until(most) => usize::try_from(most - count.passed).unwrap_or(usize::MAX),
                _ => usize::MAX,
            };
            let length = match to.write(&chunk.bytes[..most.min(chunk.bytes.len())]) {
                Err(error) if must_retry(&error) => return Ok(()),
                length => length?,
            };
            count.passed += length as u64;
            chunk.bytes.drain(..length);
            if chunk.bytes.is_empty() {
                self.queue.pop_front();
            }
            self.next_byte = Some(now + Duration::from_secs(1));
        }
        Ok(())
    }
}

fn must_retry(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The bytes with another first letter in each such word.
fn misspelt(bytes: &[u8], word: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() {
        if bytes[at..].starts_with(word) {
            bytes[at] = b'X';
        }
    }
    bytes
}
