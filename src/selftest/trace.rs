//! The stamps of the self-test: shared memory in which processes record when they ran, and the command that
//! writes there.
//!
//! The processes record their own run times, so the self-test needs no other evidence.
//!
//! They write into memory of the self-test, which they inherit as a file descriptor. No matter how the self-test ends,
//! this memory is gone once all of them are dead. Its words are
//!
//! ```text
//! 0       the tag of the tree whose main process must end, and whether all its processes must end;
//!         locked as long as the self-test lives
//! 7i + 2  of process i: its tree's tag, its token, its first and its newest stamp, whether another tree
//!         was alive when it started, when it saw the lease renewed, and for how long that was at most;
//!         locked as long as process i lives
//! ```
//!
//! Stamps are nanoseconds of `CLOCK_BOOTTIME`.

use std::env;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Context;
use elect_api::Boottime;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{SigSet, Signal};

use super::args::{StampArgs, Stamping};
use super::{OURSELVES, SUBCOMMAND};
use crate::guard::{self, Until, lease, locks};

const WORD: u64 = 8;
/// The number of words of one process.
const WORDS: usize = 7;
/// The number of places, which is more than the processes of any check.
const MOST: u64 = 64;

/// The memory that holds the stamps.
#[derive(Debug)]
pub(super) struct Stamps {
    /// An open file description of this process alone, so that its locks are its own.
    file: File,
    /// The descriptor that children inherit, if this process hands the memory on.
    handoff: Option<File>,
}

/// The records of one process, or of all processes of one tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    /// The number of processes.
    pub(super) processes: usize,
    /// The first stamp of any process.
    pub(super) first: Boottime,
    /// The newest stamp of any process.
    pub(super) last: Boottime,
    /// True if one of the processes lives.
    pub(super) is_alive: bool,
    /// The fencing token of the tree.
    pub(super) token: u64,
    /// True if a process of another tree was alive when a process of this tree started.
    pub(super) is_beside: bool,
    /// The observations of the lease, if it ends by time.
    pub(super) promise: Option<Promise>,
}

impl Tree {
    /// Adds the records of another process.
    fn with(self, other: Self) -> Self {
        let promises = self.promise.into_iter().chain(other.promise);
        Self {
            processes: self.processes + other.processes,
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            is_alive: self.is_alive || other.is_alive,
            token: self.token.max(other.token),
            is_beside: self.is_beside || other.is_beside,
            promise: promises.reduce(|one, other| Promise {
                seen: one.seen.max(other.seen),
                longest: one.longest.max(other.longest),
            }),
        }
    }
}

/// The observations of the lease by the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    /// The time at which a process last saw the lease renewed. The renewal was requested before that.
    pub(super) seen: Boottime,
    /// The longest time from a seen renewal to the instant at which everything must be dead.
    pub(super) longest: Duration,
}

/// The place of this process in the memory.
pub(super) struct Stamper<'a> {
    stamps: &'a Stamps,
    place: u64,
}

impl Stamps {
    /// Makes memory for the stamps of all processes that inherit its [number](Self::number).
    pub(super) fn new() -> io::Result<Self> {
        let handoff = File::from(memfd_create(c"elect-stamps", MFdFlags::empty())?);
        handoff.set_len(start_of(MOST) * WORD)?;
        let ours = Self::join(handoff.as_raw_fd())?;
        locks::lock(&ours.file, bytes(0, 1))?;
        Ok(Self { handoff: Some(handoff), ..ours })
    }

    /// Opens the memory that was inherited as this file descriptor.
    #[allow(clippy::disallowed_methods, reason = "it leads to what this process has open")]
    pub(super) fn join(number: RawFd) -> io::Result<Self> {
        let path = format!("/proc/self/fd/{number}");
        Ok(Self { file: File::options().read(true).write(true).open(path)?, handoff: None })
    }

    /// Returns the file descriptor that a child inherits.
    pub(super) fn number(&self) -> RawFd {
        self.handoff.as_ref().unwrap_or(&self.file).as_raw_fd()
    }

    /// Orders the main process of the tree with this tag to end; with `all`, all of its processes.
    pub(super) fn end(&self, tag: &str, all: bool) -> io::Result<()> {
        self.write(0, &[word(tag), u64::from(all)])
    }

    /// Returns whether a process of the tree with this tag must end: its main process, or another one.
    pub(super) fn must_end(&self, tag: &str, is_main: bool) -> bool {
        self.read(0).is_ok_and(|[end, all]| end == word(tag) && (is_main || all != 0))
    }

    /// Returns whether the self-test is gone.
    pub(super) fn is_forgotten(&self) -> bool {
        !locks::is_locked(&self.file, bytes(0, 1)).unwrap_or(false)
    }

