//! The report of `elect status`: what a survey tells of each election, and what of it still counts later.

mod division;
mod keys;
mod table;
#[cfg(test)]
mod tests;

use std::time::Duration;

use elect_api::{Division, ElectionName, Leader, Profile, Survey};

use self::keys::{Past, UnprovenStatus};
use super::{LeadershipReport, Suspicion, rfc3339};
use crate::election::history::LeadershipRecord;

pub use self::division::{DivisionStatus, MemberStatus, PartKind};
pub use self::keys::{
    CandidateStatus, ElectionStatus, LeaderStatus, PauseStatus, StatusReport, WaitingStatus,
};
pub use self::table::promise;

impl ElectionStatus {
    /// Returns the stopped leaders, each with the name of the election or part that it leads.
    pub fn stopped(&self) -> Vec<(&str, &LeaderStatus)> {
        let own =
            self.leader.iter().filter(|leader| leader.stopped && leader.outlived_by.is_none());
        let own = own.map(|leader| (self.election.as_str(), leader));
        own.chain(self.parts().flat_map(Self::stopped)).collect()
    }

    /// Returns the state of an election, from a survey of its store.
    pub fn new(election: &ElectionName, store: &Profile, survey: &Survey) -> Self {
        Self {
            election: election.as_str().to_owned(),
            backend: store.location.clone(),
            promise: store.promise,
            leader: survey.leader.as_ref().map(|leader| LeaderStatus::new(leader, store.lease)),
            waiting: survey.waiting.iter().zip(1..).map(WaitingStatus::of).collect(),
            paused: None,
            last: None,
            division: None,
            unproven: None,
            past: None,
        }
    }

    /// Returns the state of a divided election. `survey` shows the whole, and `parts` are all of its parts in the order
    /// of their numbers.
    #[must_use]
    pub fn divided(mut self, division: Division, survey: &Survey, parts: Vec<Self>) -> Self {
        if let Some((division, waiting)) = DivisionStatus::new(division, survey, parts) {
            (self.leader, self.waiting, self.division) = (None, waiting, Some(division));
        }
        self
    }

    /// Returns whether the election has a leader: for slots at least one, for shards one for each.
    pub fn is_led(&self) -> bool {
        let leads = self.leader.is_some();
        self.division.as_ref().map_or(leads, DivisionStatus::is_led)
    }

    /// Marks the leader as one that may be dead.
    #[must_use]
    pub fn unproven(mut self) -> Self {
        self.unproven = self.leader.take().map(|leader| {
            let renewed = leader.renewed.map(rfc3339);
            UnprovenStatus { leader, renewed }
        });
        self
    }

    /// Marks the lease of this leader as over.
    #[must_use]
    pub fn after_lease_of(self, leader: &Leader) -> Self {
        Self { past: Some(Past::Over(leader.entry.candidate.id.clone())), ..self }
    }

    /// Returns whether it is unknown if there is a leader.
    pub fn is_unknown(&self) -> bool {
        self.unproven.is_some() || self.parts().any(Self::is_unknown)
    }

    fn parts(&self) -> impl Iterator<Item = &Self> {
        self.division.iter().flat_map(|division| &division.parts)
    }

    /// Sets the pause of the election.
    #[must_use]
    pub fn paused(mut self, pause: Option<PauseStatus>) -> Self {
        self.paused = pause;
        self
    }

    /// Adds the last known leadership, if there is no leader.
    #[must_use]
    pub fn after_last(self, last: Option<&LeadershipRecord>) -> Self {
        let last = last.filter(|_| self.leader.is_none()).map(LeadershipReport::new);
        Self { last, ..self }
    }

    /// Sets the suspicion against the leader.
    #[must_use]
    pub const fn suspecting(mut self, suspicion: Option<Suspicion>) -> Self {
        if let Some(leader) = &mut self.leader {
            leader.suspicion = suspicion;
        }
        self
    }

    /// Returns what is still known `age` after the survey, without news from the store since then. A leader counts as
    /// one until its lease could have ended. All else counts for as long as `fresh`. The same applies to a leader whose
    /// lease has no limit, or whose store does not tell it.
    #[must_use]
    pub fn after(mut self, age: Duration, fresh: Duration) -> Self {
        let leader = self.leader.as_mut();
        let left = leader.map(|leader| {
            leader.suspicion = leader.suspicion.filter(|_| age < fresh);
            leader.stopped &= age < fresh;
            (leader.remaining_ms.map(Duration::from_millis), leader)
        });
        let is_known = match left {
            Some((Some(left), leader)) => {
                let left = left.saturating_sub(age);
                leader.remaining_ms = u64::try_from(left.as_millis()).ok();
                !left.is_zero()
            }
            Some((None, _)) | None => age < fresh,
        };
        if !is_known {
            let unproven = self.unproven.take().map(|unproven| unproven.leader);
            let leader = self.leader.take().or(unproven);
            self.past = Some(Past::Unknown(leader.map(|leader| leader.candidate.id)));
            self.waiting.clear();
        }
        if let Some(division) = &mut self.division {
            let parts = std::mem::take(&mut division.parts).into_iter();
            division.parts = parts.map(|part| part.after(age, fresh)).collect();
            division.members.retain(|_| is_known);
        }
        self
    }
}

impl StatusReport {
    /// Returns whether every election has a leader.
    pub fn is_led(&self) -> bool {
        self.elections.iter().all(ElectionStatus::is_led)
    }

    /// Returns whether the result is unknown: some election is not known to have a leader, and none is known to have
    /// none.
    pub fn is_unknown(&self) -> bool {
        let mut others = self.elections.iter().filter(|election| !election.is_led()).peekable();
        others.peek().is_some() && others.all(ElectionStatus::is_unknown)
    }
}
