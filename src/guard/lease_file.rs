//! A lease in a file. It says whether this candidate leads, to programs that share a folder with it but no process
//! tree, such as another container of its pod.
//!
//! The writer holds the write lock on the file. A file without that lock counts as no leadership: its writer is gone,
//! or the machine was restarted. Readers only query the lock, and disturb no other process.
//!
//! # Readers with ill intent
//!
//! A program that may read the file may take a read lock on it, and the kernel then refuses the write lock. Only the
//! file's owner can have a write lock, so only that counts as a candidate. A candidate that finds the file locked for
//! reading leaves it to its readers, and puts a new file in its place. Three facts make that safe:
//!
//! - The new file is locked for writing before it has the name, and before others may open it.
//! - Two candidates that do so at once are kept apart by a lock on the new file. It has one name, and at first only its
//!   owner may open it. The candidate with that lock checks once more that both files still have their names.
//! - No other candidate can take over the old file meanwhile. The one that replaces it has locked the old file for
//!   reading as well. A candidate that gets the old file later finds that it has lost the name.
//!
//! As a rule the file stays the same, for containers that mount only the file and not its folder. A new file cannot
//! replace a file that is mounted in this way. elect then reports that a program keeps it locked.
//!
//! A file that a stranger may have made is neither written nor believed: see [`elect_system::path`].

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use elect_api::{Boottime, Token};
use elect_system::path::{Site, is_regular, read_kernel};
use nix::fcntl::{OFlag, renameat};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, fchmod, fstat};
use nix::unistd::{Gid, UnlinkatFlags, fchown, geteuid, unlinkat};

use super::locks;
use super::view::{LeadershipView, Until};
use super::wire::nanos;

/// Marks the file as elect's, with its layout: this word, state, token, until, grace, identity of the boot.
pub(super) const MAGIC: u64 = u64::from_be_bytes(*b"elect\0\0\x02");
/// The number of words in the file.
const WORDS: usize = 7;
/// The length of the file in bytes.
const LENGTH: usize = WORDS * size_of::<u64>();
/// The range that the writer locks, which is the whole file.
const WHOLE: Range<i64> = 0..0;
const NOT_YET: u64 = 0;
const HELD: u64 = 1;
const OVER: u64 = 2;

/// The file, as its writer holds it.
#[derive(Debug)]
pub struct LeaseFile {
    file: File,
    words: [u64; WORDS],
}

impl LeaseFile {
    /// Makes the file, or takes over one that no candidate holds. No leadership has begun yet.
    ///
    /// `grace` is how long after the announced end of a leadership no other candidate leads. It is `None` if readers
    /// need not rely on that, as the application is killed in time.
    ///
    /// # Errors
    /// The file cannot be written, or something other than a lease file is there. A stranger made a part of the path.
    /// Another candidate of this machine holds the file.
    pub fn create(path: &Path, grace: Option<Duration>) -> io::Result<Self> {
        let site = Site::find(path)?;
        let [high, low] = boot();
        let grace = grace.map_or(u64::MAX, nanos_of);
        let words = [MAGIC, NOT_YET, 0, u64::MAX, grace, high, low];
        for _ in 0..ATTEMPTS {
            if let Some(file) = claim(&site, &words)? {
                return Ok(Self { file, words });
            }
        }
        Err(is_kept())
    }

    /// Records that leadership with `token` begins.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(&mut self, token: Token, until: Option<Boottime>) -> io::Result<()> {
        (self.words[1], self.words[2], self.words[3]) = (HELD, token.get(), nanos(until));
        self.write()
    }

    /// Records that leadership can be relied on until `until`.
    ///
    /// # Errors
    /// The file cannot be written, and says the same as before.
    pub fn limit(&mut self, until: Option<Boottime>) -> io::Result<()> {
        self.words[3] = nanos(until);
        self.write()
    }

    /// Records that leadership is over.
    ///
    /// # Errors
    /// The file cannot be written. Dropping it has the same effect on readers.
    pub fn end(&mut self) -> io::Result<()> {
        self.words[1] = OVER;
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        write(&self.file, &self.words)
    }
}

/// How often other programs may change the file while elect looks at it.
const ATTEMPTS: u32 = 8;

/// Takes the file, and writes these words to it. Returns `None` if it changed meanwhile.
fn claim(site: &Site, words: &[u64; WORDS]) -> io::Result<Option<File>> {
    let file = match site.found()? {
        None => match site.create() {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
            made => made?,
        },
        Some(found) if is_regular(&found) => {
            site.vouch_for(&found)?;
            match site.open_found(site.name(), &found, OFlag::O_RDWR)? {
                Some(file) => file,
                None => return Ok(None),
            }
        }
        Some(found) => return Err(is_something_else(kind_of(&found))),
    };
    if let Some(kind) = other_kind(site, &file)? {
        return Err(is_something_else(kind));
    }
    if !locks::lock(&file, WHOLE)? {
        return if locks::is_locked(&file, WHOLE)? {
            Err(is_kept())
        } else {
            replace(site, &file, words)
        };
    }
    if !site.names(site.name(), &file)? {
        return Ok(None);
    }
    write(&file, words)?;
    Ok(Some(file))
}

