//! Replies that no sound server gives: mostly whole ones, so that what reads them comes far.

use fastrand::Rng;

/// Where one reply ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// Four bytes say how long it is, as with ZooKeeper.
    Lengths,
    /// The messages of gRPC, in HTTP/2.
    Grpc,
}

/// How one direction is garbled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbling {
    /// Of what.
    pub frames: Frames,
    /// One of so many is garbled.
    pub odds: u32,
    /// Of the choices; what is chosen from depends on what comes, and so does what comes of them.
    pub seed: u64,
}

/// The header of a frame of HTTP/2, and of a message of gRPC.
const HTTP2: usize = 9;
const GRPC: usize = 5;
/// What lengths and counts are in the worst case, and near it.
const NUMBERS: [i32; 8] = [i32::MIN, -2, -1, 0, 1, 4, 1 << 30, i32::MAX];

/// Garbles one direction of one connection.
pub(super) struct Garbler {
    garbling: Garbling,
    rng: Rng,
    /// The beginning of a frame that is not all there yet.
    rest: Vec<u8>,
    /// An earlier one.
    earlier: Vec<u8>,
}

impl Garbler {
    /// The `number` tells it from the others of its proxy.
    pub(super) fn new(garbling: Garbling, number: u64) -> Self {
        let rng = Rng::with_seed(garbling.seed.wrapping_add(number));
        Self { garbling, rng, rest: Vec::new(), earlier: Vec::new() }
    }

    /// What becomes of these bytes, and of what was kept of those before.
    pub(super) fn garble(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.rest.extend_from_slice(bytes);
        let mut out = Vec::new();
        while let Some(length) = self.frame() {
            let frame: Vec<u8> = self.rest.drain(..length).collect();
            if self.rng.u32(..self.garbling.odds) > 0 {
                out.extend_from_slice(&frame);
            } else {
                out.extend(self.spoil(frame.clone()));
            }
            if self.rng.bool() {
                self.earlier = frame;
            }
        }
        out
    }

    /// How long the next frame is, if it is there.
    fn frame(&self) -> Option<usize> {
        let length = match self.garbling.frames {
            Frames::Lengths => 4 + u32::from_be_bytes(*self.rest.first_chunk()?) as usize,
            Frames::Grpc => {
                let [a, b, c] = *self.rest.first_chunk()?;
                HTTP2 + u32::from_be_bytes([0, a, b, c]) as usize
            }
        };
        (self.rest.len() >= length).then_some(length)
    }

    fn spoil(&mut self, mut frame: Vec<u8>) -> Vec<u8> {
        match self.rng.u8(..8) {
            // Nor are its borders what they were.
            0 => {
                self.change(&mut frame);
                return frame;
            }
            1 if !self.earlier.is_empty() => return self.earlier.clone(),
            _ => {}
        }
        let head = match self.garbling.frames {
            Frames::Lengths => 4,
            // The first byte is the first of three, and the fourth says what it is: 0 is data.
            Frames::Grpc if frame[3] == 0 && frame.len() > HTTP2 + GRPC => HTTP2 + GRPC,
            Frames::Grpc => return frame,
        };
        let mut body = frame.split_off(head.min(frame.len()));
        for _ in 0..self.rng.u8(1..4) {
            self.change(&mut body);
        }
        let length = u32::try_from(body.len()).expect("a short reply").to_be_bytes();
        match self.garbling.frames {
            Frames::Lengths => frame.copy_from_slice(&length),
            Frames::Grpc => {
                frame[HTTP2 + 1..].copy_from_slice(&length);
                let whole = u32::try_from(GRPC + body.len()).expect("a short reply");
                frame[..3].copy_from_slice(&whole.to_be_bytes()[1..]);
            }
        }
        frame.extend(body);
        frame
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.rng.usize(..=bytes.len());
        let rest = bytes.len() - at;
        match self.rng.u8(..7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + self.rng.usize(..=rest.min(8)))),
            2 => {
                let more: Vec<u8> = (0..self.rng.usize(1..16)).map(|_| self.rng.u8(..)).collect();
                drop(bytes.splice(at..at, more));
            }
            3 if rest >= 4 => {
                let number = NUMBERS[self.rng.usize(..NUMBERS.len())];
                bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
            }
            4 if rest > 0 => bytes[at] = [0, 0x7f, 0x80, 0xff][self.rng.usize(..4)],
            5 if rest > 0 => bytes[at] = self.rng.u8(..),
            _ if rest > 0 => bytes[at] ^= 1 << self.rng.u8(..8),
            _ => {}
        }
    }
}
