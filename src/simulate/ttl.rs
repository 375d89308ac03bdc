//! `elect simulate ttl`: compares the time without a leader after a crash with the number of leaderships lost without
//! need.

use std::time::Duration;

use elect_api::{Cadence, Order, Price};
use elect_record::table::Bill;
use elect_simulation::{
    End, Fault, History, Network, PerMillion, Progress, Scenario, Target, Times, Trial, over,
};

use super::args::{LeaseArgs, NetworkArgs, NodeName, Outage, TtlArgs, share};
use super::judged::ratio;
use super::picture::{Frontier, Point, Report, Section};
use super::plan::{Cast, Leased, between_those, leases, price, store};
use super::report::{Ms, Percentiles, TtlAdviceReport, TtlRow, one_of};
use super::{Theatre, open_files, present, report};
use crate::report::Table;

/// The TTLs to try, in seconds.
const TTLS: [u64; 15] = [4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 45, 60, 90, 120, 180];
/// The time by which a candidate leads.
const FIRST_LEADER: Duration = Duration::from_secs(10);
/// How long a run looks for a lost leadership without an outage, in TTLs.
const QUIET: u32 = 10;
/// The waiting candidates of whose requests the price is told.
const WAITERS: u32 = 2;
/// Thirty days, in seconds.
const MONTH: f64 = 30.0 * 86_400.0;
/// The outages that count as usual if none are given: 2 s twice a day, 10 s once a week, a minute once a year.
const USUAL: [Outage; 3] = [
    Outage { length: Duration::from_secs(2), monthly: 60.0 },
    Outage { length: Duration::from_secs(10), monthly: 30.0 / 7.0 },
    Outage { length: Duration::from_secs(60), monthly: 30.0 / 365.0 },
];

/// Advises a TTL. The exit code is 0, or 1 if no TTL suffices.
pub(super) fn ttl(args: &TtlArgs, theatre: &Theatre<'_>) -> anyhow::Result<u8> {
    let networks = networks(&args.network)?;
    let of = |ttl| {
        let (network, span) = (&args.network, (Duration::from_secs(ttl), None));
        let of = |is_troubled| leases(network.store, network, &args.lease, span, is_troubled);
        Ok::<_, anyhow::Error>((of(args.loss > 0.0)?, of(true)?))
    };
    // A grace that is too long for the longest TTL is refused, as it fits none of them.
    of(TTLS[TTLS.len() - 1])?;
    let leases: Vec<(Leased, Leased)> = TTLS.iter().filter_map(|&ttl| of(ttl).ok()).collect();
    let pictures = open_files(&args.output)?;
    let outages = if args.outage.is_empty() { &USUAL[..] } else { &args.outage };
    let (seed, runs) = (args.output.seed, args.output.runs);
    let mut rows = Vec::new();
    for (lease, in_trouble) in &leases {
        let ttl = lease.setup.options.ttl;
        let loss = share(args.loss)?;
        let price = price(args.network.store);
        let case =
            Case { lease, in_trouble, networks: &networks, outages, loss, price, seed, runs };
        let what = format!("a TTL of {}", humantime::format_duration(ttl));
        let all = runs * (3 + outages.len() as u64);
        let row = theatre.play(&what, all, |progress| case.row(progress))?;
        if theatre.has_ended_early() {
            break;
        }
        rows.push(row?);
    }
    let ended_early = theatre.has_ended_early();
    let mut lasting =
        rows.iter().filter(|row| row.failover_ms.is_some() && row.lost_monthly <= args.tolerate);
    let advised = lasting.next().filter(|_| !ended_early).cloned();
    let store = store(&args.network);
    let figures = TtlAdviceReport { seed, runs, ended_early, store, advised, ttls: rows };
    present(&figures, &picture(args, outages, &figures), &pictures, args.output.output)?;
    Ok(u8::from(figures.advised.is_none()))
}

/// The networks between one candidate and the store, and between two candidates and the store.
///
/// # Errors
/// As for [`Cast::network`].
fn networks(args: &NetworkArgs) -> anyhow::Result<[Network; 2]> {
    let of_first = |candidates: usize| {
        let cast =
            Cast { candidates, members: args.members(args.store).into(), usual_time: FIRST_LEADER };
        let plays = |node| !matches!(node, NodeName::Candidate(number) if number > candidates);
        cast.network(&args.rtt, &between_those(&args.between, plays))
    };
    Ok([of_first(1)?, of_first(2)?])
}

