//! Slates: small files beside the queue that need not outlast a power cut, which may leave the old text, the new one
//! or none. For readers they are replaced as a whole, as [sheets](crate::sheet) are.
//!
//! Leaders write as they leave, when somebody waits for them. To make, rename or remove a file is dear then, and wakes
//! whoever looks out for another one beside it. So a slate is one file with two places, each of which holds a number, a
//! text and their checksum: the greatest number counts, and the next text goes to the other place. Whoever reads
//! takes no lock: where something is being written the checksum is wrong, and it looks again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use elect_api::{Error, ErrorKind};

use crate::fault::{errno_of, failed, wrong};
use crate::hall::Hall;
use crate::{block, sheet};

/// The longest text in bytes, as the contract has it for notes.
const LONGEST: usize = 64 * 1024;
/// Where the places begin: each has room for the longest text.
const PLACES: [u64; 2] = [0, 128 * 1024];
const MAGIC: &str = "elect slate";
/// The bytes of the line before a text: what it is, its number, its length and the checksum of it all.
const HEAD: usize = MAGIC.len() + 38;

/// How often a slate is looked at that is being written each time.
const LOOKS: usize = 1000;

/// What there is at a place.
#[derive(Debug, PartialEq)]
enum Found {
    Nothing,
    /// Part of a text: it is being written, or a power cut came in between. The next text goes over it.
    Torn(Vec<u8>),
    Whole {
        number: u64,
        text: Vec<u8>,
    },
}

impl Found {
    const fn number(&self) -> Option<u64> {
        match self {
            Self::Whole { number, .. } => Some(*number),
            Self::Nothing | Self::Torn(_) => None,
        }
    }

    fn text(self) -> Option<Vec<u8>> {
        match self {
            Self::Whole { text, .. } => Some(text),
            Self::Nothing | Self::Torn(_) => None,
        }
    }
}

/// Puts a text in the place of what the slate of this name says. One at a time may do so.
pub(crate) fn replace(hall: &Hall, name: &str, text: &[u8]) -> Result<(), Error> {
    let (file, _) = hall.file(name)?;
    write(hall, name, &file, text)
}

/// The same for good. It goes to both places: whatever a power cut leaves of what is written next, it is nothing
/// that is older than this.
pub(crate) fn replace_for_good(hall: &Hall, name: &str, text: &[u8]) -> Result<(), Error> {
    let (file, _) = hall.file(name)?;
    for _ in PLACES {
        write(hall, name, &file, text)?;
        file.sync_all().map_err(|error| failed("write", &hall.path_of(name), errno_of(&error)))?;
    }
    hall.sync(name)
}

/// Reads the newest text; `None` if there is none.
pub(crate) fn read(hall: &Hall, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let Some((file, _)) = sheet::open(hall, name)? else { return Ok(None) };
    let mut found = look(hall, name, &file)?;
    for _ in 1..LOOKS {
        if !found.iter().any(|found| matches!(found, Found::Torn(_))) {
            break;
        }
        let again = look(hall, name, &file)?;
        // Then nothing came to either in between: the other was the newest.
        if again == found {
            break;
        }
        found = again;
    }
    Ok(found.into_iter().max_by_key(Found::number).and_then(Found::text))
}

fn look(hall: &Hall, name: &str, file: &File) -> Result<[Found; 2], Error> {
    let failed = |error: io::Error| failed("read", &hall.path_of(name), errno_of(&error));
    let [first, second] = PLACES.map(|place| look_at(file, place));
    Ok([first.map_err(failed)?, second.map_err(failed)?])
}

fn look_at(file: &File, place: u64) -> io::Result<Found> {
    let mut bytes = vec![0; block::SIZE];
    let mut len = block::read(file, &mut bytes, place)?;
    if let Some(whole) = length(&bytes).map(|length| HEAD + length).filter(|&whole| whole > len) {
        bytes.resize(whole, 0);
        len = block::read(file, &mut bytes, place)?;
    }
    Ok(decode(&bytes[..len]))
}

