//! The program under test, started from outside as its users start it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::clock::now;

/// The longest time before a test gives up. No test waits for it to pass.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A call of `elect`: binary, subcommand, flags, words, environment.
///
/// Every `ELECT_*` variable of the test's environment is removed, and the user's configuration file is hidden.
#[derive(Clone, Debug)]
pub struct Elect {
    binary: PathBuf,
    words: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    prefix: Vec<OsString>,
    patience: Duration,
}

impl Elect {
    /// Creates a call of `binary` without arguments. In a test of the program that is `env!("CARGO_BIN_EXE_elect")`.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self {
            binary: binary.into(),
            words: Vec::new(),
            environment: Vec::new(),
            prefix: Vec::new(),
            patience: PATIENCE,
        }
    }

    /// Sets how long [`run`](Self::run) waits for the end, for a call that takes longer than [`PATIENCE`] when all is
    /// well.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Adds a word.
    #[must_use]
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.words.push(word.as_ref().to_owned());
        self
    }

    /// Adds words.
    #[must_use]
    pub fn args<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Adds a line of shell as the command.
    #[must_use]
    pub fn sh(self, script: &str) -> Self {
        self.args(["sh", "-c", script])
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Runs it under another program, as in `timeout 5 elect run ...`.
    #[must_use]
    pub fn under<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.prefix.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Returns a standard command, for uses that this builder has no method for: streams, directories, groups.
    pub fn command(&self) -> Command {
        let mut words = self.prefix.iter().cloned().chain([self.binary.clone().into()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).args(&self.words);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ELECT_") {
                command.env_remove(name);
            }
        }
        // The configuration of the user that runs the tests is hidden as well.
        command.env_remove("STATE_DIRECTORY").env("XDG_CONFIG_HOME", "/nonexistent");
        command.envs(self.environment.iter().cloned());
        command
    }

    /// Starts it. Its streams are read once it has ended.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    #[track_caller]
    pub fn spawn(&self) -> Running {
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::new(
            command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}")),
        )
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// Panics if it cannot be started, or takes longer than [`PATIENCE`] or than its own [`patience`](Self::patience).
    #[track_caller]
    pub fn run(&self) -> Ended {
        self.spawn().wait_for(self.patience)
    }
}

/// A running program. A drop kills it and waits for it, but does not affect its descendants.
#[derive(Debug)]
pub struct Running {
    child: Option<Child>,
}

/// The result of a program that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// All that it and its descendants wrote to stdout.
    pub stdout: String,
    /// All that it and its descendants wrote to stderr.
    pub stderr: String,
}

impl Running {
    /// Takes over a child.
    pub fn new(child: Child) -> Self {
        Self { child: Some(child) }
    }

    /// No program, as a placeholder for one that was moved out.
    pub const fn idle() -> Self {
        Self { child: None }
    }

    /// Returns the guardian of this `elect run`, if it has one.
    #[track_caller]
    pub fn guardian_if_any(&mut self) -> Option<i32> {
        let pid = self.pid();
        children(pid).into_iter().find(|&child| name(child).as_deref() == Some("elect-guardian"))
    }

    fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("present until wait or drop")
    }

    /// Returns its process id.
    pub fn pid(&mut self) -> i32 {
        self.child().id().cast_signed()
    }

    /// Sends a signal to it.
    ///
    /// # Panics
    /// Panics if it is gone.
    #[track_caller]
    pub fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("the program lives");
    }

    /// Waits for the guardian of this `elect run`, its child of that name, and returns its id.
    #[track_caller]
    pub fn guardian(&mut self) -> i32 {
        let pid = self.pid();
        eventually("a guardian", || {
            children(pid)
                .into_iter()
                .find(|&child| name(child).as_deref() == Some("elect-guardian"))
        })
    }

    /// Closes its streams at this end. From now on its writes go to closed pipes.
    pub fn close_streams(&mut self) {
        let child = self.child();
        (child.stdout, child.stderr) = (None, None);
    }

    /// Returns whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child().try_wait().is_ok_and(|status| status.is_none())
    }

    /// Waits for its end and for the end of its streams.
    ///
    /// # Panics
    /// Panics if that takes longer than [`PATIENCE`], with its output so far. The program is killed then.
    #[track_caller]
    pub fn wait(self) -> Ended {
        self.wait_for(PATIENCE)
    }

    /// Sends a signal to it, and waits for its end as [`Self::wait`] does.
    ///
    /// # Panics
    /// Panics if it is gone, or takes too long to end.
    #[track_caller]
    pub fn ended_by(mut self, signal: Signal) -> Ended {
        self.signal(signal);
        self.wait()
    }

    /// Waits for its end as [`Self::wait`] does, and returns the most memory that it was seen to have, in KiB.
    #[track_caller]
    pub fn wait_with_peak(mut self) -> (Ended, u64) {
        let (pid, mut peak) = (self.pid(), 0);
        while self.is_running() {
            peak = peak_memory(pid).map_or(peak, |now| peak.max(now));
            thread::sleep(Duration::from_millis(1));
        }
        (self.wait(), peak)
    }

    /// Waits for its end as [`Self::wait`] does, for as long as `patience`.
    ///
    /// # Panics
    /// Panics if that takes longer.
    #[track_caller]
    pub fn wait_for(mut self, patience: Duration) -> Ended {
        let mut child = self.child.take().expect("present until wait or drop");
        let stdout = child.stdout.take().map(Reader::start);
        let stderr = child.stderr.take().map(Reader::start);
        let pid = Pid::from_raw(child.id().cast_signed());
        self.child = Some(child);
        let status = until(patience, || self.child().try_wait().ok().flatten());
        let said = || stderr.as_ref().map(Reader::so_far).unwrap_or_default();
        let Some(status) = status else {
            panic!("waited in vain for the end of process {pid}; it said: {}", said());
        };
        self.child = None;
        let text = |reader: Option<Reader>| {
            // Descendants that should be dead may still hold them.
            let is_done = || reader.as_ref().is_none_or(|reader| reader.thread.is_finished());
            eventually(&format!("the end of the streams of {pid}"), || is_done().then_some(()));
            reader.map(|reader| reader.so_far()).unwrap_or_default()
        };
        Ended { status, stdout: text(stdout), stderr: text(stderr) }
    }
}

/// Reads a stream to its end.
struct Reader {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: thread::JoinHandle<()>,
}

