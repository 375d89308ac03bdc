//! The naive recipe: all watch the one entry that stands for leadership, and all run for it once it is gone.
//!
//! "Locks with the herd effect", section 2.4 of the paper on `ZooKeeper`. One change of leader wakes all candidates.

use super::recipe::Step;
use super::store::{Ask, Reply};

/// A candidate of the herd knows nothing but the last answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Herd;

impl Herd {
    /// At first, and whenever the entry is gone.
    pub(super) const fn enter() -> Ask {
        Ask::Create { alone: true }
    }

    pub(super) fn hear(reply: &Reply) -> Step {
        match reply {
            Reply::Created(Some(own)) => Step::Lead(*own),
            Reply::Created(None) => Step::Ask(Ask::List),
            Reply::Listed(entries) => match entries.first() {
                Some(leader) => Step::Ask(Ask::Watch(*leader)),
                None => Step::Ask(Self::enter()),
            },
            Reply::Watching(true) | Reply::Pong(_) => Step::Wait,
            Reply::Watching(false) => Step::Ask(Self::enter()),
        }
    }
}