/// Never over the newest text, which has to stay whole until the next one is.
fn write(hall: &Hall, name: &str, file: &File, text: &[u8]) -> Result<(), Error> {
    let path = hall.path_of(name);
    if text.len() > LONGEST {
        return Err(wrong(ErrorKind::Unfit, &path, "has no room for a text of this length"));
    }
    let numbers = look(hall, name, file)?.map(|found| found.number());
    let newest = numbers.into_iter().max().flatten();
    let place = PLACES[usize::from(newest.is_some() && numbers[0] == newest)];
    let next = newest.map_or(Some(0), |newest| newest.checked_add(1));
    let next = next.ok_or_else(|| {
        wrong(ErrorKind::Unfit, &path, "holds the greatest number there is: remove it")
    })?;
    let written = file.write_all_at(&encode(next, text), place);
    written.map_err(|error| failed("write", &path, errno_of(&error)))
}

fn encode(number: u64, text: &[u8]) -> Vec<u8> {
    let start = format!("{MAGIC} {number:020} {:06}", text.len());
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(start.as_bytes());
    checksum.update(text);
    let head = format!("{start} {:08x}\n", checksum.finalize());
    [head.as_bytes(), text].concat()
}

/// The length of the text at the beginning of this, if its head can be one.
fn length(bytes: &[u8]) -> Option<usize> {
    let length = number_at(bytes, MAGIC.len() + 22..MAGIC.len() + 28)?;
    (length <= LONGEST).then_some(length)
}

fn number_at<T: std::str::FromStr>(bytes: &[u8], digits: std::ops::Range<usize>) -> Option<T> {
    std::str::from_utf8(bytes.get(digits)?).ok()?.parse().ok()
}

fn decode(bytes: &[u8]) -> Found {
    if bytes.iter().all(|&byte| byte == 0) {
        return Found::Nothing;
    }
    let whole = || {
        let number = number_at(bytes, MAGIC.len() + 1..MAGIC.len() + 21)?;
        let text = bytes.get(HEAD..HEAD + length(bytes)?)?;
        // What does not read back to the letter was torn or is foreign.
        bytes
            .starts_with(&encode(number, text))
            .then(|| Found::Whole { number, text: text.to_vec() })
    };
    whole().unwrap_or_else(|| Found::Torn(bytes.to_vec()))
}

