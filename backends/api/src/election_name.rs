use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The name of an election, fit for every store.
///
/// A name has 1 to [`ElectionName::MAX_LEN`] characters out of `A-Z a-z 0-9 . _ - @ : + =`. The
/// first one is a letter, a digit or `_`. Names of digits only are refused, because `-e 0` is a slip
/// for `-E 0`. Characters that some store or file system interprets are refused too: `/`, spaces,
/// control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ElectionName(String);

/// The reason why a text is not the name of an election.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElectionNameError {
    /// The text is empty.
    #[error("an election needs a name")]
    Empty,
    /// The text has more than [`ElectionName::MAX_LEN`] characters.
    #[error("an election's name has at most {max} characters, this one has {0}", max = ElectionName::MAX_LEN)]
    TooLong(usize),
    /// The text has a character that is not allowed.
    #[error("an election's name is made of letters, digits and . _ - @ : + =, not of {0:?}")]
    Character(char),
    /// The text starts with a character that is only allowed further on.
    #[error("an election's name starts with a letter, a digit or _, not with {0:?}")]
    FirstCharacter(char),
    /// The text has digits only.
    #[error("an election's name must not be a number (an exit code is set with -E)")]
    Number,
}

impl ElectionName {
    /// The greatest length of a name, in characters.
    pub const MAX_LEN: usize = 128;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether every store and file system keeps this character in a name unchanged.
pub(crate) fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-@:+=".contains(c)
}

/// Returns whether a name that begins with this character is safe from being read as something else, such as
/// an option.
pub(crate) const fn may_begin(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl FromStr for ElectionName {
    type Err = ElectionNameError;

    fn from_str(text: &str) -> Result<Self, ElectionNameError> {
        let first = text.chars().next().ok_or(ElectionNameError::Empty)?;
        if let Some(odd) = text.chars().find(|c| !is_allowed(*c)) {
            return Err(ElectionNameError::Character(odd));
        }
        if !may_begin(first) {
            return Err(ElectionNameError::FirstCharacter(first));
        }
        if text.len() > Self::MAX_LEN {
            return Err(ElectionNameError::TooLong(text.len()));
        }
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(ElectionNameError::Number);
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for ElectionName {
    type Error = ElectionNameError;

    fn try_from(text: String) -> Result<Self, ElectionNameError> {
        text.parse()
    }
}

impl From<ElectionName> for String {
    fn from(name: ElectionName) -> Self {
        name.0
    }
}

impl fmt::Display for ElectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::{ElectionName, ElectionNameError as E};

    fn parse(text: &str) -> Result<ElectionName, E> {
        text.parse()
    }

    #[test]
    fn names_that_every_store_can_keep() {
        for good in
            ["a", "cron-job", "backup.sh", "db@host:5432", "_x", "7z", "a+b=c", &"x".repeat(128)]
        {
            assert_eq!(parse(good).as_ref().map(ElectionName::as_str), Ok(good));
        }
    }

    #[test]
    fn names_that_some_store_would_read_differently() {
        assert_eq!(parse(""), Err(E::Empty));
        assert_eq!(parse("a/b"), Err(E::Character('/')));
        assert_eq!(parse("a b"), Err(E::Character(' ')));
        assert_eq!(parse("a\0"), Err(E::Character('\0')));
        assert_eq!(parse("a\n"), Err(E::Character('\n')));
        assert_eq!(parse("é"), Err(E::Character('é')));
        assert_eq!(parse(".."), Err(E::FirstCharacter('.')));
        assert_eq!(parse("-n"), Err(E::FirstCharacter('-')));
        assert_eq!(parse(&"x".repeat(300)), Err(E::TooLong(300)));
        assert_eq!(parse("0"), Err(E::Number));
    }
}
