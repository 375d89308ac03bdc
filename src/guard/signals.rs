//! Signals of elect. They are blocked from the start and read from a descriptor, so that none is lost and none
//! interrupts anything. elect changes how it handles some signals that were ignored when it was started. The command
//! gets back the original handling, and the original limits.

use std::cell::RefCell;
use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use elect_api::Boottime;
use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use tokio::io::unix::AsyncFd;

use super::exec_handoff::{ExecHandoff, HANDOFF, regain_name};
use super::signal_helper::SignalHelper;
use super::{clock, descriptors, limits};

/// The signals that the wrapper reads: those that it passes on to the command, news of children, and the stops of the
/// terminal and of another elect in the same job. A message to the terminal from the background does not stop the
/// wrapper, as TTOU is blocked.
const READ: [Signal; 12] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGCONT,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGCHLD,
];

/// Returns those of [`READ`] that this process does not ignore.
fn heeded() -> SigSet {
    READ.into_iter().filter(|&signal| !is_ignored(signal as i32)).collect()
}

/// The signals that end elect while it runs no command. A parent that blocked one of them did not mean elect: otherwise
/// nothing could end an elect that waits for a store.
const ENDING: [Signal; 4] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];

/// Returns whether this signal ends elect while it runs no command.
pub fn ends_elect(signal: i32) -> bool {
    ENDING.into_iter().any(|ending| ending as i32 == signal)
}

/// Returns whether this signal ends elect with its command. HUP is passed on only, as many daemons reload on it.
pub fn ends_command(signal: i32) -> bool {
    ends_elect(signal) && signal != libc::SIGHUP
}

/// The state at the start of this process, as far as [`make_ready`] changes it.
static STARTED: OnceLock<Started> = OnceLock::new();

struct Started {
    mask: SigSet,
    file_size_is_ignored: bool,
    term_is_ignored: bool,
}

/// Makes this process fit for its work. It lifts limits, prevents core dumps, regains its name, and unblocks the
/// signals that end it. It ignores XFSZ, so that too large a file is an error and not a silent end.
///
/// HUP, INT and QUIT stay ignored if they were, as `nohup` and a shell's background arrange that. No such arrangement
/// exists for TERM, which only a script's trap leaves ignored. Call this function before all others.
pub fn make_ready() {
    limits::adjust();
    regain_name();
    STARTED.get_or_init(|| {
        let file_size_is_ignored = is_ignored(libc::SIGXFSZ);
        let term_is_ignored = is_ignored(libc::SIGTERM);
        // Only a filter can refuse these calls, and a guardian tries them again.
        let _ = set_ignored(libc::SIGXFSZ, true);
        if term_is_ignored {
            let _ = set_ignored(libc::SIGTERM, false);
        }
        let (ending, mut mask) = (ENDING.into_iter().collect(), SigSet::empty());
        let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&ending), Some(&mut mask));
        Started { mask, file_size_is_ignored, term_is_ignored }
    });
}

/// Restores the signal mask that this process was started with, for the next program.
pub(super) fn restore_mask() {
    if let Some(started) = STARTED.get() {
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&started.mask), None);
    }
}

/// The state that elect was started with and that the command gets back: the signal mask, ignored signals, and open
/// descriptors.
pub struct Inherited {
    pub(super) mask: SigSet,
    pub(super) dispositions: Dispositions,
    descriptors: Vec<RawFd>,
    handoff: Option<ExecHandoff>,
}

