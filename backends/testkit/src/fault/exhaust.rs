//! Limits on the resources of a process.

use std::vec;

/// Hard limits that a program starts with, for [`Elect::under`](crate::program::Elect::under). The
/// program cannot raise them again. Needs `prlimit` of util-linux.
///
/// ```
/// use elect_testkit::fault::Limits;
///
/// let words: Vec<_> = Limits::new().descriptors(10).processes(3).into_iter().collect();
/// assert_eq!(words, ["prlimit", "--nofile=10", "--nproc=3"]);
/// ```
#[derive(Clone, Debug)]
pub struct Limits(Vec<String>);

impl Limits {
    /// Starts without a limit.
    #[expect(clippy::new_without_default, reason = "what would a default limit be?")]
    pub fn new() -> Self {
        Self(vec!["prlimit".into()])
    }

    fn with(mut self, flag: &str, limit: u64) -> Self {
        self.0.push(format!("--{flag}={limit}"));
        self
    }

    /// Allows `count` descriptors at a time. 3 leaves only the standard streams.
    pub fn descriptors(self, count: u64) -> Self {
        self.with("nofile", count)
    }

    /// Allows `count` processes and threads of the program's user at a time. Those that the user runs
    /// elsewhere count, too. The kernel does not hold root to this limit.
    pub fn processes(self, count: u64) -> Self {
        self.with("nproc", count)
    }

    /// Allows `bytes` bytes in each file that the program writes. A program that writes more gets
    /// `SIGXFSZ`, or `EFBIG` if it ignores that signal.
    pub fn file_size(self, bytes: u64) -> Self {
        self.with("fsize", bytes)
    }

    /// Allows `bytes` bytes of address space.
    pub fn memory(self, bytes: u64) -> Self {
        self.with("as", bytes)
    }
}

impl IntoIterator for Limits {
    type Item = String;
    type IntoIter = vec::IntoIter<String>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
