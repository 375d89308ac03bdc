//! The keys of the status report, which are stable.

use std::time::SystemTime;

use elect_api::{Candidate, Ending, Entry, Leader, Lease, Promise};
use serde::Serialize;

use super::DivisionStatus;
use crate::report::{LeadershipReport, Suspicion, rfc3339, whole_ms};

/// The report of `elect status`. JSON and YAML have the same keys. The keys are stable; more may be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatusReport {
    /// The elections, in the order in which the user named them.
    pub elections: Vec<ElectionStatus>,
}

/// One election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ElectionStatus {
    /// The name of the election.
    pub election: String,
    /// The store's location, as a URL without secrets.
    pub backend: String,
    /// The promise of the store: `strong` or `weak`.
    pub promise: Promise,
    /// The leader; `null` if there is none.
    pub leader: Option<LeaderStatus>,
    /// The candidates that wait, the next to lead first.
    pub waiting: Vec<WaitingStatus>,
    /// The pause; `null` if the election is not paused. A leader during a pause is being stopped.
    pub paused: Option<PauseStatus>,
    /// The last leadership, as `elect history` has it. Left out if there is a leader, or if no leadership is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LeadershipReport>,
    /// The slots or shards, each an election of its own. Left out if the election is not divided. If it is divided, the
    /// whole has no leader, and `waiting` lists the candidates without a slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub division: Option<DivisionStatus>,
    /// A leader's entry whose lease was not renewed during the look, so the leader may be dead. Then `leader` is
    /// `null`. Left out if the state of the leader is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unproven: Option<UnprovenStatus>,
    /// Earlier knowledge, for when the present state is unknown or there is no leader.
    #[serde(skip)]
    pub(super) past: Option<Past>,
}

/// A candidate that may lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnprovenStatus {
    /// The entry of the candidate.
    #[serde(flatten)]
    pub leader: LeaderStatus,
    /// The time of the last renewal, by the clock of its machine; RFC 3339 in UTC. `null` if the store does not tell
    /// it.
    pub renewed: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Past {
    /// The present leader is unknown. The id is that of the last known leader, if there was one.
    Unknown(Option<String>),
    /// A leader with this id has not renewed its lease for longer than the lease lasts.
    Over(String),
}

/// A pause of the election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PauseStatus {
    /// The user and machine that asked for the pause.
    pub by: String,
    /// The time at which the pause began, by that machine's clock; RFC 3339 in UTC. `null` if it is not known.
    pub since: Option<String>,
    /// The end of the pause, by the clock of each candidate; RFC 3339 in UTC. `null` if the pause lasts until a user
    /// resumes the election.
    pub until: Option<String>,
    /// The reason, if one was given.
    pub reason: Option<String>,
}

/// The identity of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CandidateStatus {
    /// The id, which is unique to the run: a label and a nonce.
    pub id: String,
    /// The name of its machine. `null`, like the next four, if the candidate is not an `elect run`.
    pub host: Option<String>,
    /// The process id of its `elect run` on that machine.
    pub pid: Option<u32>,
    /// The program that it runs, or wants to run, without arguments.
    pub command: Option<String>,
    /// The containment for the descendants of its command.
    pub containment: Option<String>,
    /// Its current priority. Among waiting candidates, the one with the greatest priority leads first. A candidate with
    /// priority 0 never leads.
    pub priority: Option<u32>,
}

/// The leader of an election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeaderStatus {
    /// The candidate that leads.
    #[serde(flatten)]
    pub candidate: CandidateStatus,
    /// Its fencing token.
    pub token: u64,
    /// The time since which it leads, by its machine's clock; RFC 3339 in UTC. `null` if the store does not tell it.
    pub since: Option<String>,
    /// The time of its arrival, by the clock of its machine or of the store; RFC 3339 in UTC. `null` if the store does
    /// not tell it.
    pub joined: Option<String>,
    /// The rest of its lease without a renewal, in milliseconds. `null` if leases have no limit, or if the store does
    /// not tell it.
    pub remaining_ms: Option<u64>,
    /// True if the store sees that its processes are stopped. Only the local disk can see that.
    pub stopped: bool,
    /// The visible processes that keep its lease although its own process is dead. Left out if the store sees its own
    /// process alive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlived_by: Option<Vec<u32>>,
    #[serde(skip)]
    pub(super) renewed: Option<SystemTime>,
    #[serde(skip)]
    pub(super) is_unlimited: bool,
    /// The suspicion against it, if it is known.
    #[serde(skip)]
    pub(super) suspicion: Option<Suspicion>,
}

/// A candidate that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingStatus {
    /// Its place: 1 is the next to lead.
    pub place: usize,
    /// The candidate.
    #[serde(flatten)]
    pub candidate: CandidateStatus,
    /// The time of its arrival, by the clock of its machine or of the store; RFC 3339 in UTC. `null` if the store does
    /// not tell it.
    pub joined: Option<String>,
    /// True if the store sees that its process is stopped. Only the local disk can see that.
    pub stopped: bool,
}
impl CandidateStatus {
    fn new(candidate: &Candidate) -> Self {
        Self {
            id: candidate.id.clone(),
            host: known(&candidate.host),
            pid: (candidate.pid != 0).then_some(candidate.pid),
            command: known(&candidate.command),
            containment: known(&candidate.containment),
            priority: (!candidate.is_foreign()).then_some(candidate.priority),
        }
    }
}

impl LeaderStatus {
    pub(super) fn new(leader: &Leader, lease: Lease) -> Self {
        Self {
            candidate: CandidateStatus::new(&leader.entry.candidate),
            token: leader.token.get(),
            since: leader.since.map(rfc3339),
            joined: leader.entry.joined.map(rfc3339),
            remaining_ms: leader.remaining.map(whole_ms),
            stopped: leader.entry.is_stopped,
            outlived_by: leader.entry.outlived_by.clone(),
            renewed: match leader.ending {
                Some(Ending::Judged { renewed, .. }) => renewed,
                _ => None,
            },
            is_unlimited: lease == Lease::Unlimited,
            suspicion: None,
        }
    }
}

impl WaitingStatus {
    /// Returns the candidate with this entry, at this place.
    pub(super) fn of((entry, place): (&Entry, usize)) -> Self {
        Self {
            place,
            candidate: CandidateStatus::new(&entry.candidate),
            joined: entry.joined.map(rfc3339),
            stopped: entry.is_stopped,
        }
    }
}
impl PauseStatus {
    /// Returns a pause that this user asked for at `at`, by the wall clock of the user's machine.
    pub fn new(by: &str, at: Option<SystemTime>, reason: Option<&str>) -> Self {
        let (since, reason) = (at.map(rfc3339), reason.map(ToOwned::to_owned));
        Self { by: by.to_owned(), since, until: None, reason }
    }

    /// Sets the end of the pause, by the wall clock of each candidate.
    #[must_use]
    pub fn until(mut self, end: Option<SystemTime>) -> Self {
        self.until = end.map(rfc3339);
        self
    }
}
/// Returns `None` for an empty text: candidates of other programs leave fields empty.
fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
