//! Cells: the small texts that a store keeps of an election, beside its entries.

use std::fmt;

use crate::{ElectionName, Error, ErrorKind, Key, Store, Token, Wake};

/// A small text that is kept of an election, beside its entries (laws 10, 11, 14 and 15).
///
/// Each election has its own. Cells are no entries, and outlast them; what they say is the engine's affair: a store
/// keeps bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cell<'a> {
    /// What `elect run --once` has done. A leader's seat writes it.
    Once,
    /// How its runs went: how often each key was tried, by whom, and how that ended. A leader's seat writes it.
    Runs,
    /// Who has led, and how that ended. A leader's seat writes it.
    History,
    /// What people ask of the election. Anybody who may write to the store writes it, by its version, whether the
    /// election has candidates or not; every candidate gets it with its refreshes ([`crate::Refreshed`]).
    Control,
    /// The greatest token that came for a resource. Anybody writes it, by its version ([`fence`]).
    Fence(&'a Key),
    /// What leaders keep under a key. Whoever knows the leader's token writes it.
    Value(&'a Key),
}

impl Cell<'static> {
    /// Those that a leader's seat writes.
    pub const OF_LEADERS: [Self; 3] = [Self::Once, Self::Runs, Self::History];

    /// Those that wake who waits, or looks out over the election.
    pub const WATCHED: [Self; 2] = [Self::Control, Self::Once];
}

impl Cell<'_> {
    /// How many bytes a cell may have: 64 KiB.
    pub const LONGEST: usize = 64 * 1024;

    /// Whether it outlasts a power cut. The history need not, as that takes time: without it the choice of who leads
    /// next is less exact, and nothing else is wrong.
    pub const fn lasts(self) -> bool {
        !matches!(self, Self::History)
    }

    /// Whether whoever has read it, or looks out, is told when it changes.
    pub const fn is_watched(self) -> bool {
        matches!(self, Self::Once | Self::Control)
    }

    /// That these bytes may be written there under this condition.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if they are too many, or the condition is none of this cell.
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

    /// That these bytes may be written there, or may have been.
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
            _ => "keep it elsewhere, and here where that is",
        };
        let what = format!("{self} of more than {most} bytes is not kept: {what}");
        Err(Error::new(ErrorKind::Unfit, what))
    }
}

/// How people are told of it.
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

/// What a cell says. The default is that nothing was ever written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versioned {
    /// What was written last; `None` if nothing ever was, or if the election was forgotten since.
    pub bytes: Option<Vec<u8>>,
    /// That of the bytes: it rises with each write, and never stands for two texts; 0 where there are none. It means
    /// nothing in a cell that is not written by version ([`If`]).
    pub version: u64,
}

impl Versioned {
    /// What was found in a store. Of what is longer than any of ours so much is kept as shows that
    /// ([`Cell::check_length`]): whoever can write there may have written anything.
    pub fn found(mut bytes: Vec<u8>, version: u64) -> Self {
        bytes.truncate(Cell::LONGEST + 1);
        bytes.shrink_to_fit();
        Self { bytes: Some(bytes), version }
    }
}

/// Under what an election keeps fences and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// The resources that have a [`Cell::Fence`], in order.
    pub fences: Vec<Key>,
    /// The keys that have a [`Cell::Value`], in order.
    pub values: Vec<Key>,
}

impl Keys {
    /// Those that these names stand for: `fence` or `value`, the separator, and the key. Any other name is no key.
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

/// What has to be so for a cell to be written, in one step with the writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum If {
    /// It has this version; 0 is that of a cell which was never written. For [`Cell::Control`] and [`Cell::Fence`].
    Version(u64),
    /// The entry with this token leads. For [`Cell::Value`].
    Leads(Token),
}

/// What came of the writing of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is written, and this is its version, if it is one that is written by version.
    Yes(u64),
    /// It is not written, and will not be: it had another version. Read it again.
    Overtaken,
    /// It is not written, and will not be: whoever was to lead does not, or not any more. The text says what was seen.
    Gone(String),
}

impl Written {
    /// Why it is not written; `None` if it is.
    pub fn why_not(&self) -> Option<&str> {
        match self {
            Self::Yes(_) => None,
            Self::Overtaken => Some("it has changed meanwhile"),
            Self::Gone(why) => Some(why),
        }
    }
}

/// What a seat has read in a cell.
pub struct WatchedCell {
    /// What was written last; `None` if nothing ever was.
    pub bytes: Option<Vec<u8>>,
    /// Ends when it is worth reading again; never for one that is not watched.
    pub wake: Wake,
}

/// How long what a leader writes in a cell has to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// As the cell does ([`Cell::lasts`]).
    Usual,
    /// It outlasts a power cut: something hangs on what is written now.
    Lasting,
}

impl Durability {
    /// Whether what is written in `cell` outlasts a power cut.
    pub const fn lasts(self, cell: Cell<'_>) -> bool {
        matches!(self, Self::Lasting) || cell.lasts()
    }
}

/// What came of [`fence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fenced {
    /// The token is recorded, and none that is greater was before it.
    Passed,
    /// This greater one was recorded before. Nothing has changed.
    Stale(Token),
}

/// More than those who come for one resource at once.
const TRIES: usize = 8;

/// Records that whoever has this token comes for a resource, unless a greater one was recorded (law 14). No
/// candidate needs to be there.
///
/// A token that is there already is written again: only a write tells that whoever answers has not lost the others.
///
/// # Errors
/// As [`Store::write`], and `Unfit` if something else is in the place of a token. After [`ErrorKind::Ambiguous`] it
/// may have been recorded; recording it again is no other outcome.
///
/// # Cancellation
/// Dropping the future is an ambiguous outcome; once a greater token is recorded it is not recorded any more.
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

/// The token that the cell of a fence says, in decimal digits.
pub fn token_in(bytes: &[u8]) -> Option<Token> {
    std::str::from_utf8(bytes).ok()?.parse().ok().map(Token::new)
}

/// Who can write there can write anything: what is no token lets nobody pass.
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
