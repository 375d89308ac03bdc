use std::time::{Duration, SystemTime};

use crate::{Candidate, Token};

/// An election at one moment, for people and programs to look at; never for a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Who leads, if anybody does.
    pub leader: Option<Leader>,
    /// Who waits, the next to lead first.
    pub waiting: Vec<Entry>,
}

impl Survey {
    /// How many candidates a survey has at most: whoever may write to a store may write as many as it takes, and each
    /// takes some kilobytes until it is shown.
    pub const MOST: usize = 1 << 15;

    /// All who are there: who leads, then who waits.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.leader.iter().map(|leader| &leader.entry).chain(&self.waiting)
    }

    /// The same, to be changed.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.leader.iter_mut().map(|leader| &mut leader.entry).chain(&mut self.waiting)
    }
}

/// The entry of a candidate. Its texts are [clean](crate::text): a store makes it with [`Entry::new`] only.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Who it is.
    pub candidate: Candidate,
    /// When it arrived, by the wall clock of its machine or of the store; for the eye only. `None` if
    /// that is not known.
    pub joined: Option<SystemTime>,
    /// The number of its arrival, less than that of all who arrived later. Whoever has given its place up since
    /// to come again keeps it. 0 where the store does not queue.
    pub arrival: u64,
    /// Whether its process stands still, as far as the store sees: it cannot answer anybody, nor take its turn.
    /// Stores on other machines do not see it.
    pub is_stopped: bool,
    /// The processes of this machine that keep its lease although its own process is dead, as far as they are to be
    /// seen: none is not to say that there are none. `None` if its process lives, as far as the store sees; always
    /// with stores on other machines.
    pub outlived_by: Option<Vec<u32>>,
}

impl Entry {
    /// The entry of a candidate whose process, as far as the store sees, does not stand still.
    pub fn new(candidate: Candidate, joined: Option<SystemTime>, arrival: u64) -> Self {
        let candidate = candidate.cleaned();
        Self { candidate, joined, arrival, is_stopped: false, outlived_by: None }
    }
}

/// The entry of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Who it is.
    pub entry: Entry,
    /// The fencing token of its leadership.
    pub token: Token,
    /// Since when it leads, by the wall clock of its machine; for the eye only. `None` if that is not
    /// known.
    pub since: Option<SystemTime>,
    /// How long its lease runs on without a renewal, as far as the store tells; `None` where leases
    /// do not end by time.
    pub remaining: Option<Duration>,
    /// How long ago its lease was renewed; `None` where the store does not show renewals to others, or
    /// leases do not end by time.
    pub renewed: Option<Renewed>,
    /// How its entry ends; `None` if the store does not tell.
    pub ending: Option<Ending>,
}

impl Leader {
    /// A leader of whom no more is known.
    pub const fn new(entry: Entry, token: Token) -> Self {
        Self { entry, token, since: None, remaining: None, renewed: None, ending: None }
    }
}

/// How an entry ends whose holder does nothing for it any more (law 13).
///
/// An entry that is still there later was renewed meanwhile, or the store itself has prolonged it. Not so one that
/// candidates judge ([`Ending::Judged`]): it is over as long as its mark is the same.
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
        /// When that was, by the wall clock of its holder; for the eye only. `None` if the store does not tell.
        renewed: Option<SystemTime>,
    },
    /// By time, of which a survey shows no more: an [`Examination`](crate::Examination::longest_ending) tells how long
    /// after the answer the store has removed it at the latest.
    Granted,
    /// With the last process of this machine that holds it, however long that lives.
    WithItsProcess,
    /// Not at all: it is there until somebody removes it.
    Never,
}

/// How long ago a lease was renewed last, or granted if it was not renewed since: at the moment of the store's
/// answer, and as exactly as the store tells.
///
/// Only a renewal makes it less; whatever else a store takes for one it says in its documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// It is no less than this.
    pub at_least: Duration,
    /// It is no more than this; [`Duration::MAX`] where the store sets no bound.
    pub at_most: Duration,
}
