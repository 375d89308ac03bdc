//! The number of messages of an election in theory, once the leader is dead. Messages to the dead count. Heartbeats and
//! acknowledgements do not.

/// The bounds of one election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theory {
    /// The kinds of messages that count, by their names in a [history](crate::History).
    pub kinds: &'static [&'static str],
    /// The least number of messages.
    pub least: u64,
    /// The greatest number, or `None` without a bound.
    pub most: Option<u64>,
}

/// Returns the bounds of [Bully](super::Bully) among so many nodes, 2 at least. In the least case only the second
/// highest node starts. It asks the dead one and tells all others. In the worst case the last node starts, or all.
/// Garcia-Molina 1982.
pub const fn bully(nodes: u64) -> Theory {
    let (others, rest) = (nodes - 1, nodes.saturating_sub(2));
    let most = nodes * others / 2 + others * rest / 2 + rest;
    Theory { kinds: &["election", "answer", "coordinator"], least: 1 + rest, most: Some(most) }
}

/// Returns the bounds of a [ring](super::Ring) of so many nodes, 2 at least. In the least case only the node with the
/// greatest id starts. In the worst case all start, in the worst order of ids. Then the news of the leader goes around.
/// A message to the dead node is sent twice. Chang and Roberts 1979.
pub const fn ring(nodes: u64) -> Theory {
    let living = nodes - 1;
    let most = living * (living + 1) / 2 + living + living + 1;
    Theory { kinds: &["candidate", "elected"], least: 2 * living, most: Some(most) }
}

/// Returns the bounds of [Raft](super::Raft) among so many nodes, 2 at least. A candidate asks all others, and all
/// living ones answer. Each split vote costs that once more, and so does a round before the vote.
pub const fn raft(nodes: u64, pre_vote: bool) -> Theory {
    let round = (nodes - 1) + nodes.saturating_sub(2);
    let least = if pre_vote { 2 * round } else { round };
    let kinds = &["vote request", "vote", "pre-vote request", "pre-vote"];
    Theory { kinds, least, most: None }
}

/// Returns the bounds of a queue in a store, where one waiter is woken.
pub const fn queue() -> Theory {
    herd(2)
}

/// Returns the bounds of a herd of so many nodes, 2 at least, where all others are woken.
pub const fn herd(nodes: u64) -> Theory {
    Theory { kinds: &["watch event"], least: nodes - 1, most: Some(nodes - 1) }
}
