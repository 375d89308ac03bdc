use std::sync::Arc;

use std::time::Duration;

use elect_api::{Boottime, ElectionName, Ticket};

use super::message::{Leadership, Tally};
use super::service::{Command, Outcome};
use super::{Rule, RuleId, ticket};

/// How commands reach the store.
pub(super) trait Steer: Send + Sync {
    fn steer(&self, command: Command) -> Outcome;
}

/// The hand of a test on a simulated store: faults, removals, and what has happened. The rules do
/// not concern it.
#[derive(Clone)]
pub struct Controls(Arc<dyn Steer>);

impl Controls {
    pub(super) fn new(steer: Arc<dyn Steer>) -> Self {
        Self(steer)
    }

    /// From now on, until it is lifted.
    pub fn add(&self, rule: Rule) -> RuleId {
        match self.0.steer(Command::Add(rule)) {
            Outcome::Rule(id) => id,
            other => panic!("a rule was answered with {other:?}"),
        }
    }

    /// Lifts a rule; what it held back is carried out, in the order of arrival.
    pub fn lift(&self, rule: RuleId) {
        self.0.steer(Command::Lift(Some(rule)));
    }

    /// Lifts all rules.
    pub fn lift_all(&self) {
        self.0.steer(Command::Lift(None));
    }

    /// How many requests a rule that is in force has met: an event that a test can wait for.
    pub fn hits(&self, rule: RuleId) -> u32 {
        self.count(Command::Hits(rule))
    }

    /// Removes the entries, leading or waiting, of all candidates whose id begins with `candidate`,
    /// as if their sessions had ended this moment. How many there were.
    pub fn remove(&self, election: &ElectionName, candidate: &str) -> u32 {
        self.count(Command::Remove(election.clone(), candidate.to_owned()))
    }

    /// What the store makes of the death of the client whose seat showed this ticket: its entry goes,
    /// and nothing of what it has sent makes another.
    pub fn bury(&self, election: &ElectionName, dead: &Ticket) {
        if let Ok(nonce) = ticket::nonce(dead) {
            self.0.steer(Command::Bury(election.clone(), nonce));
        }
    }

    /// Removes all that the store has of an election, but for its counters.
    pub fn wipe(&self, election: &ElectionName) {
        self.0.steer(Command::Wipe(election.clone()));
    }

    /// The store gets another leader of its own: whoever waits for news does so in vain, and, where the new one
    /// gives all leases their whole time anew, from `prolonged_by` from now on.
    pub fn change_leader(&self, prolonged_by: Option<Duration>) {
        self.0.steer(Command::ChangeLeader(prolonged_by));
    }

    /// The member of the store dies that the candidates talk to whose id begins with `candidate`, with all
    /// that it has not told the others.
    pub fn lose_member(&self, candidate: &str) {
        self.0.steer(Command::LoseMember(candidate.to_owned()));
    }

    /// What was counted since the store began.
    pub fn tally(&self) -> Tally {
        match self.0.steer(Command::Tally) {
            Outcome::Tally(tally) => tally,
            other => panic!("the tally is {other:?}"),
        }
    }

    /// Everybody who has led any election, in the order of leading, by the machine's clock.
    pub fn history(&self) -> Vec<Leadership<Boottime>> {
        match self.0.steer(Command::History) {
            Outcome::History(tenures) => tenures,
            other => panic!("the history is {other:?}"),
        }
    }

    /// Who leads an election now, and when its lease ends by the machine's clock.
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