/// A lease, and the faults that it must survive.
struct Case<'a> {
    lease: &'a Leased,
    /// The same lease on a store of which a member may die.
    in_trouble: &'a Leased,
    /// The networks of one candidate, and of two.
    networks: &'a [Network; 2],
    outages: &'a [Outage],
    loss: PerMillion,
    price: Option<(Price, Order)>,
    seed: u64,
    runs: u64,
}

impl Case<'_> {
    /// # Errors
    /// If the lease does not fit the network.
    fn row(&self, progress: &Progress) -> anyhow::Result<TtlRow> {
        let timing = self.lease.setup.timing()?;
        let shift = timing.renew_interval;
        let ttl = self.lease.setup.options.ttl;
        let crash =
            self.scenario(2, End::Replaced { limit: FIRST_LEADER + shift + ttl * 4 }, shift);
        let crash = crash.with(FIRST_LEADER, Fault::Kill(Target::Leader));
        let failovers = |lease, crash: &Scenario| {
            let times = self.play_on(lease, crash, progress, History::replaced)?;
            Ok::<_, anyhow::Error>(times.into_iter().flatten().collect::<Times>())
        };
        // The first member of the store dies, which leads the store.
        let with_store = crash.clone().with(FIRST_LEADER, Fault::Kill(Target::Node(2)));
        let with_store = failovers(self.in_trouble, &with_store)?;
        let failovers = failovers(self.lease, &crash)?;
        let quiet = self.scenario(1, End::At(FIRST_LEADER + ttl * QUIET), Duration::ZERO);
        let lost = self.share_lost(&quiet, progress)?;
        let (mut monthly, mut variance) = self.rate(lost, MONTH / (ttl * QUIET).as_secs_f64());
        if lost <= 0.0 && self.loss == PerMillion::NONE {
            // The network loses nothing, so more runs would show no loss either.
            variance = 0.0;
        }
        for Outage { length, monthly: often } in self.outages {
            let end = End::At(FIRST_LEADER + *length + shift * 2);
            let outage = self.scenario(1, end, shift);
            let outage = outage
                .with(FIRST_LEADER, Fault::Isolate(Target::Node(0)))
                .with(FIRST_LEADER + *length, Fault::Heal);
            let (lost, error) = self.rate(self.share_lost(&outage, progress)?, *often);
            (monthly, variance) = (monthly + lost, variance + error);
        }
        Ok(TtlRow {
            ttl_ms: Ms(ttl),
            kill_grace_ms: Ms(timing.kill_grace),
            renew_ms: Ms(timing.renew_interval),
            failover_ms: Percentiles::of(&failovers),
            failover_with_store_ms: Percentiles::of(&with_store),
            lost_monthly: monthly,
            lost_error: variance.sqrt(),
            dollars_monthly: self.price.map(|(price, order)| {
                Bill::of_month(price, Cadence::RECORD, order, ttl, WAITERS).dollars
            }),
        })
    }

    fn scenario(&self, candidates: usize, end: End, shift: Duration) -> Scenario {
        let network = self.networks[candidates - 1].clone();
        let mut scenario = Scenario::new(candidates, network, end);
        scenario.shift = shift;
        if self.loss > PerMillion::NONE {
            scenario = scenario.with(Duration::ZERO, Fault::Loss(self.loss));
        }
        scenario
    }

    fn play_on<T: Send>(
        &self,
        lease: &Leased,
        scenario: &Scenario,
        progress: &Progress,
        what: impl Fn(&History) -> T + Sync,
    ) -> anyhow::Result<Vec<T>> {
        let trial = Trial::new(&*lease.election, scenario)?;
        let seed = |index| self.seed.wrapping_add(index);
        Ok(over(0..self.runs, progress, |index| what(&trial.run_under(seed(index), progress))))
    }

    /// Returns the share of runs in which the first leader lost its leadership, or no candidate ever led.
    fn share_lost(&self, scenario: &Scenario, progress: &Progress) -> anyhow::Result<f64> {
        let is_lost = |run: &History| run.leads().first().is_none_or(|lead| lead.until.is_some());
        let all = self.play_on(self.lease, scenario, progress, is_lost)?;
        let lost = all.iter().filter(|is_lost| **is_lost).count();
        Ok(ratio(lost, all.len()))
    }

    /// Returns how many leaderships are lost in a month, and the variance of that number. `share` of the chances are
    /// lost, and there are `often` chances in a month. If all runs had the same result, the error is 3 divided by their
    /// number: the bound that the truth exceeds in one of twenty cases.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    fn rate(&self, share: f64, often: f64) -> (f64, f64) {
        let runs = self.runs as f64;
        let is_sure = share <= 0.0 || share >= 1.0;
        let variance = if is_sure { (3.0 / runs).powi(2) } else { share * (1.0 - share) / runs };
        (share * often, often * often * variance)
    }
}