/// What is read from a place is what is written there.
#[cfg(feature = "fuzzing")]
pub(crate) fn fuzz(bytes: &[u8]) {
    if let Found::Whole { number, text } = decode(bytes) {
        assert_eq!(decode(&encode(number, &text)), Found::Whole { number, text });
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use elect_api::ElectionName;
    use tempfile::TempDir;

    use super::*;
    use crate::root::{Process, Root};
    use crate::url::Address;

    const NAME: &str = "note-slate";

    fn hall() -> (TempDir, Hall) {
        let folder = tempfile::tempdir().expect("a folder");
        let hall = hall_in(&folder);
        (folder, hall)
    }

    fn hall_in(folder: &TempDir) -> Hall {
        let address = Address { directory: Some(folder.path().join("state")), allow_network: true };
        let root = Root::choose(address, &Process).expect("a root");
        let election: ElectionName = "job".parse().expect("a name");
        Hall::create(&root, &election).expect("a hall")
    }

    fn file(hall: &Hall) -> File {
        hall.file(NAME).expect("a file").0
    }

    fn found(hall: &Hall) -> Option<String> {
        let text = read(hall, NAME).expect("it is read")?;
        Some(String::from_utf8(text).expect("UTF-8"))
    }

    fn writes(hall: &Hall, text: &str) {
        replace(hall, NAME, text.as_bytes()).expect("it is written");
        assert_eq!(found(hall).as_deref(), Some(text));
    }

    #[test]
    fn what_was_written_last_is_read_and_nothing_of_what_was_longer() {
        let (_folder, hall) = hall();
        assert_eq!(found(&hall), None);
        let longest = "x".repeat(LONGEST);
        for text in ["the first", &longest, "3", "", &"y".repeat(block::SIZE), &longest, "last"] {
            writes(&hall, text);
        }
        let too_long = vec![b'x'; LONGEST + 1];
        let refused = replace(&hall, NAME, &too_long).expect_err("no room");
        assert_eq!(refused.kind(), ErrorKind::Unfit);
        assert_eq!(found(&hall).as_deref(), Some("last"));
    }

    #[test]
    fn it_is_one_file_that_no_text_replaces() {
        let (_folder, hall) = hall();
        let number = || hall.path_of(NAME).metadata().expect("a file").ino();
        writes(&hall, "first");
        let first = number();
        for text in ["second", "third"] {
            writes(&hall, text);
        }
        assert_eq!(number(), first);
        let names = std::fs::read_dir(hall.path()).expect("a directory");
        assert_eq!(names.count(), 2, "the slate, and the queue");
    }

    #[test]
    fn a_write_that_is_torn_anywhere_leaves_the_text_before() {
        let (_folder, hall) = hall();
        for (turn, text) in ["old", "new"].into_iter().enumerate() {
            writes(&hall, text);
            let next = encode(2 + turn as u64, b"and the next one");
            for torn in 1..next.len() {
                file(&hall)
                    .write_all_at(&next[..torn], PLACES[(turn + 1) % 2])
                    .expect("it is torn");
                assert_eq!(found(&hall).as_deref(), Some(text), "torn at {torn}");
            }
        }
        writes(&hall, "over what is torn");
        writes(&hall, "and once more");
    }

    #[test]
    fn what_is_written_for_good_leaves_no_older_one() {
        let (_folder, hall) = hall();
        for text in ["older", "old"] {
            writes(&hall, text);
        }
        replace_for_good(&hall, NAME, b"for good").expect("it is written");
        for place in PLACES {
            let Ok(Found::Whole { text, .. }) = look_at(&file(&hall), place) else {
                panic!("nothing is at {place}")
            };
            assert_eq!(text, b"for good");
        }
        writes(&hall, "next");
    }

    #[test]
    fn what_nobody_wrote_is_no_text() {
        let (_folder, hall) = hall();
        let mut foreign = encode(7, b"text");
        foreign[HEAD] ^= 1;
        let endless = format!("{MAGIC} {:020} 999999 00000000\n", 1);
        for bytes in [b"{}\n", &foreign[..], endless.as_bytes(), &[0xff; 300]] {
            std::fs::write(hall.path_of(NAME), bytes).expect("it is written");
            assert_eq!(found(&hall), None);
            writes(&hall, "over it");
        }
        std::fs::write(hall.path_of(NAME), encode(u64::MAX, b"the end")).expect("it is written");
        let refused = replace(&hall, NAME, b"beyond").expect_err("there is no number left");
        assert_eq!(refused.kind(), ErrorKind::Unfit);
    }

    /// Texts of many pages, so that reads and writes meet.
    #[test]
    fn whoever_reads_meanwhile_reads_what_is_whole_and_none_older_than_before() {
        let (folder, hall) = hall();
        let ends = AtomicBool::new(false);
        let text = |turn: usize| format!("{turn:05}").repeat(10_000);
        writes(&hall, &text(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let hall = hall_in(&folder);
                for turn in 1..2_000 {
                    replace(&hall, NAME, text(turn).as_bytes()).expect("it is written");
                }
                ends.store(true, Ordering::Relaxed);
            });
            let mut last = 0;
            while !ends.load(Ordering::Relaxed) {
                let found = found(&hall).expect("there is one");
                let turn = found[..5].parse().expect("a number");
                assert_eq!(found, text(turn));
                assert!(turn >= last, "{turn} after {last}");
                last = turn;
            }
        });
    }
}
