//! A reply without end.

use std::io::{self, Write};
use std::iter;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::Frames;
use super::frames::KIND;
use crate::program::PATIENCE;

/// What is announced, in bytes.
const ANNOUNCED: usize = 500_000_000;
/// What a frame of HTTP/2 has in it at most, if nobody says otherwise.
const FRAME: usize = 1 << 14;
/// How long a dense reply is, in bytes: less than the 2 MiB that clients have room for on a stream.
const DENSE: usize = 122 * FRAME;
/// How long many interim answers are, in bytes: ten for each.
const INTERIM: usize = 2_000_000;

/// What comes in the place of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Torrent {
    /// 500 MB are announced, and sent as long as somebody takes them.
    Endless,
    /// 2 MB with nothing in them but the last list that the message has, of things that say nothing: a message of gRPC
    /// takes two bytes for each. One that has no list passes.
    Dense,
    /// 2 MB of interim answers of HTTP (103), and no answer. Of HTTP/2 only.
    Interim,
}

type Shared = Arc<Mutex<Option<Torrent>>>;

/// A way to a server on which replies can become floods.
#[derive(Debug)]
pub struct Flood {
    address: SocketAddr,
    now: Shared,
    /// How much of each was taken, in bytes.
    taken: Receiver<u64>,
}

impl Flood {
    /// To the server that is there. All replies pass at first.
    ///
    /// # Panics
    /// When no port is to be had.
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
                thread::spawn(move || relay(frames, client, server, &what, &tell));
            }
        });
        Self { address, now, taken }
    }

    /// Where clients find it.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on each reply becomes one.
    pub fn begin(&self, torrent: Torrent) {
        set(&self.now, Some(torrent));
    }

    /// From now on replies pass, once somebody has taken of one what it takes; how much that was, in bytes.
    ///
    /// # Panics
    /// When nobody takes any for long.
    #[track_caller]
    pub fn end(&self) -> u64 {
        let taken = self.taken.recv_timeout(PATIENCE).expect("a flood that somebody takes");
        set(&self.now, None);
        taken
    }
}

fn relay(
    frames: Frames,
    mut client: TcpStream,
    mut server: TcpStream,
    now: &Shared,
    tell: &Sender<u64>,
) {
    let ends = client.try_clone().and_then(|from| Ok((from, server.try_clone()?)));
    let Ok((mut from, mut to)) = ends else { return };
    let mut first = [0];
    if client.peek(&mut first).is_err() {
        return;
    }
    thread::spawn(move || io::copy(&mut from, &mut to));
    if frames == Frames::Lengths && first != [0] {
        // A command of four letters: the answer is a text.
        let _ = io::copy(&mut server, &mut client);
        return;
    }
    while let Ok(frame) = frames.read(&mut server) {
        let torrent = *now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flood) = torrent.and_then(|torrent| torrent.in_the_place_of(&frame, frames)) {
            let _ = tell.send(flood.pour(&mut client));
            let _ = client.shutdown(Shutdown::Write);
            return;
        }
        if client.write_all(&frame).is_err() {
            return;
        }
    }
}

/// What is sent: once, and then so often.
struct Pieces {
    first: Vec<u8>,
    next: Vec<u8>,
    times: usize,
}

impl Torrent {
    /// What comes in the place of this frame, if anything does.
    fn in_the_place_of(self, frame: &[u8], frames: Frames) -> Option<Pieces> {
        let content = frames.content(frame).map(|begins| &frame[begins..]);
        match self {
            Self::Endless => content.map(|_| message(ANNOUNCED, [0; 2], frames, frame)),
            Self::Dense => Some(message(DENSE, [last_list(content?)?, 0], frames, frame)),
            Self::Interim => interim(frame).filter(|_| frames == Frames::Grpc),
        }
    }
}

/// A message that is said to be so long, in bytes, and what it is full of. On the stream of `reply`, and not at its end.
fn message(announced: usize, pair: [u8; 2], frames: Frames, reply: &[u8]) -> Pieces {
    let length = u32::try_from(announced).expect("what can be announced").to_be_bytes();
    let (first, head) = match frames {
        Frames::Lengths => (length.to_vec(), Vec::new()),
        Frames::Grpc => {
            let message = [&[0], &length[..]].concat();
            let head = |payload| http2(payload, [DATA, 0], reply);
            ([&head(message.len())[..], &message].concat(), head(FRAME))
        }
        Frames::Http => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {announced}\r\n\r\n");
            (head.into_bytes(), Vec::new())
        }
    };
    let next = [&head[..], &pair.repeat(FRAME / 2)].concat();
    Pieces { first, next, times: announced / FRAME }
}

/// Answers with the status 103 in the place of the first headers of an answer. The first one puts the status into the
/// table of HPACK, at 62; the others refer to that.
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

/// The kinds of frames of HTTP/2, and a flag.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_HEADERS: u8 = 4;

/// What comes before so many bytes of a frame on the stream of another.
fn http2(payload: usize, kind_and_flags: [u8; 2], other: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload).expect("a frame").to_be_bytes();
    [&length[1..], &kind_and_flags, &other[KIND + 2..Frames::Grpc.head()]].concat()
}

/// How the last field begins that has bytes of its own. The first one is the header that all replies of etcd have.
fn last_list(mut message: &[u8]) -> Option<u8> {
    const BYTES: u8 = 2;
    let mut last = None;
    while let Some((&tag, rest)) = message.split_first() {
        let end = rest.iter().position(|byte| byte & 0x80 == 0)? + 1;
        let number =
            rest[..end].iter().rev().fold(0, |high, low| high << 7 | usize::from(low & 0x7f));
        let is_list = tag & 7 == BYTES && tag >> 3 > 1;
        last = if is_list { Some(tag) } else { last };
        message = rest[end..].get(if tag & 7 == BYTES { number } else { 0 }..)?;
    }
    last
}

impl Pieces {
    /// Sends them, as long as somebody takes them. Says how many bytes that was.
    fn pour(self, client: &mut TcpStream) -> u64 {
        let all = iter::once(self.first).chain(iter::repeat_n(self.next, self.times));
        all.take_while(|next| client.write_all(next).is_ok()).map(|next| next.len() as u64).sum()
    }
}

fn set(now: &Shared, torrent: Option<Torrent>) {
    *now.lock().unwrap_or_else(PoisonError::into_inner) = torrent;
}
