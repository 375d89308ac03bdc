//! The orders of a stamper, as its command line has them.

use std::path::{Path, PathBuf};

/// The first word, which tells a stamper from a test executable that has tests to run.
pub(super) const FIRST_WORD: &str = "elect-stamper";

/// The processes that stop themselves after their first stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Nobody,
    /// All but the main process.
    Others,
    All,
}

/// The behaviour of a stamper, and the shape of its tree.
#[expect(clippy::struct_excessive_bools, reason = "each is one switch of the command line")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) map: PathBuf,
    pub(super) tag: String,
    /// The token to use instead of `ELECT_TOKEN`.
    pub(super) token: Option<u64>,
    /// The number of forked children. Each heads a line of `depth` processes, itself included.
    pub(super) children: u32,
    pub(super) depth: u32,
    /// The number of descendants that leave the session by `setsid` and a double fork.
    pub(super) daemons: u32,
    /// The number of children in a process group of their own.
    pub(super) groups: u32,
    /// The number of children in a session of their own.
    pub(super) sessions: u32,
    /// Whether the main process moves to its parent's process group.
    pub(super) joins: bool,
    pub(super) closes: bool,
    /// Whether it is not dumpable, so that a `/proc` may hide it.
    pub(super) hides: bool,
    pub(super) deaf: bool,
    pub(super) stop: Stop,
    /// The end of the stamper: after this many milliseconds, once this file exists, or never.
    pub(super) millis: Option<u64>,
    pub(super) until: Option<PathBuf>,
    /// Whether the other processes stay when the main process ends.
    pub(super) leaves: bool,
    /// Whether it stamps seldom, and once more as TERM ends it.
    pub(super) calm: bool,
    pub(super) code: u8,
}

impl Plan {
    pub(super) fn new(map: &Path, tag: &str) -> Self {
        Self {
            map: map.to_owned(),
            tag: tag.to_owned(),
            token: None,
            children: 0,
            depth: 1,
            daemons: 0,
            groups: 0,
            sessions: 0,
            joins: false,
            closes: false,
            hides: false,
            deaf: false,
            stop: Stop::Nobody,
            millis: None,
            until: None,
            leaves: false,
            calm: false,
            code: 0,
        }
    }

    /// Returns how many processes the tree has.
    pub(super) const fn processes(&self) -> u32 {
        1 + self.children * self.depth + self.daemons + self.groups + self.sessions
    }

    /// Returns the words of the command line after the program.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = vec![FIRST_WORD.to_owned()];
        let mut say = |key: &str, value: &str| words.push(format!("{key}={value}"));
        say("map", &self.map.to_string_lossy());
        say("tag", &self.tag);
        for (key, number) in [
            ("children", self.children),
            ("depth", self.depth),
            ("daemons", self.daemons),
            ("groups", self.groups),
            ("sessions", self.sessions),
            ("code", self.code.into()),
        ] {
            say(key, &number.to_string());
        }
        for (key, number) in [("token", self.token), ("millis", self.millis)] {
            if let Some(number) = number {
                say(key, &number.to_string());
            }
        }
        if let Some(until) = &self.until {
            say("until", &until.to_string_lossy());
        }
        for (key, is) in [
            ("joins", self.joins),
            ("closes", self.closes),
            ("hides", self.hides),
            ("deaf", self.deaf),
            ("leaves", self.leaves),
            ("calm", self.calm),
        ] {
            if is {
                say(key, "1");
            }
        }
        match self.stop {
            Stop::Nobody => {}
            Stop::Others => say("stop", "others"),
            Stop::All => say("stop", "all"),
        }
        words
    }

    /// Parses what [`Plan::words`] returns. Returns `None` if it is no stamper's command line.
    pub(super) fn parse<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Self> {
        words.next().filter(|&word| word == FIRST_WORD)?;
        let mut plan = Self::new(Path::new(""), "");
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            let number = value.parse::<u64>().ok();
            let small = number.and_then(|number| u32::try_from(number).ok());
            match key {
                "map" => plan.map = value.into(),
                "tag" => value.clone_into(&mut plan.tag),
                "token" => plan.token = number,
                "children" => plan.children = small?,
                "depth" => plan.depth = small?,
                "daemons" => plan.daemons = small?,
                "groups" => plan.groups = small?,
                "sessions" => plan.sessions = small?,
                "joins" => plan.joins = true,
                "closes" => plan.closes = true,
                "hides" => plan.hides = true,
                "deaf" => plan.deaf = true,
                "leaves" => plan.leaves = true,
                "calm" => plan.calm = true,
                "stop" => plan.stop = if value == "all" { Stop::All } else { Stop::Others },
                "millis" => plan.millis = number,
                "until" => plan.until = Some(value.into()),
                "code" => plan.code = value.parse().ok()?,
                _ => return None,
            }
        }
        Some(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_the_command_line() {
        let mut plan = Plan::new(Path::new("/dev/shm/x y"), "a=b");
        for _ in 0..2 {
            let words = plan.words();
            assert_eq!(Plan::parse(words.iter().map(String::as_str)).as_ref(), Some(&plan));
            plan = Plan {
                token: Some(u64::MAX),
                children: 3,
                depth: 2,
                daemons: 1,
                groups: 4,
                sessions: 2,
                joins: true,
                closes: true,
                hides: true,
                deaf: true,
                stop: Stop::All,
                millis: Some(7),
                until: Some("/tmp/flag".into()),
                leaves: true,
                calm: true,
                code: 255,
                ..plan
            };
        }
        assert_eq!(plan.processes(), 14);
        assert_eq!(Plan::parse(["--nocapture"].into_iter()), None);
    }
}
