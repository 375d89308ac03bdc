//! How many parts a reply has, counted as it comes. Two bytes can stand for a part that takes two hundred in memory
//! once it is decoded: what has too many is refused before that.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tonic::Status;

/// How many parts a message may have: as many as there are in a listing of some 60,000 keys.
const MOST: usize = 1 << 16;
/// What comes before each message of gRPC, in bytes: whether it is compressed, and how long it is.
const HEAD: usize = 5;

/// Which fields of a message have lists in them of their own. Any other counts as one part where it is met: what it has in
/// it has a size of its own, or is text.
#[derive(Debug)]
struct Shape(&'static [(u64, &'static Self)]);

static FLAT: Shape = Shape(&[]);
static OPERATION: Shape = Shape(&[(1, &FLAT), (3, &FLAT), (4, &TXN)]);
static TXN: Shape = Shape(&[(3, &OPERATION)]);
static MEMBERS: Shape = Shape(&[(2, &FLAT)]);

/// The shape of what this method answers.
fn shape_of(method: &str) -> &'static Shape {
    match method {
        "Txn" => &TXN,
        "MemberList" => &MEMBERS,
        _ => &FLAT,
    }
}

/// The body of a reply, which fails before the end of a message that has too many parts.
pub(crate) struct Measured {
    body: tonic::body::Body,
    measure: Measure,
}

impl Measured {
    /// Makes one of what `method` answers.
    pub(crate) fn of(method: &str) -> impl FnOnce(tonic::body::Body) -> Self + Send + use<> {
        let measure = Measure::new(shape_of(method));
        move |body| Self { body, measure }
    }
}

