//! `elect selftest`: checks whether elect keeps its promise on this machine and store.
//!
//! The self-test has no code of its own to run commands. It starts real runs of this program as processes. Then it
//! stops or kills them from outside, or cuts them off. Only the stamps of their commands (`trace`) count as evidence.

pub mod args;
mod candidate;
mod check;
mod duel;
mod proxy;
mod report;
mod trace;

use std::cell::Cell;
use std::convert::Infallible;

use anyhow::Context;
use elect_api::Boottime;

use self::args::SelftestArgs;
use self::candidate::Scratch;
use self::check::Check;
use self::duel::Failure;
use self::report::{CheckReport, CheckResult, SelftestReport};
pub(crate) use self::trace::stamp;
use crate::command::runtime::{block_on, ended_by, interruption};
use crate::guard::{self, Incoming, Inherited};
use crate::report::{Line, Log, age, print_report, whole_ms, width};

/// This program, even if its file was replaced or removed.
const OURSELVES: &str = "/proc/self/exe";
/// The subcommand of elect that makes stamps.
const SUBCOMMAND: &str = "stamp";

/// The number of tries for a check without a result. Such a check's candidate lost its lease before anything was done
/// to it, or could not reach the store.
const TRIES: u32 = 3;

/// Makes all checks. The exit code is 0 if all checks hold that are possible here, else 1. If a signal ends the
/// self-test, the exit code is 128 plus the number of the signal.
///
/// # Errors
/// If the checks cannot be made, because the store cannot be reached or refuses access. Also if stdout cannot be
/// written.
pub(crate) fn selftest(args: &SelftestArgs, log: &Log) -> anyhow::Result<u8> {
    let inherited = Inherited::take().context("cannot block signals")?;
    // This process adopts orphans, so that it can end every process that a check leaves.
    guard::adopt_orphans()?;
    match block_on(examine(args, &inherited, log))? {
        Ok(report) => {
            print_report(&report, args.output, || report.table(width()))?;
            Ok(u8::from(!report.holds))
        }
        Err(signal) => Ok(ended_by(signal)),
    }
}

/// Makes all checks, and removes what they leave. Returns their report, or the signal that ended them.
async fn examine(
    args: &SelftestArgs,
    inherited: &Inherited,
    log: &Log,
) -> anyhow::Result<Result<SelftestReport, i32>> {
    let incoming = Incoming::new(inherited).context("cannot read signals")?;
    let scratch = Scratch::new(args, inherited)?;
    let current = Cell::new(CurrentCheck { number: 0, name: "", began: guard::now() });
    let outcome = tokio::select! {
        checks = check_all(&scratch, &current) => checks.map(Ok),
        signal = interruption(&incoming) => Ok(Err(signal)),
        never = keep_drawing(log, &current) => match never {},
    };
    // All processes that are still in the elections will soon be dead.
    let left = tokio::select! {
        left = scratch.clear_away() => left,
        _ = interruption(&incoming) => vec![scratch.whole()],
    };
    for what in &left {
        log.warn(format_args!("left behind: {what}"));
    }
    let location = scratch.profile.location.clone();
    Ok(outcome?.map(|checks| SelftestReport::new(location, checks, left)))
}

/// The check that is being made.
#[derive(Clone, Copy)]
struct CurrentCheck {
    number: usize,
    name: &'static str,
    began: Boottime,
}

async fn check_all(
    scratch: &Scratch<'_>,
    current: &Cell<CurrentCheck>,
) -> anyhow::Result<Vec<CheckReport>> {
    let mut reports = Vec::with_capacity(Check::ALL.len());
    for (number, (check, name)) in (1..).zip(Check::ALL) {
        let began = guard::now();
        current.set(CurrentCheck { number, name, began });
        let found = insist(check, scratch).await;
        let took = guard::now().since(began);
        reports.push(told(name, found, took)?);
        // After a check that fails, processes may be left that would disturb the next one.
        scratch.await_ends().await;
    }
    Ok(reports)
}

/// Makes a check, and repeats it if it has no result. A busy machine may cost a leader its lease, or let a
/// candidate time out: that says nothing about the promise.
async fn insist(check: Check, scratch: &Scratch<'_>) -> Result<CheckReport, Failure> {
    let mut found = check.make(scratch).await;
    for _ in 1..TRIES {
        if !matches!(found, Err(Failure::Lost | Failure::Unable(_))) {
            break;
        }
        scratch.await_ends().await;
        found = check.make(scratch).await;
    }
    found
}

fn told(
    check: &'static str,
    found: Result<CheckReport, Failure>,
    took: std::time::Duration,
) -> anyhow::Result<CheckReport> {
    let found = match found {
        Err(Failure::Broken(why)) => CheckReport::new(CheckResult::Fails, why),
        Err(Failure::Lost) => {
            let why = format!(
                "the lease was lost {TRIES} times before anything was done: machine or store is \
                 too busy for it, a longer --ttl may help"
            );
            CheckReport::new(CheckResult::Fails, why)
        }
        Err(Failure::Unable(error)) => {
            return Err(error.context(format!("the check \"{check}\" cannot be made")));
        }
        Ok(found) => found,
    };
    Ok(CheckReport { check, took_ms: whole_ms(took), ..found })
}

async fn keep_drawing(log: &Log, current: &Cell<CurrentCheck>) -> Infallible {
    let mut line = Line::new(log);
    if !line.is_wanted() {
        return std::future::pending().await;
    }
    let mut beat = tokio::time::interval(std::time::Duration::from_millis(250));
    loop {
        beat.tick().await;
        let (now, CurrentCheck { number, name, began }) = (guard::now(), current.get());
        if number > 0 {
            let whole = Check::ALL.len();
            line.tick(now, |_| {
                format!("check {number} of {whole}: {name}, {}", age(now.since(began)))
            });
        }
    }
}
