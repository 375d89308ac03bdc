//! The plan of which member holds which shards, as the coordinator among the members decides it.
//!
//! The plan is advice. That no shard is led twice is the promise of the shard's own election. So no harm is done if two
//! coordinators disagree for a moment, or if a member follows an old plan.

use std::collections::{BTreeMap, BTreeSet};

use elect_api::text;
use serde::{Deserialize, Serialize};

/// For each member, by its id, the shards that it is to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    #[serde(default, deserialize_with = "text::name")]
    held: BTreeMap<String, BTreeSet<u16>>,
    /// The last shard that was taken from a living member, until it is known to have arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moving: Option<u16>,
}

/// A member of the roster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its id.
    pub id: &'a str,
    /// Whether it is to hold any shards.
    pub is_wanted: bool,
}

impl Spread {
    /// Returns whether no member is to hold anything.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The shards that the member with this id is to hold.
    pub fn of(&self, id: &str) -> BTreeSet<u16> {
        self.held.get(id).cloned().unwrap_or_default()
    }

    /// The number of shards that each member is to hold, by its id. Members without shards are left out.
    pub fn counts(&self) -> impl Iterator<Item = (&str, usize)> {
        self.held.iter().map(|(id, shards)| (id.as_str(), shards.len()))
    }

    /// The member that is to hold a shard.
    pub fn holder(&self, shard: u16) -> Option<&str> {
        let held = self.held.iter().find(|(_, shards)| shards.contains(&shard));
        held.map(|(id, _)| id.as_str())
    }

    /// The shard that is on its way, and the member to which it goes.
    pub fn moving(&self) -> Option<(u16, &str)> {
        let shard = self.moving?;
        Some((shard, self.holder(shard)?))
    }

    /// Marks the moving shard as arrived.
    #[must_use]
    pub const fn arrived(mut self) -> Self {
        self.moving = None;
        self
    }

