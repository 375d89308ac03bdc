//! `ZooKeeper`'s recipe: candidates queue, and each watches the one before it.
//!
//! "Leader Election" among the recipes of `ZooKeeper`'s documentation. Each candidate creates a sequential entry; the one
//! with the lowest number leads. So one change of leader wakes one candidate.

use super::recipe::Step;
use super::store::{Ask, Reply};

/// What a candidate in the queue knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    own: Option<u64>,
}

impl Queue {
    pub(super) const fn enter() -> Ask {
        Ask::Create { alone: false }
    }

    /// What it watched is gone, or the store was out of reach.
    pub(super) const fn look() -> Ask {
        Ask::List
    }

    pub(super) fn hear(&mut self, reply: &Reply) -> Step {
        match reply {
            Reply::Created(own) => {
                self.own = *own;
                Step::Ask(Ask::List)
            }
            Reply::Listed(entries) => match self.own.filter(|own| entries.contains(own)) {
                None => Step::Ask(Self::enter()),
                Some(own) => match entries.iter().rfind(|entry| **entry < own) {
                    None => Step::Lead(own),
                    Some(before) => Step::Ask(Ask::Watch(*before)),
                },
            },
            Reply::Watching(true) | Reply::Pong(_) => Step::Wait,
            Reply::Watching(false) => Step::Ask(Self::look()),
        }
    }
}
