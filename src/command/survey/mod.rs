//! Surveys of elections, once or again and again: the one mechanism of `status`, `observe` and `wait`.
//!
//! The store wakes a watcher at a change. The watcher also asks at intervals, because a wake may be lost. An answer
//! counts as of the instant before its question was sent. Without an answer, nothing is made up.

mod snapshot;
mod vigil;
mod watcher;

use std::iter;
use std::time::Duration;

use elect_api::{Boottime, Cell, Division, ElectionName, Error, Profile, Store, Survey, stamp};

use crate::election::control::{Control, Request};
use crate::election::history::{History, LeadershipRecord, last_led};
use crate::election::ranking::{Field, Rank};
use crate::guard;
use crate::report::{ElectionStatus, PauseStatus, Suspicion, wall_clock};

pub(super) use snapshot::{Reach, Snapshot, survey_closely};
pub(super) use vigil::{Proof, Vigil, time_until_over};
#[cfg(test)]
pub(super) use watcher::Silence;
pub(super) use watcher::{Answer, Awaited, Rhythm, Watcher, pace, until};

/// The greatest age of an answer that still counts as the present. By then a watcher has asked again, and waited for
/// the answer.
pub(in crate::command) const FRESH: Duration = Duration::from_secs(4);

/// A head of the queue that may yield to a better candidate is surveyed again for this long. Then it counts as the
/// leader.
const YIELD_TIME: Duration = Duration::from_millis(700);
/// The pause between two of these surveys.
const PAUSE: Duration = Duration::from_millis(50);

/// One election at one time.
#[derive(Debug)]
pub(in crate::command) struct ElectionSnapshot {
    pub(in crate::command) election: ElectionName,
    /// The leader, and the waiting candidates in the order in which they would lead. While the election is paused, the
    /// head of the queue waits, too.
    pub(in crate::command) survey: Survey,
    /// True if the leader could still yield to a better candidate at the end of [`YIELD_TIME`].
    pub(in crate::command) may_yield: bool,
    /// What proves that the leader is alive.
    pub(in crate::command) proof: Proof,
    /// The pause that is in force.
    pub(in crate::command) pause: Option<Request>,
    /// The instant before the question was sent.
    pub(in crate::command) asked: Boottime,
    /// The instant after the answer arrived.
    pub(in crate::command) answered: Boottime,
    /// How late the leader's renewal is, if enough renewals were seen to tell.
    pub(in crate::command) suspicion: Option<Suspicion>,
    /// The division into slots or shards.
    pub(in crate::command) division: Division,
    /// The last leadership of the history, if the history was read and the election has no leader.
    pub(in crate::command) last: Option<LeadershipRecord>,
    /// The parts, if they were surveyed.
    pub(in crate::command) parts: Vec<Self>,
}

impl ElectionSnapshot {
    /// Returns an election without candidates, surveyed at this time.
    #[cfg(test)]
    pub(in crate::command) fn of(election: ElectionName, at: Boottime) -> Self {
        Self {
            election,
            survey: Survey::default(),
            may_yield: false,
            proof: Proof::Shown,
            pause: None,
            asked: at,
            answered: at,
            suspicion: None,
            division: Division::Whole,
            last: None,
            parts: Vec::new(),
        }
    }

    /// Returns the election as a report shows it.
    pub(in crate::command) fn status(&self, store: &Profile) -> ElectionStatus {
        let pause = self.pause.as_ref();
        let parts = self.parts.iter().map(|part| part.status(store)).collect();
        let status = ElectionStatus::new(&self.election, store, &self.survey);
        let status = match &self.proof {
            Proof::Shown => status,
            Proof::Missing => status.unproven(),
            Proof::Over(leader) => status.after_lease_of(leader),
        };
        status
            .suspecting(self.suspicion)
            .paused(pause.map(pause_status))
            .after_last(self.last.as_ref())
            .divided(self.division, &self.survey, parts)
    }

    /// Adds the facts that its history tells.
    fn learn(&mut self, history: &History) {
        match &mut self.survey.leader {
            Some(leader) => leader.since = history.since(leader),
            None => self.last = history.records().last().cloned(),
        }
    }

    /// Returns the election and each of its parts.
    pub(in crate::command) fn elections(&self) -> impl Iterator<Item = &Self> {
        iter::once(self).chain(&self.parts)
    }
}

/// Returns a pause as a report shows it.
pub(in crate::command) fn pause_status(request: &Request) -> PauseStatus {
    let end = request.end().and_then(stamp::read);
    PauseStatus::new(request.by(), request.at(), request.reason()).until(end)
}

/// Returns the orders that are in force for an election. A control cell that cannot be read holds no orders, as no
/// candidate obeys it.
///
/// # Errors
/// Those of the store.
pub(in crate::command) async fn control(
    store: &dyn Store,
    election: &ElectionName,
) -> Result<Control, Error> {
    match store.read(election, Cell::Control).await {
        Ok(asked) => {
            Ok(Control::read(asked.bytes.as_deref()).unwrap_or_default().as_of(stamp::display()))
        }
        Err(error) if error.is_of_a_text() => Ok(Control::default()),
        Err(error) => Err(error),
    }
}

/// Surveys one election once: its candidates, and the orders to them.
///
/// # Errors
/// Those of the store.
pub(in crate::command) async fn survey_one(
    store: &dyn Store,
    election: &ElectionName,
) -> Result<ElectionSnapshot, Error> {
    let end = guard::now() + YIELD_TIME;
    let (asked, answered, control, last, survey, may_yield) = loop {
        let asked = guard::now();
        let survey = store.survey(election).await?;
        let answered = guard::now();
        let control = control(store, election).await?;
        if !control.is_ranked() {
            break (asked, answered, control, None, survey, false);
        }
        let last = last_led(store, election).await?;
        if control.pausing().is_some() {
            break (asked, answered, control, last, survey, false);
        }
        let field = Field { survey, last };
        let may_yield = field.may_yield(&control);
        if !may_yield || end <= answered {
            let survey = field.into_shown(&control);
            break (asked, answered, control, last, survey, may_yield);
        }
        tokio::time::sleep(PAUSE).await;
    };
    let mut survey = control.obeyed(survey);
    // The first candidate of a divided election assigns its shards, whatever the priorities.
    if control.is_ranked() && control.division().is_whole() {
        Rank::sort(&mut survey.waiting, &control, last);
    }
    let proof = Proof::at_sight(survey.leader.as_ref(), wall_clock());
    Ok(ElectionSnapshot {
        election: election.clone(),
        survey,
        may_yield,
        proof,
        pause: control.pausing().cloned(),
        asked,
        answered,
        suspicion: None,
        division: control.division(),
        last: None,
        parts: Vec::new(),
    })
}