/// Puts a new file in the place of `old`, which a reader has locked.
fn replace(site: &Site, old: &File, words: &[u64; WORDS]) -> io::Result<Option<File>> {
    let mut name = OsString::from(".");
    name.push(site.name());
    name.push(".next");
    let is_in_the_way = || {
        let what = format!("{} beside it is in the way: move that away", name.display());
        Err(io::Error::new(ErrorKind::AlreadyExists, what))
    };
    let opened = match site.beside(&name)? {
        None => {
            let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL;
            match site.open(&name, flags, Mode::from_bits_truncate(0o600)) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
                made => made.map(Some),
            }
        }
        Some(found) if !is_regular(&found) || found.st_uid != geteuid().as_raw() => {
            return is_in_the_way();
        }
        Some(found) => site.open_found(&name, &found, OFlag::O_RDWR),
    };
    let Some(new) = opened.map_err(|why| is_locked_to_read(&why))? else { return Ok(None) };
    if !locks::lock(&new, WHOLE)? {
        return if locks::is_locked(&new, WHOLE)? { Err(is_kept()) } else { is_in_the_way() };
    }
    if !site.names(&name, &new)? {
        return Ok(None);
    }
    let drop_it = || unlinkat(site.folder(), name.as_os_str(), UnlinkatFlags::NoRemoveDir);
    // From here on, no other candidate can take over the old file.
    if !locks::lock_to_read(old, WHOLE)? || !site.names(site.name(), old)? {
        let _ = drop_it();
        return Ok(None);
    }
    let like = fstat(old)?;
    // The group is copied as far as that is permitted, the mode in any case.
    let _ = fchown(&new, None, Some(Gid::from_raw(like.st_gid)));
    new.set_len(0)?;
    write(&new, words)?;
    fchmod(&new, Mode::from_bits_truncate(like.st_mode & 0o777))?;
    if let Err(errno) = renameat(site.folder(), name.as_os_str(), site.folder(), site.name()) {
        let _ = drop_it();
        return Err(is_locked_to_read(&errno.into()));
    }
    Ok(Some(new))
}

fn is_kept() -> io::Error {
    io::Error::new(ErrorKind::AddrInUse, "another candidate keeps it")
}

/// Returns the error for a file that a reader has locked and that cannot be replaced for this reason.
fn is_locked_to_read(why: &io::Error) -> io::Error {
    let what = format!(
        "a program that may read it keeps it locked, and no new file can take its place ({why}): end that program, or \
         share the folder in place of the file"
    );
    io::Error::new(ErrorKind::AddrInUse, what)
}

fn is_something_else(kind: &str) -> io::Error {
    let what = format!("it is {kind}, and no lease file: name another path with --lease-file");
    io::Error::new(ErrorKind::AlreadyExists, what)
}

/// Returns the name of the kind of a file that is not regular.
const fn kind_of(found: &FileStat) -> &'static str {
    match found.st_mode & libc::S_IFMT {
        libc::S_IFDIR => "a directory",
        libc::S_IFIFO => "a FIFO",
        libc::S_IFLNK => "a symbolic link",
        libc::S_IFSOCK => "a socket",
        _ => "a device",
    }
}

fn write(file: &File, words: &[u64; WORDS]) -> io::Result<()> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    file.write_all_at(&bytes, 0)
}

/// Returns what the file is, if it is neither empty nor a lease file. Returns `None` if it may be used.
///
/// # Errors
/// An untrusted user put the file there.
fn other_kind(site: &Site, file: &File) -> io::Result<Option<&'static str>> {
    let found = fstat(file)?;
    site.vouch_for(&found)?;
    Ok(if !is_regular(&found) {
        Some(kind_of(&found))
    } else if found.st_nlink > 1 {
        Some("a file with a second name (a hard link)")
    } else if found.st_size == 0 || read(file).is_ok_and(|words| words[0] == MAGIC) {
        None
    } else {
        Some("a file with other content")
    })
}

/// Returns the content of the file, or `None` if it is no lease file.
pub(super) fn view(file: &File) -> io::Result<Option<LeadershipView>> {
    // The lock is queried first. A writer that dies after this was alive at the time of the question.
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
    Ok(Some(LeadershipView { token: Token::new(token), until, grace }))
}

/// Returns the words in a consistent state, between two writes.
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

