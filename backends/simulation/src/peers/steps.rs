//! The recipes: a candidate's next step after each answer of the store.
//!
//! **The queue** is "Leader Election" among the recipes of `ZooKeeper`'s documentation. Each candidate creates a
//! sequential entry. The one with the lowest number leads, and each watches the one before it. So one change of leader
//! wakes one candidate.
//!
//! **The herd** is "Locks with the herd effect", section 2.4 of the paper on `ZooKeeper`. All candidates watch the one
//! entry that stands for leadership, and race for it once it is gone. One change of leader wakes them all.

use super::store::{Ask, Reply};

/// The next step of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Ask(Ask),
    /// Leads, with the entry of this number.
    Lead(u64),
    /// Waits for the watch.
    Wait,
}

/// The knowledge of a candidate in the queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    own: Option<u64>,
}

impl Queue {
    pub(super) const fn enter() -> Ask {
        Ask::Create { alone: false }
    }

    /// Returns the request after the watched entry has gone, or after the store was out of reach.
    pub(super) const fn recheck() -> Ask {
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
            Reply::Watching(false) => Step::Ask(Self::recheck()),
        }
    }
}

/// A candidate of the herd. It knows only the last answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Herd;

impl Herd {
    /// Returns the first request, which is also the one after the entry has gone.
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
