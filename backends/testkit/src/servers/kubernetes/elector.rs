//! A program of somebody else's in an election: client-go leads it, as in its own example.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use elect_api::Boottime;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::super::{Place, Process};
use super::programs::program;
use crate::program::eventually;

/// Which client-go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientGo {
    /// 0.32: judges a lease by the duration that its holder wrote.
    #[default]
    Current,
    /// 0.20: judges a lease by a duration of its own, as all did before 0.27.
    Old,
}

/// How a Go program takes part.
#[derive(Clone, Debug)]
pub struct GoSetup {
    /// Which client-go.
    pub client: ClientGo,
    /// Where the API server is, and who it is.
    pub kubeconfig: PathBuf,
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub lease: String,
    /// `LeaseDuration`.
    pub duration: Duration,
    /// `RenewDeadline`: less than `LeaseDuration`.
    pub deadline: Duration,
    /// `RetryPeriod`: less than `RenewDeadline` / 1.2.
    pub retry: Duration,
}

impl GoSetup {
    /// With the durations that client-go has by default: 15 s, 10 s, 2 s.
    pub fn new(kubeconfig: &Path, namespace: &str, lease: &str) -> Self {
        Self {
            client: ClientGo::default(),
            kubeconfig: kubeconfig.to_owned(),
            namespace: namespace.to_owned(),
            lease: lease.to_owned(),
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }

    fn words(&self, id: &str) -> Vec<String> {
        let name = match self.client {
            ClientGo::Current => "elector",
            ClientGo::Old => "elector-0.20",
        };
        let time = |flag: &str, time: Duration| format!("-{flag}={}ms", time.as_millis());
        [
            program(name).display().to_string(),
            format!("-kubeconfig={}", self.kubeconfig.display()),
            format!("-lease-lock-namespace={}", self.namespace),
            format!("-lease-lock-name={}", self.lease),
            format!("-id={id}"),
            time("lease-duration", self.duration),
            time("renew-deadline", self.deadline),
            time("retry-period", self.retry),
            "--".to_owned(),
        ]
        .into()
    }
}

/// Something that a Go program did, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoEvent {
    /// When.
    pub at: Boottime,
    /// `leads`, `runs PID`, `stopped` (the command), `lost`, `sees IDENTITY`, `is told to end`.
    pub what: String,
}

/// A running Go program. It runs a command while it leads, with `ELECT_TOKEN`, and ends with it: both die when this is
/// dropped.
#[derive(Debug)]
pub struct GoElector {
    process: Process,
    _folder: TempDir,
}

impl GoElector {
    /// Starts it, here.
    ///
    /// # Panics
    /// When it is missing, or a word is not UTF-8.
    #[track_caller]
    pub fn start(setup: &GoSetup, id: &str, command: impl IntoIterator<Item = OsString>) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let mut words = setup.words(id);
        words.extend(command.into_iter().map(|word| word.into_string().expect("UTF-8")));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let process = Process::start(&words, &Place::here(), &folder.path().join("log"), "");
        Self { process, _folder: folder }
    }

    /// The program, to be asked to end (`SIGTERM`: it ends its command, gives the lease up and exits), or killed.
    pub const fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// What it has done so far.
    pub fn events(&self) -> Vec<GoEvent> {
        // klog writes lines of its own, which begin with a letter.
        let event = |line: &str| {
            let (at, what) = line.split_once(' ')?;
            let at = Boottime::from_boot(Duration::from_nanos(at.parse().ok()?));
            Some(GoEvent { at, what: what.to_owned() })
        };
        self.process.log().lines().filter_map(event).collect()
    }

    /// When it did this for the first time. Waits for it.
    ///
    /// # Panics
    /// When that takes too long, or it ends before.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str) -> Boottime {
        eventually(what, || {
            let lives = self.process.is_alive();
            let done = self.events().into_iter().find(|event| event.what == what);
            assert!(lives || done.is_some(), "it has ended: {}", self.process.log());
            Some(done?.at)
        })
    }

    /// Sends a signal to the program and to its command.
    pub fn signal_all(&self, signal: Signal) {
        let pid = |event: GoEvent| event.what.strip_prefix("runs ")?.parse().ok();
        let command = self.events().into_iter().find_map(pid);
        for pid in command.into_iter().chain([self.process.pid()]) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}