    /// Returns the records of the tree with this tag so far.
    pub(super) fn tree(&self, tag: &str) -> Option<Tree> {
        let own = self.traces().filter(|(of, _)| *of == word(tag));
        own.map(|(_, process)| process).reduce(Tree::with)
    }

    fn traces(&self) -> impl Iterator<Item = (u64, Tree)> {
        (0..MOST).filter_map(|place| {
            // The lock is read first. So the newest stamp of a process that is seen dead is its last one.
            let is_alive = self.is_locked(place);
            let [tag, token, first, last, beside, seen, longest] =
                self.read(start_of(place)).ok()?;
            let seen = (seen != 0).then(|| instant(seen));
            let process = Tree {
                processes: 1,
                first: instant(first),
                last: instant(last),
                is_alive,
                token,
                is_beside: beside != 0,
                promise: seen.map(|seen| Promise { seen, longest: Duration::from_nanos(longest) }),
            };
            (first != 0).then_some((tag, process))
        })
    }

    /// Makes the first stamp of this process, in the tree with this tag and token.
    pub(super) fn start(&self, tag: &str, token: u64) -> io::Result<Stamper<'_>> {
        let place = self.take_place()?;
        let now = nanos();
        // From this write on, other processes see this one. If two start at once, at least one of them sees the other.
        self.write(start_of(place), &[word(tag), token, now, now])?;
        if self.traces().any(|(_, other)| other.is_alive && other.token != token) {
            self.write(start_of(place) + 4, &[1])?;
        }
        Ok(Stamper { stamps: self, place })
    }

    /// Takes the first place that no process has used.
    fn take_place(&self) -> io::Result<u64> {
        let was_taken = |place| self.read::<WORDS>(start_of(place)).map(|words| words[2] != 0);
        for place in 0..MOST {
            if was_taken(place)? || !locks::lock(&self.file, all_of(place))? {
                continue;
            }
            if !was_taken(place)? {
                return Ok(place);
            }
            locks::unlock(&self.file, all_of(place))?;
        }
        Err(io::Error::other("there are too many processes"))
    }

    fn is_locked(&self, place: u64) -> bool {
        locks::is_locked(&self.file, all_of(place)).unwrap_or(false)
    }

    fn read<const N: usize>(&self, from: u64) -> io::Result<[u64; N]> {
        let mut words = [[0; size_of::<u64>()]; N];
        self.file.read_exact_at(words.as_flattened_mut(), from * WORD)?;
        Ok(words.map(u64::from_ne_bytes))
    }

    fn write(&self, from: u64, words: &[u64]) -> io::Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.file.write_all_at(&bytes, from * WORD)
    }
}

impl Stamper<'_> {
    /// Makes a stamp.
    pub(super) fn stamp(&self) -> io::Result<()> {
        self.stamps.write(start_of(self.place) + 3, &[nanos()])
    }

    /// Records that the lease was renewed, as seen now, and that everything must be dead at `until`.
    pub(super) fn note_renewal(&self, until: Boottime) -> io::Result<()> {
        let from = start_of(self.place) + 5;
        let [_, known] = self.stamps.read(from)?;
        let (now, until) = (nanos(), nanos_of(until));
        self.stamps.write(from, &[now, known.max(until.saturating_sub(now))])
    }
}

/// Returns the first word of a place.
const fn start_of(place: u64) -> u64 {
    2 + place * WORDS as u64
}

fn all_of(place: u64) -> Range<i64> {
    bytes(start_of(place), start_of(place + 1))
}

fn bytes(from: u64, to: u64) -> Range<i64> {
    let offset = |word: u64| i64::try_from(word * WORD).unwrap_or(i64::MAX);
    offset(from)..offset(to)
}

/// Returns a tag of up to eight letters as a number.
fn word(tag: &str) -> u64 {
    tag.bytes().fold(0, |word, byte| word << 8 | u64::from(byte))
}

fn instant(nanos: u64) -> Boottime {
    Boottime::from_boot(Duration::from_nanos(nanos))
}

fn nanos() -> u64 {
    nanos_of(guard::now())
}

fn nanos_of(instant: Boottime) -> u64 {
    u64::try_from(instant.since_boot().as_nanos()).unwrap_or(u64::MAX)
}

