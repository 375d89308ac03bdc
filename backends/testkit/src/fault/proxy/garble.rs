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
    /// In which way.
    pub spoil: Spoil,
}

/// What becomes of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoil {
    /// Each is cut after so many bytes, and has as many by its own account.
    Short(usize),
    /// One of `odds` is changed in ways that the seed chooses, which depend on what comes besides.
    AtRandom {
        /// At least 1.
        odds: u32,
        /// Of the choices.
        seed: u64,
    },
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
        let rng = match garbling.spoil {
            Spoil::Short(_) => Rng::with_seed(0),
            Spoil::AtRandom { seed, .. } => Rng::with_seed(seed.wrapping_add(number)),
        };
        Self { garbling, rng, rest: Vec::new(), earlier: Vec::new() }
    }

    /// What becomes of these bytes, and of what was kept of those before.
    pub(super) fn garble(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.rest.extend_from_slice(bytes);
        let mut out = Vec::new();
        while let Some(length) = self.frame() {
            let frame: Vec<u8> = self.rest.drain(..length).collect();
            out.extend(match self.garbling.spoil {
                Spoil::Short(most) => self.with_body(frame.clone(), |body| body.truncate(most)),
                Spoil::AtRandom { odds, .. } if self.rng.u32(..odds) == 0 => {
                    self.spoil(frame.clone())
                }
                Spoil::AtRandom { .. } => frame.clone(),
            });
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
                change(&mut self.rng, &mut frame);
                frame
            }
            1 if !self.earlier.is_empty() => self.earlier.clone(),
            times => {
                let mut rng = self.rng.fork();
                self.with_body(frame, |body| (0..times / 2).for_each(|_| change(&mut rng, body)))
            }
        }
    }

    /// The frame with another body, which it says the length of.
    fn with_body(&self, mut frame: Vec<u8>, other: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let head = match self.garbling.frames {
            Frames::Lengths => 4,
            // After its length it says what it is: 0 is data.
            Frames::Grpc if frame[3] == 0 && frame.len() > HTTP2 + GRPC => HTTP2 + GRPC,
            Frames::Grpc => return frame,
        };
        let mut body = frame.split_off(head);
        other(&mut body);
        let length = |bytes: usize| u32::try_from(bytes).expect("a short reply").to_be_bytes();
        match self.garbling.frames {
            Frames::Lengths => frame.copy_from_slice(&length(body.len())),
            Frames::Grpc => {
                frame[HTTP2 + 1..].copy_from_slice(&length(body.len()));
                frame[..3].copy_from_slice(&length(GRPC + body.len())[1..]);
            }
        }
        frame.extend(body);
        frame
    }
}

fn change(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let at = rng.usize(..=bytes.len());
    let rest = bytes.len() - at;
    match rng.u8(..7) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..at + rng.usize(..=rest.min(8)))),
        2 => {
            let more: Vec<u8> = (0..rng.usize(1..16)).map(|_| rng.u8(..)).collect();
            drop(bytes.splice(at..at, more));
        }
        3 if rest >= 4 => {
            let number = NUMBERS[rng.usize(..NUMBERS.len())];
            bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
        }
        4 if rest > 0 => bytes[at] = [0, 0x7f, 0x80, 0xff][rng.usize(..4)],
        5 if rest > 0 => bytes[at] = rng.u8(..),
        _ if rest > 0 => bytes[at] ^= 1 << rng.u8(..8),
        _ => {}
    }
}
