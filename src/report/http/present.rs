//! This file makes the JSON that the page `/` and the events show.

use async_trait::async_trait;
use elect_api::Boottime;
use serde::Serialize;

use super::CandidateView;
use super::state::HttpState;
use crate::report::{
    ElectionStatus, LeaderStatus, PauseStatus, Suspicion, WaitingStatus, rfc3339, whole_ms,
};

/// The present state. Its keys are stable; more may be added.
#[derive(Serialize)]
pub(super) struct Present<'a> {
    /// The instant of this state.
    #[serde(skip)]
    at: Boottime,
    /// The name of the election.
    name: &'a str,
    /// True if this candidate leads now.
    is_leader: bool,
    /// The id of this candidate.
    id: &'a str,
    /// The fencing token of the leadership. `null`, like `since`, if this candidate does not lead.
    token: Option<u64>,
    since: Option<String>,
    /// The time that the leadership lasts without a further renewal: 0 if this candidate does not lead, `null` if it
    /// has no end.
    valid_for_ms: Option<u64>,
    /// The number of candidates before this one; `null` if the store has not said.
    place: Option<usize>,
    /// The pause of the election; `null` if the election is not paused, as far as the store has said.
    paused: Option<PauseStatus>,
    /// True if any process of the command lives; `null` if the candidate runs no command.
    command_running: Option<bool>,
    /// The reason for the last change, in the words of an event.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(flatten)]
    among: Option<Among<'a>>,
}

#[derive(Serialize)]
struct Among<'a> {
    /// The candidates; `null` if the store has not said.
    candidates: Option<Candidates<'a>>,
}

#[derive(Serialize)]
struct Candidates<'a> {
    /// The age of this list.
    age_ms: u64,
    leader: Option<&'a LeaderStatus>,
    /// The suspicion against the leader at that time; `null` if it is not known.
    suspicion: Option<Suspicion>,
    waiting: &'a [WaitingStatus],
}

impl<'a> Present<'a> {
    /// Returns the present state, without the candidates.
    pub(super) fn of(state: &'a HttpState) -> Self {
        let identity = state.identity();
        let CandidateView { at, leadership, place, command_runs, .. } = state.view();
        Self {
            at,
            name: &identity.election,
            is_leader: leadership.is_some(),
            id: &identity.id,
            token: leadership.map(|leadership| leadership.token.get()),
            since: leadership.map(|leadership| rfc3339(leadership.since)),
            valid_for_ms: match leadership {
                None => Some(0),
                Some(leadership) => leadership.left.map(whole_ms),
            },
            place,
            paused: state.pause(),
            command_running: command_runs,
            reason: None,
            among: None,
        }
    }

    /// Adds the candidates of the election, as far as they are known.
    #[must_use]
    pub(super) fn among(self, snapshot: Option<&'a StatusSnapshot>) -> Self {
        let candidates = snapshot.map(|StatusSnapshot { at, status, suspicion }| Candidates {
            age_ms: whole_ms(self.at.since(*at)),
            leader: status.leader.as_ref(),
            suspicion: *suspicion,
            waiting: &status.waiting,
        });
        Self { among: Some(Among { candidates }), ..self }
    }

    /// Adds the reason for the last change.
    #[must_use]
    pub(super) fn because(self, reason: Option<&'a str>) -> Self {
        Self { reason, ..self }
    }

    pub(super) fn json(&self) -> String {
        // The state is text, numbers and null, so its JSON cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A view of the election, and its time.
#[derive(Clone, Debug)]
pub struct StatusSnapshot {
    /// The time at which the store was asked.
    pub at: Boottime,
    /// The state of the election.
    pub status: ElectionStatus,
    /// The suspicion against the leader; `None` if too few renewals were seen.
    pub suspicion: Option<Suspicion>,
}

/// A source of information about the other candidates.
#[async_trait]
pub trait ElectionWatcher: Send + Sync {
    /// Returns the newest snapshot. Asks the store for a newer one if it is due, or if the last one was asked for
    /// before the candidate's own state `turned`. Does not wait long for it.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn snapshot(&self, turned: Boottime) -> Option<StatusSnapshot>;

    /// Returns the suspicion against the leader at this moment, if it is known. A call makes
    /// [`watch`](ElectionWatcher::watch) survey the leader for some time.
    fn suspicion(&self) -> Option<Suspicion>;

    /// Surveys the leader's renewals again and again. It does so only while a reader asks for the suspicion, and while
    /// `state` says that this candidate is the next to lead. One observer is enough. Never returns.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn watch(&self, state: &HttpState);
}
