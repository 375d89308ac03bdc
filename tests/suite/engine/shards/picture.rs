use std::collections::{BTreeMap, BTreeSet};

use elect_testkit::oracle::Run;

/// The member that runs each shard, and its token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Picture(BTreeMap<u32, Vec<(String, u64)>>);

impl Picture {
    /// Returns the picture of the runs that go on.
    pub(super) fn of(runs: &[Run]) -> Self {
        let mut picture = Self::default();
        for run in runs.iter().filter(|run| run.is_alive()) {
            let shard = run.part.expect("the number of a shard");
            picture.0.entry(shard).or_default().push((run.tag.clone(), run.token));
        }
        picture
    }

    /// Returns the number of shards that run.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of shards that each of these members runs.
    pub(super) fn counts(&self, labels: &[&str]) -> Vec<usize> {
        let held = |label: &&str| self.held_by(label).len();
        labels.iter().map(held).collect()
    }

    /// Returns the shards that a member runs.
    pub(super) fn held_by(&self, label: &str) -> BTreeSet<u32> {
        let runs = |runs: &&Vec<(String, u64)>| runs.iter().any(|(tag, _)| tag == label);
        self.0.iter().filter(|(_, held)| runs(held)).map(|(shard, _)| *shard).collect()
    }

    /// Returns true if so many shards run once each, spread over exactly these members within one of even.
    pub(super) fn is_even(&self, shards: usize, labels: &[&str]) -> bool {
        let counts = self.counts(labels);
        let share = shards / labels.len();
        self.len() == shards
            && self.0.values().all(|runs| runs.len() == 1)
            && counts.iter().sum::<usize>() == shards
            && counts.iter().all(|count| (share..=share + 1).contains(count))
    }

    /// Returns the member that runs a shard, and its token, if any does.
    pub(super) fn run(&self, shard: u32) -> Option<(&str, u64)> {
        let (label, token) = self.0.get(&shard)?.first()?;
        Some((label, *token))
    }

    /// The shards whose commands are others than in this later one.
    pub(super) fn changed(&self, later: &Self) -> BTreeSet<u32> {
        self.0.keys().filter(|shard| self.0.get(shard) != later.0.get(shard)).copied().collect()
    }

    /// Returns the number of shards that have to move, if all of them are spread evenly over these members.
    pub(super) fn owed(&self, shards: usize, labels: &[&str]) -> usize {
        let (share, more) = (shards / labels.len(), shards % labels.len());
        let mut counts = self.counts(labels);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        // As many of the greatest as divide unevenly keep one more.
        let stay = counts.iter().enumerate();
        let stay = stay.map(|(place, count)| *count.min(&(share + usize::from(place < more))));
        shards - stay.sum::<usize>()
    }
}
