use std::fmt;

use crate::Wake;

/// The name of a note: a small text that the leaders of an election leave there for whoever comes later.
///
/// Each election has its own notes. They are no entries, and outlast them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteName(&'static str);

impl NoteName {
    /// What `elect run --once` has done.
    pub const ONCE: Self = Self("once");

    /// Every name that there is.
    pub const ALL: [Self; 1] = [Self::ONCE];

    /// The name as text: lower-case letters, and no hexadecimal number.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for NoteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What [`crate::Seat::read_note`] found.
pub struct Note {
    /// What was written last; `None` if nothing ever was.
    pub text: Option<Vec<u8>>,
    /// Ends when it is worth reading again.
    pub wake: Wake,
}

/// What came of [`crate::Seat::write_note`], or of [`crate::Store::put`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Noted {
    /// It is written, and whoever was to lead did so then.
    Written,
    /// It is not written, and will not be: that one does not lead, or not any more. The text says what was seen.
    Gone(String),
}
