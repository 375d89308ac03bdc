//! Tries out in a scratch election what `elect run` does in one, for `elect doctor`.

use std::time::Duration;

use elect_api::{
    Candidate, Cell, Doubt, Durability, ElectionName, Error, ErrorKind, Finding, Order, Removal,
    Scope, Seat, Standing, Store,
};
use tokio::time::{sleep, timeout};

use crate::report::{self, RightReport};
use crate::{config, guard, stores};

/// The prefix of the name of the trial's election.
const PREFIX: &str = "elect-doctor-";
/// The longest time for one step with all its attempts. A failover to another server may take long.
const STEP: Duration = Duration::from_secs(20);
/// The longest time for one attempt, in round trips to the slowest endpoint. Connections and logins take several.
const TRIPS: u32 = 10;
/// The shortest and the longest limit for one attempt, whatever the round trip.
const LEAST_ATTEMPT: Duration = Duration::from_secs(3);
const GREATEST_ATTEMPT: Duration = Duration::from_secs(15);
/// The pause after the first attempt. Each further pause is twice as long.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The number of renewals, if there is time for all.
const RENEWALS: usize = 10;
/// The time after which no further renewal begins.
const ENOUGH: Duration = Duration::from_secs(6);

/// A right that elect needs, and whether it has it.
pub(super) struct Right {
    name: &'static str,
    outcome: Result<(), Error>,
}

/// An election without other candidates, in which the trial does all that `elect run` does.
pub(super) struct Trial<'a> {
    store: &'a dyn Store,
    election: ElectionName,
    patience: Patience,
    seat: Option<Box<dyn Seat>>,
    rights: Vec<Right>,
    renewals: Vec<Duration>,
    /// How long the store lets no candidate lead, as it may have lost the record of a leader.
    doubt: Option<Duration>,
    left: Option<String>,
}

impl<'a> Trial<'a> {
    /// Prepares a trial, and writes nothing to the store yet. `round_trip` is that to the slowest endpoint. A store
    /// that `complains` gets one attempt per step, and no time to recover.
    ///
    /// # Errors
    /// Never fails, as the generated name is valid.
    pub(super) fn new(
        store: &'a dyn Store,
        round_trip: Duration,
        complains: bool,
    ) -> anyhow::Result<Self> {
        let election = format!("{PREFIX}{:08x}", fastrand::u32(..)).parse()?;
        let attempt = (round_trip * TRIPS).clamp(LEAST_ATTEMPT, GREATEST_ATTEMPT);
        let step = if complains { Duration::ZERO } else { STEP };
        Ok(Self {
            store,
            election,
            patience: Patience { attempt, step },
            seat: None,
            rights: Vec::new(),
            renewals: Vec::new(),
            doubt: None,
            left: None,
        })
    }

    /// Surveys, enters, leads, renews and writes a cell. A step is left out if a step that it needs was refused.
    ///
    /// # Cancellation
    /// After a cancellation, [`Trial::clear_away`] removes what was made.
    pub(super) async fn make(&mut self) {
        let (store, election, patience) = (self.store, self.election.clone(), self.patience);
        let looked = patience.insist(async || {
            store.survey(&election).await?;
            // Candidates list elections only in a store with a queue. Credentials for other stores may lack that right.
            if store.profile().order == Order::Race {
                return Ok(());
            }
            store.list(Scope::Entered).await.map(drop)
        });
        self.note("look", looked.await);
        let candidate = Candidate {
            pid: std::process::id(),
            ..Candidate {
                host: config::host_name(),
                command: "elect doctor".into(),
                ..Candidate::foreign(config::candidate_id("elect-doctor"))
            }
        };
        let ttl = store.profile().usual_ttl;
        let mut seat = None;
        let opened = patience.insist(async || {
            seat = Some(store.open(&election, &candidate, ttl).await?);
            Ok(())
        });
        let opened = opened.await;
        self.seat = seat;
        let Some(seat) = &mut self.seat else { return self.note("lead", opened) };
        let led = lead(&mut **seat, patience).await;
        let leads = led.is_ok();
        match long_doubt(&**seat, patience) {
            Some(left) if !leads => self.doubt = Some(left),
            _ => self.note("lead", led),
        }
        if leads {
            self.renew().await;
            self.write().await;
        }
    }

    async fn renew(&mut self) {
        let Some(seat) = &mut self.seat else { return };
        let patience = self.patience;
        let mut renewals = Vec::new();
        let mut last = Ok(());
        let began = guard::now();
        while renewals.len() < RENEWALS && guard::now().since(began) < ENOUGH {
            let asked = guard::now();
            match lead(&mut **seat, patience).await {
                Ok(()) => renewals.push(guard::now().since(asked)),
                error => {
                    last = error;
                    break;
                }
            }
        }
        renewals.sort_unstable();
        self.renewals = renewals;
        self.note("renew", last);
    }

    /// Tries the access that `--once` needs.
    async fn write(&mut self) {
        let patience = self.patience;
        let Some(seat) = &mut self.seat else { return };
        let written = patience.insist(async || {
            seat.read(guard::now(), Cell::Once).await?;
            // A store whose proof of leadership lags behind needs another renewal before the write.
            lead(&mut **seat, patience).await?;
            let written = seat.write(guard::now(), Cell::Once, b"{}", Durability::Usual).await?;
            match written.why_not() {
                None => Ok(()),
                Some(why) => Err(Error::new(ErrorKind::Unreachable, why)),
            }
        });
        let written = written.await;
        self.note("write notes", written);
    }

