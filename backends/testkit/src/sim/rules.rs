use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::message::{Envelope, Op};

/// A fault, and the requests that it affects.
///
/// If several rules fit a request, the first one whose chance comes up takes effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    effect: Effect,
    /// The purposes of affected requests. Empty means all.
    ops: Vec<Op>,
    /// The beginning of the sender's id. Empty means every sender.
    client: String,
    /// How many more requests it affects. `None` means no limit.
    times: Option<u32>,
    /// How many requests in a thousand it affects.
    chance_per_mille: u32,
}

/// The fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// The request gets lost, and is never answered.
    LoseRequest,
    /// The request is carried out and never answered.
    LoseReply,
    /// The request arrives this much later, by the machine's clock.
    DelayRequest(Duration),
    /// The request is carried out at once and answered this much later.
    DelayReply(Duration),
    /// The request is carried out, answered, and this much later carried out once more.
    Duplicate(Duration),
    /// The request waits until the rule is lifted, and is carried out then.
    Hold,
    /// The member that the client talks to leads the store, and stands still. The request waits until the rule
    /// is lifted. If the store has another leader by then, the old one still answers as usual, but its answer
    /// keeps no lease alive. It does not know yet that it leads no more.
    Stand,
    /// The connection is refused. Nothing is done, and the client knows that.
    Refuse,
    /// The request is carried out, and the connection breaks. The client knows that the outcome is unknown.
    Break,
    /// Nothing is done, and the answer says that the client's entry is gone.
    AnswerGone,
    /// While the rule is in force nothing reaches the client, neither replies under way nor news. The client's
    /// requests still arrive.
    Deafen,
}

/// The id of a rule in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RuleId(u64);

impl Rule {
    /// Creates a rule that affects all requests of all clients.
    pub const fn new(effect: Effect) -> Self {
        Self { effect, ops: Vec::new(), client: String::new(), times: None, chance_per_mille: 1000 }
    }

    /// Restricts the rule to requests of this purpose. Further calls add purposes.
    #[must_use]
    pub fn op(mut self, op: Op) -> Self {
        self.ops.push(op);
        self
    }

    /// Restricts the rule to candidates whose id begins like this, because `elect` adds a nonce to a label.
    #[must_use]
    pub fn client(mut self, id: &str) -> Self {
        id.clone_into(&mut self.client);
        self
    }

    /// Restricts the rule to the next `times` requests.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Restricts the rule to so many requests in a thousand, which the store's seed chooses.
    #[must_use]
    pub const fn chance_per_mille(mut self, thousandths: u32) -> Self {
        self.chance_per_mille = thousandths;
        self
    }

    /// Returns whether the rule makes the store's leading member stand still.
    pub(super) fn stands(&self) -> bool {
        self.effect == Effect::Stand
    }

    fn fits(&self, envelope: &Envelope) -> bool {
        self.times != Some(0)
            && self.effect != Effect::Deafen
            && (self.ops.is_empty() || self.ops.contains(&envelope.op))
            && envelope.client.starts_with(&self.client)
    }
}

/// All rules in force, the oldest first.
#[derive(Debug)]
pub(super) struct Rules {
    in_force: Vec<(RuleId, Rule, u32)>,
    next: u64,
    chance: fastrand::Rng,
}

impl Rules {
    pub(super) fn new(seed: u64) -> Self {
        Self { in_force: Vec::new(), next: 0, chance: fastrand::Rng::with_seed(seed) }
    }

    pub(super) fn add(&mut self, rule: Rule) -> RuleId {
        let id = RuleId(self.next);
        self.next += 1;
        self.in_force.push((id, rule, 0));
        id
    }

    /// Lifts one rule, or all of them.
    pub(super) fn lift(&mut self, which: Option<RuleId>) {
        self.in_force.retain(|(id, ..)| which.is_some_and(|which| which != *id));
    }

    /// Returns how many requests a rule in force has met.
    pub(super) fn hits(&self, which: RuleId) -> u32 {
        self.in_force.iter().find(|(id, ..)| *id == which).map_or(0, |(.., hits)| *hits)
    }

    /// Returns whether a rule keeps all messages from this client, and counts the hit.
    pub(super) fn deafen(&mut self, client: &str) -> bool {
        let rule = self
            .in_force
            .iter_mut()
            .find(|(_, rule, _)| rule.effect == Effect::Deafen && client.starts_with(&rule.client));
        rule.map(|(_, _, hits)| *hits += 1).is_some()
    }

    /// Draws the delay of a message, of at most `longest`.
    pub(super) fn transit(&mut self, longest: Duration) -> Duration {
        longest.mul_f64(self.chance.f64())
    }

    /// Returns the rule and the fault that affect this request, if any.
    pub(super) fn judge(&mut self, envelope: &Envelope) -> Option<(RuleId, Effect)> {
        for (id, rule, hits) in &mut self.in_force {
            if rule.fits(envelope) && self.chance.u32(0..1000) < rule.chance_per_mille {
                *hits += 1;
                rule.times = rule.times.map(|times| times - 1);
                return Some((*id, rule.effect));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, Envelope, Op, Rule, Rules};
    use crate::sim::message::Request;

    fn from(client: &str, op: Op) -> Envelope {
        Envelope { client: client.to_owned(), op, request: Request::Elections }
    }

    #[test]
    fn a_rule_applies_to_its_client_and_as_often_as_told() {
        let mut rules = Rules::new(0);
        let id = rules.add(Rule::new(Effect::LoseReply).op(Op::Renew).client("me").times(2));
        let mut bites =
            |client, op| rules.judge(&from(client, op)).map(|(_, effect)| effect).is_some();
        assert!(!bites("you-1", Op::Renew) && !bites("me-1", Op::Enter));
        assert!(bites("me-1", Op::Renew) && bites("me-2", Op::Renew) && !bites("me-1", Op::Renew));
        assert_eq!(rules.hits(id), 2);
        rules.lift(None);
        assert!(rules.judge(&from("me-1", Op::Renew)).is_none());
    }

    #[test]
    fn chance_is_the_same_for_the_same_seed() {
        let run = |seed| {
            let mut rules = Rules::new(seed);
            rules.add(Rule::new(Effect::LoseRequest).chance_per_mille(300));
            let bites: Vec<bool> =
                (0..1000).map(|_| rules.judge(&from("me", Op::Enter)).is_some()).collect();
            bites
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let hits = run(1).into_iter().filter(|bite| *bite).count();
        assert!((200..400).contains(&hits), "{hits}");
    }
}
