//! A Go program that takes part in an election through client-go, as in client-go's own example.

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

/// The version of client-go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientGo {
    /// 0.32, which judges a lease by the duration that its holder wrote.
    #[default]
    Current,
    /// 0.20, which judges a lease by its own duration, as all versions before 0.27 did.
    Old,
}

/// The setup of a Go candidate.
#[derive(Clone, Debug)]
pub struct GoSetup {
    /// The version of client-go.
    pub client: ClientGo,
    /// The configuration with the API server's address and the candidate's user.
    pub kubeconfig: PathBuf,
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub lease: String,
    /// `LeaseDuration`.
    pub duration: Duration,
    /// `RenewDeadline`, which is less than `LeaseDuration`.
    pub deadline: Duration,
    /// `RetryPeriod`, which is less than `RenewDeadline` / 1.2.
    pub retry: Duration,
}

impl GoSetup {
    /// Creates a setup with client-go's default durations: 15 s, 10 s, 2 s.
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

/// An event that a Go program has reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoEvent {
    /// The time of the event.
    pub at: Boottime,
    /// `leads`, `runs PID`, `stopped` (the command), `lost`, `sees IDENTITY` or `is told to end`.
    pub what: String,
}

/// A running Go program. It runs a command while it leads, with `ELECT_TOKEN`, and ends with it. A drop kills both.
#[derive(Debug)]
pub struct GoElector {
    process: Process,
    _folder: TempDir,
}

impl GoElector {
    /// Starts the program on this machine.
    ///
    /// # Panics
    /// Panics if the program is missing, or if a word is not UTF-8.
    #[track_caller]
    pub fn start(setup: &GoSetup, id: &str, command: impl IntoIterator<Item = OsString>) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let mut words = setup.words(id);
        words.extend(command.into_iter().map(|word| word.into_string().expect("UTF-8")));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let process = Process::start(&words, &Place::here(), &folder.path().join("log"), "");
        Self { process, _folder: folder }
    }

    /// Returns its process, to end or kill it. At `SIGTERM` the program ends its command, gives up the lease and
    /// exits.
    pub const fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Returns its events so far.
    pub fn events(&self) -> Vec<GoEvent> {
        // klog also writes lines, which begin with a letter.
        let event = |line: &str| {
            let (at, what) = line.split_once(' ')?;
            let at = Boottime::from_boot(Duration::from_nanos(at.parse().ok()?));
            Some(GoEvent { at, what: what.to_owned() })
        };
        self.process.log().lines().filter_map(event).collect()
    }

    /// Waits for this event, and returns when it happened first.
    ///
    /// # Panics
    /// Panics if that takes too long, or if the program ends before.
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
