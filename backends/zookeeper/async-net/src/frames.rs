//! What a server announces: four bytes before each of its replies say how long that is.

use std::io::{self, ErrorKind};

/// The longest reply that is read, in bytes: four times what ZooKeeper's own clients and servers take if they are set
/// up as usual (`jute.maxbuffer`), as a server lists the children of a node in one reply, however many there are.
pub const LONGEST: u32 = 4 << 20;

/// Follows the replies of one connection.
#[derive(Debug, Default)]
pub(crate) enum Replies {
    /// Nothing was asked yet.
    #[default]
    Unasked,
    /// They are frames.
    Frames(Frames),
    /// They are words to a command of four letters, or TLS.
    Opaque,
}

#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// The beginning of the next one, as far as it has come.
    head: [u8; 4],
    come: usize,
    /// What is to come of the present one.
    left: u32,
}

impl Replies {
    /// These bytes are sent: the first of all tells what is spoken. Our own frames are short.
    pub(crate) fn asked(&mut self, bytes: &[u8]) {
        if let (Self::Unasked, Some(first)) = (&self, bytes.first()) {
            *self = if *first == 0 { Self::Frames(Frames::default()) } else { Self::Opaque };
        }
    }

    /// These bytes have come.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Frames(frames) => frames.read(bytes),
            Self::Unasked | Self::Opaque => Ok(()),
        }
    }
}

impl Frames {
    fn read(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let [first, others @ ..] = bytes {
            if self.left > 0 {
                let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).min(self.left);
                self.left -= length;
                bytes = &bytes[length as usize..];
                continue;
            }
            self.head[self.come] = *first;
            self.come = (self.come + 1) % self.head.len();
            bytes = others;
            if self.come == 0 {
                self.left = u32::from_be_bytes(self.head);
                if self.left > LONGEST {
                    return Err(too_long(self.left));
                }
            }
        }
        Ok(())
    }
}

fn too_long(announced: u32) -> io::Error {
    let what =
        format!("the server announces a reply of {announced} bytes: {LONGEST} are read at most");
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(length: u32) -> Vec<u8> {
        let mut frame = length.to_be_bytes().to_vec();
        frame.resize(4 + length as usize, 0xff);
        frame
    }

    #[test]
    fn frames_are_followed_wherever_they_are_torn() {
        let good: Vec<u8> = [0, 5, 300, 0, 1].into_iter().flat_map(frame).collect();
        let bad = [&good[..], &(LONGEST + 1).to_be_bytes()].concat();
        for size in 1..20 {
            let read = |bytes: &[u8]| {
                let mut frames = Frames::default();
                bytes.chunks(size).try_for_each(|some| frames.read(some))
            };
            read(&good).expect("short frames");
            assert_eq!(read(&bad).expect_err("a long frame").kind(), ErrorKind::InvalidData);
            read(&bad[..bad.len() - 1]).expect("nothing is announced yet");
        }
        Frames::default().read(&frame(LONGEST)).expect("the longest");
        Frames::default().read(&[0xff; 4]).expect_err("a length below zero");
    }
}
