//! An election as `/` shows it.

use std::time::Duration;

use async_trait::async_trait;
use elect_api::Boottime;
use serde::Serialize;

use super::CandidateView;
use super::state::HttpState;
use crate::report::{ElectionStatus, LeaderStatus, PauseStatus, Suspicion, WaitingStatus, rfc3339};

/// How things are, with stable keys; more may come.
#[derive(Serialize)]
pub(super) struct Present<'a> {
    /// When that is.
    #[serde(skip)]
    at: Boottime,
    /// The election.
    name: &'a str,
    /// Whether this candidate leads now.
    is_leader: bool,
    /// This candidate.
    id: &'a str,
    /// The fencing token of our leadership; `null` where we do not lead, like the next.
    token: Option<u64>,
    since: Option<String>,
    /// How long we lead without a further renewal: 0 where we do not, `null` where it is without end.
    valid_for_ms: Option<u64>,
    /// How many are before us; `null` where the store has not said.
    place: Option<usize>,
    /// Who wants nobody to lead; `null` where the election is not paused, as far as the store has said.
    paused: Option<PauseStatus>,
    /// Whether anything of our command lives; `null` where there is none to be run.
    command_running: Option<bool>,
    /// Why it came to that, in the words of an event.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(flatten)]
    among: Option<Among<'a>>,
}

#[derive(Serialize)]
struct Among<'a> {
    /// Who takes part; `null` where the store has not said.
    candidates: Option<Candidates<'a>>,
}

#[derive(Serialize)]
struct Candidates<'a> {
    /// How old this is.
    age_ms: u64,
    leader: Option<&'a LeaderStatus>,
    /// How suspicious the leader was then; `null` where that is not known.
    suspicion: Option<Suspicion>,
    waiting: &'a [WaitingStatus],
}

impl<'a> Present<'a> {
    /// As it is now, without candidates.
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
                Some(leadership) => leadership.left.map(millis),
            },
            place,
            paused: state.pause(),
            command_running: command_runs,
            reason: None,
            among: None,
        }
    }

    /// With who else takes part, as far as it is known.
    #[must_use]
    pub(super) fn among(self, snapshot: Option<&'a StatusSnapshot>) -> Self {
        let candidates = snapshot.map(|StatusSnapshot { at, status, suspicion }| Candidates {
            age_ms: millis(self.at.since(*at)),
            leader: status.leader.as_ref(),
            suspicion: *suspicion,
            waiting: &status.waiting,
        });
        Self { among: Some(Among { candidates }), ..self }
    }

    /// With why it came to that.
    #[must_use]
    pub(super) fn because(self, reason: Option<&'a str>) -> Self {
        Self { reason, ..self }
    }

    pub(super) fn json(&self) -> String {
        // Text, numbers and null: there is nothing in it that JSON cannot say.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// An election, and when it looked like this.
#[derive(Clone, Debug)]
pub struct StatusSnapshot {
    /// When it was asked for.
    pub at: Boottime,
    /// What was seen.
    pub status: ElectionStatus,
    /// How suspicious the leader was, for somebody who has seen enough of it.
    pub suspicion: Option<Suspicion>,
}

/// Whoever knows who else takes part.
#[async_trait]
pub trait ElectionWatcher: Send + Sync {
    /// The newest snapshot; asks for a newer one if it is time, and does not wait long for it.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn look(&self) -> Option<StatusSnapshot>;

    /// How suspicious the leader is at this moment, as far as that is known. To ask has it
    /// [watched](ElectionWatcher::watch) for some time.
    fn suspicion(&self) -> Option<Suspicion>;

    /// Looks again and again at how the leader renews its lease, for as long as somebody wants to know, and it is
    /// on `state` that we are the next to lead: one of us is enough. Never ends.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn watch(&self, state: &HttpState);
}
