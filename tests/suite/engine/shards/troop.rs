use std::collections::BTreeMap;
use std::ffi::OsString;

use super::{Arena, Picture};
use crate::prelude::*;

/// The members of the election "job", by their labels. The command of each shard stamps.
pub(super) struct Troop<'a> {
    pub(super) arena: &'a Arena,
    pub(super) oracle: Oracle,
    shards: usize,
    ttl: u32,
    members: BTreeMap<String, Running>,
}

impl<'a> Troop<'a> {
    pub(super) fn new(arena: &'a Arena, shards: usize) -> Self {
        let oracle = Oracle::new();
        Self { arena, oracle, shards, ttl: 900, members: BTreeMap::new() }
    }

    /// With leases of so many seconds, where they end by time.
    pub(super) fn ttl(mut self, seconds: u32) -> Self {
        self.ttl = seconds;
        self
    }

    /// A member to be, without a command.
    pub(super) fn member(&self, label: &str) -> Elect {
        let shards = self.shards.to_string();
        let run = self.arena.elect("run").args(["-e", "job", "--id", label, "--shards", &shards]);
        if self.arena.has_server() { run.args(["--ttl", &self.ttl.to_string()]) } else { run }
    }

    /// Returns the command of each shard of a member.
    pub(super) fn stamper(&self, label: &str) -> Stamper {
        self.oracle.stamper(label).calm()
    }

    pub(super) fn join(&mut self, label: &str) {
        let words = self.stamper(label).command();
        self.join_with(label, |it| it, words);
    }

    /// The same with more flags, and another command.
    pub(super) fn join_with(
        &mut self,
        label: &str,
        flags: impl FnOnce(Elect) -> Elect,
        command: impl IntoIterator<Item = OsString>,
    ) {
        let running = flags(self.member(label)).arg("--").args(command).spawn();
        self.members.insert(label.to_owned(), running);
    }

    pub(super) fn running(&mut self, label: &str) -> &mut Running {
        self.members.get_mut(label).expect("a member")
    }

    #[track_caller]
    pub(super) fn signal(&mut self, label: &str, signal: Signal) {
        self.running(label).signal(signal);
    }

    /// Waits for a member that ends by itself, and returns its output and exit code.
    #[track_caller]
    pub(super) fn ended(&mut self, label: &str) -> Ended {
        self.members.remove(label).expect("a member").wait()
    }

    /// Returns the present picture.
    pub(super) fn picture(&self) -> Picture {
        Picture::of(&self.oracle.verdict().runs)
    }

    /// Waits until a picture is so, for as long as there is another one each time.
    #[track_caller]
    pub(super) fn wait_until(&self, what: &str, is_so: impl Fn(&Picture) -> bool) -> Picture {
        let mut last = self.picture();
        while !is_so(&last) {
            last = eventually(&format!("{what}, beyond {last:?}"), || {
                Some(self.picture()).filter(|now| *now != last)
            });
        }
        last
    }

    /// Waits until all shards are spread evenly over exactly these, and nothing moves any more.
    #[track_caller]
    pub(super) fn wait_for_even(&self, labels: &[&str]) -> Picture {
        let what = format!("all shards to be spread over {labels:?}");
        self.wait_until(&what, |picture| picture.is_even(self.shards, labels))
    }

    /// Returns the number of shards that have to move, if all are spread evenly over these members.
    pub(super) fn owed(&self, picture: &Picture, labels: &[&str]) -> usize {
        picture.owed(self.shards, labels)
    }
}
