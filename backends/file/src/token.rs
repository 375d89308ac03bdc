//! The newest fencing token on disk. It has two slots, each in a block of its own, which are written in turn. So the
//! newest token that was ever reported survives a power cut during a write. If both slots are lost, the wall clock
//! keeps tokens rising.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use elect_api::{Error, ErrorKind, Token};

use crate::election_dir::{ElectionDir, TOKEN};
use crate::error::{errno_of, failed, wrong};
use crate::reading::read_up_to;
use crate::walk::sync_directory;

const SLOT: usize = 4096;
const SLOTS: usize = 2;
const MAGIC: &str = "elect token";
/// The length of the meaningful part of a slot, in bytes, with the newline: see [`encode`].
const LINE: usize = MAGIC.len() + 1 + 20 + 1 + 8 + 1;

/// Draws the next token and makes it durable. Only the holder of the election's lock may call this.
///
/// After an error the new token may be on the disk or not. Numbers may skip.
pub(crate) fn next(dir: &ElectionDir) -> Result<Token, Error> {
    let path = dir.path_of(TOKEN);
    let (file, _) = dir.file(TOKEN)?;
    let (token, place) = draw(&file, floor(), &path)?;
    if place == Destination::Both {
        // The name is made durable before the token, because finding a token must imply that its name is durable.
        sync_directory(&dir.directory, &path)?;
    }
    store(&file, place, token, File::sync_data)
        .map_err(|error| failed("write the token to", &path, errno_of(&error)))?;
    Ok(Token::new(token))
}

/// Microseconds since 1970: the lower bound of the next token. It keeps tokens rising after the directory was removed.
/// A wrong clock makes numbers skip, or takes this help away. While the slots exist, tokens rise whatever the clock
/// says.
#[expect(clippy::disallowed_methods, reason = "it does not decide who leads")]
pub(crate) fn floor() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX)
}

/// The destination of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    /// Both slots, if the file is new or holds no token. The token goes to the first slot, and the second one is filled
    /// with zeros, so that it has its space on the disk too.
    Both,
    /// The slot with this number.
    Slot(usize),
}

/// The next token, and its destination.
fn draw(file: &File, floor: u64, path: &Path) -> Result<(u64, Destination), Error> {
    let slots =
        load(file).map_err(|error| failed("read the token from", path, errno_of(&error)))?;
    let newest = slots.into_iter().max().flatten();
    // The slot of the newest token must stay whole until the next token is written.
    let place =
        newest.map_or(Destination::Both, |_| Destination::Slot(usize::from(slots[0] == newest)));
    let after = newest.map_or(Some(0), |last| last.checked_add(1));
    let after = after.ok_or_else(|| {
        wrong(
            ErrorKind::Unfit,
            path,
            "holds the greatest token there is: use another election, or remove it",
        )
    })?;
    Ok((after.max(floor), place))
}

fn load(file: &File) -> io::Result<[Option<u64>; SLOTS]> {
    let mut blocks = read_up_to(file, SLOT * SLOTS)?;
    blocks.resize(SLOT * SLOTS, 0);
    let (first, second) = blocks.split_at(SLOT);
    Ok([decode(first), decode(second)])
}

/// Writes a token and makes it durable with `sync`. If that fails, the content of the disk is unknown, and the kernel
/// may later report the same blocks as durable. So the token is erased, and the next one goes to the same slot. The
/// other slot holds the newest token that was reported.
fn store(
    file: &File,
    place: Destination,
    token: u64,
    sync: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    // Whole blocks, so that later writes change neither the length nor the place of the file.
    let (slot, slots) = match place {
        Destination::Both => (0, SLOTS),
        Destination::Slot(slot) => (slot, 1),
    };
    let mut blocks = vec![0; SLOT * slots];
    let text = encode(token);
    blocks[..text.len()].copy_from_slice(text.as_bytes());
    let at = (slot * SLOT) as u64;
    file.write_all_at(&blocks, at)?;
    sync(file).inspect_err(|_| {
        blocks.fill(0);
        // The space on the disk is allocated already, so this write can succeed.
        let _ = file.write_all_at(&blocks, at);
    })
}

/// The meaningful part of a slot.
pub(crate) fn encode(token: u64) -> String {
    let body = format!("{MAGIC} {token:020}");
    format!("{body} {:08x}\n", crc32fast::hash(body.as_bytes()))
}