    /// Leaves the election and removes it.
    ///
    /// # Cancellation
    /// Some records may stay in the store.
    pub(super) async fn clear_away(&mut self) {
        let (store, election, patience) = (self.store, self.election.clone(), self.patience);
        if let Some(mut seat) = self.seat.take() {
            let resigned = patience.insist(async || seat.resign(None).await).await;
            if self.is_granted("lead") {
                self.note("leave", resigned);
            }
        }
        let removed =
            patience.insist(async || store.remove(&election, Removal::Scratch).await).await;
        if self.is_granted("lead") {
            if let Err(error) = &removed {
                let location = store.profile().location;
                self.left =
                    Some(format!("election {election} at {location}: {}", report::chain(error)));
            }
            self.note("remove", removed);
        }
    }

    fn note(&mut self, name: &'static str, outcome: Result<(), Error>) {
        self.rights.push(Right { name, outcome });
    }

    fn is_granted(&self, name: &str) -> bool {
        self.rights.iter().any(|right| right.name == name && right.outcome.is_ok())
    }

    /// Returns the rights that were tried, in order.
    pub(super) fn rights(&self) -> &[Right] {
        &self.rights
    }

    /// Returns the durations of the renewals, the shortest first.
    pub(super) fn renewal(&self) -> &[Duration] {
        &self.renewals
    }

    /// Returns the steps that failed, and their errors.
    pub(super) fn errors(&self) -> impl Iterator<Item = (&'static str, &Error)> {
        self.rights.iter().filter_map(|right| Some((right.name, right.outcome.as_ref().err()?)))
    }

    /// Returns the findings of the trial. Steps that failed for the same reason share one finding.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut failing: Vec<(&'static str, String, String, &Error)> = Vec::new();
        let scheme = self.store.profile().scheme;
        let kind = stores::kinds().find(|kind| kind.schemes.contains(&scheme));
        let page = kind.map_or("stores", |kind| kind.manual.0);
        let rights = format!("`elect help {page}` names the rights that elect needs");
        for (name, error) in self.errors() {
            let why = report::chain(error);
            match failing.iter_mut().find(|(_, _, other, _)| *other == why) {
                Some((_, names, ..)) => {
                    names.push_str(" or ");
                    names.push_str(name);
                }
                None => failing.push((name, name.to_owned(), why, error)),
            }
        }
        let mut findings: Vec<_> = failing
            .into_iter()
            .map(|(name, names, why, error)| {
                let way_out = match (error.kind(), name) {
                    (ErrorKind::Denied, "write notes") => {
                        format!("give it this right, or do without --once: {rights}")
                    }
                    (ErrorKind::Denied, _) => {
                        format!("give it this right, or credentials that have it: {rights}")
                    }
                    (ErrorKind::Unfit, _) => format!("`elect help {page}` is about this store"),
                    (ErrorKind::Unreachable | ErrorKind::Ambiguous, _) => {
                        "see what the endpoints say of themselves, and try again".to_owned()
                    }
                };
                Finding::error(format!("elect cannot {names}: {why}"), way_out)
            })
            .collect();
        findings.extend(self.doubt.map(|left| {
            let left = humantime::format_duration(Duration::from_secs(left.as_secs()));
            let what =
                "the store may have lost the record of a leader, as one that is new may have";
            Finding::warning(
                format!("{what}: it lets no candidate lead for {left}"),
                "elect run waits for that by itself; then ask again, for the rights of a leader",
            )
        }));
        let left = self.left.iter();
        findings.extend(
            left.map(|left| Finding::warning(format!("left behind: {left}"), "remove it by hand")),
        );
        findings
    }
}

impl From<&Right> for RightReport {
    fn from(right: &Right) -> Self {
        Self {
            right: right.name,
            granted: right.outcome.is_ok(),
            error: right.outcome.as_ref().err().map(|error| report::chain(error)),
        }
    }
}

/// How long the store lets no candidate lead, if that is longer than a step.
fn long_doubt(seat: &dyn Seat, patience: Patience) -> Option<Duration> {
    match seat.doubt() {
        Some(Doubt::Store(left)) if left > patience.step => Some(left),
        _ => None,
    }
}

/// Refreshes the seat until it leads, or is in doubt for long.
async fn lead(seat: &mut dyn Seat, patience: Patience) -> Result<(), Error> {
    const WAITS: &str = "no other candidate is in the election, and the store lets none lead yet";
    let waits = || Error::new(ErrorKind::Unreachable, WAITS);
    let asked = patience.insist(async || match seat.refresh(guard::now()).await?.standing {
        Standing::Leading { .. } => Ok(true),
        Standing::Waiting { .. } if long_doubt(seat, patience).is_some() => Ok(false),
        Standing::Waiting { .. } => Err(waits()),
        Standing::Gone(why) | Standing::Evicted(why) => {
            let what = format!("the lease did not last: {why}");
            Err(Error::new(ErrorKind::Unfit, what))
        }
    });
    if asked.await? { Ok(()) } else { Err(waits()) }
}

/// The time limits of one attempt, and of one step with all its attempts.
#[derive(Clone, Copy)]
struct Patience {
    attempt: Duration,
    step: Duration,
}

impl Patience {
    /// Asks until there is an answer, an error that a repetition does not mend, or no time left.
    async fn insist<T>(self, mut ask: impl AsyncFnMut() -> Result<T, Error>) -> Result<T, Error> {
        let (began, mut pause) = (guard::now(), PAUSE);
        loop {
            let error = match timeout(self.attempt, ask()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => error,
                Err(_) => {
                    let what = format!("no answer within {:?}", self.attempt);
                    Error::new(ErrorKind::Ambiguous, what)
                }
            };
            if error.is_permanent() || guard::now().since(began) > self.step {
                return Err(error);
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
