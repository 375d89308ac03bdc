//! Programs that never outlive this process, however it ends.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use elect_system::helpers;
use nix::sys::signal::{SigmaskHow, sigprocmask};

use super::children::{self, Waited};
use super::descendants::Descendants;
use super::pass::Pass;
use super::{Inherited, limits};

impl Inherited {
    /// Starts a program in a session of its own, out of reach of the terminal's keys. It gets the signal handling that
    /// elect was started with. The kernel kills it when the calling thread ends for any reason.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn spawn_bound(&self, command: &mut Command) -> io::Result<Child> {
        let us = own_number();
        let (mask, dispositions) = (self.mask, self.dispositions);
        let bind = move || {
            end_with(us)?;
            dispositions.restore();
            Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&mask), None)?)
        };
        // SAFETY: the code between fork and exec keeps to system calls.
        unsafe { command.pre_exec(bind) }.spawn()
    }
}

/// Makes the programs that stores run for themselves end with this process. They get a session of their own, out of
/// reach of the terminal, and only the standard ones of elect's descriptors.
pub fn bind_helpers() {
    helpers::bind_with(|command| {
        let us = own_number();
        let bind = move || {
            // The descriptors that elect was started with are for the command alone. Linux before 5.11 does not know
            // the flag.
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
        // SAFETY: the code between fork and exec keeps to system calls.
        unsafe { command.pre_exec(bind) };
    });
}

fn own_number() -> i32 {
    // SAFETY: getpid has no preconditions.
    unsafe { libc::getpid() }
}

/// Binds a child that `parent` has just forked: the kernel kills it when the forking thread ends. Moves it to a session
/// of its own.
fn end_with(parent: i32) -> io::Result<()> {
    // SAFETY: none of these has memory preconditions. If the parent died before the prctl, the child has another
    // parent.
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

/// Makes this process the parent of all its descendants whose own parents die.
///
/// # Errors
/// A filter of system calls refuses it.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: prctl takes integers here.
    if unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Reaps all children that have ended, and returns whether a child is left. No other code of this process may wait for
/// a child.
pub fn has_children() -> bool {
    loop {
        match children::wait() {
            Waited::Ended(..) | Waited::Stopped(..) => {}
            Waited::Quiet => return true,
            Waited::None => return false,
        }
    }
}

/// Kills all descendants that can be found. Orphans among them become children of this process only if
/// [`adopt_orphans`] was called before.
///
/// # Errors
/// `/proc` is missing, or no descriptor is left.
pub fn kill_descendants() -> io::Result<()> {
    Descendants::new()?.treat_below(own_number(), &Pass::killing(&[], None));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    use super::*;

    /// The standard library waits for a child that could not execute its program, and panics if another thread has
    /// reaped it.
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
        // The output is the shell's own process id, its session, and its open descriptors.
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
