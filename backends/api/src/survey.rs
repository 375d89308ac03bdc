use std::time::{Duration, SystemTime};

use crate::{Candidate, Token};

/// The state of an election at one moment, for people and programs to look at. It decides nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The leader, if there is one.
    pub leader: Option<Leader>,
    /// The waiting candidates, the next leader first.
    pub waiting: Vec<Entry>,
}

impl Survey {
    /// The greatest number of candidates in a survey. Every program with write access to a store may write many
    /// entries, and each one takes some kilobytes until it is shown.
    pub const MOST: usize = 1 << 15;

    /// All entries: the leader's, then those of the waiting candidates.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.leader.iter().map(|leader| &leader.entry).chain(&self.waiting)
    }

    /// All entries, mutable.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.leader.iter_mut().map(|leader| &mut leader.entry).chain(&mut self.waiting)
    }
}

/// The entry of a candidate. Its texts are [clean](crate::text), because stores make entries with [`Entry::new`] only.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The candidate.
    pub candidate: Candidate,
    /// The time of arrival, by the wall clock of the candidate's machine or of the store; for display only. `None` if
    /// it is not known.
    pub joined: Option<SystemTime>,
    /// The arrival number, which is less than the number of every later arrival. A candidate that gives its place up
    /// and queues again keeps it. 0 if the store does not queue.
    pub arrival: u64,
    /// Whether the candidate's process is stopped, as far as the store sees. A stopped process cannot answer, nor take
    /// its turn. Stores on other machines do not see this.
    pub is_stopped: bool,
    /// The processes of this machine that keep the lease although the candidate's own process is dead. Some may be
    /// invisible, so an empty list does not mean that there are none. `None` if the candidate's process lives, as far
    /// as the store sees, and always for stores on other machines.
    pub outlived_by: Option<Vec<u32>>,
}

impl Entry {
    /// The entry of a candidate whose process is not stopped, as far as the store sees.
    pub fn new(candidate: Candidate, joined: Option<SystemTime>, arrival: u64) -> Self {
        let candidate = candidate.cleaned();
        Self { candidate, joined, arrival, is_stopped: false, outlived_by: None }
    }
}

/// The entry of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The entry of the leader.
    pub entry: Entry,
    /// The fencing token of its leadership.
    pub token: Token,
    /// The start of its leadership, by the wall clock of its machine; for display only. `None` if it is not known.
    pub since: Option<SystemTime>,
    /// The remaining time of its lease without a renewal, as far as the store reports it. `None` if leases do not end
    /// by time.
    pub remaining: Option<Duration>,
    /// The time since the last renewal. `None` if the store does not show renewals to others, or leases do not end by
    /// time.
    pub renewed: Option<Renewed>,
    /// How the entry ends; `None` if the store does not report it.
    pub ending: Option<Ending>,
}

impl Leader {
    /// A leader of which no more is known.
    pub const fn new(entry: Entry, token: Token) -> Self {
        Self { entry, token, since: None, remaining: None, renewed: None, ending: None }
    }
}

/// How an entry ends if its holder does nothing more for it (law 13).
///
/// An entry that exists longer was renewed meanwhile, or the store itself has prolonged it. An entry that candidates
/// judge ([`Ending::Judged`]) is the exception: it is over while its mark stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By time. This long after the answer the store has removed the entry, or lets other candidates pass it by.
    Within(Duration),
    /// By time, as each observer judges (law 8). The entry is over if it still has the same mark this long after the
    /// answer that showed it. It stays in the store until another candidate takes it.
    Judged {
        /// The length of that time.
        within: Duration,
        /// A number that changes with each renewal.
        mark: u64,
        /// The time of the last renewal, by the wall clock of the holder; for display only. `None` if the store does
        /// not report it.
        renewed: Option<SystemTime>,
    },
    /// By time, but a survey does not show more. An [`Examination`](crate::Examination::longest_ending) gives the
    /// greatest time from the answer to the removal.
    Granted,
    /// With the last process of this machine that holds it, however long that process lives.
    WithItsProcess,
    /// Never: the entry stays until a person removes it.
    Never,
}

/// The time since the last renewal of a lease, or since its grant if it was not renewed. It is measured at the moment
/// of the store's answer, as exactly as the store reports it.
///
/// Only a renewal resets it. A store that counts anything else as a renewal says so in its documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The least that it can be.
    pub at_least: Duration,
    /// The most that it can be; [`Duration::MAX`] if the store sets no bound.
    pub at_most: Duration,
}
