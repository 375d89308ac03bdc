//! A reply without end.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::Frames;
use crate::program::PATIENCE;

/// What is announced, in bytes.
const ANNOUNCED: u32 = 500_000_000;
/// What a frame of HTTP/2 has in it at most, if nobody says otherwise.
const FRAME: usize = 1 << 14;

/// A way to a server on which replies can become floods: 500 MB are announced, and sent as long as somebody takes them.
#[derive(Debug)]
pub struct Flood {
    address: SocketAddr,
    is_on: Arc<AtomicBool>,
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
        let is_on = Arc::new(AtomicBool::new(false));
        let (tell, taken) = channel();
        let flag = Arc::clone(&is_on);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (tell, flag) = (tell.clone(), Arc::clone(&flag));
                let ends = client.and_then(|client| Ok((client, TcpStream::connect(server)?)));
                let Ok((client, server)) = ends else { continue };
                thread::spawn(move || relay(frames, client, server, &flag, &tell));
            }
        });
        Self { address, is_on, taken }
    }

    /// Where clients find it.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on each reply becomes one.
    pub fn begin(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// From now on replies pass, once somebody has taken of one what it takes; how much that was, in bytes.
    ///
    /// # Panics
    /// When nobody takes any for long.
    #[track_caller]
    pub fn end(&self) -> u64 {
        let taken = self.taken.recv_timeout(PATIENCE).expect("a flood that somebody takes");
        self.is_on.store(false, Ordering::Relaxed);
        taken
    }
}

fn relay(
    frames: Frames,
    mut client: TcpStream,
    mut server: TcpStream,
    is_on: &AtomicBool,
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
        if frames.content(&frame).is_some() && is_on.load(Ordering::Relaxed) {
            let _ = tell.send(pour(frames, &frame, &mut client));
            return;
        }
        if client.write_all(&frame).is_err() {
            return;
        }
    }
}

/// Sends the flood in the place of this reply, as long as somebody takes it. Says how much that was.
fn pour(frames: Frames, reply: &[u8], client: &mut TcpStream) -> u64 {
    let announced = ANNOUNCED.to_be_bytes();
    let zeros = [0; FRAME];
    let (first, head) = match frames {
        Frames::Lengths => (announced.to_vec(), Vec::new()),
        // On the same stream, and not at its end.
        Frames::Grpc => {
            let head = [&[0, 0x40, 0, 0, 0], &reply[5..frames.head()]].concat();
            let message = [&[0], &announced[..], &zeros[..FRAME - 5]].concat();
            ([&head[..], &message].concat(), head)
        }
    };
    let mut taken = 0;
    let mut next = first;
    while taken < u64::from(ANNOUNCED) && client.write_all(&next).is_ok() {
        taken += next.len() as u64;
        next = [&head[..], &zeros].concat();
    }
    taken
}
