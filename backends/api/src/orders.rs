use crate::{Error, ErrorKind};

/// What people ask of an election: one small text, kept apart from its entries and notes.
///
/// Anybody who may write to the store changes it, whether the election has candidates or not, with
/// [`crate::Store::order`]; every candidate gets it with its refreshes ([`crate::Seat::orders`]). What it
/// says is the engine's affair: a store keeps bytes.
///
/// The default is that nothing was ever asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// What was written last; `None` if nothing ever was, or if the election was forgotten since.
    pub text: Option<Vec<u8>>,
    /// That of the text: it rises with each write, and never stands for two texts. 0 where there is none.
    pub version: u64,
}

/// What came of [`crate::Store::order`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordered {
    /// It is written, and has this version.
    Written(u64),
    /// It is not written, and will not be: the orders had another version. Read them again.
    Overtaken,
}

impl Orders {
    /// How many bytes they may have: 64 KiB.
    pub const LONGEST: usize = 64 * 1024;

    /// That a text is not too long to be written.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if it is.
    pub fn check_length(text: &[u8]) -> Result<(), Error> {
        let (long, most) = (text.len(), Self::LONGEST);
        if long <= most {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unfit,
            format!("orders of {long} bytes are too long: at most {most} are kept, ask for less"),
        ))
    }
}
