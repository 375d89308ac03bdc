use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use elect_api::{Boottime, Token};
use tokio::sync::broadcast;

use super::metrics::Metrics;
use super::{CandidateView, Identity, Leadership, Reason};
use crate::report::PauseStatus;
use crate::report::log::shorten;

/// The changes that may wait for a reader of events before the server closes its connection.
const CHANGES_KEPT: usize = 64;
/// The longest text that an event carries, in bytes.
const REASON_MAX: usize = 1024;

/// The kind of the change when this candidate starts to lead.
const LEADING: &str = "leading";

/// The clocks. `now` counts suspends, and decides; `wall` is for people.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// Returns the present instant.
    pub now: fn() -> Boottime,
    /// Returns the time of the wall clock.
    pub wall: fn() -> SystemTime,
}

/// The state that the engine's side writes and the server reads.
///
/// No method waits for a client.
#[derive(Debug)]
pub struct HttpState {
    identity: Identity,
    clocks: Clocks,
    facts: Mutex<Facts>,
    changes: broadcast::Sender<Change>,
    metrics: Metrics,
}

/// The state of the candidate.
#[derive(Debug)]
struct Facts {
    phase: Phase,
    /// The time at which this candidate last began or ceased to wait or to lead.
    turned: Boottime,
    /// The time at which this candidate joined.
    joined: Boottime,
    /// True if any process of the command lives.
    command_runs: bool,
    /// The number of changes so far.
    changes: u64,
    /// The pause of the election, as far as the store has said.
    pause: Option<PauseStatus>,
    /// The id of the store, once it has answered.
    store: Option<String>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The store has not answered yet.
    Joining,
    /// The candidate waits, with this many candidates before it.
    Waiting(usize),
    Leading {
        token: Token,
        since: SystemTime,
        limit: Limit,
    },
    /// The leadership or the wait is over, and so is the candidacy.
    Over,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    /// The first deadlines are not known yet.
    Unknown,
    None,
    Deadlines {
        soft: Boottime,
        hard: Boottime,
    },
}

/// A change of the state.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The number of the change; the first is 1.
    pub(super) number: u64,
    pub(super) kind: &'static str,
    /// The reason in words, if there is one.
    pub(super) reason: Option<String>,
}

impl Facts {
    fn enter(&mut self, phase: Phase, now: Boottime) {
        if mem::discriminant(&phase) != mem::discriminant(&self.phase) {
            self.turned = now;
        }
        self.phase = phase;
    }
}

impl HttpState {
    /// Returns the state of a candidate that joins now.
    pub fn new(identity: Identity, clocks: Clocks) -> Self {
        let metrics = Metrics::new(&identity);
        let now = (clocks.now)();
        let facts = Facts {
            phase: Phase::Joining,
            turned: now,
            joined: now,
            command_runs: false,
            changes: 0,
            pause: None,
            store: None,
        };
        let (changes, _) = broadcast::channel(CHANGES_KEPT);
        Self { identity, clocks, facts: Mutex::new(facts), changes, metrics }
    }

    /// Returns the identity of this candidate.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the metrics.
    pub const fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Records that the candidate joins, or joins again.
    pub fn joins(&self) {
        let now = (self.clocks.now)();
        let mut facts = self.facts();
        facts.enter(Phase::Joining, now);
        facts.joined = now;
        facts.pause = None;
    }

    /// Records the pause of the election; `None` ends it.
    pub fn paused(&self, pause: Option<PauseStatus>) {
        self.facts().pause = pause;
    }

    /// Returns the pause of the election, as far as the store has said.
    pub(super) fn pause(&self) -> Option<PauseStatus> {
        self.facts().pause.clone()
    }

    /// Records the id of the store, which has now answered.
    pub fn answered(&self, store: String) {
        self.facts().store = Some(store);
    }

    /// Returns the id of the store, once it has answered.
    pub(super) fn store(&self) -> Option<String> {
        self.facts().store.clone()
    }

