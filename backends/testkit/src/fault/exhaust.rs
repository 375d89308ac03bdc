//! What a process may have, and no more.

use std::vec;

/// Limits that a program starts with, for [`Elect::under`](crate::program::Elect::under): hard ones,
/// which it cannot raise again. Takes `prlimit` of util-linux.
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
    /// None so far.
    #[expect(clippy::new_without_default, reason = "what would a default limit be?")]
    pub fn new() -> Self {
        Self(vec!["prlimit".into()])
    }

    fn with(mut self, flag: &str, limit: u64) -> Self {
        self.0.push(format!("--{flag}={limit}"));
        self
    }

    /// So many descriptors at a time: 3 leaves the standard streams.
    pub fn descriptors(self, count: u64) -> Self {
        self.with("nofile", count)
    }

    /// So many processes and threads of its user at a time, those of others included. The kernel does
    /// not hold root to it.
    pub fn processes(self, count: u64) -> Self {
        self.with("nproc", count)
    }

    /// So many bytes in any file that it writes. Who writes more gets `SIGXFSZ`, or `EFBIG` if it
    /// ignores that.
    pub fn file_size(self, bytes: u64) -> Self {
        self.with("fsize", bytes)
    }

    /// So many bytes of address space.
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
