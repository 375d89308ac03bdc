//! What `/proc` calls processes: where it was mounted for a pid namespace around ours, not what they are
//! called here. By our numbers it would show strangers, and what they have open.

use std::io::Write as _;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

use super::descriptors::read_now;

/// What it calls this process; `None` where it is not mounted, or knows nothing of us. Allocates.
pub(super) fn own() -> Option<u32> {
    // The link is quick. A filter may refuse it that lets files be read.
    if let Ok(link) = std::fs::read_link("/proc/self") {
        return link.to_str()?.parse().ok();
    }
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    stat.split(' ').next()?.parse().ok()
}

/// What it calls the process that is `pid` to us; `pid` where that cannot be found out. Allocates nothing.
pub(super) fn of(pid: i32) -> i32 {
    told_of(pid).filter(|&number| number > 0).unwrap_or(pid)
}

/// What `/proc` has to say of a descriptor of the process.
fn told_of(pid: i32) -> Option<i32> {
    // SAFETY: pidfd_open has no memory preconditions.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let descriptor = i32::try_from(descriptor).ok().filter(|&descriptor| descriptor >= 0)?;
    // SAFETY: it was opened just now, and nobody else has it.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let mut path = [0; 48];
    write!(&mut path[..], "/proc/self/fdinfo/{}", descriptor.as_raw_fd()).ok()?;
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let path = std::ffi::CStr::from_bytes_until_nul(&path).ok()?;
    let info = open(path, flags, Mode::empty()).ok()?;
    let mut text = [0; 512];
    let length = read_now(&info, &mut text).ok()??;
    let mut lines = text[..length].split(|&byte| byte == b'\n');
    let number = lines.find_map(|line| line.strip_prefix(b"Pid:"))?;
    std::str::from_utf8(number).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{of, own};

    #[test]
    fn where_it_is_ours_its_numbers_are_ours() {
        let pid = std::process::id();
        assert_eq!(own(), Some(pid));
        assert_eq!(of(pid.cast_signed()), pid.cast_signed());
        assert_eq!(of(i32::MAX), i32::MAX, "there is no such process");
    }
}
