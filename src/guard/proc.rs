//! Reads what `/proc` says of processes. Only [`own_number`] allocates.

use std::ffi::CStr;
use std::io::Write as _;
use std::os::fd::{AsFd as _, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use elect_api::Boottime;
use elect_system::path::read_kernel;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;

use super::descriptors::read_now;
use super::left::NAME_SIZE;

/// Opens the folder of a process.
pub(super) fn folder_of(proc: &OwnedFd, pid: i32) -> Result<OwnedFd, Errno> {
    let mut path = [0; 48];
    let path = path_of(&mut path, format_args!("{pid}"))?;
    open_at(proc, path, OFlag::O_RDONLY | OFlag::O_DIRECTORY)
}

pub(super) fn path_of<'a>(
    buffer: &'a mut [u8; 48],
    words: std::fmt::Arguments<'_>,
) -> Result<&'a CStr, Errno> {
    (&mut buffer[..47]).write_fmt(words).map_err(|_| Errno::ENAMETOOLONG)?;
    CStr::from_bytes_until_nul(buffer).map_err(|_| Errno::ENAMETOOLONG)
}

pub(super) fn open_at(folder: &OwnedFd, path: &CStr, flags: OFlag) -> Result<OwnedFd, Errno> {
    openat(folder, path, flags | OFlag::O_CLOEXEC, Mode::empty())
}

/// Calls `visit` with each entry of the folder whose name is a number.
pub(super) fn each_entry(folder: &OwnedFd, mut visit: impl FnMut(i32)) -> Result<(), Errno> {
    /// Offsets of the length and the name in the kernel's `struct linux_dirent64`.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let mut buffer = [0_u8; 1024];
    loop {
        // SAFETY: the buffer is writable for its whole length.
        let got = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                folder.as_raw_fd(),
                buffer.as_mut_ptr(),
                buffer.len(),
            )
        };
        let got = usize::try_from(got).map_err(|_| Errno::last())?;
        if got == 0 {
            return Ok(());
        }
        let mut entries = &buffer[..got];
        while let Some(&[low, high]) = entries.get(LENGTH..LENGTH + 2) {
            let length = usize::from(u16::from_ne_bytes([low, high]));
            let Some(entry) = entries.get(NAME..length) else { break };
            let name = entry.split(|&byte| byte == 0).next().unwrap_or_default();
            if let Some(number) = number(name) {
                visit(number);
            }
            entries = &entries[length..];
        }
    }
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The content of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// Whether the process is a zombie without any thread left.
    pub(super) is_dead: bool,
    /// The name as the kernel keeps it, padded with zeros.
    pub(super) name: [u8; NAME_SIZE],
    pub(super) parent: i32,
    /// The process group.
    pub(super) group: i32,
    pub(super) threads: u64,
    pub(super) born: Boottime,
}

impl Stat {
    pub(super) fn of(folder: &OwnedFd) -> Result<Self, Errno> {
        let file = open_at(folder, c"stat", OFlag::O_RDONLY)?;
        let mut text = [0; 1024];
        let length = nix::unistd::read(&file, &mut text)?;
        Self::parse(&text[..length]).ok_or(Errno::EINVAL)
    }

    /// Parses the line. The name in it stands in parentheses, and may contain parentheses itself.
    fn parse(text: &[u8]) -> Option<Self> {
        /// The length of a tick in milliseconds. Births are told in hundredths of a second on every architecture
        /// (`USER_HZ`).
        const TICK: u64 = 10;
        let end = text.iter().rposition(|&byte| byte == b')')?;
        let begin = text.iter().position(|&byte| byte == b'(')?;
        let mut name = [0; NAME_SIZE];
        for (place, &byte) in name.iter_mut().zip(text.get(begin + 1..end)?) {
            *place = byte;
        }
        let mut fields = text.get(end + 2..)?.split(|&byte| byte == b' ');
        let state = fields.next()?;
        let parent = number(fields.next()?)?;
        let group = number(fields.next()?)?;
        // After state (3), parent (4) and group (5) follow the number of threads (20) and the time of birth (22).
        let threads = number(fields.nth(14)?)?;
        let ticks: u64 = number(fields.nth(1)?)?;
        let born = Duration::from_millis(ticks.saturating_mul(TICK));
        let is_dead = matches!(state, b"Z" | b"X") && threads <= 1;
        let born = Boottime::from_boot(born);
        Some(Self { is_dead, name, parent, group, threads, born })
    }
}

