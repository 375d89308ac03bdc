//! The program under test, started from outside as its users start it.

mod processes;
mod wait;

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub use self::processes::{children, copy, is_alive, link_or_copy, name, peak_memory, state};
use self::wait::until;
pub use self::wait::{PATIENCE, eventually, line_of, within};

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