impl Reader {
    fn start(mut stream: impl Read + Send + 'static) -> Self {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let thread = thread::spawn({
            let bytes = Arc::clone(&bytes);
            move || {
                let mut chunk = [0; 4096];
                loop {
                    match stream.read(&mut chunk) {
                        Ok(length @ 1..) => {
                            let mut bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
                            bytes.extend_from_slice(&chunk[..length]);
                        }
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        _ => break,
                    }
                }
            }
        });
        Self { bytes, thread }
    }

    fn so_far(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            if thread::panicking() {
                tell(child);
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Prints, for a failing test, the state of a program and its unread output.
fn tell(child: &mut Child) {
    let mut said = Vec::new();
    if let Some(stderr) = &mut child.stderr {
        let _ = fcntl(&*stderr, FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
        // A read beyond the available bytes is an error.
        let _ = stderr.read_to_end(&mut said);
    }
    let end = child.try_wait().ok().flatten().map(|status| status.to_string());
    let end = end.unwrap_or_else(|| "still running".to_owned());
    eprintln!("process {} ({end}) has said: {}", child.id(), String::from_utf8_lossy(&said));
}

impl Ended {
    /// Returns the exit code, or 128 + the signal, as a shell does.
    pub fn code(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Asserts the exit code.
    ///
    /// # Panics
    /// Panics with all output if it is another.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Asserts that stderr contains this text.
    ///
    /// # Panics
    /// Panics if it does not.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "{text:?} is not in stderr: {}", self.stderr);
        self
    }

    /// Asserts that the program wrote nothing at all.
    ///
    /// # Panics
    /// Panics if it wrote anything.
    #[track_caller]
    pub fn is_silent(self) -> Self {
        assert_eq!((self.stdout.as_str(), self.stderr.as_str()), ("", ""));
        self
    }

    /// Asserts that the program wrote nothing to stderr.
    ///
    /// # Panics
    /// Panics if it did.
    #[track_caller]
    pub fn is_quiet(self) -> Self {
        assert_eq!(self.stderr, "", "stdout: {}", self.stdout);
        self
    }

    /// Asserts the whole of stdout.
    ///
    /// # Panics
    /// Panics if it is another text.
    #[track_caller]
    pub fn prints(self, text: &str) -> Self {
        assert_eq!(self.stdout, text, "stderr: {}", self.stderr);
        self
    }
}

/// Calls `look` again and again until it returns a value: for events that only polling shows.
///
/// # Panics
/// Panics if there is none within [`PATIENCE`]. `what` names the event.
#[track_caller]
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look)
}

/// Does the same as [`eventually`], for an event that takes longer.
///
/// # Panics
/// Panics if there is none within `patience`.
#[track_caller]
pub fn within<T>(patience: Duration, what: &str, look: impl FnMut() -> Option<T>) -> T {
    let Some(found) = until(patience, look) else { panic!("waited in vain for {what}") };
    found
}

/// Calls `look` again and again for so long. Pauses grow with the time waited, and each lasts at least four times as
/// long as its look took, up to a tenth of a second. So an early event is seen early, and the waiting test leaves the
/// processors to the program. A look that takes longer waits itself.
fn until<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = now();
    loop {
        let looked = now();
        if let Some(found) = look() {
            return Some(found);
        }
        let (waited, took) = (now().since(began), now().since(looked));
        if waited >= patience {
            return None;
        }
        let pause = (waited / 50).clamp(Duration::from_millis(1), Duration::from_millis(20));
        thread::sleep(pause.max((took * 4).min(Duration::from_millis(100))));
    }
}

/// Returns the children of all threads of a process.
pub fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
        })
        .collect()
}

/// Returns a process's own name for itself, or `None` if it is gone.
pub fn name(pid: i32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_owned())
}

/// Returns whether a process exists and is no zombie.
pub fn is_alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Returns the state of a process as `ps` shows it: `R`, `S`, `T`, `Z`, ...
pub fn state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Returns the peak memory of a process in KiB, or `None` if it is gone.
pub fn peak_memory(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Waits until a file has a full line, and returns its content.
///
/// # Panics
/// Panics if it has none within [`PATIENCE`].
#[track_caller]
pub fn line_of(path: &Path) -> String {
    eventually(&format!("a line in {}", path.display()), || {
        fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'))
    })
}

/// Copies a program, so that it can be executed at once.
///
/// A child process writes the copy. A descriptor of this process that is open for writing would reach each child that
/// another thread forks meanwhile, and the kernel executes no file that a process may still write (`ETXTBSY`).
///
/// # Panics
/// Panics if it cannot be copied.
#[track_caller]
pub fn copy(program: &Path, copy: &Path) {
    let copied = Command::new("cp").arg("--").args([program, copy]).status().expect("cp starts");
    assert!(copied.success(), "no copy of {} at {}", program.display(), copy.display());
}

/// Does the same as [`copy()`], by a hard link where one can be made, as programs of tests are large.
///
/// # Panics
/// As [`copy()`].
#[track_caller]
pub fn link_or_copy(program: &Path, other: &Path) {
    fs::hard_link(program, other).unwrap_or_else(|_| copy(program, other));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_copy_can_be_executed_while_other_threads_fork() {
        let folder = tempfile::tempdir().expect("a folder");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        Command::new("true").status().expect("it starts");
                    }
                });
            }
            let executed = (0..100).map(|number| {
                let program = folder.path().join(number.to_string());
                copy(Path::new("/bin/true"), &program);
                Command::new(program).status()
            });
            let executed: Vec<_> = executed.collect();
            is_over.store(true, Ordering::Relaxed);
            for status in executed {
                status.expect("it is executed");
            }
        });
    }
}
