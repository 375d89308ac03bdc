use std::sync::Arc;

use std::time::Duration;

use elect_api::{Boottime, ElectionName, Ticket};

use super::message::{Leadership, Tally};
use super::service::{Command, Outcome};
use super::{Rule, RuleId, ticket};

/// The way by which commands reach the store.
pub(super) trait Steer: Send + Sync {
    fn steer(&self, command: Command) -> Outcome;
}

/// A test's controls of a simulated store: faults, removals, and the history. Rules do not affect them.
#[derive(Clone)]
pub struct Controls(Arc<dyn Steer>);

impl Controls {
    pub(super) fn new(steer: Arc<dyn Steer>) -> Self {
        Self(steer)
    }

    /// Puts a rule in force until it is lifted.
    pub fn add(&self, rule: Rule) -> RuleId {
        match self.0.steer(Command::Add(rule)) {
            Outcome::Rule(id) => id,
            other => panic!("a rule was answered with {other:?}"),
        }
    }

    /// Lifts a rule. The store then carries out the requests that the rule held back, in the order of arrival.
    pub fn lift(&self, rule: RuleId) {
        self.0.steer(Command::Lift(Some(rule)));
    }

    /// Lifts all rules.
    pub fn lift_all(&self) {
        self.0.steer(Command::Lift(None));
    }

    /// Returns how many requests a rule in force has met. A test can wait for that.
    pub fn hits(&self, rule: RuleId) -> u32 {
        self.count(Command::Hits(rule))
    }

    /// Removes the entries of all candidates whose id begins with `candidate`, leading or waiting, as if their
    /// sessions had just ended. Returns how many there were.
    pub fn remove(&self, election: &ElectionName, candidate: &str) -> u32 {
        self.count(Command::Remove(election.clone(), candidate.to_owned()))
    }

    /// Simulates the death of the client whose seat showed this ticket. Its entry goes, and no request under
    /// way makes another.
    pub fn bury(&self, election: &ElectionName, dead: &Ticket) {
        if let Ok(nonce) = ticket::nonce(dead) {
            self.0.steer(Command::Bury(election.clone(), nonce));
        }
    }

    /// Removes all that the store has of an election, except its counters.
    pub fn wipe(&self, election: &ElectionName) {
        self.0.steer(Command::Wipe(election.clone()));
    }

    /// Elects another leader inside the store. Waits for news are lost. With `prolonged_by`, each lease has its
    /// whole TTL anew, counted from that long after now.
    pub fn change_leader(&self, prolonged_by: Option<Duration>) {
        self.0.steer(Command::ChangeLeader(prolonged_by));
    }

    /// Kills the store's member that serves the candidates whose id begins with `candidate`. All that it has
    /// not yet told the other members is lost.
    pub fn lose_member(&self, candidate: &str) {
        self.0.steer(Command::LoseMember(candidate.to_owned()));
    }

    /// Returns the counts since the start of the store.
    pub fn tally(&self) -> Tally {
        match self.0.steer(Command::Tally) {
            Outcome::Tally(tally) => tally,
            other => panic!("the tally is {other:?}"),
        }
    }

    /// Returns all leaderships of all elections, in the order of leading, by the machine's clock.
    pub fn history(&self) -> Vec<Leadership<Boottime>> {
        match self.0.steer(Command::History) {
            Outcome::History(tenures) => tenures,
            other => panic!("the history is {other:?}"),
        }
    }

    /// Returns the current leadership of an election, and when its lease ends by the machine's clock.
    pub fn leader(&self, election: &ElectionName) -> Option<Leadership<Boottime>> {
        let last = self.history().into_iter().rfind(|tenure| tenure.election == *election);
        last.filter(|tenure| tenure.over.is_none())
    }

    fn count(&self, command: Command) -> u32 {
        match self.0.steer(command) {
            Outcome::Count(count) => count,
            other => panic!("a count is {other:?}"),
        }
    }
}
