//! The list of candidates, as they see it themselves. Two rules follow from it where no fault strikes. The best
//! candidate leads, and no candidate gives up its place more often than there are better ones.

use std::collections::BTreeMap;
use std::time::Duration;

use elect_api::Boottime;

use super::candidate::Name;

/// A candidate that came more recently than this may have been overlooked.
const NOTICED: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Roll {
    /// The candidates that have an entry.
    present: BTreeMap<String, Merit>,
    /// The candidates that have had an entry since the last leadership began, even if it is gone.
    seen: BTreeMap<String, Merit>,
    /// The number of times that each has stood back since then.
    stood_back: BTreeMap<String, usize>,
    /// When each came first.
    arrived: BTreeMap<String, Boottime>,
}

#[derive(Clone, Copy, Debug)]
struct Merit {
    priority: u32,
    arrived: Boottime,
}

impl Merit {
    /// Returns true if this candidate must lead rather than the other one.
    fn is_better_than(self, other: Self) -> bool {
        self.priority > other.priority
            || self.priority == other.priority && self.arrived + NOTICED < other.arrived
    }
}

impl Roll {
    /// It has an entry.
    pub(crate) fn enters(&mut self, now: Boottime, name: &Name) {
        let arrived = *self.arrived.entry(name.id.clone()).or_insert(now);
        let place = Merit { priority: name.priority, arrived };
        self.present.insert(name.id.clone(), place);
        self.seen.insert(name.id.clone(), place);
    }

    /// It gives its entry up.
    pub(crate) fn leaves(&mut self, name: &Name) {
        self.present.remove(&name.id);
    }

    /// Notes that a candidate gives its entry up and has started nothing. Returns what is wrong with that, if anything
    /// is.
    pub(crate) fn stands_back(&mut self, name: &Name) -> Option<String> {
        self.leaves(name);
        let may_be_better =
            |(id, place): &(&String, &Merit)| **id != name.id && place.priority >= name.priority;
        let better = self.seen.iter().filter(may_be_better).count();
        let times = self.stood_back.entry(name.id.clone()).or_default();
        *times += 1;
        (*times > better).then(|| format!("{times} times for {better}: {:?}", self.seen))
    }

    /// Notes that a candidate starts its command. Returns what is wrong with that, if anything is.
    pub(crate) fn starts(&mut self, now: Boottime, name: &Name) -> Option<String> {
        self.stood_back.clear();
        self.seen.clone_from(&self.present);
        let ours = *self.present.get(&name.id)?;
        let is_better = |place: &Merit| place.arrived + NOTICED < now && place.is_better_than(ours);
        let better = self.present.iter().find(|(_, place)| is_better(place))?;
        Some(format!("{ours:?} leads, and there is {better:?}"))
    }
}