impl Inherited {
    /// Blocks the signals that [`Incoming`] reads, and remembers the state before. Call it first of all, before
    /// anything is opened.
    ///
    /// Signals that are ignored (as `nohup` arranges) stay ignored, for elect and for the command. They are not
    /// blocked, as the kernel keeps a blocked signal even if it is ignored. TTOU and TTIN are blocked in any case: the
    /// wrapper takes the terminal back from the background.
    ///
    /// # Errors
    /// A filter of system calls refuses a call.
    pub fn take() -> io::Result<Self> {
        let dispositions = Dispositions::take()?;
        let mut block = heeded();
        block.add(Signal::SIGTTOU);
        block.add(Signal::SIGTTIN);
        let mut mask = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&block), Some(&mut mask))?;
        let mask = STARTED.get().map_or(mask, |started| started.mask);
        let mut descriptors = descriptors::inherited();
        let handoff = ExecHandoff::take(&mut descriptors);
        Ok(Self { mask, dispositions, descriptors, handoff })
    }

    /// Returns the signals that ask for an end and that the command may not get. Either elect was started with the
    /// signal blocked, or the signal is TERM and was ignored.
    pub fn unheard(&self) -> Vec<Signal> {
        let is_ignored = |signal| self.dispositions.ignored.contains(&(signal as i32, true));
        let is_unheard = |&signal: &Signal| self.mask.contains(signal) || is_ignored(signal);
        ENDING.into_iter().filter(is_unheard).collect()
    }

    /// Returns the state that elect left to itself when it started over.
    pub const fn handoff(&mut self) -> Option<ExecHandoff> {
        self.handoff.take()
    }

    /// Returns the descriptors from 3 on that elect was started with.
    pub(super) fn descriptors(&self) -> &[RawFd] {
        &self.descriptors
    }

    /// Closes the wrapper's copies of what only the command needs: stdin, stdout and further descriptors. The guardian
    /// has them, and the copies would only keep other processes from seeing end-of-file.
    ///
    /// # Errors
    /// `/dev/null` cannot be opened.
    pub fn release(&self) -> io::Result<()> {
        let null = descriptors::null()?;
        descriptors::silence(&null, &[0, 1]);
        descriptors::close_each(&self.descriptors);
        Ok(())
    }
}

impl Inherited {
    /// Executes elect anew in this process with the same arguments, and leaves it `handoff`. Returns only if that
    /// failed. The program is found through its open file, so an upgrade meanwhile does no harm.
    pub fn start_over(&self, handoff: &ExecHandoff) -> io::Error {
        let arguments = std::env::args_os().map(|word| CString::new(word.into_vec()));
        let Ok(arguments) = arguments.collect::<Result<Vec<_>, _>>() else {
            return io::ErrorKind::InvalidInput.into();
        };
        if let Err(errno) = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.mask), None) {
            return errno.into();
        }
        self.dispositions.restore();
        let others = std::env::vars_os().filter(|(name, _)| name != HANDOFF);
        let variables = others.chain([handoff.leave()]).map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            CString::new(name.into_vec())
        });
        let Ok(variables) = variables.collect::<Result<Vec<_>, _>>() else {
            return io::ErrorKind::InvalidInput.into();
        };
        match nix::unistd::execve(c"/proc/self/exe", &arguments, &variables) {
            Ok(never) => match never {},
            Err(errno) => errno.into(),
        }
    }
}

/// The time within which the same INT, QUIT or TERM counts as one request that is delivered twice. `timeout(1)` signals
/// its child and then the whole group.
const SAME_REQUEST: Duration = Duration::from_secs(1);

/// The signals to elect.
pub struct Incoming {
    source: AsyncFd<Source>,
    requests: RefCell<Requests>,
}

/// The signals that asked for an end, each with the time of its last request.
#[derive(Default)]
struct Requests(Vec<(i32, Boottime)>);

impl Requests {
    /// Returns whether this is a repetition of an earlier request. Takes in the request if it is not.
    fn is_repeated(&mut self, signal: i32, now: Boottime) -> bool {
        if !ends_command(signal) {
            return false;
        }
        let is_same = |&(other, at)| other == signal && now.since(at) < SAME_REQUEST;
        let is_repeated = self.0.iter().any(is_same);
        if !is_repeated {
            self.0.retain(|&(other, _)| other != signal);
            self.0.push((signal, now));
        }
        is_repeated
    }
}

struct Source(SignalFd);

impl AsRawFd for Source {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Incoming {
    /// Reads the signals that [`Inherited::take`] has blocked, on the present runtime.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new(_blocked: &Inherited) -> io::Result<Self> {
        let source = Source(descriptor(&heeded())?);
        // SAFETY: a signal descriptor is owned until it is dropped.
        Ok(Self { source: unsafe { descriptors::watch(source) }?, requests: RefCell::default() })
    }

