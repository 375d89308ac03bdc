//! Two-place files: small files beside the queue that need not survive a power cut. A power cut may leave an older
//! text, the new one or none. For readers they are replaced as a whole, like [atomic files](crate::atomic_file).
//!
//! Leaders write such a file while they resign, when the next candidate waits. At that moment it is expensive to make,
//! rename or remove a file. It would also wake every watcher of another file in the directory. So a two-place file is
//! one file with two places. Each holds a number, a text and their checksum. The place with the greatest number counts,
//! and the next text goes to the other place. The blocks of the two places alternate. Readers take no lock. While a
//! place is being written its checksum is wrong, and the reader reads again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use elect_api::{Cell, Error, ErrorKind};

use crate::atomic_file;
use crate::election_dir::ElectionDir;
use crate::error::{errno_of, failed, wrong};
use crate::reading::read_up_to;

/// The greatest length of a text, in bytes.
const LONGEST: usize = Cell::LONGEST;
/// The length of a block, in bytes.
const BLOCK: usize = 4096;
const PLACES: usize = 2;
const MAGIC: &str = "elect slate";
/// The length of the line before a text, in bytes. It has the magic, the number, the length and the checksum.
const HEAD: usize = MAGIC.len() + 38;

/// The greatest number of bytes that are read of a file.
const MOST: usize = PLACES * (HEAD + LONGEST).next_multiple_of(BLOCK);

/// The number of reads of a file that is being written each time.
const READS: usize = 1000;

/// The content of a place.
#[derive(Debug, PartialEq)]
enum Found {
    Nothing,
    /// Part of a text, because it is being written or a power cut came in between. Or foreign bytes.
    Torn,
    Whole {
        number: u64,
        text: Vec<u8>,
    },
}

impl Found {
    const fn number(&self) -> Option<u64> {
        match self {
            Self::Whole { number, .. } => Some(*number),
            Self::Nothing | Self::Torn => None,
        }
    }
}

/// Replaces the text of the two-place file of this name. Callers must take turns.
pub(crate) fn replace(dir: &ElectionDir, name: &str, text: &[u8]) -> Result<(), Error> {
    let (file, _) = dir.file(name)?;
    write(dir, name, &file, text)
}

/// Replaces the text durably. It goes to both places. So a power cut during a later write leaves nothing that is older
/// than this text.
pub(crate) fn replace_for_good(dir: &ElectionDir, name: &str, text: &[u8]) -> Result<(), Error> {
    let (file, _) = dir.file(name)?;
    for _ in 0..PLACES {
        write(dir, name, &file, text)?;
        file.sync_all().map_err(|error| failed("write", &dir.path_of(name), errno_of(&error)))?;
    }
    dir.sync(name)
}

/// Reads the newest text; `None` if nothing was ever written. If no text is whole, returns all bytes of the file, and
/// the caller reports that it cannot read them.
pub(crate) fn read(dir: &ElectionDir, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let Some((file, _)) = atomic_file::open(dir, name)? else { return Ok(None) };
    let path = dir.path_of(name);
    let read = || read_up_to(&file, MOST).map_err(|error| failed("read", &path, errno_of(&error)));
    let bytes = untorn(read)?.ok_or_else(|| {
        let what = "is written all the time: trying again helps";
        wrong(ErrorKind::Unreachable, &path, what)
    })?;
    let newest = places(&bytes).into_iter().max_by_key(Found::number);
    Ok(match newest {
        Some(Found::Whole { text, .. }) => Some(text),
        _ if bytes.is_empty() => None,
        _ => Some(bytes),
    })
}

/// Returns the result of a read that meets no write. It has no torn place, or it equals the read before. In that case
/// the whole text was the newest in between. `None` if every read meets a write.
fn untorn(mut read: impl FnMut() -> Result<Vec<u8>, Error>) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = read()?;
    for _ in 1..READS {
        if !places(&bytes).contains(&Found::Torn) {
            return Ok(Some(bytes));
        }
        let again = read()?;
        if again == bytes {
            return Ok(Some(bytes));
        }
        bytes = again;
    }
    Ok(None)
}

fn places(bytes: &[u8]) -> [Found; PLACES] {
    [0, 1].map(|place| {
        let blocks: Vec<_> = bytes.chunks(BLOCK).skip(place).step_by(PLACES).collect();
        decode(&blocks.concat())
    })
}

