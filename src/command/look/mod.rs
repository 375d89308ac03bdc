//! Looking at elections, once or for as long as somebody wants to know: the one mechanism of `status`,
//! `observe` and `wait`.
//!
//! Whoever looks on is woken by the store, and asks now and then in any case, as a wake may be lost. Each
//! answer is as of the instant before its question was sent; while there is none, nothing is made up.

mod snapshot;
mod vigil;
mod watcher;

use std::iter;
use std::time::Duration;

use elect_api::{Boottime, Cell, Division, ElectionName, Error, Profile, Store, Survey, stamp};

use crate::election::control::{Control, Request};
use crate::election::history::{History, Record, last_led};
use crate::election::ranking::Field;
use crate::guard;
use crate::report::{ElectionStatus, PauseStatus, Suspicion, wall_clock};

pub(super) use snapshot::{Reach, Snapshot, look_closely};
pub(super) use vigil::{Proof, Vigil, patience};
#[cfg(test)]
pub(super) use watcher::Silence;
pub(super) use watcher::{Awaited, Look, Rhythm, Watcher, pace, until};

/// How old what is seen may be and count as the present. Whoever looks on has asked again by then, and waited
/// for the answer.
pub(in crate::command) const FRESH: Duration = Duration::from_secs(4);

/// For how long a head that may be about to stand back is looked at again, before it counts as the leader, and the
/// pause between two looks.
const SETTLING: Duration = Duration::from_millis(700);
const PAUSE: Duration = Duration::from_millis(50);

/// What was seen of one election.
#[derive(Debug)]
pub(in crate::command) struct ElectionSnapshot {
    pub(in crate::command) election: ElectionName,
    /// Who leads and who waits. While the election is paused, whoever is next to lead waits.
    pub(in crate::command) survey: Survey,
    /// Whether who leads there was still about to stand back for somebody better when it had been looked at for long enough.
    pub(in crate::command) may_stand_back: bool,
    /// Whether who leads there can be told from a dead one.
    pub(in crate::command) proof: Proof,
    /// Who wants nobody to lead, if somebody does.
    pub(in crate::command) pause: Option<Request>,
    /// When the question was sent.
    pub(in crate::command) asked: Boottime,
    /// When the answer was there.
    pub(in crate::command) answered: Boottime,
    /// How suspicious the leader is, for somebody who has seen enough of it.
    pub(in crate::command) suspicion: Option<Suspicion>,
    /// Into what it is divided.
    pub(in crate::command) division: Division,
    /// The last leadership that is known, where nobody leads and the history is looked at.
    pub(in crate::command) last: Option<Record>,
    /// Each of its parts, if they were looked at.
    pub(in crate::command) parts: Vec<Self>,
}

impl ElectionSnapshot {
    /// An election without candidates, seen at this time.
    #[cfg(test)]
    pub(in crate::command) fn of(election: ElectionName, at: Boottime) -> Self {
        Self {
            election,
            survey: Survey::default(),
            may_stand_back: false,
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

    /// As a report shows it.
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

    /// Takes in what its history tells.
    fn learn(&mut self, history: &History) {
        match &mut self.survey.leader {
            Some(leader) => leader.since = history.since(leader),
            None => self.last = history.records().last().cloned(),
        }
    }

    /// It, and each of its parts.
    pub(in crate::command) fn elections(&self) -> impl Iterator<Item = &Self> {
        iter::once(self).chain(&self.parts)
    }
}

/// A pause as a report shows it.
pub(in crate::command) fn pause_status(request: &Request) -> PauseStatus {
    let end = request.end().and_then(stamp::read);
    PauseStatus::new(request.by(), request.at(), request.reason()).until(end)
}

/// What is asked of an election at present. What cannot be read is obeyed by nobody.
///
/// # Errors
/// As the store has them.
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

/// Looks at one election, once: who takes part, and what is asked of them.
///
/// # Errors
/// As the store has them.
pub(in crate::command) async fn see(
    store: &dyn Store,
    election: &ElectionName,
) -> Result<ElectionSnapshot, Error> {
    let patience = guard::now() + SETTLING;
    let (asked, answered, control, survey, may_stand_back) = loop {
        let asked = guard::now();
        let survey = store.survey(election).await?;
        let answered = guard::now();
        let control = control(store, election).await?;
        if !control.is_ranked() || control.pausing().is_some() {
            break (asked, answered, control, survey, false);
        }
        let field = Field { survey, last: last_led(store, election).await? };
        let may_stand_back = field.is_unsettled(&control);
        if !may_stand_back || patience <= answered {
            let survey = field.settled(&control);
            break (asked, answered, control, survey, may_stand_back);
        }
        tokio::time::sleep(PAUSE).await;
    };
    let survey = control.obeyed(survey);
    let proof = Proof::at_sight(survey.leader.as_ref(), wall_clock());
    Ok(ElectionSnapshot {
        election: election.clone(),
        survey,
        may_stand_back,
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
