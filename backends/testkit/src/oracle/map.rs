//! The file of stamps, as it is mapped by the test and by every stamper.
#![allow(unsafe_code, reason = "a map that other processes write to can be had in no other way")]

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64};
use std::time::Duration;

use elect_api::Boottime;
use nix::sys::mman::{MapFlags, ProtFlags, mmap};

use super::killed::is_killed;

/// More processes than a soak of a day starts; the file is sparse.
const CAPACITY: usize = 1 << 18;
/// The longest tag, in bytes.
pub(super) const TAG: usize = 32;

/// What the kernel clears in a robust futex when its owner dies.
const OWNER: u32 = 0x3fff_ffff;

#[repr(C)]
struct Shared {
    /// How many slots are taken.
    taken: AtomicU64,
    slots: [Slot; CAPACITY],
}

/// One process. A zero in `first` says that it has not stamped yet.
#[repr(C, align(128))]
pub(super) struct Slot {
    /// The process's id while it lives: a robust futex, so that the kernel clears it at its death.
    owner: AtomicU32,
    pid: AtomicU32,
    /// The only entry of the process's list of robust futexes.
    entry: AtomicPtr<ListHead>,
    token: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
    /// One more than the index of a slot with another token whose process lived beside this one.
    beside: AtomicU64,
    /// For the first process of a run, how many there will be; 0 for others.
    expected: AtomicU32,
    /// One more than the part of an election that it is about; 0 where that is one.
    part: AtomicU32,
    /// 1 for one that has closed its descriptors: nothing of the store's waits for its end.
    closes: AtomicU32,
    tag: [AtomicU8; TAG],
}

/// The kernel's `struct robust_list_head`.
#[repr(C)]
pub(super) struct ListHead {
    next: *const AtomicPtr<ListHead>,
    /// From an entry to its futex, in bytes.
    offset: libc::c_long,
    pending: *const AtomicPtr<ListHead>,
}

/// What a slot says at one moment.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) index: usize,
    pub(super) pid: i32,
    pub(super) is_alive: bool,
    pub(super) tag: String,
    pub(super) token: u64,
    pub(super) first: Boottime,
    pub(super) last: Boottime,
    pub(super) beside: Option<usize>,
    pub(super) expected: Option<usize>,
    pub(super) part: Option<u32>,
}

/// Who takes a slot.
#[derive(Clone, Copy)]
pub(super) struct Claim<'a> {
    pub(super) tag: &'a str,
    pub(super) token: u64,
    pub(super) expected: u32,
    pub(super) part: Option<u32>,
    pub(super) closes: bool,
}

