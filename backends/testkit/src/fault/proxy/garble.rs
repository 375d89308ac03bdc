//! Replies that no sound server gives. Most are whole frames, so that they get far into the
//! client's parser.

use fastrand::Rng;

use crate::fault::Frames;

/// How one direction is garbled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbling {
    /// The framing of the protocol.
    pub frames: Frames,
    /// How a reply is changed.
    pub spoil: Spoil,
}

/// How replies are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoil {
    /// Each reply is cut after so many bytes, and announces that length.
    Short(usize),
    /// One reply of `odds` is changed at random. The changes depend on the seed and on the bytes
    /// before.
    AtRandom {
        /// At least 1.
        odds: u32,
        /// The seed of the changes.
        seed: u64,
    },
}

/// Lengths and counts at their extremes, and near them.
const NUMBERS: [i32; 8] = [i32::MIN, -2, -1, 0, 1, 4, 1 << 30, i32::MAX];

/// Garbles one direction of one connection.
pub(super) struct Garbler {
    garbling: Garbling,
    rng: Rng,
    /// The beginning of an incomplete frame.
    rest: Vec<u8>,
    /// An earlier frame, to be sent again.
    earlier: Vec<u8>,
}

impl Garbler {
    /// Creates a garbler. `number` tells it from the others of its proxy.
    pub(super) fn new(garbling: Garbling, number: u64) -> Self {
        let rng = match garbling.spoil {
            Spoil::Short(_) => Rng::with_seed(0),
            Spoil::AtRandom { seed, .. } => Rng::with_seed(seed.wrapping_add(number)),
        };
        Self { garbling, rng, rest: Vec::new(), earlier: Vec::new() }
    }

    /// Takes these bytes, and returns all complete frames so far, garbled.
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

    /// Returns the length of the next frame, if that frame is complete.
    fn frame(&self) -> Option<usize> {
        let length = self.garbling.frames.length(&self.rest)?;
        (self.rest.len() >= length).then_some(length)
    }

    fn spoil(&mut self, mut frame: Vec<u8>) -> Vec<u8> {
        match self.rng.u8(..8) {
            // This change may hit the borders of the frame, too.
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

    /// Returns the frame with its body changed by `other`, or as it is if it is no reply.
    fn with_body(&self, frame: Vec<u8>, other: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let frames = self.garbling.frames;
        let Some(begins) = frames.content(&frame) else { return frame };
        let mut body = frame[begins..].to_vec();
        other(&mut body);
        frames.with_content(&frame, begins, &body)
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