/// Writes a text, but never over the newest one, which must stay whole until the next one is.
fn write(dir: &ElectionDir, name: &str, file: &File, text: &[u8]) -> Result<(), Error> {
    let path = dir.path_of(name);
    if text.len() > LONGEST {
        return Err(wrong(ErrorKind::Unfit, &path, "has no room for a text of this length"));
    }
    let (place, number) = next(file)
        .map_err(|error| failed("read", &path, errno_of(&error)))?
        .ok_or_else(|| wrong(ErrorKind::Unfit, &path, "holds the greatest number: remove it"))?;
    for (index, block) in encode(number, text).chunks(BLOCK).enumerate() {
        let written = file.write_all_at(block, ((index * PLACES + place) * BLOCK) as u64);
        written.map_err(|error| failed("write", &path, errno_of(&error)))?;
    }
    Ok(())
}

/// The place and the number of the next text; `None` after the greatest number.
fn next(file: &File) -> io::Result<Option<(usize, u64)>> {
    let numbers = places(&read_up_to(file, MOST)?).map(|found| found.number());
    let Some(newest) = numbers.into_iter().max().flatten() else { return Ok(Some((0, 0))) };
    let place = usize::from(numbers[0] == Some(newest));
    Ok(newest.checked_add(1).map(|number| (place, number)))
}

fn encode(number: u64, text: &[u8]) -> Vec<u8> {
    let start = format!("{MAGIC} {number:020} {:06}", text.len());
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(start.as_bytes());
    checksum.update(text);
    let head = format!("{start} {:08x}\n", checksum.finalize());
    [head.as_bytes(), text].concat()
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
        let length: usize = number_at(bytes, MAGIC.len() + 22..MAGIC.len() + 28)?;
        let text = bytes.get(HEAD..HEAD + length)?;
        // A text that does not encode back to itself was torn, or is foreign.
        bytes
            .starts_with(&encode(number, text))
            .then(|| Found::Whole { number, text: text.to_vec() })
    };
    whole().unwrap_or(Found::Torn)
}

