//! The allocator of the static elect. musl's own gives pages back to the system that the next step takes again,
//! which is a good part of all that a short run costs.

pub use dlmalloc::GlobalDlmalloc as Allocator;

/// Has the child of a fork allocate and free even if another thread was doing so at that moment, as the C
/// libraries of Linux do. To be called as the process begins, before there are other threads.
pub fn let_forks_allocate() {
    // SAFETY: it only takes and gives back a lock that nobody else can hold yet, and registers what a fork does.
    unsafe { dlmalloc::enable_alloc_after_fork() }
}
