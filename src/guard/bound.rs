//! Programs that do not outlive us, whatever becomes of us.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use elect_api::helpers;
use nix::sys::signal::{SigmaskHow, sigprocmask};

use super::children::{self, Waited};
use super::descendants::Descendants;
use super::pass::Pass;
use super::{Inherited, limits};

impl Inherited {
    /// Starts a program in a session of its own, out of reach of the terminal's keys, with the signals as
    /// elect was started with them. It is killed when the thread that calls this ends, however that comes
    /// about.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn_bound(&self, command: &mut Command) -> io::Result<Child> {
        let us = own_number();
        let (mask, dispositions) = (self.mask, self.dispositions);
        let bind = move || {
            end_with(us)?;
            dispositions.restore();
            Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&mask), None)?)
        };
        // SAFETY: what runs between fork and exec keeps to system calls.
        unsafe { command.pre_exec(bind) }.spawn()
    }
}

/// Has the programs that stores run for themselves end with this process. They have a session of their own, out of reach
/// of the terminal, and of our descriptors the standard ones alone.
pub fn bind_helpers() {
    helpers::bind_with(|command| {
        let us = own_number();
        let bind = move || {
            // What elect was started with is the command's alone. Linux before 5.11 does not know the flag.
            // SAFETY: nothing is closed before the exec.
            unsafe {
                libc::syscall(
                    libc::SYS_close_range,
                    3,
                    libc::c_uint::MAX,
                    libc::CLOSE_RANGE_CLOEXEC,
                );
            }
            limits::restore_for_helper();
            end_with(us)
        };
        // SAFETY: what runs between fork and exec keeps to system calls.
        unsafe { command.pre_exec(bind) };
    });
}

fn own_number() -> i32 {
    // SAFETY: getpid has no preconditions.
    unsafe { libc::getpid() }
}

/// For the child of a fork by `parent`: is killed when the thread that forked ends, and leaves its session.
fn end_with(parent: i32) -> io::Result<()> {
    // SAFETY: none of these has memory preconditions. Who died before the prctl has left the child another parent.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::getppid() != parent {
            libc::_exit(127);
        }
        if libc::setsid() < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Makes this process the parent of all whose parents, our descendants, die.
///
/// # Errors
/// When a filter of system calls refuses that.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: prctl takes integers here.
    if unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Reaps the dead, whosever children they were; whether a child is left. Nobody else may wait for one.
pub fn has_children() -> bool {
    loop {
        match children::wait() {
            Waited::Ended(..) | Waited::Stopped(..) => {}
            Waited::Quiet => return true,
            Waited::None => return false,
        }
    }
}

/// Kills all our descendants that can be found. They come to us if [`adopt_orphans`] was called before.
///
/// # Errors
/// When `/proc` is not to be had, or no descriptor is left.
pub fn kill_descendants() -> io::Result<()> {
    Descendants::new()?.treat_below(own_number(), &Pass::killing(&[], None));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    use super::*;

    /// The standard library waits for what it could not execute, and panics if it is gone.
    #[test]
    fn a_helper_that_is_not_there_is_told_though_all_children_are_reaped() {
        bind_helpers();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    crate::guard::reap();
                }
            });
            for _ in 0..200 {
                let mut command = Command::new("/no/such/helper");
                let error = helpers::run(&mut command, Duration::from_secs(60)).err();
                assert_eq!(error.map(|error| error.kind()), Some(io::ErrorKind::NotFound));
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn a_helper_has_a_session_of_its_own_and_none_of_our_descriptors() {
        bind_helpers();
        let inherited = std::fs::File::open("/dev/null").unwrap();
        crate::guard::descriptors::inherit(&inherited.as_fd());
        let mut command = Command::new("/bin/sh");
        // The shell's own process id, its session, and what it has open.
        command
            .args(["-c", "cat /proc/$$/stat; ls /proc/$$/fd"])
            .stdin(std::process::Stdio::null());
        let said = helpers::run(&mut command, Duration::from_secs(60)).unwrap();
        let output = String::from_utf8(said.output).unwrap();
        let (stat, open) = output.split_once('\n').unwrap();
        let fields: Vec<_> = stat.split(' ').collect();
        assert_eq!(fields[0], fields[5], "{stat}");
        assert_eq!(open.lines().collect::<Vec<_>>(), ["0", "1", "2"]);
    }
}