    /// Waits for the next signal, and returns its number. A request to end that is delivered twice comes once. TTIN and
    /// TTOU from a process come as TSTP. If the descriptor fails, which cannot happen, this waits for ever.
    ///
    /// # Cancellation
    /// No signal is lost if the future is dropped.
    pub async fn next(&self) -> i32 {
        while let Ok(mut ready) = self.source.readable().await {
            match self.source.get_ref().0.read_signal() {
                Ok(Some(info)) => {
                    let signal = match info.ssi_signo.cast_signed() {
                        // Another process of the job wants the terminal, and elect does not.
                        libc::SIGTTIN | libc::SIGTTOU if info.ssi_code == libc::SI_KERNEL => {
                            continue;
                        }
                        // The command of another elect wants it, and the whole job stops.
                        libc::SIGTTIN | libc::SIGTTOU => libc::SIGTSTP,
                        signal => signal,
                    };
                    if !self.requests.borrow_mut().is_repeated(signal, clock::now()) {
                        return signal;
                    }
                }
                Ok(None) => ready.clear_ready(),
                Err(_) => break,
            }
        }
        std::future::pending().await
    }
}

/// Makes a descriptor from which these signals are read. They must be blocked.
pub(super) fn descriptor(set: &SigSet) -> io::Result<SignalFd> {
    Ok(SignalFd::with_flags(set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
}

/// The receiver of a signal from elect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalTo {
    /// This process alone.
    Ourselves,
    /// The whole job, as with a key in the terminal. A script that runs elect gets the signal, too.
    OurJob,
}

impl SignalTo {
    fn signal(self, signal: i32) {
        // SAFETY: neither call has preconditions.
        unsafe {
            match self {
                Self::Ourselves => libc::raise(signal),
                Self::OurJob => libc::kill(0, signal),
            }
        };
    }
}

/// Stops this process for the TSTP that was read, and returns when it is continued. Nothing happens if a CONT came after
/// the TSTP: to stop now would drop that CONT, and elect would stay stopped.
pub fn suspend() {
    if !is_asked_to_end() && !was_continued() {
        stop_now(Signal::SIGTSTP, SignalTo::Ourselves);
    }
}

/// Stops this process or the whole job by TSTP, TTIN or TTOU, and returns when it is continued. Nothing happens if no
/// shell could continue it, or if a signal that ends elect is pending: the CONT after that one may be gone already.
///
/// Returns whether a CONT came, and no signal that ends elect with it. [`Incoming`] does not report this CONT any more:
/// passed on again, it would undo the next stop.
pub fn stop(signal: Signal, to: SignalTo) -> bool {
    !is_asked_to_end() && stop_now(signal, to)
}

fn stop_now(signal: Signal, to: SignalTo) -> bool {
    let stop = SigSet::from(signal);
    // A plain STOP would also stop a process that no shell continues.
    to.signal(signal as i32);
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&stop), None);
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&stop), None);
    was_continued() && !is_asked_to_end()
}

/// Returns whether a signal that ends elect is still to be read.
fn is_asked_to_end() -> bool {
    // SAFETY: an all-zero set is valid, the first call only fills it in, and the second only reads it.
    unsafe {
        let mut pending: libc::sigset_t = mem::zeroed();
        libc::sigpending(&raw mut pending) == 0
            && ENDING
                .into_iter()
                .any(|signal| libc::sigismember(&raw const pending, signal as i32) == 1)
    }
}

/// Takes the CONT that has come, if one has. A CONT from before a stop is gone, as the kernel drops it.
fn was_continued() -> bool {
    descriptor(&SigSet::from(Signal::SIGCONT))
        .and_then(|source| Ok(source.read_signal()?.is_some()))
        .unwrap_or(false)
}

/// Ends this process by `signal`, without a core dump. Returns only if that is impossible: if the signal was ignored
/// from the start, or if this process is PID 1.
pub fn end_by(signal: Signal, to: SignalTo) {
    // SAFETY: prctl takes integers here.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    to.signal(signal as i32);
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&SigSet::from(signal)), None);
}