/// The mapped file; it stays mapped until the process ends.
#[derive(Clone, Copy)]
pub(super) struct Map(&'static Shared);

impl Map {
    /// Gives `file` its size and maps it.
    pub(super) fn create(file: &File) -> io::Result<Self> {
        file.set_len(size_of::<Shared>() as u64)?;
        Self::open(file)
    }

    /// Maps a file that [`Map::create`] has made.
    pub(super) fn open(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() != size_of::<Shared>() as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let length = NonZeroUsize::new(size_of::<Shared>()).expect("not empty");
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the kernel chooses a free address. The file has the length of `Shared`, is aligned
        // to pages, and is never truncated or unmapped; all fields are atomics, for which any bits
        // are valid, as they are written by other processes.
        unsafe {
            let map = mmap(None, length, access, MapFlags::MAP_SHARED, file.as_fd(), 0)?;
            Ok(Self(map.cast::<Shared>().as_ref()))
        }
    }

    fn taken(self) -> &'static [Slot] {
        let taken = usize::try_from(self.0.taken.load(SeqCst)).unwrap_or(CAPACITY);
        &self.0.slots[..taken.min(CAPACITY)]
    }

    /// What all processes that have stamped say.
    pub(super) fn slots(self) -> Vec<Seen> {
        self.taken().iter().enumerate().filter_map(|(index, slot)| slot.seen(index)).collect()
    }

    /// Takes a slot for this process and stamps it. Allocates nothing. `None` if all are taken.
    ///
    /// `head` is this process's own until it ends.
    pub(super) fn claim(self, claim: Claim<'_>, head: *mut ListHead) -> Option<&'static Slot> {
        let index = usize::try_from(self.0.taken.fetch_add(1, SeqCst)).ok()?;
        let slot = self.0.slots.get(index)?;
        for (place, &byte) in slot.tag.iter().zip(claim.tag.as_bytes()) {
            place.store(byte, Relaxed);
        }
        slot.token.store(claim.token, Relaxed);
        slot.expected.store(claim.expected, Relaxed);
        let part = claim.part.map_or(0, |part| part + 1);
        slot.part.store(part, Relaxed);
        slot.closes.store(claim.closes.into(), Relaxed);
        slot.own(head);
        // Of two that start at the same time at least one sees the other from here on.
        let beside = self.taken().iter().position(|other| {
            other.owner.load(SeqCst) & OWNER != 0
                && other.token.load(SeqCst) != claim.token
                && other.part.load(SeqCst) == part
                && !(other.closes.load(SeqCst) != 0 && is_killed(other.pid.load(SeqCst)))
        });
        slot.beside.store(beside.map_or(0, |index| index as u64 + 1), Relaxed);
        let now = nanos();
        slot.last.store(now, Relaxed);
        slot.first.store(now, Release);
        Some(slot)
    }
}

impl Slot {
    /// Has the kernel mark this slot when the process dies.
    fn own(&self, head: *mut ListHead) {
        // SAFETY: `head` lives as long as the process, which has one thread, and the slot is mapped as
        // long. The kernel follows the list when the process dies: one entry, which leads back to the
        // head, and its futex lies `offset` bytes from it, in the same slot.
        unsafe {
            self.pid.store(libc::getpid().cast_unsigned(), Relaxed);
            let offset = std::mem::offset_of!(Slot, owner).cast_signed()
                - std::mem::offset_of!(Slot, entry).cast_signed();
            let pending = std::ptr::null();
            *head =
                ListHead { next: &raw const self.entry, offset: offset as libc::c_long, pending };
            self.entry.store(head, SeqCst);
            libc::syscall(libc::SYS_set_robust_list, head, size_of::<ListHead>());
            let thread = libc::syscall(libc::SYS_gettid);
            self.owner.store(u32::try_from(thread).unwrap_or(OWNER), SeqCst);
        }
    }

    /// Says that this process lives now.
    pub(super) fn stamp(&self) -> u64 {
        let now = nanos();
        self.last.store(now, Release);
        now
    }

    fn seen(&self, index: usize) -> Option<Seen> {
        let first = Some(self.first.load(Acquire)).filter(|&first| first != 0)?;
        let bytes: Vec<u8> = self.tag.iter().map(|byte| byte.load(Relaxed)).collect();
        let tag = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        let instant = |nanos| Boottime::from_boot(Duration::from_nanos(nanos));
        let expected = self.expected.load(Relaxed) as usize;
        // In this order: the last stamp of a process that is seen dead is its very last.
        let is_alive = self.owner.load(SeqCst) & OWNER != 0;
        Some(Seen {
            index,
            pid: self.pid.load(Relaxed).cast_signed(),
            is_alive,
            tag: String::from_utf8_lossy(tag).into_owned(),
            token: self.token.load(Relaxed),
            first: instant(first),
            last: instant(self.last.load(Acquire)),
            beside: usize::try_from(self.beside.load(Relaxed)).ok().and_then(|n| n.checked_sub(1)),
            expected: (expected > 0).then_some(expected),
            part: self.part.load(Relaxed).checked_sub(1),
        })
    }
}

impl ListHead {
    /// One that lasts until the process ends; after a fork each process has its own copy.
    pub(super) fn leak() -> *mut Self {
        let null = std::ptr::null();
        Box::leak(Box::new(Self { next: null, offset: 0, pending: null }))
    }
}

/// `CLOCK_BOOTTIME` without anything that a forked process must not do.
pub(super) fn nanos() -> u64 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to a valid timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut spec) };
    spec.tv_sec.cast_unsigned() * 1_000_000_000 + spec.tv_nsec.cast_unsigned()
}
