//! `ELECT_LEASE`: a small shared page in which the guardian says whether the command still has its leadership. `elect
//! check` reads it without asking any process.
//!
//! The page is memory that the wrapper holds open, and its name is a path in `/proc`. It costs no disk, leaves nothing
//! behind, and is gone when the wrapper is. In a pid namespace, the init holds it for the command.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use elect_api::{Boottime, Token};
use elect_system::path;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

use super::descriptors::out_of_the_way;
use super::view::{LeadershipView, Until};
use super::{lease_file, proc};

/// Marks the page as elect's: "elect", and the version of the layout. Other releases of elect read its first words,
/// too.
const MAGIC: u64 = u64::from_be_bytes(*b"elect\0\0\x01");
const LENGTH: usize = size_of::<LeasePage>();
/// The number of bytes at its beginning that all releases write.
const FIRST: usize = 4 * size_of::<u64>();
const HELD: u64 = 1;
const OVER: u64 = 2;

#[repr(C)]
struct LeasePage {
    magic: AtomicU64,
    state: AtomicU64,
    token: AtomicU64,
    /// The end in nanoseconds since boot. The greatest number stands for "no limit".
    until: AtomicU64,
    /// The identity of the clock that `until` refers to.
    clock: [AtomicU64; 2],
}

/// The page, as the guardian writes it.
pub(super) struct Writer {
    /// The mapping, which exists as long as this value.
    page: &'static LeasePage,
    memory: OwnedFd,
}

impl Writer {
    pub(super) fn new() -> io::Result<Self> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let memory = out_of_the_way(memfd_create(c"elect-lease", flags)?)?;
        nix::unistd::ftruncate(&memory, LENGTH.try_into().expect("a few words"))?;
        // The command could otherwise shrink the memory, and so kill the guardian, and with it itself. It can do no
        // more harm than that, so a kernel without seals is no reason to refuse the run.
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        let _ = fcntl(&memory, FcntlArg::F_ADD_SEALS(seals));
        // SAFETY: a fresh shared mapping of a file of that length; nothing else is mapped there.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                LENGTH,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                memory.as_raw_fd(),
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping is as long as a LeasePage and aligned to a memory page. It is unmapped only with the
        // writer, which passes this reference to no other object. Any bytes are valid for its atomic fields.
        let page = unsafe { &*page.cast::<LeasePage>() };
        for (word, own) in page.clock.iter().zip(lease_file::boot()) {
            word.store(own, Ordering::Relaxed);
        }
        Ok(Self { page, memory })
    }

    /// Returns the path by which programs of the tree find the page, as long as this process holds it.
    pub(super) fn path(&self) -> PathBuf {
        let own = proc::own_number().unwrap_or_else(std::process::id);
        PathBuf::from(format!("/proc/{own}/fd/{}", self.memory.as_raw_fd()))
    }

    pub(super) fn memory(&self) -> &OwnedFd {
        &self.memory
    }

    /// Records that leadership with `token` begins.
    pub(super) fn begin(&self, token: Token) {
        let page = self.page;
        page.token.store(token.get(), Ordering::Relaxed);
        page.until.store(u64::MAX, Ordering::Relaxed);
        page.state.store(HELD, Ordering::Relaxed);
        page.magic.store(MAGIC, Ordering::Release);
    }

    /// Records that leadership can be relied on until `nanos` after boot.
    pub(super) fn limit(&self, nanos: u64) {
        self.page.until.store(nanos, Ordering::Release);
    }

    /// Records that leadership is over.
    pub(super) fn end(&self) {
        self.page.state.store(OVER, Ordering::Release);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and this is its last use.
        unsafe { libc::munmap(std::ptr::from_ref(self.page).cast_mut().cast(), LENGTH) };
    }
}

/// Reads the page at `path`, or the file of `--lease-file` there. Returns `None` if it is no lease of elect's, or if no
/// leadership has begun on the page.
///
/// A stranger's lease is not believed. It must belong to the user of this process, to root, to the user that these have
/// given its folder, or to `owner`.
///
/// # Errors
/// The path cannot be read: the process that held it open is gone, and with it the lease. A
/// [`Doubt`](elect_system::path::Doubt) is within the error if a stranger may have put the file there. The lease ends
/// by a clock that is not this process's, so its instants mean nothing here.
pub fn read(path: &Path, owner: Option<u32>) -> io::Result<Option<LeadershipView>> {
    let mut bytes = [0; LENGTH];
    let mut file = path::open_trusted(path, owner.as_slice())?;
    let (first, clock) = bytes.split_at_mut(FIRST);
    match file.read_exact(first) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let has_clock = file.read_exact(clock).is_ok();
    let word = |index: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[index * 8..][..8]);
        u64::from_ne_bytes(word)
    };
    if word(0) == lease_file::MAGIC {
        return lease_file::view(&file);
    }
    let is_ours = !has_clock || [word(4), word(5)] == lease_file::boot();
    let until = match (word(0), word(1), word(3)) {
        (MAGIC, HELD, nanos) if nanos != u64::MAX && !is_ours => return Err(of_another_clock()),
        (MAGIC, HELD, u64::MAX) => Until::Unlimited,
        (MAGIC, HELD, nanos) => Until::Instant(Boottime::from_boot(Duration::from_nanos(nanos))),
        (MAGIC, OVER, _) => Until::Over,
        _ => return Ok(None),
    };
    Ok(Some(LeadershipView { token: Token::new(word(2)), until, grace: None }))
}

fn of_another_clock() -> io::Error {
    let what = "it ends by a clock that is not this process's: ask in the time namespace in which elect runs";
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_the_guardians_state() {
        let writer = Writer::new().expect("a page");
        let view = || read(&writer.path(), None).expect("readable");
        let told = |until| Some(LeadershipView { token: Token::new(7), until, grace: None });
        assert_eq!(view(), None, "nothing began");
        writer.begin(Token::new(7));
        assert_eq!(view(), told(Until::Unlimited));
        writer.limit(5);
        let at = Boottime::from_boot(Duration::from_nanos(5));
        assert_eq!(view(), told(Until::Instant(at)));
        writer.end();
        assert_eq!(view(), told(Until::Over));
    }

    #[test]
    fn an_instant_of_another_clock_is_none() {
        let writer = Writer::new().expect("a page");
        writer.page.clock[1].fetch_xor(1, Ordering::Relaxed);
        writer.begin(Token::new(7));
        let until = || read(&writer.path(), None).map(|view| view.expect("a lease").until);
        assert_eq!(until().expect("no time matters"), Until::Unlimited);
        writer.limit(5);
        assert!(until().expect_err("a time").to_string().contains("time namespace"));
        writer.end();
        assert_eq!(until().expect("no time matters"), Until::Over);
    }

    /// An elect that was started before an upgrade has such a page.
    #[test]
    fn a_page_without_a_clock_is_believed() {
        let page = tempfile::NamedTempFile::new().expect("a file");
        let words = [MAGIC, HELD, 7, 5].map(u64::to_ne_bytes).concat();
        std::fs::write(page.path(), words).expect("written");
        let view = read(page.path(), None).expect("readable").expect("a lease");
        assert_eq!(view.until, Until::Instant(Boottime::from_boot(Duration::from_nanos(5))));
    }

    #[test]
    fn other_files_are_no_lease() {
        assert_eq!(read(Path::new("/dev/null"), None).expect("readable"), None);
        assert!(read(Path::new("/nonexistent"), None).is_err());
    }
}
