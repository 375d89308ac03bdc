use super::*;

const ETCD: Lease = Lease::Timed(Cadence::LEASE);
const ZOOKEEPER: Lease = Lease::Timed(Cadence::SESSION);

/// The lease of record stores, where the waiters judge when it ends.
const RECORDS: Lease = Lease::Timed(Cadence::RECORD);

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

#[test]
fn the_defaults_hold_for_every_cadence() {
    for lease in [ETCD, ZOOKEEPER, RECORDS, Lease::Unlimited] {
        let timing = Timing::new(&TimingOptions::default(), lease).expect("defaults hold");
        assert_eq!(timing.kill_grace, seconds(4.0));
    }
}

#[test]
fn only_where_a_proof_takes_two_requests_it_may_be_too_old_for_a_start() {
    let second = |at: f64| Boottime::from_boot(seconds(at));
    let will = |lease, now: f64, answered: f64| {
        let timing = Timing::new(&TimingOptions::default(), lease).expect("defaults hold");
        let validity = Validity::Window { anchor: second(100.0), window: seconds(15.0) };
        timing.will_be_proven(validity, second(now), second(answered))
    };
    // Two sixteenths of W are 1.875 s.
    assert!(will(ZOOKEEPER, 101.8, 101.8) && !will(ZOOKEEPER, 101.9, 101.9));
    assert!(will(ZOOKEEPER, 105.0, 100.0) && !will(ZOOKEEPER, 105.0, 100.1));
    for lease in [ETCD, RECORDS, Lease::Unlimited] {
        assert!(will(lease, 110.0, 110.0));
    }
}

#[test]
fn deadlines_follow_the_design() {
    let timing = Timing::new(&TimingOptions::default(), ETCD).expect("defaults hold");
    let anchor = Boottime::from_boot(seconds(100.0));
    let found =
        timing.deadlines(Validity::Window { anchor, window: seconds(15.0) }).expect("timed");
    let after = |instant: Boottime| instant.since(anchor).as_millis();
    // V = 15 / 1.1 = 13.636 s, K = 1 s, G = 4 s.
    assert_eq!(
        [found.soft, found.hard, found.dead_man, found.last].map(after),
        [8636, 12636, 12886, 13386]
    );
    let end = timing.end(Validity::Window { anchor, window: seconds(15.0) }).expect("timed");
    assert_eq!(after(end), 13636);
    assert_eq!(timing.deadlines(Validity::Unlimited), None);
}

/// Each clock is off by half of the drift: the holder's is slow, the other one fast.
#[test]
fn if_candidates_judge_leases_each_clock_has_half_of_the_drift() {
    for drift in [0.0, 0.02, 0.1, 0.3] {
        let options = TimingOptions {
            max_clock_drift: drift,
            kill_grace: Some(Duration::ZERO),
            ..TimingOptions::default()
        };
        let timing = Timing::new(&options, RECORDS).expect("it holds");
        let anchor = Boottime::from_boot(seconds(100.0));
        let window = options.ttl;
        let end = timing.end(Validity::Window { anchor, window }).expect("timed");
        let counted_on = end.since(anchor).as_secs_f64() / (1.0 - drift / 2.0);
        let taken = window.as_secs_f64() / (1.0 + drift / 2.0);
        assert!((counted_on - taken).abs() < 1e-6, "{drift}: {counted_on}, taken at {taken}");
        let most = drift / 2.0 + STEERED;
        assert!(
            timing.trust(1.0 - drift / 2.0).is_ok() && timing.trust(1.0 - most - 1e-3).is_err()
        );
    }
}

#[test]
fn a_plan_without_time_to_renew_names_both_ways_out() {
    let options = TimingOptions { kill_grace: Some(seconds(10.0)), ..TimingOptions::default() };
    let refusal = Timing::new(&options, ETCD).expect_err("too tight");
    let ttl = refusal.smallest_ttl.expect("a TTL that would do");
    let grace = refusal.largest_grace.expect("a grace that would do");
    assert!(ttl > options.ttl && grace < seconds(10.0));
    let longer = TimingOptions { ttl, ..options };
    assert!(Timing::new(&longer, ETCD).is_ok());
    let shorter = TimingOptions { kill_grace: Some(grace), ..options };
    assert!(Timing::new(&shorter, ETCD).is_ok());
    assert!(
        Timing::new(&TimingOptions { ttl: ttl.saturating_sub(seconds(0.1)), ..options }, ETCD)
            .is_err()
    );
    assert!(
        Timing::new(&TimingOptions { kill_grace: Some(grace + seconds(0.1)), ..options }, ETCD)
            .is_err()
    );
}

#[test]
fn a_clock_is_trusted_within_the_drift_and_as_far_as_it_is_steered() {
    let trusts = |drift, lease, rate| {
        let options = TimingOptions { max_clock_drift: drift, ..TimingOptions::default() };
        Timing::new(&options, lease).expect("it holds").trust(rate)
    };
    for rate in [0.9, 0.95, 1.0, 1.1] {
        assert_eq!(trusts(0.1, ETCD, rate), Ok(()));
    }
    for (rate, words) in [(0.8995, "10.05 % too slow"), (1.1005, "10.05 % too fast")] {
        let why = trusts(0.1, ETCD, rate).expect_err("too far off").to_string();
        assert!(why.contains(words) && why.contains("10.00 % at most"), "{why}");
        assert_eq!(trusts(0.1, Lease::Unlimited, rate), Ok(()));
    }
    assert_eq!(trusts(0.0, ETCD, 1.0005), Ok(()));
    assert!(trusts(0.0, ETCD, 1.0006).is_err());
}

