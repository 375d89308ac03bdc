//! The checks of a self-test.

use std::time::Duration;

use elect_api::{Boottime, Candidate, Error, Standing, Validity};
use nix::sys::signal::Signal;
use tokio::time::sleep;

use super::candidate::{Scratch, signal};
use super::duel::{Duel, Failure, READ_PAUSE, Setting, one_after_another, until};
use super::proxy::{Mode, Proxy};
use super::report::{CheckReport, CheckResult};
use crate::command::attempts;
use crate::election::timing::{Timing, TimingOptions};
use crate::guard::{self, Containment};
use crate::report::whole_ms;

/// The number of attempts after which a silent store counts as out of reach.
const ATTEMPTS: u32 = 5;
/// The time for which a stopped leader must keep the lead, if its lease does not end by time.
const STANDSTILL: Duration = Duration::from_secs(1);
/// The number of connections that break, each one reply later than the last.
const FRAGILE: u32 = 8;

/// One of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    Store,
    HandOver,
    WrapperKilled,
    GuardianKilled,
    WrapperStopped,
    BothStopped,
    Escape,
    CutOff,
    LateReply,
    LostReplies,
}

impl Check {
    /// All checks with their names in the report. The checks whose failure says most come first.
    pub(super) const ALL: [(Self, &str); 10] = [
        (Self::Store, "store"),
        (Self::HandOver, "hand-over"),
        (Self::WrapperKilled, "wrapper killed"),
        (Self::GuardianKilled, "guardian killed"),
        (Self::WrapperStopped, "wrapper stopped"),
        (Self::BothStopped, "both stopped"),
        (Self::Escape, "escape"),
        (Self::CutOff, "cut off"),
        (Self::LateReply, "late reply"),
        (Self::LostReplies, "lost replies"),
    ];

    pub(super) async fn make(self, scratch: &Scratch<'_>) -> Result<CheckReport, Failure> {
        if matches!(self, Self::CutOff | Self::LateReply | Self::LostReplies) {
            if scratch.profile.checks_names {
                return Ok(CheckReport::skipped(
                    "the store's certificate would not name the proxy",
                ));
            }
            if scratch.machines().is_empty() {
                return Ok(CheckReport::skipped("no network leads to this store"));
            }
            if !scratch.names_machines() {
                return Ok(CheckReport::skipped(
                    "the URL names no machine, so that no proxy can take its place: write the host into the URL",
                ));
            }
        }
        match self {
            Self::Store => store(scratch).await,
            Self::HandOver => hand_over(scratch).await,
            Self::WrapperKilled => killed(scratch, |duel| Ok(duel.leader.wrapper())).await,
            Self::GuardianKilled => killed(scratch, |duel| Ok(duel.leader.guardian()?)).await,
            Self::WrapperStopped => wrapper_stopped(scratch).await,
            Self::BothStopped => both_stopped(scratch).await,
            Self::Escape => escape(scratch).await,
            Self::CutOff => cut_off(scratch).await,
            Self::LateReply => late_reply(scratch).await,
            Self::LostReplies => one_after_another(scratch, FRAGILE).await,
        }
    }
}

async fn store(scratch: &Scratch<'_>) -> Result<CheckReport, Failure> {
    let election = scratch.unused_election()?;
    let ask = async || scratch.store.survey(&election).await;
    attempts::insist(&scratch.profile.location, ATTEMPTS, ask).await?;
    // The first question has made the connection, so the second one measures the answer alone.
    let began = guard::now();
    attempts::insist(&scratch.profile.location, ATTEMPTS, ask).await?;
    let took = guard::now().since(began);
    if let Some(ttl) = scratch.ttl {
        let ask = async || granted(scratch, ttl).await;
        scratch.granted.set(attempts::insist(&scratch.profile.location, ATTEMPTS, ask).await?);
    }
    let seen = format!("it is reached, and answers within {took:.1?}");
    Ok(CheckReport::new(CheckResult::Holds, seen))
}

/// Returns the length of the lease that the store grants for this TTL.
async fn granted(scratch: &Scratch<'_>, ttl: Duration) -> Result<Option<Duration>, Error> {
    let election = scratch.election()?;
    let mut seat = scratch.store.open(&election, &Candidate::foreign("asker"), ttl).await?;
    let standing = seat.refresh(guard::now()).await?.standing;
    seat.resign(None).await?;
    Ok(match standing {
        Standing::Leading { validity: Validity::Window { window, .. }, .. } => Some(window),
        _ => None,
    })
}

async fn hand_over(scratch: &Scratch<'_>) -> Result<CheckReport, Failure> {
    let duel = Duel::start(scratch, Setting::PLAIN).await?;
    duel.end()?;
    let seen = if duel.containment == Containment::Group.name() {
        "the command and what it left running ended: containment group does not kill leftovers"
    } else {
        "the command ended, and what it left running was killed"
    };
    duel.follows(None, seen).await
}

