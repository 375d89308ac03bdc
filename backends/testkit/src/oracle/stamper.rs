use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::Flag;
use super::plan::{Plan, Stop};

/// A command whose whole tree stamps into an oracle's file. By default it goes on for ever, its children end
/// when it does, and it waits for them.
#[derive(Clone, Debug)]
pub struct Stamper(Plan);

impl Stamper {
    /// Creates a stamper of one process. `tag` (at most 32 bytes) names its runs.
    pub(super) fn new(map: &Path, tag: &str) -> Self {
        assert!(tag.len() <= super::map::TAG, "too long a tag: {tag}");
        Self(Plan::new(map, tag))
    }

    /// Sets the token, instead of the one in `ELECT_TOKEN`.
    #[must_use]
    pub fn token(mut self, token: u64) -> Self {
        self.0.token = Some(token);
        self
    }

    /// Adds so many forked children.
    #[must_use]
    pub fn children(mut self, children: u32) -> Self {
        self.0.children = children;
        self
    }

    /// Has each child head a line of so many processes: 2 for a grandchild.
    #[must_use]
    pub fn depth(mut self, depth: u32) -> Self {
        self.0.depth = depth;
        self
    }

    /// Adds processes that leave its session, by `setsid` and a double fork.
    #[must_use]
    pub fn daemons(mut self, daemons: u32) -> Self {
        self.0.daemons = daemons;
        self
    }

    /// Adds children that create process groups of their own.
    #[must_use]
    pub fn groups(mut self, groups: u32) -> Self {
        self.0.groups = groups;
        self
    }

    /// Adds children that create sessions of their own.
    #[must_use]
    pub fn sessions(mut self, sessions: u32) -> Self {
        self.0.sessions = sessions;
        self
    }

    /// Moves its main process to the process group of its parent.
    #[must_use]
    pub fn joining_its_parents_group(mut self) -> Self {
        self.0.joins = true;
        self
    }

    /// Closes all descriptors from 3 on at its start.
    #[must_use]
    pub fn closing_descriptors(mut self) -> Self {
        self.0.closes = true;
        self
    }

    /// Makes it not dumpable. A `/proc` with `hidepid` then shows it only to users that may trace any process.
    #[must_use]
    pub fn hiding(mut self) -> Self {
        self.0.hides = true;
        self
    }

    /// Ignores TERM, INT and HUP.
    #[must_use]
    pub fn deaf(mut self) -> Self {
        self.0.deaf = true;
        self
    }

    /// Has all its processes stop themselves after their first stamp.
    #[must_use]
    pub fn stopped(mut self) -> Self {
        self.0.stop = Stop::All;
        self
    }

    /// Has all its processes but the main one stop themselves after their first stamp.
    #[must_use]
    pub fn others_stopped(mut self) -> Self {
        self.0.stop = Stop::Others;
        self
    }

    /// Has it end after this long.
    #[must_use]
    pub fn lasting(mut self, span: Duration) -> Self {
        self.0.millis = Some(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Has it end when the flag is raised.
    #[must_use]
    pub fn until(mut self, flag: &Flag) -> Self {
        self.0.until = Some(flag.path().to_owned());
        self
    }

    /// Leaves all its other processes behind when it ends. They go on for ever.
    #[must_use]
    pub fn leaving(mut self) -> Self {
        self.0.leaves = true;
        self
    }

    /// Has it stamp only some times a second, so that there can be many of it. It stamps for the last time when
    /// TERM ends it.
    #[must_use]
    pub fn calm(mut self) -> Self {
        self.0.calm = true;
        self
    }

    /// Sets its exit code.
    #[must_use]
    pub fn code(mut self, code: u8) -> Self {
        self.0.code = code;
        self
    }

    /// Returns how many processes it has.
    pub fn processes(&self) -> usize {
        self.0.processes() as usize
    }

    /// Returns the program and its arguments.
    pub fn command(&self) -> Vec<OsString> {
        self.command_of(&std::env::current_exe().expect("the test's own executable"))
    }

    /// Returns the same with a copy of the program, for a user that cannot read the place where it was built.
    pub fn command_of(&self, program: &Path) -> Vec<OsString> {
        let words = self.0.words().into_iter().map(OsString::from);
        std::iter::once(program.into()).chain(words).collect()
    }
}