fn picture(args: &TtlArgs, outages: &[Outage], figures: &TtlAdviceReport) -> Report {
    let span = |time: Ms| {
        let ms = (time.0.as_nanos() + 500_000) / 1_000_000;
        let time = Duration::from_millis(u64::try_from(ms).unwrap_or(u64::MAX));
        humantime::format_duration(time).to_string().replace(' ', "")
    };
    let headings =
        ["TTL", "GRACE", "RENEWED EACH", "FAIL-OVER", "99 %", "WITH STORE", "LOST A MONTH"];
    let is_billed = figures.ttls.iter().any(|row| row.dollars_monthly.is_some());
    let headings = [&headings[..], &["DOLLARS A MONTH"][..usize::from(is_billed)]].concat();
    let mut table = Table::new(&headings).without(&["RENEWED EACH", "99 %", "GRACE", "WITH STORE"]);
    for row in &figures.ttls {
        let failover = row.failover_ms.as_ref();
        let cells = [
            span(row.ttl_ms),
            span(row.kill_grace_ms),
            span(row.renew_ms),
            one_of(failover, |times| times.median),
            one_of(failover, |times| times.p99),
            one_of(row.failover_with_store_ms.as_ref(), |times| times.median),
            lost(row),
        ];
        let dollars = row.dollars_monthly.map(|dollars| format!("{dollars:.2}"));
        table.row(cells.into_iter().chain(dollars));
    }
    let points = figures.ttls.iter().filter_map(|row| {
        let failover = row.failover_ms?.median.0;
        let is_advised = figures.advised.as_ref() == Some(row);
        Some(Point { x: failover, y: row.lost_monthly, label: span(row.ttl_ms), is_advised })
    });
    let frontier = Frontier {
        title: "What a TTL gives, and what it costs".to_owned(),
        x_title: "from a crash to the next leader (median)".to_owned(),
        y_title: "leaderships lost for nothing in a month".to_owned(),
        points: points.collect(),
    };
    let advice = match &figures.advised {
        Some(row) => {
            let LeaseArgs { kill_grace, max_clock_drift } = &args.lease;
            let grace = kill_grace.map(|_| format!(" --kill-grace {}", span(row.kill_grace_ms)));
            let drift = max_clock_drift.map(|drift| format!(" --max-clock-drift {drift}"));
            let is_unsure = row.lost_monthly + row.lost_error > args.tolerate;
            let unsure = " So few runs cannot tell that for sure: take more --runs.";
            format!(
                "Take --ttl {}{}{}: the command has {} to stop once leadership is lost, and elect renews each {}. It \
                 is the shortest that loses {} a month or less for nothing.{}",
                span(row.ttl_ms),
                grace.unwrap_or_default(),
                drift.unwrap_or_default(),
                span(row.kill_grace_ms),
                span(row.renew_ms),
                args.tolerate,
                if is_unsure { unsure } else { "" },
            )
        }
        None if figures.ended_early => {
            "Ended early: no TTL is advised, and the longer ones were not tried.".to_owned()
        }
        None => format!("No TTL loses {} a month or less for nothing.", args.tolerate),
    };
    let outages: Vec<String> = outages.iter().map(words).collect();
    let about = format!(
        "Store: {}. Outages between a leader and the store: {}{}. {} runs for each figure.",
        figures.store,
        outages.join(", "),
        if args.outage.is_empty() { ", which is assumed: give yours with --outage" } else { "" },
        figures.runs
    );
    let billed = price(args.network.store).filter(|_| is_billed).map(|(price, _)| {
        format!(
            " Dollars are those of a leader and {WAITERS} waiting candidates in 30 days at list price ({}).",
            price.listed
        )
    });
    let sections = vec![
        Section::Text(format!("{advice}\n\n{about}")),
        Section::Table(
            "Fail-over is from the crash of a leader's machine; with the store where the one that leads the store crashes \
             at once with it."
                .to_owned()
                + &billed.unwrap_or_default(),
            table,
        ),
        Section::Frontier(frontier),
    ];
    report("Which TTL", figures.seed, sections)
}

fn words(Outage { length, monthly }: &Outage) -> String {
    let digits = if *monthly < 1.0 { 2 } else { 0 };
    format!("{} about {monthly:.digits$} times a month", humantime::format_duration(*length))
}

fn lost(row: &TtlRow) -> String {
    if row.lost_monthly == 0.0 {
        return format!("none, < {:.2}", row.lost_error);
    }
    format!("{:.2} ±{:.2}", row.lost_monthly, row.lost_error)
}
