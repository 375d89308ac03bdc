//! A relay that replaces a server's reply by one without end.

use std::io::{self, Write};
use std::iter;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::Frames;
use super::frames::KIND;
use crate::program::PATIENCE;

/// The length that an endless reply announces, in bytes.
const ANNOUNCED: usize = 500_000_000;
/// The longest payload of an HTTP/2 frame by default, in bytes.
const FRAME: usize = 1 << 14;
/// The length of all interim answers together, in bytes. Each has ten.
const INTERIM: usize = 2_000_000;

/// The flood that the relay sends instead of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Torrent {
    /// A reply that announces 500 MB. They are sent until the client reads no more.
    Endless,
    /// Interim HTTP answers (103) of 2 MB in all, and no final answer. HTTP/2 only.
    Interim,
}

type Shared = Arc<Mutex<Option<Torrent>>>;

/// A TCP relay to a server that can replace replies by floods.
#[derive(Debug)]
pub struct Flood {
    address: SocketAddr,
    now: Shared,
    /// How many bytes of each flood the client took.
    taken: Receiver<u64>,
}

impl Flood {
    /// Starts a relay to `server`, whose replies have this framing. All replies pass at first.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub fn before(server: SocketAddr, frames: Frames) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let now = Shared::default();
        let (tell, taken) = channel();
        let what = Arc::clone(&now);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (tell, what) = (tell.clone(), Arc::clone(&what));
                let ends = client.and_then(|client| Ok((client, TcpStream::connect(server)?)));
                let Ok((client, server)) = ends else { continue };
                thread::spawn(move || relay(frames, (client, server), &what, &tell));
            }
        });
        Self { address, now, taken }
    }

    /// The address that clients connect to.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces each reply by this flood from now on.
    pub fn begin(&self, torrent: Torrent) {
        set(&self.now, Some(torrent));
    }

    /// Waits until a client has taken one flood, or stopped reading it, and lets all later replies pass. Returns how
    /// many bytes that client took.
    ///
    /// # Panics
    /// Panics if no flood ends within [`PATIENCE`].
    #[track_caller]
    pub fn end(&self) -> u64 {
        let taken = self.taken.recv_timeout(PATIENCE).expect("a flood with a receiver");
        set(&self.now, None);
        taken
    }
}

fn relay(
    frames: Frames,
    (mut client, mut server): (TcpStream, TcpStream),
    now: &Shared,
    tell: &Sender<u64>,
) {
    let ends = client.try_clone().and_then(|from| Ok((from, server.try_clone()?)));
    let Ok((mut from, mut to)) = ends else { return };
    thread::spawn(move || io::copy(&mut from, &mut to));
    while let Ok(frame) = frames.read(&mut server) {
        let torrent = *now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flood) = torrent.and_then(|torrent| torrent.in_the_place_of(frames, &frame)) {
            let _ = tell.send(flood.pour(&mut client));
            let _ = client.shutdown(Shutdown::Write);
            return;
        }
        if client.write_all(&frame).is_err() {
            return;
        }
    }
}

/// The bytes of a flood: `first` once, then `next` as often as `times` says.
struct Pieces {
    first: Vec<u8>,
    next: Vec<u8>,
    times: usize,
}

impl Torrent {
    /// Returns the flood to send instead of this frame, or `None` if the frame is to pass.
    fn in_the_place_of(self, frames: Frames, frame: &[u8]) -> Option<Pieces> {
        match self {
            Self::Endless => frames.content(frame).map(|_| endless(frames, frame)),
            Self::Interim => interim(frame),
        }
    }
}

/// Returns an endless reply in the place of `reply`: the beginning of a message, and its content.
fn endless(frames: Frames, reply: &[u8]) -> Pieces {
    let (first, head) = if frames == Frames::Http {
        (format!("HTTP/1.1 200 OK\r\nContent-Length: {ANNOUNCED}\r\n\r\n").into_bytes(), Vec::new())
    } else {
        let length = u32::try_from(ANNOUNCED).expect("what can be announced").to_be_bytes();
        let message = [&[0], &length[..]].concat();
        let head = |payload| http2(payload, [DATA, 0], reply);
        ([&head(message.len())[..], &message].concat(), head(FRAME))
    };
    let next = [&head[..], &[0; FRAME]].concat();
    Pieces { first, next, times: ANNOUNCED / FRAME }
}

/// Returns answers with the status 103, if this frame begins the headers of an answer. The first one puts the status
/// into HPACK's table, at 62. All others refer to that place.
fn interim(frame: &[u8]) -> Option<Pieces> {
    const STATUS: &[u8] = b"\x48\x03103";
    const SAME: &[u8] = b"\xbe";
    if frame[KIND] != HEADERS {
        return None;
    }
    let head = |payload| http2(payload, [HEADERS, END_HEADERS], frame);
    let first = [&head(STATUS.len())[..], STATUS].concat();
    let next = [&head(SAME.len())[..], SAME].concat().repeat(FRAME / 10);
    Some(Pieces { times: INTERIM / next.len(), first, next })
}

/// Two kinds of HTTP/2 frames, and a flag.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_HEADERS: u8 = 4;

/// Returns the head of a frame with `payload` bytes, on the stream that `other` belongs to.
fn http2(payload: usize, kind_and_flags: [u8; 2], other: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload).expect("a frame").to_be_bytes();
    [&length[1..], &kind_and_flags, &other[KIND + 2..Frames::Grpc.head()]].concat()
}

impl Pieces {
    /// Sends the flood until the client reads no more. Returns how many bytes the client took.
    fn pour(self, client: &mut TcpStream) -> u64 {
        let all = iter::once(self.first).chain(iter::repeat_n(self.next, self.times));
        all.take_while(|next| client.write_all(next).is_ok()).map(|next| next.len() as u64).sum()
    }
}

fn set(now: &Shared, torrent: Option<Torrent>) {
    *now.lock().unwrap_or_else(PoisonError::into_inner) = torrent;
}
