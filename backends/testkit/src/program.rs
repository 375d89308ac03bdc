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

use crate::oracle::now;

/// The longest that anything may take before a test gives up; never what a test waits for.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A call of `elect`: binary, subcommand, flags, words, environment.
///
/// Every `ELECT_*` variable of the test's own environment is taken away, and the user's configuration file.
#[derive(Clone, Debug)]
pub struct Elect {
    binary: PathBuf,
    words: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    prefix: Vec<OsString>,
    patience: Duration,
}

impl Elect {
    /// `binary`, which is `env!("CARGO_BIN_EXE_elect")` in a test of the program, without arguments.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self {
            binary: binary.into(),
            words: Vec::new(),
            environment: Vec::new(),
            prefix: Vec::new(),
            patience: PATIENCE,
        }
    }

    /// For a call that takes longer than [`PATIENCE`] where all is well: how long [`run`](Self::run) waits for its end.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// With one more word.
    #[must_use]
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.words.push(word.as_ref().to_owned());
        self
    }

    /// With more words.
    #[must_use]
    pub fn args<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// With a line of shell as the command.
    #[must_use]
    pub fn sh(self, script: &str) -> Self {
        self.args(["sh", "-c", script])
    }

    /// With a variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Under another program, as in `timeout 5 elect run ...`.
    #[must_use]
    pub fn under<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.prefix.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// As a standard command, for what this builder does not know: streams, directories, groups.
    pub fn command(&self) -> Command {
        let mut words = self.prefix.iter().cloned().chain([self.binary.clone().into()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).args(&self.words);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ELECT_") {
                command.env_remove(name);
            }
        }
        // Nor the configuration of whoever runs the tests.
        command.env_remove("STATE_DIRECTORY").env("XDG_CONFIG_HOME", "/nonexistent");
        command.envs(self.environment.iter().cloned());
        command
    }

    /// Starts it, with streams that are read when it has ended.
    ///
    /// # Panics
    /// When it cannot be started.
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
    /// When it cannot be started, or takes longer than [`PATIENCE`], or than what was given as
    /// [`patience`](Self::patience).
    #[track_caller]
    pub fn run(&self) -> Ended {
        self.spawn().wait_for(self.patience)
    }
}

/// A program that runs. Dropping it kills it, and waits for it; its descendants are the program's affair.
#[derive(Debug)]
pub struct Running {
    child: Option<Child>,
}

/// What a program that has ended leaves to look at.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// All that it and its descendants wrote to stdout.
    pub stdout: String,
    /// All that it and its descendants wrote to stderr.
    pub stderr: String,
}

impl Running {
    /// Takes charge of a child.
    pub fn new(child: Child) -> Self {
        Self { child: Some(child) }
    }

    /// No program: what is left in the place of one that was taken out.
    pub const fn idle() -> Self {
        Self { child: None }
    }

    /// The guardian of this `elect run`, if it has one.
    #[track_caller]
    pub fn guardian_if_any(&mut self) -> Option<i32> {
        let pid = self.pid();
        children(pid).into_iter().find(|&child| name(child).as_deref() == Some("elect-guardian"))
    }

    fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("present until wait or drop")
    }

    /// Its process id.
    pub fn pid(&mut self) -> i32 {
        self.child().id().cast_signed()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// When it is gone.
    #[track_caller]
    pub fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("the program lives");
    }

    /// The guardian of this `elect run`: its child of that name. Waits until there is one.
    #[track_caller]
    pub fn guardian(&mut self) -> i32 {
        let pid = self.pid();
        eventually("a guardian", || {
            children(pid)
                .into_iter()
                .find(|&child| name(child).as_deref() == Some("elect-guardian"))
        })
    }

    /// Lets go of its streams: who writes to them writes to closed pipes from now on.
    pub fn close_streams(&mut self) {
        let child = self.child();
        (child.stdout, child.stderr) = (None, None);
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.child().try_wait().is_ok_and(|status| status.is_none())
    }

    /// Waits for its end and for the end of its streams.
    ///
    /// # Panics
    /// When that takes longer than [`PATIENCE`], with what it has said so far; the program is killed then.
    #[track_caller]
    pub fn wait(self) -> Ended {
        self.wait_for(PATIENCE)
    }

    #[track_caller]
    fn wait_for(mut self, patience: Duration) -> Ended {
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
            // Descendants that were to be dead may have them.
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

/// Tells, of a test that fails, what became of a program and what it has said that nobody has read.
fn tell(child: &mut Child) {
    let mut said = Vec::new();
    if let Some(stderr) = &mut child.stderr {
        let _ = fcntl(&*stderr, FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
        // The end of what there is reads as an error.
        let _ = stderr.read_to_end(&mut said);
    }
    let end = child.try_wait().ok().flatten().map(|status| status.to_string());
    let end = end.unwrap_or_else(|| "still running".to_owned());
    eprintln!("process {} ({end}) has said: {}", child.id(), String::from_utf8_lossy(&said));
}

impl Ended {
    /// The exit code, or 128 + the signal, as a shell has it.
    pub fn code(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Asserts the exit code.
    ///
    /// # Panics
    /// When it is another; with all that was written.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Asserts that stderr has this text in it.
    ///
    /// # Panics
    /// When it has not.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "{text:?} is not in stderr: {}", self.stderr);
        self
    }

    /// Asserts that nothing at all was written.
    ///
    /// # Panics
    /// When something was.
    #[track_caller]
    pub fn is_silent(self) -> Self {
        assert_eq!((self.stdout.as_str(), self.stderr.as_str()), ("", ""));
        self
    }

    /// Asserts that nothing was written to stderr.
    ///
    /// # Panics
    /// When something was.
    #[track_caller]
    pub fn is_quiet(self) -> Self {
        assert_eq!(self.stderr, "", "stdout: {}", self.stdout);
        self
    }

    /// Asserts all of stdout.
    ///
    /// # Panics
    /// When it is something else.
    #[track_caller]
    pub fn prints(self, text: &str) -> Self {
        assert_eq!(self.stdout, text, "stderr: {}", self.stderr);
        self
    }
}

/// Looks again and again until there is something to see: an event that only polling shows.
///
/// # Panics
/// When it does not come within [`PATIENCE`]; `what` names it.
#[track_caller]
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    let Some(found) = until(PATIENCE, look) else { panic!("waited in vain for {what}") };
    found
}

/// Looks again and again for so long. The pauses grow with what was waited already, and each is as long as its look
/// took: what comes soon is seen soon, and who waits leaves the processors to those that are waited for.
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
        thread::sleep(pause.max(took));
    }
}

/// The children of all threads of a process.
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

/// A process's own name for itself; `None` if it is gone.
pub fn name(pid: i32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_owned())
}

/// Whether a process exists and is no zombie.
pub fn is_alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// The state of a process as `ps` shows it: `R`, `S`, `T`, `Z`, ...
pub fn state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// The most that a process has had in memory, in KiB; `None` if it is gone.
pub fn peak_memory(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// The content of a file once it has a full line.
///
/// # Panics
/// When it gets none within [`PATIENCE`].
#[track_caller]
pub fn line_of(path: &Path) -> String {
    eventually(&format!("a line in {}", path.display()), || {
        fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'))
    })
}
