//! Commands of many processes that are hard to kill. Some fork and exit in long lines of descent, some keep a processor
//! busy, and some are very many that sleep. Each has its own session and no descriptors. All of them stamp in one
//! place.
#![allow(unsafe_code, reason = "to fork, to map a file, and to call system calls only")]

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::time::Duration;

use elect_api::Boottime;
use tempfile::NamedTempFile;

use super::map::nanos;

/// The first word of its command line, in the place of a stamper's.
const FIRST_WORD: &str = "elect-crowd";
const PAGE: usize = 4096;
/// A process that is still there after this many nanoseconds ends by itself.
const FORGOTTEN: u64 = 30 * 1_000_000_000;
/// How long each generation of a line of descent is busy, in nanoseconds. Their dead may stay unreaped, and must not
/// take all process ids of the machine.
const BUSY: u64 = 1_000_000;
const REST: Duration = Duration::from_secs(1);

/// The behaviour of each process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Forks a process that goes on in its place, in another session, and exits.
    Descends,
    /// Keeps a processor busy.
    Spins,
    /// As `Spins`, and two of them have a real-time priority (`SCHED_FIFO`, 50). The others share the time that the
    /// kernel withholds from these two.
    SpinsFirst,
    /// Sleeps, and stamps once a second.
    Rests,
}

impl Habit {
    const ALL: [Self; 4] = [Self::Descends, Self::Spins, Self::SpinsFirst, Self::Rests];

    const fn name(self) -> &'static str {
        match self {
            Self::Descends => "descends",
            Self::Spins => "spins",
            Self::SpinsFirst => "spins-first",
            Self::Rests => "rests",
        }
    }
}

/// One place for the stamps of many processes, which begin when they are told to. A drop ends them.
pub struct Crowd {
    file: NamedTempFile,
    page: &'static Page,
}

#[repr(C)]
struct Page {
    last: AtomicU64,
    there: AtomicU32,
    begins: AtomicBool,
    ends: AtomicBool,
}

impl Crowd {
    /// Creates a crowd without a stamp.
    ///
    /// # Panics
    /// Panics if no file can be created.
    #[expect(clippy::new_without_default, reason = "it makes a file")]
    pub fn new() -> Self {
        super::process::link();
        let file = NamedTempFile::with_prefix_in("elect-crowd-", "/dev/shm").expect("a file");
        file.as_file().set_len(PAGE as u64).expect("room");
        let page = map(file.as_file()).expect("a map");
        Self { file, page }
    }

    /// Returns the program and its arguments for `count` such processes, and one more that starts them.
    ///
    /// # Panics
    /// Never: the test's own executable is known.
    pub fn words(&self, habit: Habit, count: u32) -> Vec<OsString> {
        let own = std::env::current_exe().expect("the test's own executable");
        let map = self.file.path().as_os_str().to_owned();
        let words = [FIRST_WORD.into(), habit.name().into(), count.to_string().into(), map];
        std::iter::once(own.into()).chain(words).collect()
    }

    /// Lets the processes begin.
    pub fn begin(&self) {
        self.page.begins.store(true, Relaxed);
    }

    /// Returns how many processes have begun. A line of descent counts once.
    pub fn count(&self) -> u32 {
        self.page.there.load(Relaxed)
    }

    /// Returns the newest stamp of any of them.
    pub fn last(&self) -> Option<Boottime> {
        let last = self.page.last.load(Relaxed);
        (last > 0).then(|| Boottime::from_boot(Duration::from_nanos(last)))
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.page.ends.store(true, Relaxed);
    }
}

fn map(file: &File) -> Option<&'static Page> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: this is a new mapping of a file of that length, at a place that the kernel chooses. It is never unmapped,
    // and the kernel aligns it to a page.
    unsafe {
        let place =
            libc::mmap(std::ptr::null_mut(), PAGE, access, libc::MAP_SHARED, file.as_raw_fd(), 0);
        (place != libc::MAP_FAILED).then(|| &*place.cast::<Page>())
    }
}

/// Becomes the crowd, if `words` are its command line.
pub(super) fn gather(words: &[&str]) -> Option<i32> {
    let &[FIRST_WORD, habit, count, path] = words else { return None };
    let habit = Habit::ALL.into_iter().find(|known| known.name() == habit)?;
    let page = map(&File::options().read(true).write(true).open(path).ok()?)?;
    let end = nanos() + FORGOTTEN;
    while !page.begins.load(Relaxed) && nanos() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    let is_first = |number| habit == Habit::SpinsFirst && number < 2;
    // The real-time processes come last, because no other would get the processor after them.
    for number in (0..count.parse::<u32>().ok()?).rev() {
        // SAFETY: fork has no preconditions. This process has one thread, and its child makes system calls only.
        if unsafe { libc::fork() } == 0 {
            behave(habit, is_first(number), page, end)
        }
    }
    // SAFETY: the status pointer may be null.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
    Some(0)
}

fn behave(habit: Habit, is_first: bool, page: &Page, end: u64) -> ! {
    // SAFETY: none of these has memory preconditions except for the parameters, which live. No object here owns a
    // descriptor that is used again.
    unsafe {
        libc::setsid();
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
        if is_first {
            let parameters = libc::sched_param { sched_priority: 50 };
            libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters);
        }
    }
    page.there.fetch_add(1, Relaxed);
    loop {
        let now = nanos();
        page.last.fetch_max(now, Relaxed);
        while habit == Habit::Descends && nanos() < now + BUSY {}
        if habit == Habit::Rests {
            std::thread::sleep(REST);
        }
        // SAFETY: neither call has preconditions.
        unsafe {
            if now > end
                || page.ends.load(Relaxed)
                || (habit == Habit::Descends && libc::fork() != 0)
            {
                libc::_exit(0);
            }
            if habit == Habit::Descends {
                libc::setsid();
            }
        }
    }
}
