//! What theory says of the messages by which nodes elect once their leader is dead: heartbeats and acknowledgements are
//! not among them, messages to the dead are.

/// The bounds of one election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theory {
    /// The kinds of messages that count, as a [history](crate::History) names them.
    pub kinds: &'static [&'static str],
    /// The least number of them.
    pub least: u64,
    /// The greatest; `None` where nothing bounds it.
    pub most: Option<u64>,
}

/// [Bully](super::Bully) among so many nodes, 2 at least: between the second of them as the only one to start, who asks the
/// dead one and tells all others, and the last of them, or all. Garcia-Molina 1982.
pub const fn bully(nodes: u64) -> Theory {
    let (others, rest) = (nodes - 1, nodes.saturating_sub(2));
    let most = nodes * others / 2 + others * rest / 2 + rest;
    Theory { kinds: &["election", "answer", "coordinator"], least: 1 + rest, most: Some(most) }
}

/// A [ring](super::Ring) of so many nodes, 2 at least: between the one with the greatest id as the only one to start, and all
/// in the worst order of ids. Then the leader is told around. What meets the gap that the dead one leaves is sent twice.
/// Chang and Roberts 1979.
pub const fn ring(nodes: u64) -> Theory {
    let living = nodes - 1;
    let most = living * (living + 1) / 2 + living + living + 1;
    Theory { kinds: &["candidate", "elected"], least: 2 * living, most: Some(most) }
}

/// [Raft](super::Raft) among so many nodes, 2 at least: all others are asked, and all that live answer. Each split vote costs
/// that once more, and so does a round before the vote.
pub const fn raft(nodes: u64, pre_vote: bool) -> Theory {
    let round = (nodes - 1) + nodes.saturating_sub(2);
    let least = if pre_vote { 2 * round } else { round };
    let kinds = &["vote request", "vote", "pre-vote request", "pre-vote"];
    Theory { kinds, least, most: None }
}

/// Who waits in a queue of a store: one is woken.
pub const fn queue() -> Theory {
    herd(2)
}

/// Of so many nodes, 2 at least, that watch the leader's entry in a store all others are woken.
pub const fn herd(nodes: u64) -> Theory {
    Theory { kinds: &["watch event"], least: nodes - 1, most: Some(nodes - 1) }
}
