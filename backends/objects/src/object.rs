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
    /// The object with this text.
    pub(crate) fn read(tag: String, text: &str) -> Self {
        let content = text.split_once('\n').map(|(_random, content)| content);
        Self { tag: Tag(tag), body: content.map(Body::split) }
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
