//! Two allocators: the one of the static elect, and one with which tests prove that the guardian allocates
//! nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

/// The allocator of the static elect. musl's own allocator returns pages to the system that the next step takes
/// again, which is a good part of the cost of a short run.
#[cfg(all(not(debug_assertions), target_env = "musl"))]
pub use dlmalloc::GlobalDlmalloc as Allocator;

/// Lets the child of a fork allocate and free, even if another thread was doing so at that moment. The C
/// libraries of Linux allow that, too. Call it at the start of the process, before there are other threads.
#[cfg(all(not(debug_assertions), target_env = "musl"))]
pub fn let_forks_allocate() {
    // SAFETY: the call only takes and releases a lock that no other thread can hold yet, and registers fork
    // handlers.
    unsafe { dlmalloc::enable_alloc_after_fork() }
}

static BANNED: AtomicBool = AtomicBool::new(false);

/// The system's allocator, until the process becomes a guardian. From then on, every allocation aborts the
/// process. Builds with debug assertions use it, so that each test run is a proof.
pub struct NoAlloc;

/// Makes every further allocation of this process fatal, if [`NoAlloc`] is in use.
pub(super) fn ban() {
    BANNED.store(true, Ordering::Relaxed);
}

fn check() {
    if BANNED.load(Ordering::Relaxed) {
        // SAFETY: abort has no preconditions.
        unsafe { libc::abort() }
    }
}

// SAFETY: every call is passed to the system's allocator; `check` can only end the process.
unsafe impl GlobalAlloc for NoAlloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check();
        // SAFETY: the caller keeps the contract of `alloc`, and the arguments are passed on unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and the arguments are passed on unchanged.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        check();
        // SAFETY: the caller keeps the contract of `realloc`, and the arguments are passed on unchanged.
        unsafe { System.realloc(memory, layout, size) }
    }
}
