//! `elect done`: which keys of `--once` are done, and a key that is undone or recorded by hand.
//!
//! Only a leader may write what is done: whoever leads at the same time has read it before, and writes all of it. So a
//! change is made by a candidate that leads for no longer than that takes.

use std::time::Duration;

use anyhow::{Context, bail};
use elect_api::{
    Boottime, Candidate, Cell, Durability, ElectionName, Error, ErrorKind, Seat, Standing, Store,
    Wake, stamp,
};
use tokio::time::{sleep, timeout};

use super::attempts::{aloud, insist, with_members};
use super::kept::Stranger;
use super::look;
use super::runtime::{block_on, ended_by, interruption};
use super::steer::who_asks;
use crate::cli::Period;
use crate::config::{self, Done, DonePlan};
use crate::election::history::History;
use crate::election::once;
use crate::election::runs::{Run, Runs};
use crate::election::timing::TimingOptions;
use crate::guard::{self, Incoming, Inherited};
use crate::report::{self, DoneReport, KeyReport, Log, NOT_ACQUIRED, wall_clock};

/// How often a store is asked.
const ATTEMPTS: u32 = 5;
/// The longest that one call may take.
const CALL: Duration = Duration::from_secs(3);
/// A place is looked after at least so often: that is soon enough for every lease.
const AGAIN: Duration = Duration::from_secs(1);
/// How many calls may fail one after the other.
const FAILURES: u32 = 5;

/// The named key is not done.
const NOT_DONE: u8 = 1;

/// Shows the keys, or changes one.
///
/// # Errors
/// The store cannot be reached, refuses us, or holds something else; stdout cannot be written.
pub(super) fn done(plan: &DonePlan, log: &Log) -> anyhow::Result<u8> {
    let log = log.about(&plan.target.election);
    match &plan.what {
        Done::Show(key) => show(plan, key.as_deref(), &log),
        Done::Undo(key) | Done::Record(key) => change(plan, key, &log),
    }
}

/// What is known of an election.
struct KnownKeys {
    done: once::Done,
    runs: Runs,
    /// Where failed runs are found that count no attempts.
    history: History,
}

async fn known(store: &dyn Store, election: &ElectionName, log: &Log) -> anyhow::Result<KnownKeys> {
    let location = store.profile().location;
    let read = async || {
        let done = store.read(election, Cell::Once).await?.bytes;
        let runs = store.read(election, Cell::Runs).await?.bytes;
        Ok((done, runs, store.read(election, Cell::History).await?.bytes))
    };
    let (done, runs, history) = aloud(log, &location, insist(&location, ATTEMPTS, read)).await?;
    let runs = Runs::read(runs.as_deref()).unwrap_or_else(|error| {
        log.warn(report::chain(&error));
        Runs::default()
    });
    let history = History::read(history.as_deref()).unwrap_or_default();
    Ok(KnownKeys { done: once::Done::read(done.as_deref())?, runs, history })
}

impl KnownKeys {
    fn has(&self, key: &str) -> bool {
        self.done.has(key) || self.runs.of(key).is_some()
    }

    /// Those that were tried and are not done, and then those that are, each in the order of their last runs.
    fn keys(&self) -> Vec<KeyReport> {
        let tried = self.runs.keys().iter().filter(|known| !self.done.has(known.name()));
        let tried = tried.map(|known| KeyReport::new(known.name(), false, Some(known)));
        let done = self.done.keys().iter();
        let done = done.map(|key| KeyReport::new(key, true, self.runs.of(key)));
        let mut keys: Vec<_> = tried.chain(done).collect();
        let mut failed: Vec<KeyReport> = Vec::new();
        for run in self.history.records().iter().filter(|run| run.has_ended()) {
            let is_of_one = |keys: &[KeyReport]| keys.iter().any(|it| run.is_of(&it.key));
            if let Some(key) = run.key().filter(|_| !is_of_one(&keys) && !is_of_one(&failed)) {
                failed.push(KeyReport::new(key, false, None));
            }
        }
        keys.splice(..0, failed);
        let keys = keys.into_iter().map(|key| key.after(self.history.records()));
        let mut keys: Vec<_> = keys.collect();
        keys.sort_by(|a, b| a.start.cmp(&b.start));
        keys
    }
}