/// Kills one process of the leader.
async fn killed(
    scratch: &Scratch<'_>,
    victim: impl Fn(&mut Duel<'_>) -> Result<i32, Failure>,
) -> Result<CheckReport, Failure> {
    let mut duel = Duel::start(scratch, Setting::PLAIN).await?;
    let pid = victim(&mut duel)?;
    duel.expect_leading()?;
    let at = guard::now();
    signal(pid, Signal::SIGKILL);
    duel.follows(Some(at), "the command was dead before the next one led").await
}

async fn wrapper_stopped(scratch: &Scratch<'_>) -> Result<CheckReport, Failure> {
    let mut duel = Duel::start(scratch, Setting::PLAIN).await?;
    let (wrapper, at) = (duel.leader.wrapper(), guard::now());
    duel.stop(wrapper).await?;
    if scratch.ttl.is_some() {
        return duel
            .follows(Some(at), "its guardian killed the command before the lease ended")
            .await;
    }
    duel.expect_standstill(STANDSTILL).await?;
    signal(wrapper, Signal::SIGCONT);
    duel.end()?;
    duel.follows(None, "the command ran on, and nobody else's did").await
}

/// Stops wrapper and guardian, so that only the kernel is left to act.
async fn both_stopped(scratch: &Scratch<'_>) -> Result<CheckReport, Failure> {
    let mut duel = Duel::start(scratch, Setting::PLAIN).await?;
    let (wrapper, guardian) = (duel.leader.wrapper(), duel.leader.guardian()?);
    let at = guard::now();
    duel.stop(guardian).await?;
    duel.stop(wrapper).await?;
    if scratch.ttl.is_some() {
        return duel
            .follows(Some(at), "the kernel killed the command before the lease ended")
            .await;
    }
    duel.expect_standstill(STANDSTILL).await?;
    let at = guard::now();
    signal(wrapper, Signal::SIGKILL);
    signal(guardian, Signal::SIGKILL);
    let seen = "the command ran on; when they were killed, the kernel killed it";
    duel.follows(Some(at), seen).await
}

/// Checks that a process dies with the tree even if it leaves its session and its parent ends.
async fn escape(scratch: &Scratch<'_>) -> Result<CheckReport, Failure> {
    let setting = Setting { tree: "escaping-tree", processes: 3, ..Setting::PLAIN };
    let mut duel = Duel::start(scratch, setting).await?;
    if duel.containment == Containment::Group.name() {
        return Ok(CheckReport::skipped(
            "the containment here, group, does not hold who leaves the group",
        ));
    }
    let seen = format!("containment {}: who left the session died with the rest", duel.containment);
    let wrapper = duel.leader.wrapper();
    duel.expect_leading()?;
    let at = guard::now();
    signal(wrapper, Signal::SIGKILL);
    duel.follows(Some(at), seen).await
}

async fn cut_off(scratch: &Scratch<'_>) -> Result<CheckReport, Failure> {
    let mut duel = Duel::start(scratch, Setting { proxied: true, ..Setting::PLAIN }).await?;
    duel.expect_leading()?;
    let at = guard::now();
    if let Some(proxy) = &duel.proxy {
        proxy.order(Mode::Drop, Mode::Drop);
    }
    duel.follows(Some(at), "the command was dead before the lease ended").await
}

/// Waits until the candidate has sent nothing for this span. Returns how often data of the candidate has arrived so
/// far.
async fn silence(proxy: &Proxy, span: Duration) -> u64 {
    loop {
        let heard = proxy.heard();
        sleep(span).await;
        if heard == proxy.heard() {
            return heard;
        }
    }
}

/// Waits until the candidate sends more data.
async fn next_word(proxy: &Proxy, known: u64, patience: Duration) -> Result<(), Failure> {
    until(patience, || (proxy.heard() != known).then_some(())).await.ok_or(Failure::Lost)
}

/// Lets this span pass. Returns when the candidate's newest data arrived, or when the span began if that is later.
async fn last_word(proxy: &Proxy, span: Duration) -> Boottime {
    let (mut at, mut heard) = (guard::now(), proxy.heard());
    let end = at + span;
    while guard::now() < end {
        sleep(READ_PAUSE).await;
        let now_heard = proxy.heard();
        if now_heard != heard {
            (at, heard) = (guard::now(), now_heard);
        }
    }
    at
}

/// Delays the last reply for as long as the leader may wait for it. A lease that is counted from the reply, and not
/// from its request, would last longer than the store's lease.
async fn late_reply(scratch: &Scratch<'_>) -> Result<CheckReport, Failure> {
    // A drift allowance or a grace would hide such an error, so the leader has neither. Its lease is longer than
    // usual.
    let setting = Setting {
        proxied: true,
        leases: 3,
        flags: &["--max-clock-drift", "0", "-k", "0"],
        ..Setting::PLAIN
    };
    let window = scratch.ttl.unwrap_or_default() * setting.leases;
    let options =
        TimingOptions { ttl: window, kill_grace: Some(Duration::ZERO), max_clock_drift: 0.0 };
    let timing = Timing::new(&options, scratch.profile.lease).map_err(anyhow::Error::from)?;
    let late = timing.attempt_timeout.mul_f64(0.85);
    let anchor = guard::now();
    let deadlines = timing.deadlines(Validity::Window { anchor, window });
    if deadlines.is_none_or(|deadlines| deadlines.hard + late <= anchor + window) {
        return Ok(CheckReport::skipped(
            "a reply is not waited for so long here that it could matter",
        ));
    }
    let mut duel = Duel::start(scratch, setting).await?;
    let Some(proxy) = &duel.proxy else { return Err(Failure::Lost) };
    let span = timing.renew_interval / 8;
    // The data after the first silence may be a task that a leader begins late. The data after the second one is a
    // renewal.
    let known = silence(proxy, span).await;
    next_word(proxy, known, window).await?;
    let known = silence(proxy, span).await;
    proxy.order(Mode::Pass, Mode::Hold);
    next_word(proxy, known, window).await?;
    let at = guard::now();
    let asked = last_word(proxy, late).await;
    proxy.order(Mode::Drop, Mode::Pass);
    // A store may grant more than was asked for.
    let granted = scratch.granted.get().max(scratch.ttl).unwrap_or_default();
    duel.lease_end = Some(asked + granted * setting.leases);
    duel.expect_leading()?;
    let late = humantime::format_duration(Duration::from_millis(whole_ms(late)));
    duel.follows(Some(at), format!("a reply that came {late} late did not lengthen the lease"))
        .await
}
