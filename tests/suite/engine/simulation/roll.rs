//! Who is there, as the candidates see it themselves, and what follows of that where nothing befalls anybody:
//! the best one leads, and nobody gives its place up more often than somebody better is there.

use std::collections::BTreeMap;
use std::time::Duration;

use elect_api::Boottime;

use super::candidate::Name;

/// Who came no longer ago may have been overlooked.
const NOTICED: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Roll {
    /// Who has an entry.
    present: BTreeMap<String, Place>,
    /// Who has had one since somebody led last, even if it is gone.
    seen: BTreeMap<String, Place>,
    /// How often each has stood back since then.
    stood_back: BTreeMap<String, usize>,
    /// When each came first.
    arrived: BTreeMap<String, Boottime>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    priority: u32,
    arrived: Boottime,
}

impl Place {
    /// Whether it is surely to lead rather than the other one.
    fn is_better_than(self, other: Self) -> bool {
        self.priority > other.priority
            || self.priority == other.priority && self.arrived + NOTICED < other.arrived
    }
}

impl Roll {
    /// It has an entry.
    pub(crate) fn enters(&mut self, now: Boottime, name: &Name) {
        let arrived = *self.arrived.entry(name.id.clone()).or_insert(now);
        let place = Place { priority: name.priority, arrived };
        self.present.insert(name.id.clone(), place);
        self.seen.insert(name.id.clone(), place);
    }

    /// It gives its entry up.
    pub(crate) fn leaves(&mut self, name: &Name) {
        self.present.remove(&name.id);
    }

    /// It gives its entry up and has started nothing. What is wrong with that, if anything is.
    pub(crate) fn stands_back(&mut self, name: &Name) -> Option<String> {
        self.leaves(name);
        let may_be_better =
            |(id, place): &(&String, &Place)| **id != name.id && place.priority >= name.priority;
        let better = self.seen.iter().filter(may_be_better).count();
        let times = self.stood_back.entry(name.id.clone()).or_default();
        *times += 1;
        (*times > better).then(|| format!("{times} times for {better}: {:?}", self.seen))
    }

    /// It starts its command. What is wrong with that, if anything is.
    pub(crate) fn starts(&mut self, now: Boottime, name: &Name) -> Option<String> {
        self.stood_back.clear();
        self.seen.clone_from(&self.present);
        let ours = *self.present.get(&name.id)?;
        let is_better = |place: &Place| place.arrived + NOTICED < now && place.is_better_than(ours);
        let better = self.present.iter().find(|(_, place)| is_better(place))?;
        Some(format!("{ours:?} leads, and there is {better:?}"))
    }
}
