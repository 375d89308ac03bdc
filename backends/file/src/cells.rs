//! The cells of an election: one file each, beside the queue. The history is a [two-place file](crate::two_place_file),
//! and all others are [atomic files](crate::atomic_file). The control cell is a line with its version, and then its
//! text. A fence is the greatest token of its resource in decimal digits, which is also its version. The other cells
//! are plain bytes.
//!
//! A writer of a value holds the lock of `value` while it checks who leads and writes the value. The head of the queue
//! does not lead before this lock is free ([`obstacle`]). So no candidate can begin to lead in between, even if the
//! writer is paused for long. The writer need not be a descendant of the leader, nor have any of the leader's
//! descriptors.

use std::fs::File;

use elect_api::{
    Cell, Durability, ElectionName, Error, ErrorKind, If, Keys, Token, Versioned, WatchedCell,
    Written, never, token_in,
};

use crate::atomic_file::{self, FileWatch};
use crate::election_dir::{ElectionDir, FENCE, ORDER, VALUE, file_of};
use crate::error::{failed, wrong};
use crate::file_mutex::FileMutex;
use crate::lock::{self, Held};
use crate::queue::Predecessor;
use crate::root::Root;
use crate::token::floor;
use crate::trust::FileId;
use crate::{survey, two_place_file};

/// The greatest length of the version's line: the digits of the greatest version, and a newline.
const HEAD: usize = 21;

/// The keys of an election's fences and values, read from the names of their files.
pub(crate) fn keys(root: &Root, election: &ElectionName) -> Result<Keys, Error> {
    let Some(dir) = ElectionDir::visit(root, election)? else { return Ok(Keys::default()) };
    let names = dir.names()?;
    Ok(Keys::named(names.iter().map(String::as_str), '-'))
}

/// Whether a file of this name is a complete cell whose changes are watched.
pub(crate) fn is_watched(file: &[u8]) -> bool {
    Cell::WATCHED.iter().any(|&cell| file_of(cell).as_bytes() == file)
}

/// Reads a cell. Takes no lock and creates nothing.
pub(crate) fn read(
    root: &Root,
    election: &ElectionName,
    cell: Cell<'_>,
) -> Result<Versioned, Error> {
    let Some(dir) = ElectionDir::visit(root, election)? else { return Ok(Versioned::default()) };
    open(&dir, cell).map(|(found, _)| found)
}

/// Reads a cell, and returns its file too if it is an atomic file.
pub(crate) fn open(
    dir: &ElectionDir,
    cell: Cell<'_>,
) -> Result<(Versioned, Option<(File, FileId)>), Error> {
    let name = file_of(cell);
    if cell == Cell::History {
        return Ok((Versioned { bytes: two_place_file::read(dir, &name)?, version: 0 }, None));
    }
    let Some(found) = atomic_file::open(dir, &name)? else {
        return Ok((Versioned::default(), None));
    };
    let path = dir.path_of(&name);
    let head = if cell == Cell::Control { HEAD } else { 0 };
    let bytes = atomic_file::read(&found.0, Cell::LONGEST + head, &path)?;
    let says =
        decode(cell, bytes).map_err(|what| wrong(ErrorKind::Unfit, &path, what).of_a_text())?;
    Ok((says, Some(found)))
}

