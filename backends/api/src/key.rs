use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::election_name::{is_allowed, may_begin};

/// The key of a text that an election keeps, fit for every store. It names a resource whose greatest token the
/// election records ([`crate::Cell::Fence`]), or a value of the leaders ([`crate::Cell::Value`]). A fence and a
/// value under the same key are independent.
///
/// A key has 1 to [`Key::MAX_LEN`] characters out of `A-Z a-z 0-9 . _ - @ : + =`. The first one is a letter, a
/// digit or `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key(String);

/// The error for a text that is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it has 1 to {max} letters, digits and . _ - @ : + =, and the first is a letter, a digit or _",
    max = Key::MAX_LEN
)]
pub struct KeyError;

impl Key {
    /// The greatest length of a key, in characters.
    pub const MAX_LEN: usize = 128;

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let fits = text.starts_with(may_begin)
            && text.chars().all(is_allowed)
            && text.len() <= Self::MAX_LEN;
        if fits { Ok(Self(text.to_owned())) } else { Err(KeyError) }
    }
}

impl TryFrom<String> for Key {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        text.parse()
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, KeyError};

    #[test]
    fn keys_are_those_that_every_store_accepts() {
        for good in ["a", "cursor", "7", "report.csv", "_x", "db@host:5432", &"x".repeat(128)] {
            assert_eq!(good.parse::<Key>().map(|key| key.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", ".", "..", ".new", "-x", "a/b", "a b", "a\0", "\u{e9}", &"x".repeat(129)] {
            assert_eq!(bad.parse::<Key>(), Err(KeyError), "{bad:?}");
        }
    }
}
