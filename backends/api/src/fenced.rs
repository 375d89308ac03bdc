use crate::{Error, ErrorKind, Token};

/// What came of [`crate::Store::fence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fenced {
    /// The token is recorded, and none that is greater was before it.
    Passed,
    /// This greater one was recorded before. Nothing has changed.
    Stale(Token),
}

/// How many bytes a value of [`crate::Store::put`] may have: 64 KiB.
pub const LONGEST_VALUE: usize = 64 * 1024;

/// That a value is not too long to be kept.
///
/// # Errors
/// [`ErrorKind::Unfit`] if it is.
pub fn check_value(value: &[u8]) -> Result<(), Error> {
    if value.len() <= LONGEST_VALUE {
        return Ok(());
    }
    let what = format!(
        "a value of more than {LONGEST_VALUE} bytes is not kept: keep it elsewhere, and here where that is"
    );
    Err(Error::new(ErrorKind::Unfit, what))
}
