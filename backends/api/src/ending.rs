use std::time::Duration;

/// How an entry ends whose holder does nothing for it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By time: so long after the answer the store has removed it, or lets others pass it by.
    Within(Duration),
    /// With the last process of this machine that holds it, however long that lives.
    WithItsProcess,
    /// Not at all: it is there until somebody removes it.
    Never,
}
