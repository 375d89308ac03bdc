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
