use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::{Error, ErrorKind};

/// The number of digits of an id.
const DIGITS: usize = 16;

/// The id that elect gives a store: 64 random bits in hexadecimal, kept beside its elections.
///
/// A copy of the store has the same id, for example one that was restored from a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreId(String);

impl StoreId {
    /// The option of a URL that names an id.
    pub const OPTION: &str = "store-id";

    /// A new id that no store has. Its bits come from the kernel.
    pub fn fresh() -> Self {
        Self(format!("{:016x}", RandomState::new().build_hasher().finish()))
    }

    /// The id that the option of a URL names.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if the option's value is not an id.
    pub fn of_option(value: Option<&str>) -> Result<Option<Self>, Error> {
        let read = |text: &str| {
            Self::read(text.as_bytes()).ok_or_else(|| {
                let what = format!(
                    "the option {} has {DIGITS} hexadecimal digits, as `elect doctor` prints them",
                    Self::OPTION
                );
                Error::new(ErrorKind::Unfit, what)
            })
        };
        value.map(read).transpose()
    }

    /// The id in the text of a store; `None` if the text is not an id.
    pub fn read(text: &[u8]) -> Option<Self> {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        let is_id = text.len() == DIGITS && text.iter().all(is_digit);
        is_id.then(|| String::from_utf8_lossy(text).into_owned()).map(Self)
    }

    /// The digits of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_and_read_as_they_are_written() {
        let (one, other) = (StoreId::fresh(), StoreId::fresh());
        assert_ne!(one, other);
        assert_eq!(StoreId::read(one.as_str().as_bytes()), Some(one));
        for bad in ["", "a1", "00000000000000A1", "00000000000000a1 ", "000000000000000g"] {
            assert_eq!(StoreId::read(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_url_may_name_one() {
        assert_eq!(StoreId::of_option(None).expect("none"), None);
        let one = StoreId::of_option(Some("00000000000000a1")).expect("an id").expect("one");
        assert_eq!(one.as_str(), "00000000000000a1");
        assert!(StoreId::of_option(Some("a1")).expect_err("too short").to_string().contains("16"));
    }
}
