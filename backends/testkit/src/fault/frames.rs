//! The framing of three protocols: where one reply of a server ends and the next begins.

use std::io::{self, Read};

/// The framing of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// ZooKeeper's: four bytes in front give the length.
    Lengths,
    /// gRPC's messages in HTTP/2. Replies are data frames, and there are other kinds of frames.
    Grpc,
    /// HTTP/1.1's answers, as Kubernetes gives them. All that one read returns is a frame. It is a reply if it begins
    /// one.
    Http,
}

/// The length of an HTTP/2 frame's head, and the offset of its kind. Kind 0 is data.
const HTTP2: usize = 9;
pub(super) const KIND: usize = 3;
/// The length of the prefix of a gRPC message.
const GRPC: usize = 5;
/// How much of HTTP/1.1 one read may return, in bytes.
const AT_ONCE: usize = 1 << 16;

impl Frames {
    /// The length of a frame's head, in bytes.
    pub(super) const fn head(self) -> usize {
        match self {
            Self::Lengths => 4,
            Self::Grpc => HTTP2,
            Self::Http => 0,
        }
    }

    /// Returns the length of the frame that begins like this, in bytes, or `None` if its head is not complete yet.
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

    /// Returns the offset of the frame's content, or `None` if the frame is no reply.
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

    /// Reads one whole frame.
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

    /// Returns the reply with `content` instead of its own, which begins at `begins`, and corrects all lengths in it.
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
