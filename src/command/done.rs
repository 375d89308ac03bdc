//! `elect done`: shows which keys of `--once` are done, and removes or records a key by hand.
//!
//! Only a leader may write the record of done keys. A leader reads the whole record before it runs a command, and
//! writes the whole record afterwards. So `elect done` becomes a candidate, and leads for just as long as the change
//! takes.

use std::time::Duration;

use anyhow::{Context, bail};
use elect_api::{
    Boottime, Candidate, Cell, Durability, ElectionName, Error, ErrorKind, Seat, Standing, Store,
    Wake, stamp,
};
use tokio::time::{sleep, timeout};

use super::attempts::{ATTEMPTS, aloud, insist, with_members};
use super::cells::UnknownName;
use super::runtime::{block_on, ended_by, interruption};
use super::steer::requester;
use super::survey;
use crate::config::{self, Done, DonePlan, Period};
use crate::election::history::History;
use crate::election::once;
use crate::election::runs::{Run, Runs};
use crate::guard::{self, Incoming, Inherited};
use crate::report::{self, DoneReport, KeyReport, Log, NOT_ACQUIRED, wall_clock};

/// The longest time for one call to the store.
const CALL: Duration = Duration::from_secs(3);
/// The longest time between two refreshes of the seat. It is short enough for every lease.
const AGAIN: Duration = Duration::from_secs(1);
/// The number of calls in a row that may fail.
const FAILURES: u32 = 5;

/// The exit code if the named key is not done.
const NOT_DONE: u8 = 1;

/// Shows the keys, or changes one of them.
///
/// # Errors
/// The store cannot be reached, refuses access, or holds data of another kind. Or stdout cannot be written.
pub(super) fn done(plan: &DonePlan, log: &Log) -> anyhow::Result<u8> {
    let log = log.about(&plan.target.election);
    match &plan.what {
        Done::Show(key) => show(plan, key.as_deref(), &log),
        Done::Undo(key) | Done::Record(key) => change(plan, key, &log),
    }
}

/// The records of an election about its keys.
struct KnownKeys {
    done: once::Done,
    runs: Runs,
    /// The history, which also shows failed runs that count no attempts.
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

    /// Returns all known keys, done or not, sorted by the start of their last run.
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
        let is_told = known.keys().is_empty() && UnknownName::warn_of(&*store, election, log).await;
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

/// The result of a change.
enum Change {
    /// The change was made.
    Made,
    /// There was nothing to change.
    Needless,
    /// Another candidate led until the time was over.
    Late,
    /// This signal arrived.
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

/// Returns whether there is something to change.
///
/// # Errors
/// The store does not answer, or refuses access. The election is divided, and takes no keys. Or the election is unknown
/// and `--create` is not given: a recorded key stays for good.
async fn is_needed(store: &dyn Store, plan: &DonePlan, log: &Log) -> anyhow::Result<bool> {
    let election = &plan.target.election;
    let location = store.profile().location;
    let asking = insist(&location, ATTEMPTS, async || survey::control(store, election).await);
    let division = aloud(log, &location, asking).await?.division();
    if !division.is_whole() {
        bail!("{election} has {division}, and --once does not go with those");
    }
    let known = known(store, election, log).await?;
    match &plan.what {
        Done::Undo(_) if known.keys().is_empty() => {
            UnknownName::warn_of(store, election, log).await;
            Ok(false)
        }
        Done::Undo(key) => Ok(known.has(key)),
        Done::Record(key) if known.done.has(key) => Ok(false),
        Done::Record(_) => {
            if !plan.create
                && let Some(unknown) = UnknownName::find(store, election, ATTEMPTS).await?
            {
                bail!(unknown.unless("--create records the key all the same"));
            }
            Ok(true)
        }
        Done::Show(_) => Ok(false),
    }
}

/// A candidacy that lasts as long as a change takes.
struct Turn<'a> {
    store: &'a dyn Store,
    election: &'a ElectionName,
    log: &'a Log,
    seat: Option<Box<dyn Seat>>,
    has_waited: bool,
}

/// The result of one step.
enum Step {
    Done,
    /// The next step is useful when this wake fires, or after some time.
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
            let (candidate, ttl) = (candidate(), self.store.profile().usual_ttl);
            self.seat = Some(self.store.open(self.election, &candidate, ttl).await?);
        }
        let Some(seat) = &mut self.seat else { return Ok(Step::Wait(None)) };
        match seat.refresh(guard::now()).await?.standing {
            Standing::Leading { .. } if write(&mut **seat, what).await? => Ok(Step::Done),
            Standing::Leading { .. } => Ok(Step::Wait(None)),
            Standing::Waiting { wake, .. } => {
                if !std::mem::replace(&mut self.has_waited, true) {
                    self.warn_of_leader().await;
                }
                Ok(Step::Wait(Some(wake)))
            }
            // The next refresh enters the queue again, behind all others.
            Standing::Gone(_) | Standing::Evicted(_) => {
                seat.resign(None).await?;
                Ok(Step::Wait(None))
            }
        }
    }

    /// Tells people which leader the change waits for.
    async fn warn_of_leader(&self) {
        let seen = timeout(CALL, survey::survey_one(self.store, self.election)).await;
        let leader = seen.ok().and_then(Result::ok).and_then(|seen| seen.survey.leader);
        if let Some(leader) = leader {
            let id = &leader.entry.candidate.id;
            self.log.warn(format_args!(
                "{id} leads, and only a leader may write: waiting until it ends"
            ));
        }
    }

    /// Gives up the seat, if there is one.
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

/// Writes the change as the leader. Returns `false` if the store refused the write, as when the lease has been taken
/// away.
///
/// Two cells change. The record of done keys is written last if a key is removed, and first if a key is recorded. If
/// elect is cut off between the two writes, the key counts as done.
async fn write(seat: &mut dyn Seat, what: &Done) -> Result<bool, Error> {
    let done = once::Done::read(seat.read(guard::now(), Cell::Once).await?.bytes.as_deref())?;
    let runs = Runs::read(seat.read(guard::now(), Cell::Runs).await?.bytes.as_deref());
    let changes = match what {
        Done::Undo(key) => {
            // An unreadable record of runs is replaced, so that it counts no attempts.
            let runs = match runs {
                Ok(runs) => runs.of(key).map(|_| runs.without(key)),
                Err(_) => Some(Runs::default().without(key)),
            };
            let runs = runs.map(|runs| (Cell::Runs, runs));
            runs.into_iter().chain([(Cell::Once, done.without(key))]).collect()
        }
        Done::Record(key) => {
            let run = Run::by_hand(&requester(), &config::host_name(), stamp::display());
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
