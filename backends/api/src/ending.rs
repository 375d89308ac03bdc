use std::time::Duration;

/// How an entry ends whose holder does nothing for it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By time: so long after the answer the store has removed it, or lets others pass it by.
    Within(Duration),
    /// By time, as whoever looks judges (law 8): it is over if it has the same mark so long after the answer that showed it.
    /// It is there on until another takes it.
    Judged {
        /// For how long.
        within: Duration,
        /// Another one after each renewal.
        mark: u64,
    },
    /// With the last process of this machine that holds it, however long that lives.
    WithItsProcess,
    /// Not at all: it is there until somebody removes it.
    Never,
}
