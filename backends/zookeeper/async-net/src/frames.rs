//! What a server announces: four bytes before each of its replies say how long that is.

use std::collections::HashSet;
use std::io::{self, ErrorKind};

/// The longest reply that is read, in bytes: four times what ZooKeeper's own clients and servers take if they are set
/// up as usual (`jute.maxbuffer`), as a server lists the children of a node in one reply, however many there are.
pub const LONGEST: u32 = 4 << 20;

/// The longest first reply, in bytes: it tells of the session, and has 37. The library keeps the password in it, and
/// sends it again with each attempt to connect.
const GREETING: u32 = 1 << 10;

/// How much of a frame is looked at: the header of a reply, and a number behind it.
const BEGINNING: usize = 20;

/// The number of a frame that answers no request: it tells of what was watched.
const EVENT: i32 = -1;
/// The requests that may watch: for the existence, data or children (two kinds) of a node, and for all watches anew (two
/// kinds).
const WATCHING: [i32; 6] = [3, 4, 8, 12, 101, 105];
/// How many bytes of such frames may come, besides [`EVENTS_PER_BYTE`] for each byte of what may watch: the shortest event is
/// less than eight times as long as what asks for it. The library keeps each for which it knows no watch.
const EVENTS: u64 = 4096;
const EVENTS_PER_BYTE: u64 = 8;

/// The requests that are answered with a list: those for an ACL, for children (two kinds), for the nodes of a session.
const LISTS: [i32; 4] = [6, 8, 12, 103];

/// Follows what is said on one connection.
#[derive(Debug, Default)]
pub(crate) enum Talk {
    /// Nothing was asked yet.
    #[default]
    Unasked,
    /// Requests and replies are frames.
    Frames(Box<Frames>),
    /// A command of four letters and words to it, or TLS.
    Opaque,
}

#[derive(Debug, Default)]
pub(crate) struct Frames {
    requests: Stream,
    replies: Stream,
    /// The numbers of the requests under way that are answered with a list.
    lists: HashSet<i32>,
    /// How many bytes the requests had that may watch.
    watched: u64,
    /// How many have told of changes.
    told: u64,
}

impl Talk {
    /// These bytes are sent: the first of all tells what is spoken, as our own frames are short.
    pub(crate) fn asked(&mut self, bytes: &[u8]) {
        if let (Self::Unasked, Some(first)) = (&self, bytes.first()) {
            *self = if *first == 0 { Self::Frames(Box::default()) } else { Self::Opaque };
        }
        if let Self::Frames(frames) = self {
            frames.asked(bytes);
        }
    }

    /// These bytes have come.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Unasked if !bytes.is_empty() => {
                let what = "the server speaks before it is asked, as no ZooKeeper does";
                Err(io::Error::new(ErrorKind::InvalidData, what))
            }
            Self::Frames(frames) => frames.read(bytes),
            Self::Unasked | Self::Opaque => Ok(()),
        }
    }
}

impl Frames {
    fn asked(&mut self, bytes: &[u8]) {
        // It fails for replies only.
        let _ = self.requests.follow(bytes, u32::MAX, |frame| {
            if let (Some(number), Some(kind)) = (frame.number_at(0), frame.number_at(4))
                && !frame.is_first
            {
                if LISTS.contains(&kind) {
                    self.lists.insert(number);
                }
                if WATCHING.contains(&kind) {
                    self.watched += u64::from(frame.length);
                }
            }
            Ok(())
        });
    }

    fn read(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.replies.follow(bytes, LONGEST, |frame| {
            if frame.is_first {
                return if frame.length > GREETING { Err(too_wordy(frame.length)) } else { Ok(()) };
            }
            let Some(number) = frame.number_at(0) else { return Ok(()) };
            if number == EVENT {
                self.told += u64::from(frame.length);
                if self.told > EVENTS + EVENTS_PER_BYTE * self.watched {
                    return Err(unasked());
                }
            }
            let is_list = self.lists.remove(&number) && frame.number_at(12) == Some(0);
            match frame.number_at(16).and_then(|entries| u32::try_from(entries).ok()) {
                // Each has a length at least. The library keeps room for as many before it reads one.
                Some(entries) if is_list && entries > frame.length.saturating_sub(20) / 4 => {
                    Err(too_many(entries))
                }
                _ => Ok(()),
            }
        })
    }
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Stream {
    /// What has come of the beginning of the present frame, its length first.
    begun: Vec<u8>,
    /// What is to come of it behind that.
    left: u32,
    is_under_way: bool,
}

/// The beginning of a frame.
struct Frame<'a> {
    /// The first of a connection has no header.
    is_first: bool,
    length: u32,
    beginning: &'a [u8],
}