fn show(plan: &DonePlan, key: Option<&str>, log: &Log) -> anyhow::Result<u8> {
    let store = config::connect(&plan.target.backend)?;
    let election = &plan.target.election;
    let (known, is_told) = block_on(async {
        let known = known(&*store, election, log).await?;
        let is_told = known.keys().is_empty() && Stranger::warn_of(&*store, election, log).await;
        anyhow::Ok((known, is_told))
    })?;
    let location = store.profile().location;
    let mut keys = known.keys();
    keys.retain(|it| key.is_none_or(|key| key == it.key));
    let period = key.and_then(|key| key.parse::<Period>().ok()).map(|it| it.key(wall_clock()));
    if keys.is_empty() && !is_told {
        match key.map(report::escape) {
            Some(key) => {
                let keys =
                    period.map(|keys| format!("; {key} is a period: its keys look like {keys}"));
                log.warn(format_args!(
                    "the key {key} is not done at {location}, and no attempt is counted{}",
                    keys.unwrap_or_default()
                ));
            }
            None => log.warn(format_args!("no --once key of {election} at {location}")),
        }
    }
    let report =
        DoneReport { election: election.as_str().to_owned(), backend: location.clone(), keys };
    report::print_report(&report, plan.output, || {
        format!("backend: {}\n{}", log.place(&location), report.table(report::width()))
    })?;
    let is_done = key.is_none_or(|key| known.done.has(key));
    Ok(if is_done { 0 } else { NOT_DONE })
}

/// How a change came out.
enum Change {
    /// It is made.
    Made,
    /// There is nothing to change.
    Needless,
    /// Somebody else led until the time was over.
    Late,
    /// This signal came.
    Interrupted(i32),
}

fn change(plan: &DonePlan, key: &str, log: &Log) -> anyhow::Result<u8> {
    let inherited = Inherited::take().context("cannot block signals")?;
    let undoes = matches!(plan.what, Done::Undo(_));
    let election = &plan.target.election;
    let key = report::escape(key);
    let say = |words: String| report::print(&words).context("cannot write to stdout");
    match block_on(make(plan, &inherited, log))? {
        Change::Made if undoes => {
            say(format!("{election}: the key {key} is undone, with its attempts\n"))?;
            Ok(0)
        }
        Change::Made => {
            say(format!("{election}: the key {key} is recorded as done\n"))?;
            Ok(0)
        }
        Change::Needless if undoes => {
            log.warn(format_args!(
                "nothing to undo: the key {key} is not done, and no attempt is counted, so the next run with it runs"
            ));
            Ok(NOT_DONE)
        }
        Change::Needless => {
            say(format!("{election}: the key {key} is done already\n"))?;
            Ok(0)
        }
        Change::Late => {
            let limit = humantime::format_duration(plan.timeout.unwrap_or_default());
            log.warn(format_args!("nothing is changed: another candidate led for all of {limit}"));
            Ok(NOT_ACQUIRED)
        }
        Change::Interrupted(signal) => Ok(ended_by(signal)),
    }
}

async fn make(plan: &DonePlan, inherited: &Inherited, log: &Log) -> anyhow::Result<Change> {
    let incoming = Incoming::new(inherited).context("cannot read signals")?;
    let end = plan.timeout.map(|timeout| guard::now() + timeout);
    let store = config::connect(&plan.target.backend)?;
    let election = &plan.target.election;
    let is_needed = tokio::select! {
        is_needed = is_needed(&*store, plan, log) => is_needed?,
        signal = interruption(&incoming) => return Ok(Change::Interrupted(signal)),
    };
    if !is_needed {
        return Ok(Change::Needless);
    }
    let mut turn = Turn { store: &*store, election, log, seat: None, has_waited: false };
    let change = tokio::select! {
        change = turn.lead_and_write(&plan.what, end) => change,
        signal = interruption(&incoming) => Ok(Change::Interrupted(signal)),
    };
    turn.leave().await;
    change
}

/// Whether there is something to change.
///
/// # Errors
/// The store does not answer, or refuses us. The election takes no keys. It is unknown, and is not to be created: what is
/// recorded stays for good.
async fn is_needed(store: &dyn Store, plan: &DonePlan, log: &Log) -> anyhow::Result<bool> {
    let election = &plan.target.election;
    let location = store.profile().location;
    let asked = insist(&location, ATTEMPTS, async || look::control(store, election).await);
    let division = asked.await?.division();
    if !division.is_whole() {
        bail!("{election} has {division}, and --once does not go with those");
    }
    let known = known(store, election, log).await?;
    match &plan.what {
        Done::Undo(_) if known.keys().is_empty() => {
            Stranger::warn_of(store, election, log).await;
            Ok(false)
        }
        Done::Undo(key) => Ok(known.has(key)),
        Done::Record(key) if known.done.has(key) => Ok(false),
        Done::Record(_) => {
            if !plan.create
                && let Some(stranger) = Stranger::find(store, election, ATTEMPTS, log).await?
            {
                bail!(stranger.unless("--create records the key all the same"));
            }
            Ok(true)
        }
        Done::Show(_) => Ok(false),
    }
}

/// A candidacy for as long as a change takes.
struct Turn<'a> {
    store: &'a dyn Store,
    election: &'a ElectionName,
    log: &'a Log,
    seat: Option<Box<dyn Seat>>,
    has_waited: bool,
}

/// What came of one step.
enum Step {
    Done,
    /// It is worth going on when this ends, or after some time.
    Wait(Option<Wake>),
}

