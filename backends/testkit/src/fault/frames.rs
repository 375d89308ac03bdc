//! Where one reply of a server ends and the next begins.

use std::io::{self, Read};

/// How a protocol tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// Four bytes say how long it is, as with ZooKeeper.
    Lengths,
    /// The messages of gRPC, in HTTP/2: replies are frames of data, and there are others.
    Grpc,
    /// Answers of HTTP/1.1, as Kubernetes gives them: whatever comes at once is a frame, and a reply if it begins one.
    Http,
}

/// In a frame of HTTP/2, what comes before its payload, and where it says what it is: 0 is data.
const HTTP2: usize = 9;
pub(super) const KIND: usize = 3;
/// What comes before the content of a message of gRPC.
const GRPC: usize = 5;
/// How much of HTTP/1.1 is read at once, in bytes.
const AT_ONCE: usize = 1 << 16;

impl Frames {
    /// How long what comes before a frame's payload is, in bytes.
    pub(super) const fn head(self) -> usize {
        match self {
            Self::Lengths => 4,
            Self::Grpc => HTTP2,
            Self::Http => 0,
        }
    }

    /// How long the frame that begins so is, in bytes, if that can be seen yet.
    pub(super) fn length(self, beginning: &[u8]) -> Option<usize> {
        let payload = match self {
            Self::Lengths => *beginning.first_chunk()?,
            Self::Grpc => {
                let [a, b, c] = *beginning.first_chunk()?;
                [0, a, b, c]
            }
            Self::Http => return Some(beginning.len()).filter(|length| *length > 0),
        };
        Some(self.head() + u32::from_be_bytes(payload) as usize)
    }

    /// Where the content of this frame begins, if it is a reply.
    pub(super) fn content(self, frame: &[u8]) -> Option<usize> {
        match self {
            Self::Lengths => Some(self.head()),
            Self::Grpc => {
                let content = HTTP2 + GRPC;
                (frame[KIND] == 0 && frame.len() > content).then_some(content)
            }
            Self::Http => frame.starts_with(b"HTTP/1.1 ").then_some(0),
        }
    }

    /// The next frame, whole.
    pub(super) fn read(self, from: &mut impl Read) -> io::Result<Vec<u8>> {
        if self == Self::Http {
            let mut some = vec![0; AT_ONCE];
            let length = from.read(&mut some)?;
            some.truncate(length);
            return if length > 0 { Ok(some) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        let mut frame = vec![0; self.head()];
        from.read_exact(&mut frame)?;
        let length = self.length(&frame).unwrap_or_default();
        frame.resize(length, 0);
        from.read_exact(&mut frame[self.head()..])?;
        Ok(frame)
    }

    /// The reply with this content in the place of its own, which begins there, and says how long it is.
    pub(super) fn with_content(self, frame: &[u8], begins: usize, content: &[u8]) -> Vec<u8> {
        let mut frame = [&frame[..begins], content].concat();
        let length = |bytes: usize| u32::try_from(bytes).expect("a short reply").to_be_bytes();
        match self {
            Self::Lengths => frame[..4].copy_from_slice(&length(content.len())),
            Self::Grpc => {
                frame[HTTP2 + 1..HTTP2 + GRPC].copy_from_slice(&length(content.len()));
                frame[..3].copy_from_slice(&length(GRPC + content.len())[1..]);
            }
            Self::Http => {}
        }
        frame
    }
}