impl Frame<'_> {
    fn number_at(&self, place: usize) -> Option<i32> {
        self.beginning[place.min(self.beginning.len())..]
            .first_chunk()
            .copied()
            .map(i32::from_be_bytes)
    }
}

impl Stream {
    /// Has each frame judged once its beginning has come, and its length before that.
    fn follow(
        &mut self,
        mut bytes: &[u8],
        longest: u32,
        mut judge: impl FnMut(&Frame<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        while let [first, others @ ..] = bytes {
            if self.left > 0 {
                let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).min(self.left);
                self.left -= length;
                bytes = &bytes[length as usize..];
                continue;
            }
            self.begun.push(*first);
            bytes = others;
            let Some((head, beginning)) = self.begun.split_first_chunk() else { continue };
            let length = u32::from_be_bytes(*head);
            if length > longest {
                return Err(too_long(length));
            }
            if beginning.len() == BEGINNING || beginning.len() == length as usize {
                judge(&Frame { is_first: !self.is_under_way, length, beginning })?;
                self.left = length - u32::try_from(beginning.len()).unwrap_or(length);
                self.is_under_way = true;
                self.begun.clear();
            }
        }
        Ok(())
    }
}

fn too_many(announced: u32) -> io::Error {
    let what = format!("the server announces {announced} entries in a reply that is shorter");
    io::Error::new(ErrorKind::InvalidData, what)
}

fn too_wordy(announced: u32) -> io::Error {
    let what = format!("the server takes {announced} bytes to tell of a session, which takes 37");
    io::Error::new(ErrorKind::InvalidData, what)
}

fn unasked() -> io::Error {
    let what = "the server tells of more changes than were watched for";
    io::Error::new(ErrorKind::InvalidData, what)
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
        // An answer to a request, and no news.
        let answer = [&LONGEST.to_be_bytes()[..], &vec![0; LONGEST as usize]].concat();
        let longest = [frame(GREETING), answer].concat();
        Frames::default().read(&longest).expect("the longest of each");
        let wordy = Frames::default().read(&frame(GREETING + 1)).expect_err("a long password");
        assert_eq!(wordy.kind(), ErrorKind::InvalidData);
        Frames::default().read(&[0xff; 4]).expect_err("a length below zero");
    }

    /// A request of this number and kind, or a reply to it: that with an error, and what follows it.
    fn numbers(numbers: &[i32]) -> Vec<u8> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        let length = u32::try_from(bytes.len()).expect("a few");
        [&length.to_be_bytes(), &bytes[..]].concat()
    }

    #[test]
    fn a_list_has_no_more_entries_than_there_is_room_for() {
        let connect = numbers(&[0, 0, 8, 0, 0]);
        for (kind, entries, others, is_refused) in [
            (8, i32::MAX, 0, true),
            (12, 3, 1, true),
            (6, 1, 3, false),
            (8, 0, 0, false),
            (8, -1, 0, false),
            // One that is answered with the time of a transaction, say.
            (3, i32::MAX, 0, false),
        ] {
            let request = numbers(&[7, kind, 0]);
            let reply = numbers(&[&[7, 0, 1, 0, entries][..], &vec![0; others]].concat());
            for size in [1, 3, 100] {
                let mut frames = Frames::default();
                for part in [&connect[..], &request].concat().chunks(size) {
                    frames.asked(part);
                }
                let replies = [&connect[..], &reply].concat();
                let outcome = replies.chunks(size).try_for_each(|part| frames.read(part));
                assert_eq!(outcome.is_err(), is_refused, "{kind} {entries}: {outcome:?}");
            }
        }
        let mut frames = Frames::default();
        frames.asked(&[&connect[..], &numbers(&[7, 8, 0])].concat());
        let failed = numbers(&[7, 0, 1, -101, i32::MAX]);
        frames.read(&[&connect[..], &failed].concat()).expect("an error of the server's");
    }

    #[test]
    fn no_more_is_told_than_was_watched_for() {
        let connect = numbers(&[0, 0, 8, 0, 0]);
        // A path of four bytes, watched for and changed.
        let request = numbers(&[7, 3, 4, 0x2f61_2f62, 1]);
        let event = numbers(&[EVENT, 0, -1, 0, 3, 3, 4, 0x2f61_2f62]);
        let mut frames = Frames::default();
        frames.asked(&connect);
        frames.read(&connect).expect("a session");
        for _ in 0..10_000 {
            frames.asked(&request);
            frames.read(&event).expect("what was watched for");
        }
        let mut frames = Frames::default();
        frames.asked(&connect);
        frames.read(&connect).expect("a session");
        let refused = (0..1000).find_map(|_| frames.read(&event).err()).expect("too many");
        assert_eq!(refused.kind(), ErrorKind::InvalidData);
    }
}
