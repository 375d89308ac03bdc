use std::time::Duration;

use elect_api::{
    Candidate, Cell, Durability, ElectionName, Error, ErrorKind, Finding, Order, Removal, Scope,
    Seat, Standing, Store,
};
use tokio::time::{sleep, timeout};

use crate::election::timing::TimingOptions;
use crate::report::{self, RightReport};
use crate::{config, guard};

/// What the name of the election begins with.
const PREFIX: &str = "elect-doctor-";
/// The longest that one step may take, with all its attempts; the way to another server may be long.
const STEP: Duration = Duration::from_secs(20);
/// The longest that one attempt may take, in round trips to the slowest endpoint: connections and logins take some.
const TRIPS: u32 = 10;
/// The same, whatever the round trip.
const LEAST_ATTEMPT: Duration = Duration::from_secs(3);
const GREATEST_ATTEMPT: Duration = Duration::from_secs(15);
/// From the first attempt to the next; twice as long each time.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How many renewals are made, if there is time for all.
const RENEWALS: usize = 10;
/// When no further one is begun.
const ENOUGH: Duration = Duration::from_secs(6);

/// Something that elect has to be allowed, and whether it is.
pub(super) struct Right {
    name: &'static str,
    outcome: Result<(), Error>,
}

/// An election of nobody else, in which all is done that `elect run` does in one.
pub(super) struct Trial<'a> {
    store: &'a dyn Store,
    election: ElectionName,
    patience: Patience,
    seat: Option<Box<dyn Seat>>,
    rights: Vec<Right>,
    renewals: Vec<Duration>,
    left: Option<String>,
}

impl<'a> Trial<'a> {
    /// Nothing is made in the store yet. `round_trip` is that to its slowest endpoint. A store that `complains` is given
    /// no time to get well.
    ///
    /// # Errors
    /// Never: the name is a good one.
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
            left: None,
        })
    }

    /// Looks, enters, leads, renews, writes a cell, and leaves. What is refused is left out with what needs it.
    ///
    /// # Cancellation
    /// [`Trial::clear_away`] removes what there is.
    pub(super) async fn make(&mut self) {
        let (store, election, patience) = (self.store, self.election.clone(), self.patience);
        let looked = patience.insist(async || {
            store.survey(&election).await?;
            // Where nobody queues no candidate lists anything: credentials may be without that right.
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
        let ttl = TimingOptions::default().ttl;
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
        self.note("lead", led);
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

    /// What `--once` needs.
    async fn write(&mut self) {
        let patience = self.patience;
        let Some(seat) = &mut self.seat else { return };
        let written = patience.insist(async || {
            seat.read(guard::now(), Cell::Once).await?;
            // A proof that is behind its time takes another renewal.
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
    /// Some of it may be left.
    pub(super) async fn clear_away(&mut self) {
        let (store, election, patience) = (self.store, self.election.clone(), self.patience);
        if let Some(mut seat) = self.seat.take() {
            let resigned = patience.insist(async || seat.resign(None).await).await;
            if self.is_granted("lead") {
                self.note("leave", resigned);
            }
        }
        let removed = patience
            .insist(async || store.remove(&election, Removal::Everything { fences: true }).await)
            .await;
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

    /// What was tried, in that order.
    pub(super) fn rights(&self) -> &[Right] {
        &self.rights
    }

    /// How long renewals took, the shortest first.
    pub(super) fn renewal(&self) -> &[Duration] {
        &self.renewals
    }

    /// What failed, and why.
    pub(super) fn errors(&self) -> impl Iterator<Item = (&'static str, &Error)> {
        self.rights.iter().filter_map(|right| Some((right.name, right.outcome.as_ref().err()?)))
    }

    /// What is wrong with all that. What failed for one reason is told together.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut failing: Vec<(&'static str, String, String, &Error)> = Vec::new();
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
                        "give it this right, or do without --once: `elect help rights` names the rights that elect needs"
                    }
                    (ErrorKind::Denied, _) => {
                        "give it this right, or credentials that have it: `elect help rights` names the rights that elect needs"
                    }
                    (ErrorKind::Unfit, _) => "`elect help` has a page about this store",
                    (ErrorKind::Unreachable | ErrorKind::Ambiguous, _) => {
                        "see what the endpoints say of themselves, and try again"
                    }
                };
                Finding::error(format!("elect cannot {names}: {why}"), way_out)
            })
            .collect();
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

/// Refreshes until we lead.
async fn lead(seat: &mut dyn Seat, patience: Patience) -> Result<(), Error> {
    let waits = || {
        Error::new(ErrorKind::Unreachable, "nobody else is in the election, and we do not lead it")
    };
    patience
        .insist(async || match seat.refresh(guard::now()).await?.standing {
            Standing::Leading { .. } => Ok(()),
            Standing::Waiting { .. } => Err(waits()),
            Standing::Gone(why) | Standing::Evicted(why) => {
                let what = format!("the lease did not last: {why}");
                Err(Error::new(ErrorKind::Unfit, what))
            }
        })
        .await
}

/// How long one attempt may take, and one step with all its attempts.
#[derive(Clone, Copy)]
struct Patience {
    attempt: Duration,
    step: Duration,
}

impl Patience {
    /// Asks until there is an answer, or an error that repetition does not mend, or no time is left.
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