    /// Returns the next step to an even spread of `shards` shards over these members, in their order. Shards without a
    /// living holder are given away at once. Then, unless another shard is still on its way, one shard of a member with
    /// too many moves.
    ///
    /// The step is the last one if it changes nothing and no shard is on its way. Then the counts of any two wanted
    /// members differ by at most one, and no more shards have moved than necessary.
    #[must_use]
    pub fn next(mut self, shards: u16, members: &[Member<'_>]) -> Self {
        let is_there = |id: &str| members.iter().any(|member| member.id == id);
        self.held.retain(|id, held| {
            held.retain(|shard| *shard < shards);
            is_there(id) && !held.is_empty()
        });
        let wanted: Vec<&str> =
            members.iter().filter(|member| member.is_wanted).map(|member| member.id).collect();
        if wanted.is_empty() {
            return Self::default();
        }
        self.moving = self.moving().map(|(shard, _)| shard);
        let held: BTreeSet<u16> = self.held.values().flatten().copied().collect();
        for orphan in (0..shards).filter(|shard| !held.contains(shard)) {
            if let Some(least) = self.least(&wanted) {
                self.held.entry(least.to_owned()).or_default().insert(orphan);
            }
        }
        if self.moving.is_none() {
            self.moving = self.even_out(&wanted);
        }
        self
    }

    fn count(&self, id: &str) -> usize {
        self.held.get(id).map_or(0, BTreeSet::len)
    }

    /// Returns the member with the fewest shards, the first of several.
    fn least<'a>(&self, wanted: &[&'a str]) -> Option<&'a str> {
        wanted.iter().copied().min_by_key(|id| self.count(id))
    }

    /// Moves a shard from an unwanted member, or from one that has at least two more than another. Returns the shard.
    fn even_out(&mut self, wanted: &[&str]) -> Option<u16> {
        let to = self.least(wanted)?;
        let unwanted = self.held.keys().find(|id| !wanted.contains(&id.as_str()));
        let most = || {
            let most = wanted.iter().rev().max_by_key(|id| self.count(id))?;
            (self.count(most) > self.count(to) + 1).then(|| (*most).to_owned())
        };
        let from = unwanted.cloned().or_else(most)?;
        let shards = self.held.get_mut(&from)?;
        let shard = shards.pop_last()?;
        if shards.is_empty() {
            self.held.remove(&from);
        }
        self.held.entry(to.to_owned()).or_default().insert(shard);
        Some(shard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

    fn members(count: usize) -> Vec<Member<'static>> {
        NAMES[..count].iter().map(|id| Member { id, is_wanted: true }).collect()
    }

    /// Takes all steps to the end. Also returns how many shards moved between living members.
    fn run_to_end(mut spread: Spread, shards: u16, members: &[Member<'_>]) -> (Spread, usize) {
        let mut moves = 0;
        loop {
            let next = spread.clone().next(shards, members);
            if next == spread {
                return (spread, moves);
            }
            moves += usize::from(next.moving().is_some());
            spread = next.arrived();
        }
    }

    fn counts(spread: &Spread, members: &[Member<'_>]) -> Vec<usize> {
        members.iter().map(|member| spread.of(member.id).len()).collect()
    }

    fn stay(before: &Spread, after: &Spread, shards: u16) -> usize {
        (0..shards).filter(|shard| before.holder(*shard) == after.holder(*shard)).count()
    }

    #[test]
    fn the_first_member_gets_all_shards_and_others_theirs_one_by_one() {
        let one = members(1);
        let spread = Spread::default().next(64, &one);
        assert_eq!((counts(&spread, &one), spread.moving()), (vec![64], None));
        let four = members(4);
        let next = spread.clone().next(64, &four);
        assert_eq!(next.moving(), Some((63, "b")));
        assert_eq!(next.clone().next(64, &four), next, "one is under way");
        let (even, moves) = run_to_end(spread.clone(), 64, &four);
        assert_eq!((counts(&even, &four), moves), (vec![16; 4], 48));
        assert_eq!(stay(&spread, &even, 64), 16);
    }

    #[test]
    fn shards_left_behind_are_assigned_at_once() {
        let (four, two) = (members(4), members(2));
        let (even, _) = run_to_end(Spread::default(), 64, &four);
        let next = even.clone().next(64, &two);
        assert_eq!((counts(&next, &two), next.moving()), (vec![32, 32], None));
        assert_eq!(stay(&even, &next, 64), 32);
        let gone = Spread { moving: Some(63), ..even };
        assert_eq!(gone.next(64, &two).moving(), None, "it was left behind as well");
    }

    #[test]
    fn an_unwanted_member_gives_up_shards_one_by_one() {
        let (mut three, shards) = (members(3), 8);
        let (even, _) = run_to_end(Spread::default(), shards, &three);
        three[1].is_wanted = false;
        let next = even.clone().next(shards, &three);
        assert!(next.moving().is_some() && next.of("b").len() == even.of("b").len() - 1);
        let (ended, moves) = run_to_end(even.clone(), shards, &three);
        assert_eq!((counts(&ended, &three), moves), (vec![4, 0, 4], even.of("b").len()));
        for member in &mut three {
            member.is_wanted = false;
        }
        assert_eq!(ended.next(shards, &three), Spread::default());
    }

    #[test]
    fn shards_are_even_and_no_more_move_than_necessary() {
        let mut chance = fastrand::Rng::with_seed(7);
        for _ in 0..300 {
            let shards = chance.u16(1..80);
            let mut spread = Spread::default();
            for _ in 0..8 {
                let mut there: Vec<Member<'_>> = members(NAMES.len());
                chance.shuffle(&mut there);
                there.truncate(chance.usize(1..=NAMES.len()));
                let before = spread.clone();
                spread = run_to_end(before.clone(), shards, &there).0;
                let counts = counts(&spread, &there);
                let (least, most) = (counts.iter().min(), counts.iter().max());
                assert!(most <= least.map(|least| least + 1).as_ref(), "{counts:?}");
                assert_eq!(counts.iter().sum::<usize>(), usize::from(shards));
                // Where the shards do not divide evenly, the members with the most keep one more.
                let (share, more) =
                    (usize::from(shards) / there.len(), usize::from(shards) % there.len());
                let mut had: Vec<usize> =
                    there.iter().map(|member| before.of(member.id).len()).collect();
                had.sort_unstable_by(|a, b| b.cmp(a));
                let may_stay: usize = had
                    .iter()
                    .enumerate()
                    .map(|(place, had)| *had.min(&(share + usize::from(place < more))))
                    .sum();
                assert_eq!(stay(&before, &spread, shards), may_stay, "{before:?} {spread:?}");
            }
        }
    }
}
