//! Descriptors of elect. They are kept out of the way of the command's descriptors, and none stays open
//! for longer than needed. So the other end of a pipe sees end-of-file in time.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use tokio::io::unix::AsyncFd;

/// The lowest number for elect's descriptors, so that a script's `exec 3>file` does not close one of
/// them.
const OUT_OF_THE_WAY: RawFd = 100;

/// `F_SETSIG` of `fcntl(2)`, which the libc crate does not name.
pub(super) const F_SETSIG: libc::c_int = 10;

/// Moves the open file to a high number, closed on exec. It keeps its number if the limit allows no high
/// one.
pub(super) fn out_of_the_way(fd: OwnedFd) -> io::Result<OwnedFd> {
    Ok(high(&fd)?.unwrap_or(fd))
}

/// Returns one more descriptor of the same open file, with a number as in [`out_of_the_way`].
pub(super) fn another(fd: &OwnedFd) -> io::Result<OwnedFd> {
    high(fd)?.map_or_else(|| fd.try_clone(), Ok)
}

/// Returns a copy with a high number, or `None` if the limit on descriptors is lower than that.
fn high(fd: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    // SAFETY: F_DUPFD_CLOEXEC has no memory preconditions.
    let high = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, OUT_OF_THE_WAY) };
    if high < 0 {
        return match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EMFILE)) => Ok(None),
            error => Err(error),
        };
    }
    // SAFETY: the kernel has just returned this number, and no other object knows it.
    Ok(Some(unsafe { OwnedFd::from_raw_fd(high) }))
}

/// Makes the present runtime watch a descriptor.
///
/// # Safety
/// `inner` must own its descriptor, and keep the same one until it is dropped.
pub(super) unsafe fn watch<T: AsRawFd>(inner: T) -> io::Result<AsyncFd<T>> {
    // SAFETY: the caller guarantees the same.
    Ok(unsafe { AsyncFd::register(inner) }?)
}

/// Lets the next program that this process executes inherit `fd`.
pub(super) fn inherit(fd: &impl AsFd) {
    // SAFETY: F_SETFD has no memory preconditions. A failure only means that the descriptor is not
    // inherited.
    unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_SETFD, 0) };
}

/// Makes the kernel close `fd` when this process executes another program.
pub(super) fn keep_from_heirs(fd: &impl AsFd) {
    // SAFETY: as above.
    unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
}

/// Closes every descriptor from 3 on that is not in `keep`. Sorts `keep`.
///
/// # Safety
/// No other object of this process may own a descriptor outside `keep`.
pub(super) unsafe fn close_all_but(keep: &mut [RawFd]) {
    keep.sort_unstable();
    let mut from = 3;
    for &kept in keep.iter() {
        close_range(from, kept - 1);
        from = from.max(kept + 1);
    }
    close_range(from, RawFd::MAX);
}

fn close_range(first: RawFd, last: RawFd) {
    if first <= last {
        // SAFETY: the caller of `close_all_but` guarantees that no object owns these. On kernels without
        // the call (before 5.9) they stay open, and other programs see the end of a pipe late.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

/// Returns the descriptors from 3 on that this process was started with. Call this before any other
/// descriptor is opened.
pub(super) fn inherited() -> Vec<RawFd> {
    let Ok(folder) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let open: Vec<RawFd> = numbers.filter(|&number| number > 2).collect();
    // The folder itself was open while it was read, and is closed now.
    // SAFETY: F_GETFD has no memory preconditions.
    open.into_iter().filter(|&number| unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0).collect()
}

/// Closes the descriptors that [`inherited`] returned.
pub(super) fn close_each(numbers: &[RawFd]) {
    for &number in numbers {
        // SAFETY: the descriptor was open before any object of this process existed, so no object owns
        // it.
        unsafe { libc::close(number) };
    }
}

/// Opens `/dev/null` for reading and writing.
#[allow(clippy::disallowed_methods, reason = "only root makes anything in /dev")]
pub(super) fn null() -> io::Result<OwnedFd> {
    const NULL: &str = "/dev/null";
    let null = std::fs::OpenOptions::new().read(true).write(true).open(NULL);
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("cannot open {NULL}: {error}"));
    out_of_the_way(null.map_err(named)?.into())
}

/// Replaces the standard descriptors in `places` with `null`.
pub(super) fn silence(null: &OwnedFd, places: &[RawFd]) {
    for &place in places {
        // SAFETY: dup2 has no memory preconditions; Rust's standard streams keep working on the same
        // numbers.
        unsafe { libc::dup2(null.as_raw_fd(), place) };
    }
}

/// Reads `fd` once without waiting. Returns `None` if there is nothing to read.
pub(super) fn read_now(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match nix::unistd::read(fd, buffer) {
        Ok(count) => Ok(Some(count)),
        Err(Errno::EAGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
