//! Cells: the small texts that a store keeps for an election, beside its entries.

use std::fmt;

use crate::{ElectionName, Error, ErrorKind, Key, Store, Token, Wake};

/// A small text that a store keeps for an election, beside its entries (laws 10, 11, 14 and 15).
///
/// Each election has its own cells. A cell is not an entry, and outlasts every entry. To the store a cell is bytes.
/// Only the engine knows what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cell<'a> {
    /// The work that `elect run --once` has finished. Written by the leader's seat.
    Once,
    /// The runs of `--once`: how often each key was tried, by which candidate, and how each run ended. Written by the
    /// leader's seat.
    Runs,
    /// The past leaderships, and how each ended. Written by the leader's seat.
    History,
    /// The requests of people to the election. Everyone with write access to the store may write it, by its version,
    /// even if the election has no candidates. Every candidate gets it with its refreshes ([`crate::Refreshed`]).
    Control,
    /// The greatest token that was presented for a resource. Everyone may write it, by its version ([`fence`]).
    Fence(&'a Key),
    /// A text that leaders keep under a key. Everyone who knows the leader's token may write it.
    Value(&'a Key),
}

impl Cell<'static> {
    /// The cells that a leader's seat writes.
    pub const OF_LEADERS: [Self; 3] = [Self::Once, Self::Runs, Self::History];

    /// The cells whose changes wake waiting candidates and callers of [`Store::changed`].
    pub const WATCHED: [Self; 2] = [Self::Control, Self::Once];
}

impl Cell<'_> {
    /// The greatest length of a cell, in bytes: 64 KiB.
    pub const LONGEST: usize = 64 * 1024;

    /// Returns whether a write to this cell survives a power cut. The history need not, because durable writes take
    /// time. Without the history the choice of the next leader is less exact, and nothing else is wrong.
    pub const fn lasts(self) -> bool {
        !matches!(self, Self::History)
    }

    /// Returns whether a change of this cell ends the wake of a seat that has read it, and the wake of
    /// [`Store::changed`].
    pub const fn is_watched(self) -> bool {
        matches!(self, Self::Once | Self::Control)
    }

    /// Checks that these bytes may be written to this cell under this condition.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if there are too many bytes, or if this cell is not written under such a condition.
    pub fn check(self, bytes: &[u8], condition: If) -> Result<(), Error> {
        match (self, condition) {
            (Self::Control | Self::Fence(_), If::Version(_)) | (Self::Value(_), If::Leads(_)) => {
                self.check_length(bytes)
            }
            _ => Err(Error::new(
                ErrorKind::Unfit,
                format!("{self} is not written under {condition:?}"),
            )),
        }
    }

    /// Checks that this cell may hold this many bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if they are too many.
    pub fn check_length(self, bytes: &[u8]) -> Result<(), Error> {
        let most = Self::LONGEST;
        if bytes.len() <= most {
            return Ok(());
        }
        let what = match self {
            Self::Control => "ask for less",
            _ => "keep it elsewhere, and its address here",
        };
        let what = format!("{self} of more than {most} bytes is not kept: {what}");
        Err(Error::new(ErrorKind::Unfit, what))
    }
}

/// The name of the cell in messages.
impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once => f.write_str("what is done once"),
            Self::Runs => f.write_str("how its runs went"),
            Self::History => f.write_str("the history"),
            Self::Control => f.write_str("what is asked"),
            Self::Fence(resource) => write!(f, "the fence of {resource}"),
            Self::Value(key) => write!(f, "the value of {key}"),
        }
    }
}

/// The content of a cell. The default stands for a cell that was never written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versioned {
    /// The bytes of the last write. `None` if there was no write, or none since the election was forgotten.
    pub bytes: Option<Vec<u8>>,
    /// The version of the bytes. It rises with each write, and never stands for two texts; 0 without bytes. It means
    /// nothing in a cell that is not written by version ([`If`]).
    pub version: u64,
}

impl Versioned {
    /// The bytes that were found in a store. Bytes beyond the greatest length are dropped, except for one that shows
    /// that the text is too long ([`Cell::check_length`]). The limit is needed because every writer with access to the
    /// store may have written anything.
    pub fn found(mut bytes: Vec<u8>, version: u64) -> Self {
        bytes.truncate(Cell::LONGEST + 1);
        bytes.shrink_to_fit();
        Self { bytes: Some(bytes), version }
    }
}

/// The keys under which an election keeps fences and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// The resources that have a [`Cell::Fence`], in order.
    pub fences: Vec<Key>,
    /// The keys that have a [`Cell::Value`], in order.
    pub values: Vec<Key>,
}

impl Keys {
    /// The keys in a list of names. The name of a key is `fence` or `value`, then the separator, then the key. All
    /// other names are ignored.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>, separator: char) -> Self {
        let mut keys = Self::default();
        for name in names {
            match name.split_once(separator) {
                Some(("fence", key)) => keys.fences.extend(key.parse::<Key>()),
                Some(("value", key)) => keys.values.extend(key.parse::<Key>()),
                _ => {}
            }
        }
        keys.fences.sort();
        keys.values.sort();
        keys
    }
}

