//! A reply without end.

use std::io::{self, Write};
use std::iter;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::Frames;
use crate::program::PATIENCE;

/// What is announced, in bytes.
const ANNOUNCED: usize = 500_000_000;
/// What a frame of HTTP/2 has in it at most, if nobody says otherwise.
const FRAME: usize = 1 << 14;
/// How long a dense reply is, in bytes: less than the 2 MiB that clients have room for on a stream.
const DENSE: usize = 122 * FRAME;

/// What comes in the place of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Torrent {
    /// 500 MB are announced, and sent as long as somebody takes them.
    Endless,
    /// 2 MB with nothing in them but the last list that the message has, of things that say nothing: a message of gRPC
    /// takes two bytes for each. One that has no list passes.
    Dense,
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
        let content = frames.content(&frame).map(|begins| &frame[begins..]);
        let flood = torrent.zip(content).and_then(|(torrent, content)| torrent.after(content));
        if let Some(flood) = flood {
            let _ = tell.send(pour(flood, frames, &frame, &mut client));
            return;
        }
        if client.write_all(&frame).is_err() {
            return;
        }
    }
}

/// How long a message is said to be, in bytes, and what it is full of.
type Content = (usize, [u8; 2]);

impl Torrent {
    /// What comes in the place of this message, if anything does.
    fn after(self, message: &[u8]) -> Option<Content> {
        match self {
            Self::Endless => Some((ANNOUNCED, [0; 2])),
            Self::Dense => Some((DENSE, [last_list(message)?, 0])),
        }
    }
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

/// Sends the flood in the place of this reply, as long as somebody takes it. Says how much that was.
fn pour((announced, pair): Content, frames: Frames, reply: &[u8], client: &mut TcpStream) -> u64 {
    let length = u32::try_from(announced).expect("what can be announced").to_be_bytes();
    let content = pair.repeat(FRAME / 2);
    let (first, head) = match frames {
        Frames::Lengths => (length.to_vec(), Vec::new()),
        // On the same stream, and not at its end.
        Frames::Grpc => {
            let head = |payload: usize| {
                let length = u32::try_from(payload).expect("a frame").to_be_bytes();
                [&length[1..], &[0, 0], &reply[5..frames.head()]].concat()
            };
            let message = [&[0], &length[..]].concat();
            ([&head(message.len())[..], &message].concat(), head(FRAME))
        }
    };
    let frame = [&head[..], &content].concat();
    let all = iter::once(first).chain(iter::repeat_n(frame, announced / FRAME));
    all.take_while(|next| client.write_all(next).is_ok()).map(|next| next.len() as u64).sum()
}

fn set(now: &Shared, torrent: Option<Torrent>) {
    *now.lock().unwrap_or_else(PoisonError::into_inner) = torrent;
}
