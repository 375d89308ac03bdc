//! The text of an object: a random tag in its first line, so that no two texts are the same, then the content.

use elect_record::table::{Body, Row, Tag};

/// An object that was read.
#[derive(Debug)]
pub(crate) struct Object {
    /// Its `ETag`.
    pub(crate) tag: Tag,
    /// Its content; `None` if it is a tombstone.
    pub(crate) body: Option<Body>,
}

impl Object {
    /// The object with this text. A text that was cut off or damaged is no tombstone: a row that counted as missing would
    /// have fences and leaders forgotten.
    pub(crate) fn read(tag: String, text: &str) -> Self {
        let is_digits = text.bytes().all(|letter| letter.is_ascii_hexdigit());
        let is_tombstone = text.len() as u64 == TOMBSTONE && is_digits;
        let content = text.split_once('\n').map_or(text, |(_random, content)| content);
        Self { tag: Tag(tag), body: (!is_tombstone).then(|| Body::split(content)) }
    }

    pub(crate) fn is_tombstone(&self) -> bool {
        self.body.is_none()
    }

    /// The row that it is; `None` if it is a tombstone.
    pub(crate) fn row(self) -> Option<Row> {
        Some(Row { tag: self.tag, body: self.body? })
    }
}

/// The length of a tombstone. All rows are longer.
pub(crate) const TOMBSTONE: u64 = 16;

/// The text of a new object with this content.
pub(crate) fn with(body: &Body) -> String {
    format!("{}\n{}", tombstone(), body.joined())
}

/// The text of a new tombstone, which stands for no row.
pub(crate) fn tombstone() -> String {
    format!("{:016x}", fastrand::u64(..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sixteen_digits_are_a_tombstone() {
        let read = |text: &str| Object::read("tag".to_owned(), text);
        assert!(read(&tombstone()).is_tombstone());
        let body = Body { head: "{}".to_owned(), ..Body::default() };
        assert_eq!(read(&with(&body)).row().expect("a row").body.head, "{}");
        for damaged in ["", "0123", "0123456789abcde", "0123456789abcdefg", "not hexadecimal!"] {
            assert!(!read(damaged).is_tombstone(), "{damaged:?}");
        }
    }
}