/// Decodes the bytes of an atomic file, or says what is wrong with them. Every user with access may have written
/// anything there, so a text that is not a token lets no token pass.
fn decode(cell: Cell<'_>, bytes: Vec<u8>) -> Result<Versioned, &'static str> {
    match cell {
        Cell::Control => versioned(&bytes).ok_or("holds no control cell of elect: remove it"),
        Cell::Fence(_) => match token_in(&bytes) {
            Some(token) => Ok(Versioned { bytes: Some(bytes), version: token.get() }),
            None => {
                Err("holds no token: write the greatest one there that was used, in digits only")
            }
        },
        Cell::Once | Cell::Runs | Cell::History | Cell::Value(_) => {
            Ok(Versioned { bytes: Some(bytes), version: 0 })
        }
    }
}

fn versioned(bytes: &[u8]) -> Option<Versioned> {
    let end = bytes.iter().take(HEAD).position(|&byte| byte == b'\n')?;
    let digits = bytes[..end].iter().all(u8::is_ascii_digit);
    let version = std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()?;
    let text = || Some(bytes[end + 1..].to_vec());
    (digits && version > 0).then(|| Versioned { bytes: text(), version })
}

fn with_version(text: &[u8], version: u64) -> Vec<u8> {
    [format!("{version}\n").as_bytes(), text].concat()
}

/// Reads a cell, and watches it if its changes are watched. Makes the directory of the election if there is none,
/// because a watch needs it.
pub(crate) fn read_and_watch(
    root: &Root,
    election: &ElectionName,
    cell: Cell<'_>,
    watch: &mut Option<FileWatch>,
) -> Result<WatchedCell, Error> {
    if !cell.is_watched() {
        return Ok(WatchedCell { bytes: read(root, election, cell)?.bytes, wake: never() });
    }
    let dir = ElectionDir::create(root, election)?;
    let name = file_of(cell);
    // The watch starts before the cell is read, so that it misses no change.
    let wake = match watch.take().filter(|watch| watch.is_on(&name)) {
        Some(standing) => watch.insert(standing).wake(),
        None => match FileWatch::start(dir.path(), name)? {
            Some(started) => watch.insert(started).wake(),
            None => never(),
        },
    };
    Ok(WatchedCell { bytes: open(&dir, cell)?.0.bytes, wake })
}

/// Writes a cell of a leader. Only the holder of the election's lock may call this.
pub(crate) fn write_as_leader(
    dir: &ElectionDir,
    cell: Cell<'_>,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), Error> {
    let name = file_of(cell);
    match cell {
        Cell::Once | Cell::Runs => atomic_file::replace(dir, &name, bytes),
        Cell::History if durability.lasts(cell) => {
            two_place_file::replace_for_good(dir, &name, bytes)
        }
        Cell::History => two_place_file::replace(dir, &name, bytes),
        Cell::Control | Cell::Fence(_) | Cell::Value(_) => {
            Err(wrong(ErrorKind::Unfit, &dir.path_of(&name), "is not written by a leader's seat"))
        }
    }
}

/// Writes a cell if the condition holds.
pub(crate) async fn write(
    root: &Root,
    election: &ElectionName,
    cell: Cell<'_>,
    bytes: &[u8],
    condition: If,
) -> Result<Written, Error> {
    match condition {
        If::Version(version) => write_over(root, election, cell, bytes, version).await,
        If::Leads(token) => write_for(root, election, cell, bytes, token).await,
    }
}

/// Writes a cell if it still has this version.
///
/// The next version of the control cell is the wall clock's microseconds, or one more than the last version. So no
/// later text gets the version of one that was forgotten.
async fn write_over(
    root: &Root,
    election: &ElectionName,
    cell: Cell<'_>,
    bytes: &[u8],
    version: u64,
) -> Result<Written, Error> {
    let dir = ElectionDir::create(root, election)?;
    let lock = if cell == Cell::Control { ORDER } else { FENCE };
    let (dir, _one_at_a_time) = FileMutex::default().enter(dir, lock).await?;
    let found = open(&dir, cell)?.0;
    if found.version != version {
        return Ok(Written::Overtaken);
    }
    let text = match cell {
        Cell::Control => with_version(bytes, floor().max(version.saturating_add(1))),
        _ => bytes.to_vec(),
    };
    let name = file_of(cell);
    let says = decode(cell, text.clone())
        .map_err(|_| wrong(ErrorKind::Unfit, &dir.path_of(&name), "would not hold a token"))?;
    // Writing the same token again changes nothing.
    if says != found {
        atomic_file::replace(&dir, &name, &text)?;
    }
    Ok(Written::Yes(says.version))
}

/// Writes a cell if the leader has this token.
async fn write_for(
    root: &Root,
    election: &ElectionName,
    cell: Cell<'_>,
    bytes: &[u8],
    token: Token,
) -> Result<Written, Error> {
    let leads = || {
        let leader = survey::survey(root, election)?.leader;
        Ok::<_, Error>(leader.is_some_and(|leader| leader.token == token))
    };
    let gone = || Written::Gone(format!("no entry with token {token} leads"));
    // A late writer disturbs no candidate.
    if !leads()? {
        return Ok(gone());
    }
    let dir = ElectionDir::create(root, election)?;
    let (dir, _one_at_a_time) = FileMutex::default().enter(dir, VALUE).await?;
    // While the leader's command tree lives, no other candidate leads, even if the wrapper and the guardian are dead.
    if !leads()? {
        return Ok(gone());
    }
    atomic_file::replace(&dir, &file_of(cell), bytes)?;
    Ok(Written::Yes(0))
}

/// A process that writes a value, or may do so, for another leader; no candidate leads before it is done. Only the head
/// of the queue may call this. A process that takes the lock later finds that no other candidate leads.
pub(crate) fn obstacle(dir: &ElectionDir) -> Result<Option<Predecessor>, Error> {
    // The file exists only after the first write of a value.
    let Some((file, id)) = dir.open_existing(VALUE)? else { return Ok(None) };
    let is_held = lock::is_held(&file)
        .map_err(|errno| failed("examine the lock of", &dir.path_of(VALUE), errno))?;
    Ok(is_held.then_some(Predecessor { file, id, held: Held::Locked, ahead: 1 }))
}

#[cfg(test)]
mod tests {
    use super::{Versioned, versioned, with_version};

    #[test]
    fn a_cell_reads_back_as_it_was_written() {
        for (text, version) in [(&b""[..], 1), (b"\n\n7", 12), (b"\xff\0", u64::MAX)] {
            let cell = Versioned { bytes: Some(text.to_vec()), version };
            assert_eq!(versioned(&with_version(text, version)), Some(cell));
        }
    }

    #[test]
    fn a_cell_without_a_valid_version_is_not_read() {
        for bad in [&b""[..], b"12", b"\n", b"0\n", b"+1\n", b" 1\n", b"18446744073709551616\n"] {
            assert_eq!(versioned(bad), None, "{bad:?}");
        }
    }
}
