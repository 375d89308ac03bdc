use std::time::Duration;

use elect_api::Leader;

/// The bounds of [`pace`].
const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(2);

/// How soon to look again at whoever leads, so that what was seen stays true, and renewals are seen one by one: a
/// leader of ours renews its lease every sixth of it, so twice as often. From a quarter of a second to two seconds.
pub(in crate::command) fn pace<'a>(leaders: impl Iterator<Item = &'a Leader>) -> Duration {
    let shortest = leaders.filter_map(|leader| leader.remaining).min();
    shortest.map_or(LONGEST, |left| (left / 12).clamp(SHORTEST, LONGEST))
}

#[cfg(test)]
mod tests {
    use elect_api::{Candidate, Entry, Token};

    use super::*;

    fn leader(remaining: Option<u64>) -> Leader {
        let entry = Entry::new(Candidate::foreign("one"), None, 0);
        let remaining = remaining.map(Duration::from_secs);
        Leader { entry, token: Token::new(1), since: None, remaining, renewed: None }
    }

    #[test]
    fn the_shortest_lease_sets_the_pace_within_bounds() {
        for (remaining, millis) in [
            (vec![], 2_000),
            (vec![None], 2_000),
            (vec![Some(3_600), None], 2_000),
            (vec![Some(60), Some(12), None], 1_000),
            (vec![Some(12), Some(0)], 250),
        ] {
            let leaders: Vec<Leader> = remaining.iter().copied().map(leader).collect();
            assert_eq!(pace(leaders.iter()), Duration::from_millis(millis), "{remaining:?}");
        }
    }
}
