//! What happened in a run: who led when, and how much was said.

use std::collections::BTreeMap;
use std::time::Duration;

use super::NodeId;

/// A time in which a node believed that it led, an election or the members of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lead {
    /// Which node.
    pub node: NodeId,
    /// What others can tell this leadership from an earlier one by; 0 where the algorithm has nothing for that.
    pub term: u64,
    /// Since when, by true time from the start of the run.
    pub from: Duration,
    /// Until when; `None` if it led at the end of the run.
    pub until: Option<Duration>,
}

/// A time in which two led at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Who led first.
    pub first: NodeId,
    /// Who led beside it.
    pub second: NodeId,
    /// Since when, by true time.
    pub from: Duration,
    /// Until when, at the latest the end of the run.
    pub until: Duration,
}

impl Overlap {
    /// How long it is.
    pub const fn length(&self) -> Duration {
        self.until.saturating_sub(self.from)
    }
}

/// A run that is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    leads: Vec<Lead>,
    served: Vec<Lead>,
    sent: BTreeMap<&'static str, u64>,
    sent_since_fault: BTreeMap<&'static str, u64>,
    faults: Vec<Duration>,
    hits: Vec<(usize, NodeId)>,
    /// How many had led before the last fault.
    led_before_fault: usize,
    end: Duration,
}

impl History {
    /// Who led when, by the start of it.
    pub fn leads(&self) -> &[Lead] {
        &self.leads
    }

    /// Which member of a store served as its leader when, by the start of it. Two may do so at once: the one of the lesser term
    /// has not heard of the other yet, and gets nothing done.
    pub fn served(&self) -> &[Lead] {
        &self.served
    }

    /// The node that led at the end of the run; if several did, that of the greatest term, and of these the last to
    /// begin.
    pub fn leader(&self) -> Option<NodeId> {
        let leads = self.leads.iter().filter(|lead| lead.until.is_none());
        leads.max_by_key(|lead| (lead.term, lead.from)).map(|lead| lead.node)
    }

    /// How many messages of each kind were sent, lost ones and those to the dead included.
    pub const fn messages(&self) -> &BTreeMap<&'static str, u64> {
        &self.sent
    }

    /// The same since the last fault.
    pub const fn messages_since_fault(&self) -> &BTreeMap<&'static str, u64> {
        &self.sent_since_fault
    }

    /// When the faults of the script happened, by true time.
    pub fn faults(&self) -> &[Duration] {
        &self.faults
    }

    /// Whom the faults hit that hit one node: the index of the fault in [`faults`](Self::faults), and the node.
    pub fn hits(&self) -> &[(usize, NodeId)] {
        &self.hits
    }

    /// When the run ended, by true time.
    pub const fn end(&self) -> Duration {
        self.end
    }

    /// How long after the last fault the next node began to lead: the fail-over time. Without a fault it counts from the
    /// start. `None` if nobody began to lead.
    pub fn replaced(&self) -> Option<Duration> {
        let next = self.leads.get(self.led_before_fault)?;
        Some(next.from.saturating_sub(self.faults.last().copied().unwrap_or_default()))
    }

    /// How many began to lead from this true time on.
    pub fn changes_since(&self, at: Duration) -> usize {
        self.leads.iter().filter(|lead| lead.from >= at).count()
    }

    /// When two led at once. Three make three pairs.
    pub fn overlaps(&self) -> Vec<Overlap> {
        let mut overlaps = Vec::new();
        for (index, first) in self.leads.iter().enumerate() {
            let end = first.until.unwrap_or(self.end);
            for second in self.leads[index + 1..].iter().take_while(|second| second.from < end) {
                let until = second.until.unwrap_or(self.end).min(end);
                if second.node != first.node && second.from < until {
                    let (first, from) = (first.node, second.from);
                    overlaps.push(Overlap { first, second: second.node, from, until });
                }
            }
        }
        overlaps
    }

    /// For how long nobody led, all in all.
    pub fn leaderless(&self) -> Duration {
        let (mut led_until, mut gaps) = (Duration::ZERO, Duration::ZERO);
        for lead in &self.leads {
            gaps += lead.from.saturating_sub(led_until);
            led_until = led_until.max(lead.until.unwrap_or(self.end));
        }
        gaps + self.end.saturating_sub(led_until)
    }

    pub(super) fn sent(&mut self, kind: &'static str) {
        *self.sent.entry(kind).or_default() += 1;
        *self.sent_since_fault.entry(kind).or_default() += 1;
    }

    /// The fault that happened last hits this node.
    pub(super) fn hit(&mut self, node: NodeId) {
        if let Some(fault) = self.faults.len().checked_sub(1) {
            self.hits.push((fault, node));
        }
    }

    pub(super) fn fault(&mut self, now: Duration) {
        self.faults.push(now);
        self.sent_since_fault.clear();
        self.led_before_fault = self.leads.len();
    }

    /// Notes in which terms a node leads and serves now, as it believes.
    pub(super) fn note(
        &mut self,
        node: NodeId,
        leads: Option<u64>,
        serves: Option<u64>,
        now: Duration,
    ) {
        note(&mut self.leads, node, leads, now);
        note(&mut self.served, node, serves, now);
    }

    pub(super) fn ended(mut self, end: Duration) -> Self {
        self.end = end;
        self
    }
}

fn note(spans: &mut Vec<Lead>, node: NodeId, term: Option<u64>, now: Duration) {
    let led = spans.iter_mut().rev().find(|lead| lead.node == node);
    let led = led.filter(|lead| lead.until.is_none());
    if led.as_ref().map(|lead| lead.term) == term {
        return;
    }
    if let Some(lead) = led {
        lead.until = Some(now);
    }
    if let Some(term) = term {
        spans.push(Lead { node, term, from: now, until: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn overlaps_and_gaps_are_seen() {
        let mut history = History::default();
        for (at, node, term) in [(1, 0, Some(1)), (4, 1, Some(2)), (6, 0, None), (7, 1, None)] {
            history.note(node, term, None, s(at));
        }
        // Over at once, or handed over at the same time: no overlap.
        for (at, node, term) in
            [(8, 2, Some(3)), (8, 1, Some(3)), (8, 1, None), (9, 2, None), (9, 0, Some(4))]
        {
            history.note(node, term, None, s(at));
        }
        let history = history.ended(s(10));
        assert_eq!(history.overlaps(), [Overlap { first: 0, second: 1, from: s(4), until: s(6) }]);
        assert_eq!(history.leaderless(), s(2));
        assert_eq!(history.leader(), Some(0));
        assert_eq!(history.changes_since(s(4)), 4);
    }
}