#[test]
fn a_refusal_names_only_values_that_would_fit() {
    let said = |ttl, grace, drift| {
        let options =
            TimingOptions { ttl: seconds(ttl), kill_grace: grace, max_clock_drift: drift };
        Timing::new(&options, ETCD).expect_err("too tight").to_string()
    };
    assert!(said(10.0, Some(seconds(9.0)), 0.1).ends_with("or a grace of at most 3s 400ms"));
    assert!(said(1.0, Some(seconds(0.0)), 0.1).ends_with("take a TTL of 1s 300ms or more"));
    assert!(said(15.0, None, 0.5).ends_with("take a grace of at most 1s 500ms"));
    assert!(said(15.0, None, 1.0).ends_with("take a smaller drift"));
}

#[test]
fn a_granted_ttl_is_checked_again() {
    let timing = Timing::new(&TimingOptions::default(), ETCD).expect("defaults hold");
    let granted = |window| Validity::Window { anchor: Boottime::from_boot(seconds(9.0)), window };
    let longer = timing.regrant(granted(seconds(30.0))).expect("more time");
    assert_eq!((longer.renew_interval, longer.kill_grace), (seconds(5.0), seconds(8.0)));
    let fixed = TimingOptions { kill_grace: Some(seconds(4.0)), ..TimingOptions::default() };
    let timing = Timing::new(&fixed, ETCD).expect("holds as asked");
    assert_eq!(timing.regrant(granted(seconds(6.0))).expect_err("too tight").window, seconds(6.0));
    assert_eq!(timing.regrant(Validity::Unlimited), Ok(timing));
}

/// Returns the tables of the manual, as computed by the checks above.
fn table() -> String {
    use std::fmt::Write as _;
    let cadence = |lease| match lease {
        Lease::Timed(cadence) => cadence,
        Lease::Unlimited => unreachable!("these leases end by time"),
    };
    // Both stores spend half of the lease on renewals, so one column serves for both.
    let only = |of: &dyn Fn(Cadence) -> Duration| {
        let [etcd, zookeeper] = [ETCD, ZOOKEEPER].map(|lease| of(cadence(lease)));
        assert_eq!(etcd, zookeeper);
        format!("{:.1} s", etcd.as_secs_f64())
    };
    let mut table = String::from("| kill grace | smallest TTL |\n|---|---|\n");
    for grace in [None, Some(0.0), Some(1.0), Some(5.0), Some(10.0), Some(30.0)] {
        let options = TimingOptions { kill_grace: grace.map(seconds), ..TimingOptions::default() };
        let name = grace.map_or("4/15 of the TTL".into(), |grace| format!("{grace:.0} s"));
        let ttl = only(&|cadence| Timing::smallest_ttl(&options, cadence).expect("some TTL does"));
        let _ = writeln!(table, "| {name} | {ttl} |");
    }
    table.push_str("\n| TTL | largest kill grace |\n|---|---|\n");
    for ttl in [5.0, 10.0, 15.0, 30.0, 60.0] {
        let options = TimingOptions { ttl: seconds(ttl), ..TimingOptions::default() };
        let grace =
            only(&|cadence| Timing::largest_grace(&options, cadence).expect("some grace does"));
        let _ = writeln!(table, "| {ttl:.0} s | {grace} |");
    }
    table
}

#[test]
fn the_manual_has_the_table_that_holds() {
    let manual = include_str!("../../manual/leases.md");
    assert!(manual.contains(&table()), "its tables have to be:\n{}", table());
}

/// The command is asked to stop at the soft deadline of the last proof. That proof is as old as the anchor lag, and up
/// to one renewal older.
#[test]
fn the_manual_says_how_long_a_store_may_be_silent() {
    let manual = include_str!("../../manual/leases.md");
    for (store, lease) in [("etcd", ETCD), ("ZooKeeper", ZOOKEEPER)] {
        let timing = Timing::new(&TimingOptions::default(), lease).expect("defaults hold");
        let Lease::Timed(cadence) = lease else { unreachable!("it ends by time") };
        let anchor = Boottime::from_boot(seconds(100.0));
        let validity = Validity::Window { anchor, window: timing.window() };
        let soft = timing.deadlines(validity).expect("deadlines").soft.since(anchor);
        let longest = soft.saturating_sub(timing.window() * cadence.anchor_lag_48ths / 48);
        let shortest = longest.saturating_sub(timing.renew_interval);
        let said = format!(
            "{:.1} s to {:.1} s after {store}",
            shortest.as_secs_f64(),
            longest.as_secs_f64()
        );
        assert!(manual.replace('\n', " ").contains(&said), "it has to say: {said}");
    }
}

#[test]
fn candidates_have_time_to_connect_and_no_more() {
    for (ttl, timeout) in [(5.0, 2.0), (15.0, 2.5), (600.0, 5.0)] {
        let options = TimingOptions { ttl: seconds(ttl), ..TimingOptions::default() };
        let timing = Timing::new(&options, ZOOKEEPER).expect("it holds");
        assert_eq!(timing.entry_timeout, seconds(timeout));
    }
}

#[test]
fn backoff_grows_to_the_interval_and_is_spread() {
    let timing = Timing::new(&TimingOptions::default(), ETCD).expect("defaults hold");
    assert_eq!(timing.backoff(1, 1.0), Duration::from_millis(50));
    assert_eq!(timing.backoff(1, 0.0), Duration::from_millis(25));
    assert_eq!(timing.backoff(3, 1.0), Duration::from_millis(200));
    assert_eq!(timing.backoff(60, 1.0), timing.renew_interval);
}
