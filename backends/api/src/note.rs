use std::fmt;

use crate::Wake;

/// The name of a note: a small text that the leaders of an election leave there for whoever comes later.
///
/// Each election has its own notes. They are no entries, and outlast them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteName {
    text: &'static str,
    is_vital: bool,
}

impl NoteName {
    /// What `elect run --once` has done.
    pub const ONCE: Self = Self { text: "once", is_vital: true };

    /// Who has led, and how that ended.
    pub const HISTORY: Self = Self { text: "history", is_vital: false };

    /// Every name that there is.
    pub const ALL: [Self; 2] = [Self::ONCE, Self::HISTORY];

    /// Those on which something hangs.
    pub fn vital() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|name| name.is_vital())
    }

    /// The name as text: lower-case letters, and no hexadecimal number.
    pub const fn as_str(self) -> &'static str {
        self.text
    }

    /// The same where something hangs on what is written now: a store writes it like a vital one.
    #[must_use]
    pub const fn to_last(self) -> Self {
        Self { is_vital: true, ..self }
    }

    /// Whether anything hangs on it: then it outlasts a power cut, and whoever has read it, or looks out, is
    /// told when it changes. Any other is for the eye, and not worth the time that this takes: a store may lose it with
    /// its machine, and its wake may never end.
    pub const fn is_vital(self) -> bool {
        self.is_vital
    }
}

impl fmt::Display for NoteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

/// What [`crate::Seat::read_note`] found.
pub struct Note {
    /// What was written last; `None` if nothing ever was.
    pub text: Option<Vec<u8>>,
    /// Ends when it is worth reading again; never for one that is not vital.
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