/// Returns the number by which `/proc` knows this process. Returns `None` if `/proc` is not mounted, or does not know
/// this process. Allocates.
///
/// A `/proc` that was mounted for an outer pid namespace has other numbers than this process. By the numbers known
/// here, it would show strangers and their open files.
pub(super) fn own_number() -> Option<u32> {
    // Reading the link is fast. A filter may refuse it, but let files be read.
    if let Ok(link) = std::fs::read_link("/proc/self") {
        return link.to_str()?.parse().ok();
    }
    let stat = read_kernel("/proc/self/stat").ok()?;
    stat.split(' ').next()?.parse().ok()
}

/// Returns the number by which `/proc` knows the process that is `pid` here, or `pid` itself if that cannot be found
/// out. Allocates nothing.
pub(super) fn number_of(pid: i32) -> i32 {
    told_of(pid).filter(|&number| number > 0).unwrap_or(pid)
}

/// Opens a pidfd of the process that has this number now. Returns `None` before Linux 5.3, if no descriptor is left, or
/// if there is no such process.
pub(super) fn pidfd_of(pid: i32) -> Option<OwnedFd> {
    // SAFETY: pidfd_open has no memory preconditions.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let descriptor = i32::try_from(descriptor).ok().filter(|&descriptor| descriptor >= 0)?;
    // SAFETY: the descriptor was opened just now, and no other object has it.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Returns whether a process has ended, even if it is not reaped.
pub(super) fn has_ended(process: &OwnedFd) -> bool {
    poll(&mut [PollFd::new(process.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO) == Ok(1)
}

/// Returns what `/proc` says of a pidfd of the process.
fn told_of(pid: i32) -> Option<i32> {
    let descriptor = pidfd_of(pid)?;
    let mut path = [0; 48];
    write!(&mut path[..], "/proc/self/fdinfo/{}", descriptor.as_raw_fd()).ok()?;
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    let info = open(path, flags, Mode::empty()).ok()?;
    let mut text = [0; 512];
    let length = read_now(&info, &mut text).ok()??;
    let mut lines = text[..length].split(|&byte| byte == b'\n');
    let number = lines.find_map(|line| line.strip_prefix(b"Pid:"))?;
    std::str::from_utf8(number).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_of_a_process_is_parsed() {
        let text = b"17 (a) b (c)) S 4 17 17 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 12345 1 2 3";
        let stat = Stat::parse(text).expect("a process");
        let born = Boottime::from_boot(Duration::from_millis(123_450));
        let name = *b"a) b (c)\0\0\0\0\0\0\0\0";
        assert_eq!(stat, Stat { is_dead: false, name, parent: 4, group: 17, threads: 3, born });
        let zombie = String::from_utf8_lossy(text).replace(" S 4", " Z 4");
        assert!(!Stat::parse(zombie.as_bytes()).expect("a process").is_dead, "threads are left");
        let zombie = zombie.replace(" 0 3 0 ", " 0 1 0 ");
        assert!(Stat::parse(zombie.as_bytes()).expect("a process").is_dead);
        assert_eq!(Stat::parse(b"17 (a"), None);
    }
}

#[cfg(test)]
mod numbers_tests {
    use super::{number_of, own_number};

    #[test]
    fn with_our_own_proc_numbers_stay_the_same() {
        let pid = std::process::id();
        assert_eq!(own_number(), Some(pid));
        assert_eq!(number_of(pid.cast_signed()), pid.cast_signed());
        assert_eq!(number_of(i32::MAX), i32::MAX, "there is no such process");
    }
}
