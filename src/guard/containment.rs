use std::fmt;

/// How surely all descendants of the command can be killed, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Containment {
    /// The command's process group is killed, while the command itself lives: after that its number
    /// may be another's. A descendant that left it, or outlives the command, is not found; leadership is
    /// not released before it has ended by itself.
    Group,
    /// Every descendant comes back to the guardian when its parent dies, and is found and killed,
    /// whatever its session and group. Not held: set-uid programs when elect is not root, what enters
    /// a pid namespace that the tree did not make (its orphans go to the init there), and a `setsid`
    /// escaper when wrapper *and* guardian are killed.
    Scan,
    /// As `Scan`, in a cgroup of the command's own, which the kernel kills as a whole: set-uid programs,
    /// too, and whatever was moved there.
    Cgroup,
    /// A pid namespace of the command's own. The kernel kills all that is in it when its first process
    /// dies, and that dies with the guardian: nothing escapes, whoever is killed or stopped.
    Pidns,
}

impl Containment {
    /// All there are, the best first.
    pub const ALL: [Self; 4] = [Self::Pidns, Self::Cgroup, Self::Scan, Self::Group];

    /// The name for flags, logs and status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pidns => "pidns",
            Self::Cgroup => "cgroup",
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
