//! A program is told in time.

use elect_testkit::fault::{Mode, TcpProxy};

use super::{GRACE, TTL, block_on, campaign};
use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
use crate::prelude::*;

on_each_store! {
    a_leader_that_is_asked_to_step_down_is_told
}

mod cut_off {
    use super::*;

    on_each_cluster! {
        a_leader_that_is_cut_off_is_told_before_another_leads
    }
}

/// A's way to the store is silent; B has one of its own.
fn a_leader_that_is_cut_off_is_told_before_another_leads(arena: &Arena) {
    let proxy = TcpProxy::start(arena.address());
    let a = campaign(&arena.url_through(proxy.address()), "A");
    let b = campaign(&arena.url(), "B");
    block_on(async {
        let leadership = a.lead().await.expect("leadership");
        let validity = leadership.validity();
        let silent = now();
        proxy.both(Mode::Swallow);
        let why = validity.lost().await;
        let told = now();
        let deadline = validity.deadline().expect("leases end by time");
        assert!(told < deadline, "told at {told:?} of {deadline:?}: {why}");
        assert!(deadline.since(silent) < TTL.mul_f64(1.0 / 1.1), "{deadline:?} after {silent:?}");
        // It is lost for good, whatever the store says later.
        proxy.both(Mode::Pass);
        let next = b.lead().await.expect("leadership");
        assert!(deadline < now() && !validity.is_valid());
        assert!(validity.deadline() <= Some(deadline) && next.token() > leadership.token());
    });
}

/// A user asks it to resign, and it has its grace. If it is done sooner, the successor leads sooner.
fn a_leader_that_is_asked_to_step_down_is_told(arena: &Arena) {
    let (one, two) = (campaign(&arena.url(), "one"), campaign(&arena.url(), "two"));
    block_on(async {
        let leadership = one.lead().await.expect("leadership");
        let validity = leadership.validity();
        let mut waiting = Box::pin(two.lead());
        assert!(tokio::time::timeout(Duration::ZERO, &mut waiting).await.is_err());
        arena.wait_for_waiter("two");
        let request = arena.elect("resign").args(["job", "--reason", "for a test"]).spawn();
        let why = validity.lost().await;
        assert!(why.contains("for a test"), "{why}");
        assert!(validity.is_valid() && validity.remaining() <= GRACE);
        drop(leadership);
        let next = waiting.await.expect("leadership");
        assert!(!validity.is_valid() && next.validity().is_valid());
        request.wait().exits(0);
    });
}

/// Without an entry there is no leadership.
#[test]
fn a_leader_whose_entry_is_removed_by_hand_leads_no_more_at_once() {
    let arena = Arena::on(Ground::File);
    let campaign = campaign(&arena.url(), "one");
    block_on(async {
        let leadership = campaign.lead().await.expect("leadership");
        let validity = leadership.validity();
        assert_eq!((validity.deadline(), validity.remaining()), (None, Duration::MAX));
        fs::remove_file(arena.path("state/job/lock")).expect("a lock");
        let why = validity.lost().await;
        assert!(!validity.is_valid() && why.contains("removed or replaced"), "{why}");
        leadership.resign().await.expect("it is no error");
    });
    eventually("the election to be empty", || arena.status()["leader"].is_null().then_some(()));
}

#[test]
fn conflicting_options_are_refused() {
    use elect::{Campaign, Error};
    let arena = Arena::on(Ground::File);
    let refused = |campaign: Result<Campaign, Error>| {
        let error = match campaign {
            Err(error) => error,
            Ok(campaign) => block_on(campaign.try_lead()).expect_err("it cannot lead"),
        };
        assert!(matches!(error, Error::Invalid(_)), "{error:?}");
        error.to_string()
    };
    let etcd = || Campaign::new("etcd://127.0.0.1:1", "job").expect("a good URL");
    assert!(refused(Campaign::new("nowhere", "job")).contains("not the URL of a store"));
    assert!(!refused(Campaign::new("abacus://me:secret@a", "job")).contains("secret"));
    assert!(refused(Campaign::new(&arena.url(), "a b")).contains("made of letters"));
    assert!(refused(Ok(etcd().label("a b"))).contains("label"));
    assert!(refused(Ok(etcd().ttl(Duration::from_secs(1)))).contains("take a TTL of"));
    assert!(refused(Ok(etcd().ttl(Duration::MAX))).contains("24 hours"));
    assert!(refused(Ok(etcd().max_clock_drift(f64::NAN))).contains("share"));
    let unreached = block_on(etcd().lead()).expect_err("no store is there");
    assert!(matches!(unreached, Error::Unreached(_)), "{unreached:?}");
}
