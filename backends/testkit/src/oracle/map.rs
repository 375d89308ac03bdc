//! The file of stamps, as the test and every stamper map it.
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

/// More processes than a soak of a day starts. The file is sparse.
const CAPACITY: usize = 1 << 18;
/// The longest tag, in bytes.
pub(super) const TAG: usize = 32;

/// The bits that the kernel clears in a robust futex when its owner dies.
const OWNER: u32 = 0x3fff_ffff;

#[repr(C)]
struct Shared {
    /// How many slots are taken.
    taken: AtomicU64,
    slots: [Slot; CAPACITY],
}

/// One process. A zero in `first` means that it has not stamped yet.
#[repr(C, align(128))]
pub(super) struct Slot {
    /// The process's id while it lives. It is a robust futex, so the kernel clears it at the process's
    /// death.
    owner: AtomicU32,
    pid: AtomicU32,
    /// The only entry of the process's list of robust futexes.
    entry: AtomicPtr<ListHead>,
    token: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
    /// One more than the index of a slot with another token whose process lived beside this one.
    beside: AtomicU64,
    /// How many processes the run will have, in the slot of its first process. 0 in all others.
    expected: AtomicU32,
    /// The part of the election that the process works for, plus one. 0 for an election without parts.
    part: AtomicU32,
    /// 1 for a process that has closed its descriptors. The store's leases do not wait for its end.
    closes: AtomicU32,
    tag: [AtomicU8; TAG],
}

/// The kernel's `struct robust_list_head`.
#[repr(C)]
pub(super) struct ListHead {
    next: *const AtomicPtr<ListHead>,
    /// The distance from an entry to its futex, in bytes.
    offset: libc::c_long,
    pending: *const AtomicPtr<ListHead>,
}

/// The contents of a slot at one moment.
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

/// The data of a process that takes a slot.
#[derive(Clone, Copy)]
pub(super) struct Claim<'a> {
    pub(super) tag: &'a str,
    pub(super) token: u64,
    pub(super) expected: u32,
    pub(super) part: Option<u32>,
    pub(super) closes: bool,
}

/// The mapped file, which stays mapped until the process ends.
#[derive(Clone, Copy)]
pub(super) struct Map(&'static Shared);

impl Map {
    /// Gives `file` its size and maps it.
    pub(super) fn create(file: &File) -> io::Result<Self> {
        file.set_len(size_of::<Shared>() as u64)?;
        Self::open(file)
    }

    /// Maps a file that [`Map::create`] has created.
    pub(super) fn open(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() != size_of::<Shared>() as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let length = NonZeroUsize::new(size_of::<Shared>()).expect("not empty");
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the kernel chooses a free address. The file has the length of `Shared`, is aligned
        // to pages, and is never truncated or unmapped. All fields are atomics. Any bits are valid for
        // them, because other processes write them.
        unsafe {
            let map = mmap(None, length, access, MapFlags::MAP_SHARED, file.as_fd(), 0)?;
            Ok(Self(map.cast::<Shared>().as_ref()))
        }
    }

    fn taken(self) -> &'static [Slot] {
        let taken = usize::try_from(self.0.taken.load(SeqCst)).unwrap_or(CAPACITY);
        &self.0.slots[..taken.min(CAPACITY)]
    }

    /// Returns the slots of all processes that have stamped.
    pub(super) fn slots(self) -> Vec<Seen> {
        self.taken().iter().enumerate().filter_map(|(index, slot)| slot.seen(index)).collect()
    }

    /// Takes a slot for this process and stamps it. Returns `None` if all are taken. Allocates
    /// nothing.
    ///
    /// `head` belongs to this process alone until it ends.
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
        // Of two processes that start at the same time at least one sees the other from here on.
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
        // long. The kernel follows the list when the process dies. The list has one entry, which leads
        // back to the head. The entry's futex lies `offset` bytes from it, in the same slot.
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

    /// Stamps: this process lives now.
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
        // The order matters: the last stamp of a process that is seen dead is its very last.
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
    /// Creates a list head that lasts until the process ends. After a fork each process has its own
    /// copy.
    pub(super) fn leak() -> *mut Self {
        let null = std::ptr::null();
        Box::leak(Box::new(Self { next: null, offset: 0, pending: null }))
    }
}

/// Reads `CLOCK_BOOTTIME`, and does nothing that a forked process must not do.
pub(super) fn nanos() -> u64 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to a valid timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut spec) };
    spec.tv_sec.cast_unsigned() * 1_000_000_000 + spec.tv_nsec.cast_unsigned()
}