/// The time between two stamps.
const BEAT: Duration = Duration::from_millis(1);
/// The run time of a process of the kind `brief`.
const BRIEF: Duration = Duration::from_millis(30);
/// The time after which every process ends by itself.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// Makes stamps until the self-test ends it, it is killed, or its time is over. Blocks TERM, INT and HUP.
///
/// # Errors
/// If a stamp cannot be made.
pub(crate) fn stamp(args: &StampArgs) -> anyhow::Result<u8> {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        SigSet::from(signal).thread_block().context("cannot block a signal")?;
    }
    if args.what == Stamping::Escapee {
        nix::unistd::setsid().context("cannot leave the session")?;
        start(args, "leaf")?;
        return Ok(0);
    }
    let stamps = Stamps::join(args.stamps).context("cannot open the memory for the stamps")?;
    let lease = env::var_os("ELECT_LEASE").map(PathBuf::from);
    let token = env::var("ELECT_TOKEN").ok().and_then(|token| token.parse().ok());
    let stamper =
        stamps.start(&args.tag, token.unwrap_or(0)).context("cannot make the first stamp")?;
    let mut children = Vec::new();
    if matches!(args.what, Stamping::Tree | Stamping::EscapingTree) {
        children.push(start(args, "leaf")?);
    }
    if args.what == Stamping::EscapingTree {
        start(args, "escapee")?.wait().context("cannot wait for the one that escapes")?;
    }
    let began = guard::now();
    let mut known = None;
    loop {
        stamper.stamp().context("cannot stamp")?;
        if let Some(until) = lease.as_deref().and_then(until).filter(|until| Some(*until) > known) {
            stamper.note_renewal(until).context("cannot stamp")?;
            known = Some(until);
        }
        let lasted = guard::now().since(began);
        let is_over = match args.what {
            Stamping::Brief => lasted >= BRIEF,
            Stamping::Tree | Stamping::EscapingTree => stamps.must_end(&args.tag, true),
            Stamping::Leaf | Stamping::Escapee => stamps.must_end(&args.tag, false),
        };
        if is_over || lasted >= FORGOTTEN || stamps.is_forgotten() {
            return Ok(0);
        }
        sleep(BEAT);
    }
}

/// Returns the end of the lease, if the lease ends by time.
fn until(lease: &Path) -> Option<Boottime> {
    match lease::read(lease, None).ok()??.until {
        Until::Instant(until) => Some(until),
        Until::Unlimited | Until::Over | Until::NotYet => None,
    }
}

fn start(args: &StampArgs, what: &str) -> anyhow::Result<Child> {
    let mut command = Command::new(OURSELVES);
    command.arg0("elect").arg(SUBCOMMAND).arg(args.stamps.to_string()).args([&args.tag, what]);
    command.stdin(Stdio::null()).spawn().context("cannot start a process that stamps")
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    use super::Stamps;

    #[test]
    fn a_tree_is_read_from_the_stamps_of_its_processes() {
        let stamps = Stamps::new().unwrap();
        assert!(stamps.tree("A").is_none());
        let one = Stamps::join(stamps.number()).unwrap();
        let stamper = one.start("A", 7).unwrap();
        stamper.stamp().unwrap();
        let tree = stamps.tree("A").unwrap();
        assert_eq!((tree.processes, tree.token, tree.is_beside), (1, 7, false));
        assert!(tree.is_alive && tree.first <= tree.last && tree.promise.is_none());
        for seconds in [5, 3] {
            stamper.note_renewal(tree.last + Duration::from_secs(seconds)).unwrap();
        }
        let promise = stamps.tree("A").unwrap().promise.unwrap();
        assert!(promise.seen >= tree.last && promise.longest > Duration::from_secs(3));
        drop(one);
        assert!(!stamps.tree("A").unwrap().is_alive);
    }

    #[test]
    fn a_tree_that_starts_beside_a_living_one_is_known() {
        let stamps = Stamps::new().unwrap();
        let [a, b, c] = [(); 3].map(|()| Stamps::join(stamps.number()).unwrap());
        a.start("A", 7).unwrap();
        b.start("B", 8).unwrap();
        assert!(stamps.tree("B").unwrap().is_beside && !stamps.tree("A").unwrap().is_beside);
        drop((a, b));
        c.start("C", 9).unwrap();
        assert!(!stamps.tree("C").unwrap().is_beside);
    }

    #[test]
    fn stamping_processes_see_their_orders() {
        let stamps = Stamps::new().unwrap();
        let handoff = stamps.handoff.as_ref().unwrap().try_clone().unwrap();
        let one = Stamps::join(handoff.as_raw_fd()).unwrap();
        assert!(!one.must_end("A", true) && !one.is_forgotten());
        stamps.end("A", false).unwrap();
        assert!(one.must_end("A", true) && !one.must_end("A", false));
        stamps.end("A", true).unwrap();
        assert!(one.must_end("A", false) && !one.must_end("B", true));
        drop(stamps);
        assert!(one.is_forgotten());
    }
}
