//! Programs that a store runs for itself, such as one that prints its credentials.
//!
//! They are children of this process and no part of any command: whatever kills what is left of a command's tree leaves
//! them alone, as long as they are in the list that is kept here. They end with this process, where that has said how
//! ([`bind_with`]).

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill as send, killpg};
use nix::unistd::Pid;

/// The most that is read of each stream of a helper, in bytes.
const MOST: u64 = 1 << 20;
/// How long a stream may stay open once its helper has ended: another process may have it, such as one that the helper
/// has left behind. What the helper itself said is in it by then.
const STRAGGLERS: Duration = Duration::from_secs(1);

/// How the names of variables begin that no helper gets.
const OURS: [&str; 4] = ["ELECT_", "NOTIFY_SOCKET", "WATCHDOG_", "LISTEN_"];

static LIVING: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// Held while one is started, and while children are reaped.
static STARTING: Mutex<()> = Mutex::new(());
/// Whether somebody wanted to reap as one was started.
static IS_LATE: AtomicBool = AtomicBool::new(false);
static BIND: OnceLock<fn(&mut Command)> = OnceLock::new();

/// What came of a helper.
pub struct Said {
    /// What it printed: at most 1 MiB.
    pub output: Vec<u8>,
    /// What it printed to its standard error: at most 1 MiB.
    pub errors: Vec<u8>,
    /// How it ended; `None` if this process reaps all of its children elsewhere.
    pub status: Option<ExitStatus>,
    /// It was killed, as its time was over.
    pub is_overdue: bool,
}

/// Says how helpers are made to end with this process. Each becomes the leader of a process group by that. Counts once.
pub fn bind_with(bind: fn(&mut Command)) {
    let _ = BIND.set(bind);
}

/// The helpers that live, by their process ids. One that is just being started may be missing.
pub fn living() -> Vec<u32> {
    lock().clone()
}

/// This child was reaped: its process id is no helper's any more.
pub fn ended(pid: u32) {
    lock().retain(|&living| living != pid);
}

/// To be held by who reaps any child of this process. One that cannot be executed is waited for by who has started it, and
/// may not be taken from there.
///
/// `None` while one is being started: SIGCHLD comes again once it is.
pub fn hold() -> Option<impl Drop> {
    let hold = || match STARTING.try_lock() {
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
        Ok(held) => Some(held),
    };
    hold().or_else(|| {
        IS_LATE.store(true, Ordering::SeqCst);
        // It may have been started meanwhile, without a look at that.
        hold()
    })
}

fn start(command: &mut Command) -> io::Result<Child> {
    let held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let child = command.spawn();
    if let Ok(child) = &child {
        lock().push(child.id());
    }
    drop(held);
    if IS_LATE.swap(false, Ordering::SeqCst) {
        // Who reaps waits for it.
        let _ = send(Pid::this(), Signal::SIGCHLD);
    }
    child
}

/// Takes from a helper what is in our environment for us alone: whom to tell that we are well, sockets that we have
/// inherited, and our own variables, which may have a password. What the caller has set stays.
fn keep_to_ourselves(command: &mut Command) {
    let given: Vec<_> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_ours = OURS.iter().any(|prefix| text.starts_with(prefix));
        if is_ours && !given.contains(&name) {
            command.env_remove(name);
        }
    }
}

/// Runs a helper to its end, and for no longer than `limit`: then it is killed, with its process group. It gets our
/// environment, without the variables that are for us alone. Blocks; stdin and further variables are up to the caller.
///
/// # Errors
/// When it cannot be started.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Said> {
    match BIND.get() {
        Some(bind) => bind(command),
        None => _ = command.process_group(0),
    }
    keep_to_ourselves(command);
    let mut child = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let (output, errors) = (gather(child.stdout.take()), gather(child.stderr.take()));
    let (status, is_overdue) = wait(&mut child, limit);
    let (output, is_whole) = output.take(STRAGGLERS);
    // As a rule it is one process that has both.
    let (errors, _) = errors.take(if is_whole { STRAGGLERS } else { Duration::ZERO });
    Ok(Said { output, errors, status, is_overdue })
}

/// Waits for a helper, and kills it when its time is over.
fn wait(child: &mut Child, limit: Duration) -> (Option<ExitStatus>, bool) {
    let pid = child.id();
    let (over, is_over) = channel::<()>();
    thread::scope(|scope| {
        let watchdog = scope.spawn(move || {
            let is_overdue = is_over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if is_overdue {
                kill(pid);
            }
            is_overdue
        });
        let status = child.wait().ok();
        ended(pid);
        drop(over);
        (status, watchdog.join().unwrap_or_default())
    })
}

/// Kills a helper and its group, unless it is reaped: its number may be another's then.
fn kill(pid: u32) {
    let living = lock();
    if living.contains(&pid)
        && let Ok(group) = i32::try_from(pid)
    {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
}

/// What a stream says, as long as somebody reads it.
struct Gathered {
    said: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Gathered {
    /// What it has said until its end, or as much of it as is read; whether the end has come within this time.
    fn take(self, limit: Duration) -> (Vec<u8>, bool) {
        let is_whole = self.end.recv_timeout(limit).is_ok();
        let said = std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner));
        (said, is_whole)
    }
}

fn gather(stream: Option<impl Read + Send + 'static>) -> Gathered {
    let (said, (tell, end)) = (Arc::<Mutex<Vec<u8>>>::default(), channel());
    let bytes = Arc::clone(&said);
    if let Some(mut stream) = stream {
        thread::spawn(move || {
            let mut part = [0; 4096];
            let mut limited = stream.by_ref().take(MOST);
            loop {
                let length = match limited.read(&mut part) {
                    Ok(length @ 1..) => length,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                    _ => break,
                };
                let mut bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&part[..length]);
            }
            let _ = tell.send(());
            // One that says more is not held up, and not heard.
            let _ = io::copy(&mut stream, &mut io::sink());
        });
    }
    Gathered { said, end }
}

fn lock() -> MutexGuard<'static, Vec<u32>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}
