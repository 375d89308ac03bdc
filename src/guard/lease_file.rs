//! A lease in a file: whether this candidate leads, for whoever shares a folder with it but no process
//! tree, such as another container of its pod.
//!
//! The writer holds a lock on the file. A file that nobody holds says nothing: its writer is gone, or
//! the machine was started anew. Whoever reads only asks for the lock, and disturbs nobody.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use elect_api::{Boottime, Token};

use super::lease::{Until, View};
use super::locks;
use super::wire::nanos;

/// Marks the file as ours, and its layout: this, state, token, until, grace, identity of the boot.
pub(super) const MAGIC: u64 = u64::from_be_bytes(*b"elect\0\0\x02");
/// The number of words in it.
const WORDS: usize = 7;
/// Its length in bytes.
const LENGTH: usize = WORDS * size_of::<u64>();
/// What its writer holds a lock on: all of it.
const WHOLE: Range<i64> = 0..0;
const NOT_YET: u64 = 0;
const HELD: u64 = 1;
const OVER: u64 = 2;

/// The file, for its writer.
#[derive(Debug)]
pub struct LeaseFile {
    file: File,
    words: [u64; WORDS],
}

impl LeaseFile {
    /// Makes the file, or takes over one that nobody holds. No leadership has begun yet.
    ///
    /// `grace` is how long after the end of a leadership, as told, nobody else leads; `None` if whoever
    /// reads need not count on that, as what leads is killed in time.
    ///
    /// # Errors
    /// When it cannot be written, there is anything else, or another candidate of this machine holds it.
    pub fn create(path: &Path, grace: Option<Duration>) -> io::Result<Self> {
        // Never through a link, never stuck on a pipe.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o644).custom_flags(flags);
        let file = options.open(path)?;
        if !is_free_to_use(&file)? {
            let what = "there is something else: remove it, or name another file";
            return Err(io::Error::new(ErrorKind::AlreadyExists, what));
        }
        if !locks::lock(&file, WHOLE)? {
            return Err(io::Error::new(ErrorKind::AddrInUse, "another candidate keeps it"));
        }
        let [high, low] = boot();
        let grace = grace.map_or(u64::MAX, nanos_of);
        let lease = Self { file, words: [MAGIC, NOT_YET, 0, u64::MAX, grace, high, low] };
        lease.write()?;
        Ok(lease)
    }

    /// Leadership with `token` begins.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&mut self, token: Token, until: Option<Boottime>) -> io::Result<()> {
        (self.words[1], self.words[2], self.words[3]) = (HELD, token.get(), nanos(until));
        self.write()
    }

    /// Leadership can be counted on until `until`.
    ///
    /// # Errors
    /// When it cannot be written: the file says what it said before.
    pub fn limit(&mut self, until: Option<Boottime>) -> io::Result<()> {
        self.words[3] = nanos(until);
        self.write()
    }

    /// Leadership is over.
    ///
    /// # Errors
    /// When it cannot be written. Dropping the file then has the same effect on whoever reads.
    pub fn end(&mut self) -> io::Result<()> {
        self.words[1] = OVER;
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.file.write_all_at(&bytes, 0)
    }
}

/// Whether a file is empty, or was made for a lease.
fn is_free_to_use(file: &File) -> io::Result<bool> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Ok(false);
    }
    Ok(found.len() == 0 || read(file).is_ok_and(|words| words[0] == MAGIC))
}

/// What the file says; `None` if it is none of ours.
pub(super) fn view(file: &File) -> io::Result<Option<View>> {
    // Asked first: whoever dies after it was alive when it was asked.
    let is_held = locks::is_locked(file, WHOLE)?;
    let words = match read(file) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        words => words?,
    };
    let [_, state, token, until, grace, boot_high, boot_low] = words;
    let is_ours = is_held && [boot_high, boot_low] == boot();
    let until = match (state, until) {
        (HELD, u64::MAX) if is_ours => Until::Unlimited,
        (HELD, nanos) if is_ours => {
            Until::Instant(Boottime::from_boot(Duration::from_nanos(nanos)))
        }
        (NOT_YET, _) => Until::NotYet,
        (HELD | OVER, _) => Until::Over,
        _ => return Ok(None),
    };
    let grace = (grace != u64::MAX).then(|| Duration::from_nanos(grace));
    Ok(Some(View { token: Token::new(token), until, grace }))
}

/// The words, as they were between two writes.
fn read(file: &File) -> io::Result<[u64; WORDS]> {
    let once = || {
        let mut bytes = [0; LENGTH];
        file.read_exact_at(&mut bytes, 0)?;
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        io::Result::Ok(words)
    };
    let mut known = once()?;
    loop {
        let again = once()?;
        if again == known {
            return Ok(known);
        }
        known = again;
    }
}

fn nanos_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX - 1)
}

/// Which boot of which machine this is, as far as the kernel tells: instants of others mean nothing here.
///
/// Instants count from there, and are shifted in another time namespace.
fn boot() -> [u64; 2] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let half = |part: Option<&str>| {
        part.and_then(|part| u64::from_str_radix(part, 16).ok()).unwrap_or_default()
    };
    let namespace = fs::metadata("/proc/self/ns/time").map_or(0, |namespace| namespace.ino());
    [half(digits.get(..16)), half(digits.get(16..)) ^ namespace]
}

#[cfg(test)]
mod tests {
    use super::super::lease::read;
    use super::*;

    const GRACE: Option<Duration> = Some(Duration::from_secs(4));

    fn until(path: &Path) -> Until {
        read(path).expect("readable").expect("a lease").until
    }

    #[test]
    fn the_file_tells_what_its_writer_wrote() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lease");
        let mut lease = LeaseFile::create(&path, GRACE).expect("a file");
        assert_eq!(until(&path), Until::NotYet);
        lease.begin(Token::new(7), None).expect("written");
        let expected = View { token: Token::new(7), until: Until::Unlimited, grace: GRACE };
        assert_eq!(read(&path).expect("readable"), Some(expected));
        let at = Boottime::from_boot(Duration::from_nanos(5));
        lease.limit(Some(at)).expect("written");
        assert_eq!(until(&path), Until::Instant(at));
        lease.end().expect("written");
        assert_eq!(until(&path), Until::Over);
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1, "no draft is left");
    }

    #[test]
    fn a_file_that_nobody_holds_says_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lease");
        let mut lease = LeaseFile::create(&path, GRACE).expect("a file");
        lease.begin(Token::new(7), None).expect("written");
        let refusal = LeaseFile::create(&path, GRACE).expect_err("it is held");
        assert!(refusal.to_string().contains("another candidate"), "{refusal}");
        drop(lease);
        assert_eq!(until(&path), Until::Over);
        let copy = folder.path().join("copy");
        fs::copy(&path, &copy).expect("copied");
        assert_eq!(until(&copy), Until::Over);
        let _next = LeaseFile::create(&path, GRACE).expect("it is free");
        assert_eq!(until(&path), Until::NotYet);
    }

    #[test]
    fn what_was_written_before_a_reboot_says_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lease");
        let mut lease = LeaseFile::create(&path, GRACE).expect("a file");
        lease.words[5] ^= 1;
        lease.begin(Token::new(7), None).expect("written");
        assert_eq!(until(&path), Until::Over);
    }

    #[test]
    fn what_cannot_be_a_file_is_refused() {
        for path in ["/", "/nonexistent/lease", "/proc/self/fd/0"] {
            assert!(LeaseFile::create(Path::new(path), GRACE).is_err(), "{path}");
        }
    }
}
