//! The history of a run: each leadership, and the number of messages.

use std::collections::BTreeMap;
use std::time::Duration;

use super::NodeId;

/// A time in which a node believed that it led an election, or the members of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lead {
    /// The node.
    pub node: NodeId,
    /// The number that tells this leadership from an earlier one. 0 where the algorithm has none.
    pub term: u64,
    /// Its start, by true time from the start of the run.
    pub from: Duration,
    /// Its end. `None` if the node led at the end of the run.
    pub until: Option<Duration>,
}

/// A time in which two nodes led at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The node that led first.
    pub first: NodeId,
    /// The node that led beside it.
    pub second: NodeId,
    /// The start, by true time.
    pub from: Duration,
    /// The end, which is at the latest the end of the run.
    pub until: Duration,
}

impl Overlap {
    /// Returns its length.
    pub const fn length(&self) -> Duration {
        self.until.saturating_sub(self.from)
    }
}

/// A finished run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    leads: Vec<Lead>,
    served: Vec<Lead>,
    sent: BTreeMap<&'static str, u64>,
    sent_since_fault: BTreeMap<&'static str, u64>,
    faults: Vec<Duration>,
    hits: Vec<(usize, NodeId)>,
    /// How many leaderships had begun before the last fault.
    led_before_fault: usize,
    end: Duration,
}

impl History {
    /// All leaderships, by their starts.
    pub fn leads(&self) -> &[Lead] {
        &self.leads
    }

    /// Returns the times in which a member of a store served as its leader, by their starts. Two may do so at once. The
    /// one of the lesser term has not heard of the other yet, and gets nothing done.
    pub fn served(&self) -> &[Lead] {
        &self.served
    }

    /// Returns the node that led at the end of the run. If several did, it is the one of the greatest term, and of
    /// these the last to begin.
    pub fn leader(&self) -> Option<NodeId> {
        let leads = self.leads.iter().filter(|lead| lead.until.is_none());
        leads.max_by_key(|lead| (lead.term, lead.from)).map(|lead| lead.node)
    }

    /// Returns the number of messages of each kind, lost ones and those to dead nodes included.
    pub const fn messages(&self) -> &BTreeMap<&'static str, u64> {
        &self.sent
    }

    /// Returns the number of messages of each kind since the last fault.
    pub const fn messages_since_fault(&self) -> &BTreeMap<&'static str, u64> {
        &self.sent_since_fault
    }

    /// Returns the true times of the script's faults.
    pub fn faults(&self) -> &[Duration] {
        &self.faults
    }

    /// Returns the nodes that faults of one node hit: the index of the fault in [`faults`](Self::faults), and the node.
    pub fn hits(&self) -> &[(usize, NodeId)] {
        &self.hits
    }

    /// Returns the true time of the end.
    pub const fn end(&self) -> Duration {
        self.end
    }

    /// Returns the fail-over time: from the last fault until the next node began to lead. Without a fault it counts
    /// from the start. `None` if no node began to lead.
    pub fn replaced(&self) -> Option<Duration> {
        let next = self.leads.get(self.led_before_fault)?;
        Some(next.from.saturating_sub(self.faults.last().copied().unwrap_or_default()))
    }

    /// Returns how many leaderships began from this true time on.
    pub fn changes_since(&self, at: Duration) -> usize {
        self.leads.iter().filter(|lead| lead.from >= at).count()
    }

    /// Returns all times in which two nodes led at once. Three make three pairs.
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

    /// Returns the whole time in which no node led.
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

    /// Records that the last fault hits this node.
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

    /// Records the terms in which a node believes that it leads and serves now.
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
        // These leaderships end at once, or are handed over at the same time, so they do not overlap.
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