/// Returns the identity of this machine's boot, as far as the kernel tells. Instants of another boot mean nothing here.
///
/// Instants count from the boot, and are shifted in another time namespace.
pub(super) fn boot() -> [u64; 2] {
    let text = read_kernel("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let half = |part: Option<&str>| {
        part.and_then(|part| u64::from_str_radix(part, 16).ok()).unwrap_or_default()
    };
    let namespace = fs::metadata("/proc/self/ns/time").map_or(0, |namespace| namespace.ino());
    [half(digits.get(..16)), half(digits.get(16..)) ^ namespace]
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::super::lease::read;
    use super::*;

    const ROUNDS: usize = 400;
    const STARTERS: usize = 3;
    const GRACE: Option<Duration> = Some(Duration::from_secs(4));

    fn until(path: &Path) -> Until {
        read(path, None).expect("readable").expect("a lease").until
    }

    #[test]
    fn the_lease_file_holds_its_writers_state() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lease");
        let mut lease = LeaseFile::create(&path, GRACE).expect("a file");
        assert_eq!(until(&path), Until::NotYet);
        lease.begin(Token::new(7), None).expect("written");
        let expected =
            LeadershipView { token: Token::new(7), until: Until::Unlimited, grace: GRACE };
        assert_eq!(read(&path, None).expect("readable"), Some(expected));
        let at = Boottime::from_boot(Duration::from_nanos(5));
        lease.limit(Some(at)).expect("written");
        assert_eq!(until(&path), Until::Instant(at));
        lease.end().expect("written");
        assert_eq!(until(&path), Until::Over);
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1, "no draft is left");
    }

    #[test]
    fn a_lease_file_that_is_not_held_says_nothing() {
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
    fn a_lease_file_from_before_a_reboot_says_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lease");
        let mut lease = LeaseFile::create(&path, GRACE).expect("a file");
        lease.words[5] ^= 1;
        lease.begin(Token::new(7), None).expect("written");
        assert_eq!(until(&path), Until::Over);
    }

    #[test]
    fn a_path_that_cannot_be_a_lease_file_is_refused() {
        for path in ["/", "/nonexistent/lease", "/proc/self/fd/0"] {
            assert!(LeaseFile::create(Path::new(path), GRACE).is_err(), "{path}");
        }
    }

    /// Takes a read lock, as any program can that may open the file to read.
    fn lock_to_read(path: &Path) -> File {
        use nix::fcntl::{FcntlArg, fcntl};

        let file = File::open(path).expect("readable");
        // SAFETY: an all-zero flock is valid: it names the whole file.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = i16::try_from(libc::F_RDLCK).expect("a small number");
        fcntl(&file, FcntlArg::F_OFD_SETLK(&lock)).expect("locked");
        file
    }

    #[test]
    fn no_reader_keeps_the_next_writer_from_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lease");
        drop(LeaseFile::create(&path, GRACE).expect("a file"));
        let mode = fs::metadata(&path).expect("there").mode();
        let reader = lock_to_read(&path);
        let mut lease = LeaseFile::create(&path, GRACE).expect("a file of its own");
        assert_eq!(until(&path), Until::NotYet);
        lease.begin(Token::new(7), None).expect("written");
        assert_eq!(until(&path), Until::Unlimited);
        let refusal = LeaseFile::create(&path, GRACE).expect_err("it is held");
        assert!(refusal.to_string().contains("another candidate"), "{refusal}");
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1, "no draft is left");
        assert_eq!(fs::metadata(&path).expect("there").mode(), mode);
        drop((reader, lease));
        assert_eq!(until(&path), Until::Over);
    }

    /// A candidate that replaced the old file, and one that took over the old file, never both hold the lease.
    #[test]
    fn at_most_one_of_many_candidates_gets_a_file_that_is_locked_to_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lease");
        let mut held = 0;
        for _ in 0..ROUNDS {
            drop(LeaseFile::create(&path, GRACE).expect("a file"));
            let reader = lock_to_read(&path);
            let barrier = Barrier::new(STARTERS + 1);
            let leases: Vec<LeaseFile> = thread::scope(|scope| {
                let start = || {
                    barrier.wait();
                    LeaseFile::create(&path, GRACE)
                };
                let starters: Vec<_> = (0..STARTERS).map(|_| scope.spawn(start)).collect();
                barrier.wait();
                // Some of the starters find the file locked, others do not.
                drop(reader);
                starters.into_iter().filter_map(|it| it.join().expect("no panic").ok()).collect()
            });
            assert!(leases.len() <= 1, "{leases:?}");
            held += leases.len();
            if !leases.is_empty() {
                assert!(LeaseFile::create(&path, GRACE).is_err(), "the name is another file's");
            }
        }
        assert!(held > ROUNDS / 2, "they keep each other from it: {held} of {ROUNDS}");
    }

    #[test]
    fn without_readers_that_lock_it_the_file_stays_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lease");
        drop(LeaseFile::create(&path, GRACE).expect("a file"));
        let number = fs::metadata(&path).expect("there").ino();
        let _next = LeaseFile::create(&path, GRACE).expect("it is free");
        assert_eq!(fs::metadata(&path).expect("there").ino(), number);
    }

    #[test]
    fn a_second_name_is_not_written_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, other) = (folder.path().join("lease"), folder.path().join("other"));
        fs::write(&other, "").expect("a file");
        fs::hard_link(&other, &path).expect("a link");
        assert!(LeaseFile::create(&path, GRACE).is_err());
        assert_eq!(fs::metadata(&other).expect("there").len(), 0);
    }
}
