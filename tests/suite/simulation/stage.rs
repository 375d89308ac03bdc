//! Where the simulated command trees run: it sees each of them, and every overlap.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use elect_api::{Boottime, Token};

/// One command tree, and when its last process ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    pub(crate) token: Token,
    pub(crate) dead: Option<Boottime>,
}

#[derive(Clone, Default)]
pub(crate) struct Stage(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    trees: BTreeMap<u64, Tree>,
    broken: Vec<String>,
}

impl Stage {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self, now: Boottime, token: Token) {
        let mut inner = self.inner();
        let alive: Vec<Tree> =
            inner.trees.values().filter(|tree| tree.dead.is_none()).copied().collect();
        if !alive.is_empty() {
            inner.broken.push(format!("tree {token} starts at {now:?} beside {alive:?}"));
        }
        if let Some((&last, _)) = inner.trees.last_key_value()
            && last >= token.get()
        {
            inner.broken.push(format!("token {token} comes after {last}"));
        }
        inner.trees.insert(token.get(), Tree { token, dead: None });
    }

    pub(crate) fn leave(&self, now: Boottime, token: Token) {
        if let Some(tree) = self.inner().trees.get_mut(&token.get()) {
            tree.dead.get_or_insert(now);
        }
    }

    pub(crate) fn blame(&self, what: String) {
        self.inner().broken.push(what);
    }

    pub(crate) fn trees(&self) -> Vec<Tree> {
        self.inner().trees.values().copied().collect()
    }

    /// What went wrong, if anything did.
    pub(crate) fn broken(&self) -> Vec<String> {
        self.inner().broken.clone()
    }
}