impl Body for Measured {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(bytes) = frame.data_ref()
            && let Err(odd) = self.measure.feed(bytes)
        {
            return Poll::Ready(Some(Err(odd.into())));
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Why a message is not decoded.
#[derive(Debug, PartialEq, Eq)]
enum Odd {
    /// It has too many parts.
    Crowded,
    /// It is no message.
    Malformed,
}

impl From<Odd> for Status {
    fn from(odd: Odd) -> Self {
        match odd {
            Odd::Crowded => Self::resource_exhausted(format!("a reply has more than {MOST} parts")),
            Odd::Malformed => Self::internal("a reply cannot be decoded"),
        }
    }
}

/// Reads messages, however they are cut.
#[derive(Debug)]
struct Measure {
    shape: &'static Shape,
    next: Next,
    /// What was read of a number that is not whole yet, and how many bytes that were.
    number: (u64, usize),
    /// How much of the message was read, in bytes.
    read: usize,
    /// The messages that are open, each in the one before it.
    open: Vec<Open>,
    parts: usize,
}

#[derive(Debug)]
struct Open {
    shape: &'static Shape,
    /// Where it ends, in bytes from the beginning of the outermost.
    end: usize,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Head,
    /// Which field comes, and in which way it is written.
    Tag,
    /// A number, which is of no interest.
    Number,
    /// How long this field is.
    Length(u64),
    /// So many bytes of no interest.
    Content(usize),
}

impl Measure {
    const fn new(shape: &'static Shape) -> Self {
        Self { shape, next: Next::Head, number: (0, 0), read: 0, open: Vec::new(), parts: 0 }
    }

    fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Odd> {
        while let Some((first, rest)) = bytes.split_first() {
            let taken = match self.next {
                Next::Content(length) => length.min(bytes.len()),
                _ => 1,
            };
            match self.next {
                Next::Head => self.head(*first),
                Next::Content(length) => {
                    self.read += taken;
                    self.next =
                        if taken == length { Next::Tag } else { Next::Content(length - taken) };
                }
                _ => self.byte_of_number(*first)?,
            }
            bytes = if taken == 1 { rest } else { &bytes[taken..] };
            self.close()?;
        }
        Ok(())
    }

    /// The first byte says whether the message is compressed: none is, as nobody asked for that. What begins otherwise
    /// is not decoded in any case, and whoever refuses it knows more of the answer that it is in.
    fn head(&mut self, byte: u8) {
        let (length, count) = self.number;
        if count == 0 && byte != 0 {
            self.next = Next::Content(usize::MAX);
            return;
        }
        self.number = (if count == 0 { 0 } else { length << 8 | u64::from(byte) }, count + 1);
        if self.number.1 == HEAD {
            let end = usize::try_from(self.number.0).unwrap_or(usize::MAX);
            self.open.push(Open { shape: self.shape, end });
            (self.next, self.number, self.read, self.parts) = (Next::Tag, (0, 0), 0, 0);
        }
    }

    fn byte_of_number(&mut self, byte: u8) -> Result<(), Odd> {
        let (low, count) = self.number;
        if count == 10 {
            return Err(Odd::Malformed);
        }
        let number = low | u64::from(byte & 0x7f) << (7 * count).min(63);
        self.read += 1;
        if byte & 0x80 != 0 {
            self.number = (number, count + 1);
            return Ok(());
        }
        self.number = (0, 0);
        self.next = match self.next {
            Next::Tag => self.field(number)?,
            Next::Length(field) => self.content(field, number)?,
            _ => Next::Tag,
        };
        Ok(())
    }

    fn field(&mut self, tag: u64) -> Result<Next, Odd> {
        self.parts += 1;
        if self.parts > MOST {
            return Err(Odd::Crowded);
        }
        match tag & 7 {
            0 => Ok(Next::Number),
            1 => Ok(Next::Content(8)),
            2 => Ok(Next::Length(tag >> 3)),
            5 => Ok(Next::Content(4)),
            _ => Err(Odd::Malformed),
        }
    }

    fn content(&mut self, field: u64, length: u64) -> Result<Next, Odd> {
        let length = usize::try_from(length).map_err(|_| Odd::Malformed)?;
        let end = self.read.checked_add(length).ok_or(Odd::Malformed)?;
        let around = self.open.last().ok_or(Odd::Malformed)?;
        if end > around.end {
            return Err(Odd::Malformed);
        }
        let inner = around.shape.0.iter().find(|(known, _)| *known == field);
        Ok(match inner {
            Some((_, shape)) => {
                self.open.push(Open { shape, end });
                Next::Tag
            }
            None if length == 0 => Next::Tag,
            None => Next::Content(length),
        })
    }

    /// Closes what has ended.
    fn close(&mut self) -> Result<(), Odd> {
        while let Some(open) = self.open.last()
            && self.read >= open.end
        {
            if self.read > open.end || self.next != Next::Tag || self.number.1 > 0 {
                return Err(Odd::Malformed);
            }
            self.open.pop();
            if self.open.is_empty() {
                self.next = Next::Head;
            }
        }
        Ok(())
    }
}

/// Reads these messages in one piece and byte by byte, for fuzzing.
///
/// # Panics
/// When it makes a difference.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_in_pieces(bytes: &[u8]) {
    for shape in [&TXN, &MEMBERS, &FLAT] {
        let (mut whole, mut cut) = (Measure::new(shape), Measure::new(shape));
        let outcome = whole.feed(bytes);
        assert_eq!(bytes.iter().try_for_each(|byte| cut.feed(&[*byte])), outcome);
        assert!(whole.parts <= MOST + 1);
        assert!(whole.open.windows(2).all(|pair| pair[1].end <= pair[0].end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len()).expect("a short one").to_be_bytes();
        [&[0], &length[..], content].concat()
    }

    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2], &varint(content.len())[..], content].concat()
    }

    fn varint(mut number: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let low = u8::try_from(number & 0x7f).expect("seven bits");
            number >>= 7;
            bytes.push(if number > 0 { low | 0x80 } else { low });
            if number == 0 {
                return bytes;
            }
        }
    }

    fn parts(shape: &'static Shape, content: &[u8]) -> Result<usize, Odd> {
        let mut measure = Measure::new(shape);
        measure.feed(&message(content))?;
        assert_eq!(measure.next, Next::Head, "it has ended");
        Ok(measure.parts)
    }

    fn pair() -> Vec<u8> {
        field(1, &[field(1, b"elect/jobs/0123456789abcdef"), field(5, b"\x12\0\x12\0")].concat())
    }

    #[test]
    fn parts_are_counted_where_lists_are() {
        let pair = field(2, &pair());
        assert_eq!(parts(&FLAT, b""), Ok(0));
        assert_eq!(parts(&FLAT, &[&pair[..], &pair, b"\x18\x01"].concat()), Ok(2 + 1));
        // What a value looks like is nobody's business.
        assert_eq!(parts(&FLAT, &field(2, &b"\x12\0".repeat(MOST))), Ok(1));
        let get = field(3, &field(1, &pair));
        assert_eq!(parts(&TXN, &get), Ok(1 + 1 + 1));
        assert_eq!(parts(&TXN, &field(3, &field(4, &get))), Ok(2 + 3));
    }

    /// A queue is listed whole where elections are nested below it.
    #[test]
    fn a_listing_of_many_keys_is_taken_by_itself_and_in_a_transaction() {
        let many = MOST - 100;
        let listing = field(2, &pair()).repeat(many);
        assert_eq!(parts(shape_of("Range"), &listing), Ok(many));
        assert_eq!(parts(shape_of("Txn"), &field(3, &field(1, &listing))), Ok(many + 2));
        assert_eq!(parts(shape_of("Watch"), &field(11, &field(2, &pair())).repeat(many)), Ok(many));
    }

    #[test]
    fn what_is_no_reply_at_all_is_left_to_whoever_refuses_it() {
        let mut measure = Measure::new(&TXN);
        assert_eq!(measure.feed(b"<html>not found"), Ok(()));
        assert_eq!(measure.feed(&message(&b"\x1a\0".repeat(MOST + 1))), Ok(()));
        assert_eq!(measure.parts, 0);
    }

    #[test]
    fn each_message_begins_anew_however_they_are_cut() {
        let one = message(&[field(2, b""), b"\x18\x01".to_vec()].concat());
        let all = [&one[..], &message(b""), &one].concat();
        for size in 1..all.len() {
            let mut measure = Measure::new(&FLAT);
            for piece in all.chunks(size) {
                assert_eq!(measure.feed(piece), Ok(()), "in pieces of {size}");
            }
            assert_eq!((measure.parts, measure.next), (2, Next::Head));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let endless = [0xff; 11];
        for bad in [&b"\x12"[..], b"\x12\x05abc", b"\x13", b"\x08", b"\x09abc", &endless] {
            assert_eq!(parts(&FLAT, bad), Err(Odd::Malformed), "{bad:?}");
        }
        assert_eq!(
            parts(&TXN, b"\x1a\x02\x0a\x05"),
            Err(Odd::Malformed),
            "it ends after what it is in"
        );
    }
}