    /// Records that the candidate waits, with this many candidates before it.
    pub fn waiting(&self, ahead: usize) {
        self.change("waiting", None, Some(Phase::Waiting(ahead)));
    }

    /// Records that the candidate has won. If leases end by time, it leads from the first [`HttpState::renewed`] on.
    pub fn won(&self, token: Token) {
        let (now, since) = ((self.clocks.now)(), (self.clocks.wall)());
        self.metrics.won(now.since(self.facts().joined));
        if self.identity.is_timed {
            self.facts().enter(Phase::Leading { token, since, limit: Limit::Unknown }, now);
        } else {
            self.change(LEADING, None, Some(Phase::Leading { token, since, limit: Limit::None }));
        }
    }

    /// Records the deadlines from now on. A leader's deadlines never move back.
    pub fn renewed(&self, soft: Boottime, hard: Boottime) {
        let Phase::Leading { token, since, limit } = self.facts().phase else { return };
        let phase = Phase::Leading { token, since, limit: Limit::Deadlines { soft, hard } };
        if matches!(limit, Limit::Unknown) {
            self.change(LEADING, None, Some(phase));
        } else {
            self.facts().phase = phase;
        }
    }

    /// Records whether any process of the command lives.
    pub fn command_runs(&self, runs: bool) {
        self.facts().command_runs = runs;
    }

    /// Records the end of the leadership, if there was one.
    pub fn over(&self, reason: Reason, words: Option<String>) {
        if matches!(self.facts().phase, Phase::Leading { .. }) {
            self.metrics.over(reason);
            self.change(reason.name(), words, Some(Phase::Over));
        }
    }

    /// Records that the candidate takes part no more, whether it led or not.
    pub fn leave(&self) {
        if self.has_won() {
            self.over(Reason::Ended, None);
        } else if self.view().is_ready {
            self.change("leaving", None, Some(Phase::Over));
        }
    }

    /// Sends an event that changes nothing, but that people may want to know at once.
    pub fn remark(&self, kind: &'static str, words: Option<String>) {
        self.change(kind, words, None);
    }

    /// Returns whether the leadership has begun and has not been ended. Ignores the deadlines.
    pub fn has_won(&self) -> bool {
        matches!(self.facts().phase, Phase::Leading { .. })
    }

    /// Returns when this candidate last began or ceased to wait or to lead. What the store said before is outdated.
    pub(super) fn turned(&self) -> Boottime {
        self.facts().turned
    }

    /// Returns the present state.
    pub fn view(&self) -> CandidateView {
        let (phase, command_runs, changes, is_paused) = {
            let facts = self.facts();
            (facts.phase, facts.command_runs, facts.changes, facts.pause.is_some())
        };
        // The clock is read after the copy, so that a delay in between does not make this candidate lead for longer.
        let now = (self.clocks.now)();
        let (leadership, place) = match phase {
            Phase::Leading { token, since, limit } => {
                let (leads, left, to_hard) = match limit {
                    Limit::Unknown => (false, None, None),
                    Limit::None => (true, None, None),
                    Limit::Deadlines { soft, hard } => {
                        (now < soft, Some(soft.since(now)), Some(hard.since(now)))
                    }
                };
                let (leads, left) = match self.identity.grace {
                    Some(grace) => (leads && to_hard.is_none_or(|hard| grace <= hard), Some(grace)),
                    None => (leads, left),
                };
                (leads.then_some(Leadership { token, since, left, to_hard }), Some(0))
            }
            Phase::Waiting(ahead) => (None, Some(ahead)),
            Phase::Joining | Phase::Over => (None, None),
        };
        let is_ready = matches!(phase, Phase::Waiting(_) | Phase::Leading { .. });
        let command_runs = self.identity.has_command.then_some(command_runs);
        CandidateView { at: now, leadership, place, is_ready, is_paused, command_runs, changes }
    }

    pub(super) const fn clocks(&self) -> Clocks {
        self.clocks
    }

