use std::fmt;

use serde::{Deserialize, Serialize};

/// A fencing token: strictly greater at every change of leader, never reused, never reset.
///
/// A resource is safe if it remembers the greatest token that it has seen, and refuses smaller
/// ones. It is then safe even from a leader that was paused in the middle of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(u64);

impl Token {
    /// The token with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number that the command sees in `ELECT_TOKEN`.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