/// Sends `signal` to every process of the command's group, and to the command itself if it has left that group. If
/// elect itself may not signal them, `signal_helper` does. A missing process is no failure. Returns whether the signal
/// was permitted, as far as the kernel tells.
pub(super) fn signal_command(
    command: i32,
    signal: i32,
    signal_helper: Option<&SignalHelper>,
) -> bool {
    // `kill` does not report processes of a group that it may not signal, as long as it may signal one of them.
    // SAFETY: neither call has memory preconditions. The caller holds the command unreaped, so that its number, which
    // is also its group's, cannot belong to another process.
    let (is_sent, has_left) = unsafe {
        let is_sent = match signal_helper {
            Some(signal_helper) => signal_helper.send(-command, signal),
            None => libc::kill(-command, signal) == 0 || Errno::last_raw() != libc::EPERM,
        };
        (is_sent, libc::getpgid(command) != command)
    };
    if has_left { signal_child(command, signal, signal_helper) } else { is_sent }
}

/// Sends `signal` to an unreaped child. If elect itself may not signal it, `signal_helper` does.
pub(super) fn signal_child(pid: i32, signal: i32, signal_helper: Option<&SignalHelper>) -> bool {
    // SAFETY: kill has no memory preconditions; the number is that of an unreaped child.
    if unsafe { libc::kill(pid, signal) } == 0 || Errno::last_raw() != libc::EPERM {
        return true;
    }
    signal_helper.is_some_and(|signal_helper| signal_helper.send(pid, signal))
}

/// Whether SIGPIPE was ignored at the start. Rust ignores it before `main`, so only code that runs before that can
/// know.
static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER_PIPE: extern "C" fn() = remember_pipe;

extern "C" fn remember_pipe() {
    PIPE_WAS_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
}

/// Returns whether this process ignores `signal`.
pub(super) fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is valid, and the call only fills it in.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        libc::sigaction(signal, ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// How PIPE, CHLD, XFSZ and TERM were handled at the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispositions {
    /// Whether each of the signals was ignored.
    ignored: [(i32, bool); 4],
}

impl Dispositions {
    /// Remembers how they are handled. Then it makes the kernel report the ends of children, and makes too large a file
    /// an error. A parent that ignored CHLD would not see its children reaped.
    ///
    /// # Errors
    /// The system refuses a change. A parent that ignores CHLD learns nothing of its children.
    pub(super) fn take() -> io::Result<Self> {
        let child_is_ignored = is_ignored(libc::SIGCHLD);
        let is_ignored_now = || is_ignored(libc::SIGXFSZ);
        let file_size_is_ignored =
            STARTED.get().map_or_else(is_ignored_now, |started| started.file_size_is_ignored);
        let term_is_ignored = STARTED.get().is_some_and(|started| started.term_is_ignored);
        set_ignored(libc::SIGCHLD, false)?;
        set_ignored(libc::SIGXFSZ, true)?;
        let pipe_is_ignored = PIPE_WAS_IGNORED.load(Ordering::Relaxed);
        let ignored = [
            (libc::SIGPIPE, pipe_is_ignored),
            (libc::SIGCHLD, child_is_ignored),
            (libc::SIGXFSZ, file_size_is_ignored),
            (libc::SIGTERM, term_is_ignored),
        ];
        Ok(Self { ignored })
    }

    /// Restores the handling and the limits for the next program.
    pub(super) fn restore(self) {
        limits::restore();
        for (signal, is_ignored) in self.ignored {
            // A signal whose handling could be changed can be changed back.
            let _ = set_ignored(signal, is_ignored);
        }
    }
}

fn set_ignored(signal: i32, ignored: bool) -> io::Result<()> {
    // SAFETY: both values are valid dispositions.
    let before =
        unsafe { libc::signal(signal, if ignored { libc::SIG_IGN } else { libc::SIG_DFL }) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_to_end_that_is_delivered_twice_is_one() {
        let at = |millis| Boottime::from_boot(Duration::from_millis(millis));
        let mut requests = Requests::default();
        let mut comes = |signal, millis| !requests.is_repeated(signal, at(millis));
        assert!(comes(libc::SIGTERM, 0) && !comes(libc::SIGTERM, 999));
        assert!(comes(libc::SIGINT, 999), "another one");
        assert!(comes(libc::SIGTERM, 1000) && !comes(libc::SIGTERM, 1001));
        for passed_on in [libc::SIGHUP, libc::SIGUSR1] {
            assert!(comes(passed_on, 1001) && comes(passed_on, 1001));
        }
    }
}