impl Turn<'_> {
    async fn lead_and_write(
        &mut self,
        what: &Done,
        end: Option<Boottime>,
    ) -> anyhow::Result<Change> {
        let mut failures = 0;
        loop {
            let step = timeout(CALL, self.step(what)).await;
            let step = step.unwrap_or_else(|_| {
                Err(Error::new(ErrorKind::Ambiguous, "the store did not answer in time"))
            });
            let wake = match step {
                Ok(Step::Done) => return Ok(Change::Made),
                Ok(Step::Wait(wake)) => {
                    failures = 0;
                    wake
                }
                Err(error) if error.is_permanent() => {
                    return Err(anyhow::Error::from(error).context("cannot change the keys"));
                }
                Err(error) if failures >= FAILURES => {
                    let location = self.store.profile().location;
                    let error = with_members(&location, error.into());
                    return Err(error.context("cannot change the keys"));
                }
                Err(_) => {
                    failures += 1;
                    None
                }
            };
            let left = end.map_or(AGAIN, |end| end.since(guard::now()));
            if left.is_zero() {
                return Ok(Change::Late);
            }
            let pause = sleep(left.min(AGAIN));
            match wake {
                Some(wake) => tokio::select! { () = wake => {}, () = pause => {} },
                None => pause.await,
            }
        }
    }

    async fn step(&mut self, what: &Done) -> Result<Step, Error> {
        if self.seat.is_none() {
            let (candidate, ttl) = (candidate(), TimingOptions::default().ttl);
            self.seat = Some(self.store.open(self.election, &candidate, ttl).await?);
        }
        let Some(seat) = &mut self.seat else { return Ok(Step::Wait(None)) };
        match seat.refresh(guard::now()).await?.standing {
            Standing::Leading { .. } if write(&mut **seat, what).await? => Ok(Step::Done),
            Standing::Leading { .. } => Ok(Step::Wait(None)),
            Standing::Waiting { wake, .. } => {
                if !std::mem::replace(&mut self.has_waited, true) {
                    self.say_who_leads().await;
                }
                Ok(Step::Wait(Some(wake)))
            }
            // It comes again as a newcomer.
            Standing::Gone(_) | Standing::Evicted(_) => {
                seat.resign(None).await?;
                Ok(Step::Wait(None))
            }
        }
    }

    /// Nobody is to wonder what is waited for.
    async fn say_who_leads(&self) {
        let seen = timeout(CALL, look::see(self.store, self.election)).await;
        let leader = seen.ok().and_then(Result::ok).and_then(|seen| seen.survey.leader);
        if let Some(leader) = leader {
            let id = &leader.entry.candidate.id;
            self.log.warn(format_args!(
                "{id} leads, and only a leader may write: waiting until it ends"
            ));
        }
    }

    /// Gives up whatever place there is.
    async fn leave(&mut self) {
        let Some(mut seat) = self.seat.take() else { return };
        let location = self.store.profile().location;
        for attempt in 0..ATTEMPTS {
            match timeout(CALL, seat.resign(None)).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) if error.is_permanent() => break,
                _ if attempt + 1 < ATTEMPTS => sleep(Duration::from_millis(100)).await,
                _ => {}
            }
        }
        self.log.warn(format_args!(
            "{location} did not answer as elect left: its entry stays until its lease ends"
        ));
    }
}

fn candidate() -> Candidate {
    Candidate {
        pid: std::process::id(),
        host: config::host_name(),
        command: "elect done".to_owned(),
        ..Candidate::foreign(config::candidate_id("elect-done"))
    }
}

/// Writes the change, as the leader. Whether it is written: somebody may have taken the lease away.
///
/// Of the two cells, that which says what is done comes last where a key is undone, and first where it is recorded: cut
/// off in between, the key is done.
async fn write(seat: &mut dyn Seat, what: &Done) -> Result<bool, Error> {
    let done = once::Done::read(seat.read(guard::now(), Cell::Once).await?.bytes.as_deref())?;
    let runs = Runs::read(seat.read(guard::now(), Cell::Runs).await?.bytes.as_deref());
    let changes = match what {
        Done::Undo(key) => {
            // What cannot be read counts no attempts any more.
            let runs = match runs {
                Ok(runs) => runs.of(key).map(|_| runs.without(key)),
                Err(_) => Some(Runs::default().without(key)),
            };
            let runs = runs.map(|runs| (Cell::Runs, runs));
            runs.into_iter().chain([(Cell::Once, done.without(key))]).collect()
        }
        Done::Record(key) => {
            let run = Run::by_hand(&who_asks(), &config::host_name(), stamp::display());
            let runs = runs.map(|runs| (Cell::Runs, runs.ended(key, run)));
            [(Cell::Once, done.with(key))].into_iter().chain(runs).collect()
        }
        Done::Show(_) => Vec::new(),
    };
    for (cell, text) in changes {
        let written = seat.write(guard::now(), cell, &text, Durability::Usual).await?;
        if written.why_not().is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}
