//! Shares as whole numbers.

use crate::Senseless;

/// A share in millionths, from none to all: for example of messages that are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerMillion(u32);

impl PerMillion {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Everything.
    pub const ALL: Self = Self(1_000_000);

    /// Returns a share of so many millionths. 10,000 are one in a hundred.
    ///
    /// # Errors
    /// [`Senseless::Share`] above a million.
    pub fn new(millionths: u32) -> Result<Self, Senseless> {
        if millionths > Self::ALL.0 {
            return Err(Senseless::Share { millionths });
        }
        Ok(Self(millionths))
    }

    /// Returns the millionths.
    pub const fn get(self) -> u32 {
        self.0
    }
}