/// Checks that each place reads back as it is written.
#[cfg(feature = "fuzzing")]
pub(crate) fn fuzz(bytes: &[u8]) {
    for found in places(bytes) {
        if let Found::Whole { number, text } = found {
            assert_eq!(decode(&encode(number, &text)), Found::Whole { number, text });
        }
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

    fn dir() -> (TempDir, ElectionDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = dir_in(&folder);
        (folder, dir)
    }

    fn dir_in(folder: &TempDir) -> ElectionDir {
        let address = Address { directory: Some(folder.path().join("state")), allow_network: true };
        let root = Root::choose(address, &Process).expect("a root");
        let election: ElectionName = "job".parse().expect("a name");
        ElectionDir::create(&root, &election).expect("a dir")
    }

    fn file(dir: &ElectionDir) -> File {
        dir.file(NAME).expect("a file").0
    }

    fn found(dir: &ElectionDir) -> Option<String> {
        let text = read(dir, NAME).expect("it is read")?;
        Some(String::from_utf8(text).expect("UTF-8"))
    }

    fn writes(dir: &ElectionDir, text: &str) {
        replace(dir, NAME, text.as_bytes()).expect("it is written");
        assert_eq!(found(dir).as_deref(), Some(text));
    }

    #[test]
    fn the_last_text_is_read_without_rests_of_a_longer_one() {
        let (_folder, dir) = dir();
        assert_eq!(found(&dir), None);
        let longest = "x".repeat(LONGEST);
        for text in ["the first", &longest, "3", "", &"y".repeat(BLOCK), &longest, "last"] {
            writes(&dir, text);
        }
        let too_long = vec![b'x'; LONGEST + 1];
        let refused = replace(&dir, NAME, &too_long).expect_err("no room");
        assert_eq!(refused.kind(), ErrorKind::Unfit);
        assert_eq!(found(&dir).as_deref(), Some("last"));
    }

    #[test]
    fn it_is_one_file_that_no_text_replaces() {
        let (_folder, dir) = dir();
        let number = || dir.path_of(NAME).metadata().expect("a file").ino();
        writes(&dir, "first");
        let first = number();
        for text in ["second", "third"] {
            writes(&dir, text);
        }
        assert_eq!(number(), first);
        let names = std::fs::read_dir(dir.path()).expect("a directory");
        assert_eq!(names.count(), 2, "the file, and the queue");
    }

    /// Writes bytes to the blocks that a write would use.
    fn tears(dir: &ElectionDir, place: usize, bytes: &[u8]) {
        for (index, block) in bytes.chunks(BLOCK).enumerate() {
            let at = ((index * PLACES + place) * BLOCK) as u64;
            file(dir).write_all_at(block, at).expect("it is torn");
        }
    }

    #[test]
    fn a_write_that_is_torn_anywhere_leaves_the_text_before() {
        let (_folder, dir) = dir();
        let long = |letter: &str| letter.repeat(2 * BLOCK);
        for (turn, text) in ["old", "new", &long("o"), &long("n")].into_iter().enumerate() {
            writes(&dir, text);
            for next in ["and the next one", &long("x")] {
                let next = encode(turn as u64 + 1, next.as_bytes());
                for torn in (1..next.len()).filter(|torn| *torn < 100 || torn % 509 == 0) {
                    tears(&dir, (turn + 1) % PLACES, &next[..torn]);
                    assert_eq!(found(&dir).as_deref(), Some(text), "torn at {torn}");
                }
            }
        }
        writes(&dir, "over what is torn");
        writes(&dir, "and once more");
    }

    #[test]
    fn a_read_that_meets_a_write_is_taken_again_and_one_that_meets_none_is_not() {
        let whole = |number, text: &[u8]| encode(number, text);
        let torn = [&whole(7, b"new")[..HEAD], b"?"].concat();
        let both = |second: &[u8]| {
            let mut bytes = whole(6, b"old");
            bytes.resize(BLOCK, 0);
            [bytes, second.to_vec()].concat()
        };
        let reads_until_whole = |reads: &[Vec<u8>]| {
            let mut reads = reads.iter();
            let found = untorn(|| Ok(reads.next().expect("one read more").clone()));
            (found.expect("it is read"), reads.len())
        };
        let old = both(b"");
        assert_eq!(reads_until_whole(&[old.clone(), torn.clone()]), (Some(old.clone()), 1));
        let new = both(&whole(7, b"new"));
        assert_eq!(reads_until_whole(&[both(&torn), new.clone()]), (Some(new), 0));
        // A place that stays torn.
        assert_eq!(reads_until_whole(&[both(&torn), both(&torn), old]), (Some(both(&torn)), 1));
        let mut others = (0_u64..).map(|turn| Ok([&torn[..], &turn.to_be_bytes()].concat()));
        assert_eq!(untorn(|| others.next().expect("endless")).expect("it is read"), None);
    }

    #[test]
    fn a_text_written_for_good_leaves_no_older_one() {
        let (_folder, dir) = dir();
        for text in ["older", "old"] {
            writes(&dir, text);
        }
        replace_for_good(&dir, NAME, b"for good").expect("it is written");
        for found in places(&read_up_to(&file(&dir), MOST).expect("bytes")) {
            assert!(
                matches!(&found, Found::Whole { text, .. } if text == b"for good"),
                "{found:?}"
            );
        }
        writes(&dir, "next");
    }

    /// Foreign bytes must not look like the two-place file of an election without leaders.
    #[test]
    fn foreign_bytes_are_shown_as_they_are() {
        let (_folder, dir) = dir();
        let mut foreign = encode(7, b"text");
        foreign[HEAD] ^= 1;
        let endless = format!("{MAGIC} {:020} 999999 00000000\n", 1);
        let long = vec![b'{'; 3 * BLOCK];
        for bytes in [b"{}\n", &foreign[..], endless.as_bytes(), &[0xff; 300], &[0; 50], &long] {
            std::fs::write(dir.path_of(NAME), bytes).expect("it is written");
            assert_eq!(read(&dir, NAME).expect("it is read").as_deref(), Some(bytes));
            writes(&dir, "over it");
        }
        std::fs::write(dir.path_of(NAME), "").expect("it is written");
        assert_eq!(found(&dir), None, "its maker was killed before it wrote");
        std::fs::write(dir.path_of(NAME), encode(u64::MAX, b"the end")).expect("it is written");
        let refused = replace(&dir, NAME, b"beyond").expect_err("there is no number left");
        assert_eq!(refused.kind(), ErrorKind::Unfit);
    }

    #[test]
    fn a_file_is_no_longer_than_its_texts_take() {
        let (_folder, dir) = dir();
        for _ in 0..3 {
            writes(&dir, &"x".repeat(5000));
        }
        assert!(file(&dir).metadata().expect("a file").len() <= 4 * BLOCK as u64);
    }

    /// Texts of many pages, so that reads and writes meet.
    #[test]
    fn a_reader_beside_a_writer_reads_whole_texts_in_order() {
        let (folder, dir) = dir();
        let ends = AtomicBool::new(false);
        let text = |turn: usize| format!("{turn:05}").repeat(10_000);
        writes(&dir, &text(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let dir = dir_in(&folder);
                for turn in 1..2_000 {
                    replace(&dir, NAME, text(turn).as_bytes()).expect("it is written");
                }
                ends.store(true, Ordering::Relaxed);
            });
            let mut last = 0;
            while !ends.load(Ordering::Relaxed) {
                let found = found(&dir).expect("there is one");
                let turn = found[..5].parse().expect("a number");
                assert_eq!(found, text(turn));
                assert!(turn >= last, "{turn} after {last}");
                last = turn;
            }
        });
    }
}