/// The condition for a write to a cell. The store checks it and writes in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum If {
    /// The cell has this version. A cell that was never written has version 0. For [`Cell::Control`] and
    /// [`Cell::Fence`].
    Version(u64),
    /// The entry with this token leads. For [`Cell::Value`].
    Leads(Token),
}

/// The outcome of a write to a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The cell is written. The number is its new version, if the cell is written by version.
    Yes(u64),
    /// The cell is not written, and will not be, because it had another version. Read it again.
    Overtaken,
    /// The cell is not written, and will not be, because the named leader does not lead. The text says what the store
    /// showed.
    Gone(String),
}

impl Written {
    /// The reason why the cell is not written; `None` if it is written.
    pub fn why_not(&self) -> Option<&str> {
        match self {
            Self::Yes(_) => None,
            Self::Overtaken => Some("it has changed meanwhile"),
            Self::Gone(why) => Some(why),
        }
    }
}

/// The content of a cell that a seat has read, with a wake.
pub struct WatchedCell {
    /// The bytes of the last write; `None` if there was none.
    pub bytes: Option<Vec<u8>>,
    /// Ends when the cell is worth reading again. It never ends for a cell that is not watched.
    pub wake: Wake,
}

/// How durable a leader's write to a cell must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// As durable as the cell is in general ([`Cell::lasts`]).
    Usual,
    /// Durable across a power cut, because a later step depends on this write.
    Lasting,
}

impl Durability {
    /// Returns whether a write to `cell` survives a power cut.
    pub const fn lasts(self, cell: Cell<'_>) -> bool {
        matches!(self, Self::Lasting) || cell.lasts()
    }
}

/// The outcome of [`fence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fenced {
    /// The token is recorded, and no greater token was recorded before.
    Passed,
    /// The store already had this greater token. Nothing has changed.
    Stale(Token),
}

/// The number of attempts: more than the callers that come for one resource at once.
const TRIES: usize = 8;

/// Records this token for a resource, unless a greater one was recorded (law 14). The election needs no candidate.
///
/// A token that is already recorded is written again. Only a write proves that the answering server still has all
/// earlier writes.
///
/// # Errors
/// As [`Store::write`], and `Unfit` if the cell does not hold a token. After [`ErrorKind::Ambiguous`] the token may be
/// recorded. Recording it again has the same outcome.
///
/// # Cancellation
/// Dropping the future is an ambiguous outcome. Once a greater token is recorded, the dropped call does not record its
/// token any more.
pub async fn fence(
    store: &dyn Store,
    election: &ElectionName,
    resource: &Key,
    token: Token,
) -> Result<Fenced, Error> {
    let (cell, text) = (Cell::Fence(resource), token.to_string());
    for _ in 0..TRIES {
        let Versioned { bytes, version } = store.read(election, cell).await?;
        if let Some(bytes) = bytes {
            let greatest = token_in(&bytes).ok_or_else(|| no_token(election, resource))?;
            if greatest > token {
                return Ok(Fenced::Stale(greatest));
            }
        }
        match store.write(election, cell, text.as_bytes(), If::Version(version)).await? {
            Written::Yes(_) => return Ok(Fenced::Passed),
            Written::Overtaken | Written::Gone(_) => {}
        }
    }
    let what = format!("others come for {resource} all the time: trying again helps");
    Err(Error::new(ErrorKind::Unreachable, what))
}

/// The token in the cell of a fence, which holds it in decimal digits.
pub fn token_in(bytes: &[u8]) -> Option<Token> {
    std::str::from_utf8(bytes).ok()?.parse().ok().map(Token::new)
}

/// The error for a fence that holds no token. Every writer with access to the store can cause this, so such a fence
/// lets no token pass.
fn no_token(election: &ElectionName, resource: &Key) -> Error {
    let what = format!(
        "the fence of {resource} in {election} holds no token: put the greatest that was used there, in digits only"
    );
    Error::new(ErrorKind::Unfit, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_by_the_name_that_a_store_gives_it() {
        let names = ["value-b", "fence-x-1", "value-a", "fence", "value-", "note-once"];
        let keys = Keys::named(names, '-');
        let shown = |keys: &[Key]| keys.iter().map(Key::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!((shown(&keys.fences), shown(&keys.values)), ("x-1".into(), "a b".into()));
    }

    #[test]
    fn each_cell_is_written_under_its_own_condition() {
        let key = "k".parse().expect("a key");
        let (unchanged, leads) = (If::Version(0), If::Leads(Token::new(1)));
        for (cell, by_version, by_leader) in [
            (Cell::Once, false, false),
            (Cell::Runs, false, false),
            (Cell::History, false, false),
            (Cell::Control, true, false),
            (Cell::Fence(&key), true, false),
            (Cell::Value(&key), false, true),
        ] {
            assert_eq!(cell.check(b"", unchanged).is_ok(), by_version, "{cell}");
            assert_eq!(cell.check(b"", leads).is_ok(), by_leader, "{cell}");
            cell.check_length(&vec![0; Cell::LONGEST]).expect("the longest");
            cell.check_length(&vec![0; Cell::LONGEST + 1]).expect_err("too long");
        }
    }
}
