//! The allocators: that of the static elect, and one by which tests prove that the guardian allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

/// The allocator of the static elect. musl's own gives pages back to the system that the next step takes again,
/// which is a good part of all that a short run costs.
#[cfg(all(not(debug_assertions), target_env = "musl"))]
pub use dlmalloc::GlobalDlmalloc as Allocator;

/// Has the child of a fork allocate and free even if another thread was doing so at that moment, as the C
/// libraries of Linux do. To be called as the process begins, before there are other threads.
#[cfg(all(not(debug_assertions), target_env = "musl"))]
pub fn let_forks_allocate() {
    // SAFETY: it only takes and gives back a lock that nobody else can hold yet, and registers what a fork does.
    unsafe { dlmalloc::enable_alloc_after_fork() }
}

static BANNED: AtomicBool = AtomicBool::new(false);

/// The system's allocator, until the process becomes a guardian; from then on every allocation is
/// the end of it. Builds with debug assertions use it, so that each test run is a proof.
pub struct NoAlloc;

/// Makes every further allocation of this process fatal, where [`NoAlloc`] is in use.
pub(super) fn ban() {
    BANNED.store(true, Ordering::Relaxed);
}

fn check() {
    if BANNED.load(Ordering::Relaxed) {
        // SAFETY: abort has no preconditions.
        unsafe { libc::abort() }
    }
}

// SAFETY: every call is the system allocator's own; `check` only ends the process.
unsafe impl GlobalAlloc for NoAlloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check();
        // SAFETY: the caller keeps the contract of `alloc`, which is passed on unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, which is passed on unchanged.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        check();
        // SAFETY: the caller keeps the contract of `realloc`, which is passed on unchanged.
        unsafe { System.realloc(memory, layout, size) }
    }
}