    /// Returns the changes from now on.
    pub(super) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    fn change(&self, kind: &'static str, reason: Option<String>, phase: Option<Phase>) {
        let reason = reason.map(|reason| shorten(reason, REASON_MAX, ""));
        let now = (self.clocks.now)();
        let number = {
            let mut facts = self.facts();
            if let Some(phase) = phase {
                facts.enter(phase, now);
            }
            facts.changes += 1;
            facts.changes
        };
        // The send fails only if there are no readers.
        let _ = self.changes.send(Change { number, kind, reason });
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::UNIX_EPOCH;

    use std::time::Duration;

    use super::*;

    fn identity(is_timed: bool) -> Identity {
        Identity {
            election: "job".into(),
            id: "me-1".into(),
            store: "test",
            promise: elect_api::Promise::Strong,
            is_timed,
            has_command: true,
            grace: None,
        }
    }

    const fn at(seconds: u64) -> Boottime {
        Boottime::from_boot(Duration::from_secs(seconds))
    }

    #[test]
    fn no_leadership_is_shown_past_the_soft_deadline() {
        static NOW: AtomicU64 = AtomicU64::new(100);
        let now = || at(NOW.load(Ordering::Relaxed));
        let state = HttpState::new(identity(true), Clocks { now, wall: || UNIX_EPOCH });
        assert!(!state.view().is_ready);
        state.waiting(1);
        assert_eq!((state.view().place, state.view().is_ready), (Some(1), true));
        state.won(Token::new(7));
        assert_eq!(state.view().leadership, None, "no deadlines yet");
        assert_eq!(state.view().changes, 1, "a client that is told that we lead must see it");
        state.renewed(at(105), at(109));
        state.renewed(at(110), at(114));
        assert_eq!(state.view().changes, 2);
        let leadership = state.view().leadership.unwrap();
        assert_eq!(leadership.left, Some(Duration::from_secs(10)));
        assert_eq!(leadership.to_hard, Some(Duration::from_secs(14)));
        NOW.store(109, Ordering::Relaxed);
        assert!(state.view().leadership.is_some());
        NOW.store(110, Ordering::Relaxed);
        assert_eq!(state.view().leadership, None);
    }

    #[test]
    fn a_leadership_without_limit_ends_when_it_is_said() {
        let now = || at(100);
        let state = HttpState::new(identity(false), Clocks { now, wall: || UNIX_EPOCH });
        state.over(Reason::Ended, None);
        assert_eq!(state.view().changes, 0, "there was none");
        state.won(Token::new(7));
        assert_eq!(state.view().leadership.unwrap().left, None);
        state.over(Reason::Lost, Some("why".into()));
        state.over(Reason::Ended, None);
        let view = state.view();
        assert_eq!((view.leadership, view.place, view.is_ready), (None, None, false));
        assert_eq!(view.changes, 2);
    }

    #[test]
    fn a_leadership_that_may_end_at_any_time_is_counted_on_for_its_grace() {
        let now = || at(100);
        let grace = Some(Duration::from_secs(4));
        let identity = Identity { grace, ..identity(true) };
        let state = HttpState::new(identity, Clocks { now, wall: || UNIX_EPOCH });
        state.won(Token::new(7));
        state.renewed(at(102), at(103));
        assert_eq!(state.view().leadership, None, "a lease that was granted for too short");
        state.renewed(at(110), at(114));
        assert_eq!(state.view().leadership.unwrap().left, grace);
        state.over(Reason::SteppedDown, None);
        state.leave();
        assert_eq!((state.view().leadership, state.view().changes), (None, 2));
        state.joins();
        state.waiting(1);
        assert!(state.view().is_ready);
        state.leave();
        assert!(!state.view().is_ready);
    }

    #[test]
    fn long_words_are_cut_between_characters() {
        assert_eq!(shorten("ä".repeat(1000), REASON_MAX, "").len(), REASON_MAX);
        assert_eq!(shorten(String::new(), REASON_MAX, ""), "");
    }
}