/// The token in a slot; `None` if it holds none, or a torn one.
pub(crate) fn decode(block: &[u8]) -> Option<u64> {
    // The rest of the slot is zeros, and need not be searched.
    let start = block.get(..LINE).unwrap_or(block);
    let line = start.split(|&byte| byte == b'\n').next()?;
    let number = line.get(MAGIC.len() + 1..MAGIC.len() + 21)?;
    let token = std::str::from_utf8(number).ok()?.parse().ok()?;
    // A line that does not encode back to itself was torn, or is foreign.
    (encode(token).as_bytes().strip_suffix(b"\n") == Some(line)).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(file: &File, floor: u64) -> u64 {
        let (token, place) = draw(file, floor, Path::new("token")).unwrap();
        store(file, place, token, File::sync_data).unwrap();
        token
    }

    fn file_with(slots: [u64; 2]) -> File {
        let file = tempfile::tempfile().unwrap();
        for (slot, token) in slots.into_iter().enumerate() {
            store(&file, Destination::Slot(slot), token, File::sync_data).unwrap();
        }
        file
    }

    #[test]
    fn tokens_rise_by_the_clock_and_without_it() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(take(&file, 100), 100);
        assert_eq!(take(&file, 200), 200);
        assert_eq!(take(&file, 0), 201);
        assert_eq!(take(&file, 201), 202);
        assert_eq!(file.metadata().unwrap().len(), (SLOT * SLOTS) as u64);
    }

    #[test]
    fn the_first_token_takes_all_room_that_the_file_ever_needs() {
        let file = tempfile::tempfile().unwrap();
        for torn in [0, 10, encode(1).len() - 2] {
            file.set_len(0).unwrap();
            file.write_all_at(&encode(1).as_bytes()[..torn], 0).unwrap();
            assert_eq!(draw(&file, 1, Path::new("token")).unwrap().1, Destination::Both, "{torn}");
        }
        take(&file, 1);
        assert_eq!(file.metadata().unwrap().len(), (SLOT * SLOTS) as u64);
        let places = [1, 0, 1].map(|_| {
            let (token, place) = draw(&file, 1, Path::new("token")).unwrap();
            store(&file, place, token, File::sync_data).unwrap();
            place
        });
        assert_eq!(places, [1, 0, 1].map(Destination::Slot));
    }

    #[test]
    fn the_newest_survives_every_way_of_tearing_the_write_after_it() {
        for newest in [0, 1] {
            let mut slots = [10, 10];
            slots[newest] = 11;
            let slot = 1 - newest;
            let (_, place) = draw(&file_with(slots), 0, Path::new("token")).unwrap();
            assert_eq!(place, Destination::Slot(slot));
            for torn in 0..encode(12).len() {
                let file = file_with(slots);
                file.write_all_at(&encode(12).as_bytes()[..torn], (slot * SLOT) as u64).unwrap();
                assert!(take(&file, 0) >= 12, "torn at {torn}");
            }
        }
    }

    /// A token that was never reported may be on the disk in any state. The last reported one stays there until a later
    /// one is written.
    #[test]
    fn a_failed_sync_does_not_lose_the_last_reported_token() {
        let fails = |_: &File| Err(io::Error::from_raw_os_error(nix::libc::EIO));
        for last in [0, 1] {
            let mut slots = [10, 10];
            slots[last] = 11;
            let file = file_with(slots);
            for floor in [20, 30, 40] {
                let (token, place) = draw(&file, floor, Path::new("token")).unwrap();
                assert_eq!((token, place), (floor, Destination::Slot(1 - last)));
                assert!(store(&file, place, token, fails).is_err());
                assert_eq!(load(&file).unwrap()[last], Some(11));
            }
            assert_eq!(take(&file, 0), 12);
        }
        let file = tempfile::tempfile().unwrap();
        store(&file, Destination::Both, 7, fails).unwrap_err();
        assert_eq!(draw(&file, 8, Path::new("token")).unwrap(), (8, Destination::Both));
    }

    #[test]
    fn a_token_file_cut_anywhere_gives_the_rest_of_its_tokens() {
        for len in 0..SLOT * SLOTS {
            if len % 61 == 0 || len % SLOT < 50 {
                let file = file_with([8, 9]);
                file.set_len(len as u64).unwrap();
                let expected = if len >= SLOT + encode(9).len() {
                    10
                } else if len >= encode(8).len() {
                    9
                } else {
                    5
                };
                // The newline is not covered by the checksum.
                let slack = [SLOT + encode(9).len() - 1, encode(8).len() - 1].contains(&len);
                assert!(slack || take(&file, 5) == expected, "cut to {len}");
            }
        }
    }

    #[test]
    fn garbage_is_no_token() {
        for garbage in
            [vec![0; SLOT], vec![0xff; SLOT], vec![b'9'; SLOT], b"elect token 7\n".to_vec()]
        {
            assert_eq!(decode(&garbage), None);
        }
        let mut flipped = encode(7).into_bytes();
        flipped[20] ^= 1;
        assert_eq!(decode(&flipped), None);
    }

    #[test]
    fn after_the_greatest_token_there_is_none() {
        let error = draw(&file_with([u64::MAX, 1]), 0, Path::new("token")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unfit);
    }
}
