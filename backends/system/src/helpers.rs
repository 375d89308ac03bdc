//! Helper programs that a store runs for itself, such as one that prints credentials.
//!
//! Helpers are children of this process, and not part of any command. The code that kills the rest of a command's tree
//! spares every helper in the list that this file keeps. A helper ends with this process, if the process has set that
//! up with [`bind_with`].

use std::env;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
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
/// How long a stream may stay open after its helper has ended. Another process may have inherited it, such as one that
/// the helper left behind. By then the stream has the helper's own output in it.
const STRAGGLERS: Duration = Duration::from_secs(1);

/// The prefixes of environment variables that no helper gets.
const OURS: [&str; 4] = ["ELECT_", "NOTIFY_SOCKET", "WATCHDOG_", "LISTEN_"];

static LIVING: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// Locked while a helper is being started, and while children are reaped.
static STARTING: Mutex<()> = Mutex::new(());
/// Whether a reaper found `STARTING` locked while a helper was being started.
static IS_LATE: AtomicBool = AtomicBool::new(false);
static BIND: OnceLock<fn(&mut Command)> = OnceLock::new();

/// The result of running a helper.
pub struct Said {
    /// The output of the helper: at most 1 MiB.
    pub output: Vec<u8>,
    /// The standard error of the helper: at most 1 MiB.
    pub errors: Vec<u8>,
    /// The exit status; `None` if other code of this process reaped the helper.
    pub status: Option<ExitStatus>,
    /// Whether the helper was killed because its time was over.
    pub is_overdue: bool,
}

/// The number of lines that [`Said::last_words`] has.
const LAST_WORDS: usize = 5;

impl Said {
    /// The last lines of the standard error in one line, as the helper wrote them. `None` if there are none.
    pub fn last_words(&self) -> Option<String> {
        let errors = String::from_utf8_lossy(&self.errors);
        let lines = errors.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut last: Vec<_> = lines.rev().take(LAST_WORDS).collect();
        last.reverse();
        (!last.is_empty()).then(|| last.join(" | "))
    }
}

/// Sets how a new helper is made to end with this process. `bind` must also make each helper the leader of a process
/// group. Only the first call counts.
pub fn bind_with(bind: fn(&mut Command)) {
    let _ = BIND.set(bind);
}

/// The process ids of the helpers that live. A helper that is being started may be missing.
pub fn living() -> Vec<u32> {
    lock().clone()
}

/// Takes a reaped child off the list, because its process id no longer belongs to a helper.
pub fn ended(pid: u32) {
    lock().retain(|&living| living != pid);
}

/// Returns the lock that code must hold while it reaps children of this process. A child that cannot be executed is
/// reaped by the code that started it, and no other code may reap it first.
///
/// `None` while a helper is being started. SIGCHLD comes again once it is started.
pub fn hold() -> Option<impl Drop> {
    let hold = || match STARTING.try_lock() {
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
        Ok(held) => Some(held),
    };
    hold().or_else(|| {
        IS_LATE.store(true, Ordering::SeqCst);
        // The start may have ended just before the flag was set, and then missed the flag.
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
        // Wakes the reaper, which waits for this signal.
        let _ = send(Pid::this(), Signal::SIGCHLD);
    }
    child
}

/// Removes the variables from a helper's environment that are for elect alone: the service manager's sockets, inherited
/// sockets, and elect's own variables, which may hold a password. Variables that the caller has set stay.
fn keep_to_ourselves(command: &mut Command) {
    let given: Vec<_> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let is_ours = OURS.iter().any(|prefix| text.starts_with(prefix));
        if is_ours && !given.contains(&name) {
            command.env_remove(name);
        }
    }
}

/// Finds the program of a helper; `None` if it is not there. A bare name is looked up in `PATH`, but only in absolute
/// folders: other users may write to the current folder.
pub fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    let mut programs = folders.map(|folder| folder.join(program));
    programs.find(|program| {
        let found = program.metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// Kills all helpers that live, and their process groups. A process calls this before it ends: the kernel kills only
/// the helpers themselves then, and not what they have started.
pub fn end_all() {
    for pid in living() {
        kill(pid);
    }
}

/// Runs a helper until it ends, but no longer than `limit`. Then the helper and its process group are killed. The
/// helper gets the environment of this process, without the variables that are for elect alone. The caller sets stdin
/// and further variables. Blocks.
///
/// # Errors
/// If the helper cannot be started.
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

/// Kills a helper and its group, unless it was reaped. After that its number may belong to another process.
fn kill(pid: u32) {
    let living = lock();
    if living.contains(&pid)
        && let Ok(group) = i32::try_from(pid)
    {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
}

/// The output of one stream, as far as it was read.
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

/// Reads a stream to its end in a thread of its own, and keeps at most `MOST` bytes.
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
            // A helper that writes more is not blocked, but the rest is dropped.
            let _ = io::copy(&mut stream, &mut io::sink());
        });
    }
    Gathered { said, end }
}

fn lock() -> MutexGuard<'static, Vec<u32>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}
