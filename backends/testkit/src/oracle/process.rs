//! The processes of a stamper. Their program is the test executable itself, so a test always finds
//! it. It becomes a stamper before the test harness runs.
#![allow(
    unsafe_code,
    reason = "to run before main, to fork, and to look like no harmless program at all takes it"
)]

use std::ffi::CString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use super::map::{Claim, ListHead, Map, Slot, nanos};
use super::plan::{Plan, Stop};
use crate::entry::exit;

/// A stamper that is still there after this many nanoseconds ends by itself, with its own exit code.
const FORGOTTEN: u64 = 300 * 1_000_000_000;

/// The time between two stamps, in nanoseconds.
const TICK: i64 = 1_000_000;
const CALM: i64 = 100_000_000;

/// The variables with the number of a command's slot or shard.
const PARTS: [&str; 2] = ["ELECT_SLOT", "ELECT_SHARD"];

/// Whether TERM has arrived.
static IS_ENDED: AtomicBool = AtomicBool::new(false);

extern "C" fn end(_: libc::c_int) {
    IS_ENDED.store(true, Relaxed);
}

crate::entry::entry!(enter);

/// Becomes a stamper or one of its companions, if `words` are their command line.
fn enter(words: &[&str]) -> Option<i32> {
    let other = super::bomb::explode(words).or_else(|| super::crowd::gather(words));
    other.or_else(|| Plan::parse(words.iter().copied()).map(|plan| run(&plan).unwrap_or(98)))
}

struct Tree<'a> {
    plan: &'a Plan,
    map: Map,
    token: u64,
    part: Option<u32>,
    until: Option<CString>,
    head: *mut ListHead,
}

fn run(plan: &Plan) -> Option<i32> {
    let file = File::options().read(true).write(true).open(&plan.map).ok()?;
    let map = Map::open(&file).ok()?;
    drop(file);
    let said = |name| std::env::var(name).ok();
    let given = || said("ELECT_TOKEN")?.parse().ok();
    let part = PARTS.iter().find_map(|name| said(name)?.parse().ok());
    let until = plan.until.as_ref().map(|path| CString::new(path.as_os_str().as_bytes()));
    let token = plan.token.or_else(given).unwrap_or(0);
    let until = until.transpose().ok()?;
    let tree = Tree { plan, map, token, part, until, head: ListHead::leak() };
    if plan.deaf {
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            // SAFETY: SIG_IGN is a valid disposition.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
    }
    if plan.calm {
        let handler: extern "C" fn(libc::c_int) = end;
        // SAFETY: the handler only stores to an atomic.
        unsafe { libc::signal(libc::SIGTERM, handler as libc::sighandler_t) };
    }
    if plan.joins {
        // SAFETY: none of these has preconditions.
        unsafe { libc::setpgid(0, libc::getpgid(libc::getppid())) };
    }
    if plan.hides {
        // SAFETY: prctl takes integers here.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    }
    if plan.closes {
        // SAFETY: this process uses no object again that owns a descriptor.
        unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
    }
    Some(tree.main())
}

/// Forks. No process here has a second thread, so the child may go on as it likes. Even so it
/// allocates nothing.
fn fork(child: impl FnOnce()) -> bool {
    // SAFETY: as above.
    match unsafe { libc::fork() } {
        -1 => false,
        0 => {
            child();
            exit(0)
        }
        _ => true,
    }
}

/// Waits until one child has ended, or all of them have.
fn wait(all: bool) {
    // SAFETY: the status pointer may be null.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 && all {}
}

impl Tree<'_> {
    fn main(&self) -> i32 {
        let plan = self.plan;
        let Some(slot) = self.claim(plan.processes()) else { return 97 };
        let mut made = true;
        for _ in 0..plan.daemons {
            made &= fork(|| {
                // SAFETY: setsid has no preconditions.
                unsafe { libc::setsid() };
                fork(|| self.other(1));
            });
            wait(false);
        }
        for _ in 0..plan.groups {
            made &= fork(|| {
                // SAFETY: setpgid has no preconditions.
                unsafe { libc::setpgid(0, 0) };
                self.other(1);
            });
        }
        for _ in 0..plan.sessions {
            made &= fork(|| {
                // SAFETY: setsid has no preconditions.
                unsafe { libc::setsid() };
                self.other(1);
            });
        }
        for _ in 0..plan.children {
            made &= fork(|| self.other(plan.depth));
        }
        if !made {
            return 96;
        }
        self.live(slot, plan.stop == Stop::All, true);
        if !plan.leaves {
            wait(true);
        }
        plan.code.into()
    }

    /// Runs any process but the main one, with a line of `depth - 1` descendants.
    fn other(&self, depth: u32) {
        let Some(slot) = self.claim(0) else { exit(97) };
        if depth > 1 {
            fork(|| self.other(depth - 1));
        }
        self.live(slot, self.plan.stop != Stop::Nobody, !self.plan.leaves);
        if !self.plan.leaves {
            wait(true);
        }
    }

    fn claim(&self, expected: u32) -> Option<&'static Slot> {
        let Self { token, part, .. } = *self;
        let closes = self.plan.closes;
        let claim = Claim { tag: &self.plan.tag, token, expected, part, closes };
        self.map.claim(claim, self.head)
    }

    fn live(&self, slot: &Slot, stops: bool, ends: bool) {
        let start = nanos();
        if stops {
            slot.stamp();
            // SAFETY: raise has no preconditions.
            unsafe { libc::raise(libc::SIGSTOP) };
        }
        loop {
            let now = slot.stamp();
            if now - start > FORGOTTEN {
                exit(99);
            }
            if ends && self.is_over(now - start) {
                return;
            }
            if IS_ENDED.load(Relaxed) {
                slot.stamp();
                exit(128 + libc::SIGTERM);
            }
            let pause =
                libc::timespec { tv_sec: 0, tv_nsec: if self.plan.calm { CALM } else { TICK } };
            // SAFETY: the kernel reads a valid timespec, and the pointer to the rest may be null.
            unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
        }
    }

    fn is_over(&self, nanos: u64) -> bool {
        let late = self.plan.millis.is_some_and(|millis| nanos >= millis * 1_000_000);
        // SAFETY: the path is a string that ends with a NUL.
        let flagged = |path: &CString| unsafe { libc::access(path.as_ptr(), libc::F_OK) == 0 };
        late || self.until.as_ref().is_some_and(flagged)
    }
}
