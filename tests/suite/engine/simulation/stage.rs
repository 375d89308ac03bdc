//! The stage on which simulated command trees run: it sees each of them, and every overlap.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::{Boottime, Token};

use super::candidate::Name;
use super::roll::Roll;

/// One command tree, and when its last process ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    pub(crate) token: Token,
    /// Since when its computer is suspended: nothing of it runs.
    pub(crate) asleep: Option<Boottime>,
    pub(crate) dead: Option<Boottime>,
}

/// A law that was broken, and how.
#[derive(Clone)]
pub(crate) struct Breach {
    pub(crate) law: &'static str,
    how: String,
}

impl fmt::Debug for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law, self.how)
    }
}

impl Breach {
    pub(crate) fn new(law: &'static str, how: String) -> Self {
        Self { law, how }
    }
}

#[derive(Clone, Default)]
pub(crate) struct Stage(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    trees: BTreeMap<u64, Tree>,
    /// Since when the election is paused for sure.
    paused: Option<Boottime>,
    /// When it was first asked whether anybody leads.
    began: Option<Boottime>,
    /// True if one leadership may have several trees, one after the other.
    restarts: bool,
    /// The number of further trees of a leadership.
    again: u32,
    /// The list of candidates, if no fault strikes.
    roll: Option<Roll>,
    /// The time after a pause begins in which a start may still come, by a proof that is older than the pause.
    obeys_within: Duration,
    broken: Vec<Breach>,
}

impl Inner {
    /// One more tree runs from now on.
    fn begin(&mut self, now: Boottime, token: Token, how: &str) {
        let runs =
            |tree: &&Tree| tree.dead.is_none() && tree.asleep.is_none() && tree.token != token;
        let alive: Vec<Tree> = self.trees.values().filter(runs).copied().collect();
        if !alive.is_empty() {
            let how = format!("tree {token} {how} at {now:?} beside {alive:?}");
            self.broken.push(Breach::new("two command trees run at a time", how));
        }
    }
}

impl Stage {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the time after the beginning of a pause within which a command may start.
    pub(crate) fn obeying_within(self, limit: Duration) -> Self {
        self.inner().obeys_within = limit;
        self
    }

    /// Says if a failed command is started again.
    pub(crate) fn restarting(self, restarts: bool) -> Self {
        self.inner().restarts = restarts;
        self
    }

    /// Expects the best candidate to lead, as no fault strikes.
    pub(crate) fn of_ranks(self) -> Self {
        self.inner().roll = Some(Roll::default());
        self
    }

    /// Something befalls them from now on.
    pub(crate) fn close_the_roll(&self) {
        self.inner().roll = None;
    }

    /// This one has an entry.
    pub(crate) fn list(&self, now: Boottime, name: &Name) {
        if let Some(roll) = &mut self.inner().roll {
            roll.enters(now, name);
        }
    }

    /// This one gives its entry up, or has lost it, after having led or not.
    pub(crate) fn strike(&self, name: &Name, has_led: bool) {
        let mut inner = self.inner();
        let Some(roll) = &mut inner.roll else { return };
        if has_led {
            roll.leaves(name);
        } else if let Some(how) = roll.stands_back(name) {
            let law = "a candidate stands back more often than a better one is there";
            inner.broken.push(Breach::new(law, how));
        }
    }

    /// Notes that this candidate leads and starts its command.
    pub(crate) fn choose(&self, now: Boottime, name: &Name) {
        let mut inner = self.inner();
        if let Some(how) = inner.roll.as_mut().and_then(|roll| roll.starts(now, name)) {
            inner.broken.push(Breach::new("a candidate leads although a better one is there", how));
        }
    }

    /// Forbids starts from here on.
    pub(crate) fn pause(&self, now: Boottime) {
        self.inner().paused.get_or_insert(now);
    }

    /// Allows starts again.
    pub(crate) fn resume(&self) {
        self.inner().paused = None;
    }

    pub(crate) fn enter(&self, now: Boottime, token: Token) {
        let mut inner = self.inner();
        if let Some(paused) = inner.paused.filter(|&at| at + inner.obeys_within < now) {
            let how = format!("{token} starts at {now:?}, paused since {paused:?}");
            inner.broken.push(Breach::new("a command starts during a pause", how));
        }
        inner.begin(now, token, "starts");
        let before = inner.trees.get(&token.get()).copied();
        inner.again += u32::from(before.is_some());
        if before.is_some_and(|before| before.dead.is_none()) {
            let how = format!("tree {token} starts again at {now:?} beside itself");
            inner.broken.push(Breach::new("two command trees run at a time", how));
        }
        if let Some((&last, _)) = inner.trees.last_key_value()
            && (last > token.get() || last == token.get() && !inner.restarts)
        {
            let how = format!("{token} comes after {last}");
            inner.broken.push(Breach::new("tokens do not rise", how));
        }
        inner.trees.insert(token.get(), Tree { token, asleep: None, dead: None });
    }

    pub(crate) fn sleep(&self, now: Boottime, token: Token) {
        if let Some(tree) = self.inner().trees.get_mut(&token.get()) {
            tree.asleep.get_or_insert(now);
        }
    }

    pub(crate) fn wake(&self, now: Boottime, token: Token) {
        let mut inner = self.inner();
        if let Some(tree) = inner.trees.get_mut(&token.get())
            && tree.asleep.take().is_some()
            && tree.dead.is_none()
        {
            inner.begin(now, token, "goes on");
        }
    }

    /// Notes that the tree is dead. A tree that slept at the end has run until it fell asleep.
    pub(crate) fn leave(&self, now: Boottime, token: Token) {
        if let Some(tree) = self.inner().trees.get_mut(&token.get()) {
            let end = tree.asleep.unwrap_or(now);
            tree.dead.get_or_insert(end);
        }
    }

    /// Returns since when no tree lives; `None` while one does. If none ever lived: since the first such question.
    pub(crate) fn vacant_since(&self, now: Boottime) -> Option<Boottime> {
        let mut inner = self.inner();
        if inner.trees.values().any(|tree| tree.dead.is_none()) {
            return None;
        }
        let last = inner.trees.values().filter_map(|tree| tree.dead).max();
        Some(last.unwrap_or_else(|| *inner.began.get_or_insert(now)))
    }

    pub(crate) fn blame(&self, law: &'static str, how: String) {
        self.inner().broken.push(Breach::new(law, how));
    }

    /// Returns the number of trees that were the second, or a later one, of their leadership.
    pub(crate) fn again(&self) -> u32 {
        self.inner().again
    }

    pub(crate) fn trees(&self) -> Vec<Tree> {
        self.inner().trees.values().copied().collect()
    }

    /// Returns the breaches, if any.
    pub(crate) fn broken(&self) -> Vec<Breach> {
        self.inner().broken.clone()
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.inner().broken.is_empty()
    }
}
