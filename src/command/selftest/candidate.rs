use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::Context;
use elect_api::ElectionName;
use nix::sys::signal::Signal;

use super::scratch::Scratch;
use super::stamps::Stamps;
use super::{OURSELVES, SUBCOMMAND, processes};
use crate::config::BackendUrl;

/// An `elect run` of a tree that stamps. Dropping it kills it, and its guardian the tree.
pub(super) struct Candidate {
    child: Child,
    log: PathBuf,
    /// Its guardian, once it is known.
    guardian: Option<i32>,
}

/// What a candidate runs, and how.
#[derive(Clone, Copy)]
pub(super) struct Role<'a> {
    /// What it is called in the stamps.
    pub(super) tag: &'a str,
    /// What kind of tree it runs, as `elect stamp` has it.
    pub(super) tree: &'a str,
    /// How many times as long as usual its leases are.
    pub(super) leases: u32,
    /// Flags of `elect run`, besides those that all have.
    pub(super) flags: &'a [&'a str],
    /// The way to the store.
    pub(super) backend: &'a BackendUrl,
}

impl Candidate {
    pub(super) fn start(
        scratch: &Scratch<'_>,
        election: &ElectionName,
        stamps: &Stamps,
        role: Role<'_>,
    ) -> anyhow::Result<Self> {
        let Role { tag, tree, leases, flags, backend } = role;
        let log = stamps.folder().join(format!("{tag}-log"));
        let said = File::create(&log).with_context(|| format!("cannot make {}", log.display()))?;
        let mut command = Command::new(OURSELVES);
        command.arg0("elect").args(["run", "-e", election.as_str(), "--id", tag]).args(flags);
        if let Some(ttl) = scratch.ttl {
            let ttl = humantime::format_duration(ttl * leases).to_string();
            command.args(["--ttl", &ttl.replace(' ', "")]);
        }
        command.args(["--", OURSELVES, SUBCOMMAND]).arg(stamps.folder()).args([tag, tree]);
        command.env_clear().envs(scratch.environment(backend));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        let child = scratch
            .inherited
            .spawn_bound(&mut command)
            .context("cannot start elect run (/proc/self/exe)")?;
        Ok(Self { child, log, guardian: None })
    }

    /// The process id of elect itself.
    pub(super) fn wrapper(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// The process id of its guardian.
    ///
    /// # Errors
    /// When `/proc` shows none.
    pub(super) fn guardian(&mut self) -> anyhow::Result<i32> {
        let wrapper = self.wrapper();
        self.guardian = self.guardian.or_else(|| processes::guardian_of(wrapper));
        self.guardian.context("/proc does not show the guardian of an elect run")
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The last that it said on stderr.
    pub(super) fn said(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let last = text.lines().next_back().unwrap_or("nothing was said");
        last.strip_prefix("elect: ").unwrap_or(last).to_owned()
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        // In this order: the guardian outlives its wrapper, and nobody waits for its number before us.
        if let Some(guardian) = self.guardian.filter(|_| self.ended().is_none()) {
            processes::signal(guardian, Signal::SIGCONT);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
