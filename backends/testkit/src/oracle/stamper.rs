use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::Flag;
use super::plan::{Plan, Stop};

/// A command whose whole tree stamps into an oracle's file. It goes on for ever unless told otherwise;
/// by default its children end as it does, and it waits for them.
#[derive(Clone, Debug)]
pub struct Stamper(Plan);

impl Stamper {
    /// One process; `tag` (at most 32 bytes) names its runs.
    pub(super) fn new(map: &Path, tag: &str) -> Self {
        assert!(tag.len() <= super::map::TAG, "too long a tag: {tag}");
        Self(Plan::new(map, tag))
    }

    /// Instead of the one that `ELECT_TOKEN` says.
    #[must_use]
    pub fn token(mut self, token: u64) -> Self {
        self.0.token = Some(token);
        self
    }

    /// With forked children.
    #[must_use]
    pub fn children(mut self, children: u32) -> Self {
        self.0.children = children;
        self
    }

    /// Each child heads a line of so many processes: 2 for a grandchild.
    #[must_use]
    pub fn depth(mut self, depth: u32) -> Self {
        self.0.depth = depth;
        self
    }

    /// With processes that leave its session, by `setsid` and a double fork.
    #[must_use]
    pub fn daemons(mut self, daemons: u32) -> Self {
        self.0.daemons = daemons;
        self
    }

    /// With children that make process groups of their own.
    #[must_use]
    pub fn groups(mut self, groups: u32) -> Self {
        self.0.groups = groups;
        self
    }

    /// With children that make sessions of their own.
    #[must_use]
    pub fn sessions(mut self, sessions: u32) -> Self {
        self.0.sessions = sessions;
        self
    }

    /// Its main process moves to the process group of its parent.
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

    /// Is not dumpable, so that a `/proc` with `hidepid` shows it to nobody but who may trace any process.
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

    /// All of its processes stop themselves after their first stamp.
    #[must_use]
    pub fn stopped(mut self) -> Self {
        self.0.stop = Stop::All;
        self
    }

    /// All of its processes but the main one stop themselves after their first stamp.
    #[must_use]
    pub fn others_stopped(mut self) -> Self {
        self.0.stop = Stop::Others;
        self
    }

    /// Ends after this long.
    #[must_use]
    pub fn lasting(mut self, span: Duration) -> Self {
        self.0.millis = Some(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Ends when the flag is raised.
    #[must_use]
    pub fn until(mut self, flag: &Flag) -> Self {
        self.0.until = Some(flag.path().to_owned());
        self
    }

    /// Leaves all of its other processes behind when it ends; they go on for ever.
    #[must_use]
    pub fn leaving(mut self) -> Self {
        self.0.leaves = true;
        self
    }

    /// Stamps only some times in a second, so that there can be many of it, and for the last time after TERM has
    /// come, of which it ends.
    #[must_use]
    pub fn calm(mut self) -> Self {
        self.0.calm = true;
        self
    }

    /// Ends with this code.
    #[must_use]
    pub fn code(mut self, code: u8) -> Self {
        self.0.code = code;
        self
    }

    /// How many processes it has.
    pub fn processes(&self) -> usize {
        self.0.processes() as usize
    }

    /// The program and its arguments.
    pub fn command(&self) -> Vec<OsString> {
        self.command_of(&std::env::current_exe().expect("the test's own executable"))
    }

    /// The same with a copy of the program, for a user who may not read where it was built.
    pub fn command_of(&self, program: &Path) -> Vec<OsString> {
        let words = self.0.words().into_iter().map(OsString::from);
        std::iter::once(program.into()).chain(words).collect()
    }
}
