use std::fmt;

use super::children;

/// How surely all descendants of the command can be killed, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// Every descendant comes back to the guardian when its parent dies, and is found and killed,
    /// whatever its session and group. Not held: set-uid programs when elect is not root, what enters
    /// a pid namespace that the tree did not make (its orphans go to the init there), and a `setsid`
    /// escaper when wrapper *and* guardian are killed.
    Scan,
    /// The command's process group is killed, while the command itself lives: after that its number
    /// may be another's. A descendant that left it, or outlives the command, cannot be found, as `/proc`
    /// does not list children; leadership is not released before it has ended by itself.
    Group,
}

impl Containment {
    /// The best that this machine offers without any change that the command could see.
    pub fn detect() -> Self {
        if children::are_listed() { Self::Scan } else { Self::Group }
    }

    /// The name for flags, logs and status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::Group => "group",
        }
    }
}

impl fmt::Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
