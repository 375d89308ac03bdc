//! Tests with two clusters where a URL means one: both are in its list, or its address comes to mean the other.

use std::path::Path;
use std::process::Command;

use elect_api::{Error, ErrorKind, Scope, Standing};
use elect_testkit::fault::TcpProxy;
use elect_testkit::run;
use elect_testkit::servers::Etcd;

use crate::support::{Runner, in_words, job};

/// Starts two clusters with the usual setup, so both describe themselves in the same way.
fn two() -> [Etcd; 2] {
    [Etcd::start(1), Etcd::start(1)]
}

/// Enters first, so that the store gets its id.
async fn found(etcd: &Etcd) {
    let mut first = Runner::new(&etcd.url(), "first").await;
    first.lead().await;
    first.seat.resign(None).await.expect("a resign");
}

#[track_caller]
fn tells_which_is_which(words: &str, ours: &str, other: &str) {
    assert!(words.contains(&format!("{other} is another store")), "{words}");
    assert!(words.contains(&format!("{ours} is the store")), "{words}");
}

#[test]
fn a_waiter_never_leads_in_another_cluster_of_the_list() {
    run("divided", async {
        let [a, b] = two();
        found(&b).await;
        let mut leader = Runner::new(&a.url(), "leader").await;
        let token = leader.lead().await;
        let way = TcpProxy::start(a.endpoints()[0]);
        let list = a.url_through(&[way.address(), b.endpoints()[0]]);
        let mut waiter = Runner::new(&list, "waiter").await;
        drop(waiter.wait_behind(1).await);
        way.refuse(true);
        way.cut();
        let mut words = Vec::new();
        for _ in 0..8 {
            match waiter.attempt().await {
                Some(Ok(Standing::Leading { token: same, .. })) => {
                    panic!("two lead at once, with {token} and {same}")
                }
                Some(Ok(_)) | None => {}
                Some(Err(error)) => {
                    assert!(!error.is_permanent(), "{error}");
                    words.push(error.to_string());
                }
            }
        }
        tells_which_is_which(
            &words.join("\n"),
            &way.address().to_string(),
            &b.endpoints()[0].to_string(),
        );
        way.refuse(false);
        assert!(matches!(waiter.within(3).await, Standing::Waiting { ahead: 1, .. }));
    });
}

#[test]
fn an_address_that_now_leads_to_another_cluster_is_not_used() {
    run("divided", async {
        let [a, b] = two();
        found(&b).await;
        let ways = [TcpProxy::start(a.endpoints()[0]), TcpProxy::start(a.endpoints()[0])];
        let [mut leader, mut waiter] = [
            Runner::new(&a.url_through(&[ways[0].address()]), "leader").await,
            Runner::new(&a.url_through(&[ways[1].address()]), "waiter").await,
        ];
        let token = leader.lead().await;
        drop(waiter.wait_behind(1).await);
        for way in &ways {
            way.redirect(b.endpoints()[0]);
        }
        for runner in [&mut leader, &mut waiter] {
            for _ in 0..4 {
                match runner.attempt().await {
                    Some(Ok(standing)) => panic!("in another store it {}", in_words(&standing)),
                    Some(Err(error)) => assert!(!error.is_permanent(), "{error}"),
                    None => {}
                }
            }
        }
        assert!(Runner::new(&b.url(), "other").await.line_up().await.is_empty());
        for way in &ways {
            way.redirect(a.endpoints()[0]);
        }
        // The lease has gone on in the store of the election, and so has the leadership.
        match leader.within(3).await {
            Standing::Leading { token: same, .. } => assert_eq!(same, token),
            other => panic!("it {}", in_words(&other)),
        }
        assert!(matches!(waiter.within(3).await, Standing::Waiting { ahead: 1, .. }));
    });
}

/// A new cluster has no id, and does not get that of the old one.
#[test]
fn an_address_that_now_leads_to_a_new_cluster_is_not_used() {
    run("divided", async {
        let [a, b] = two();
        let way = TcpProxy::start(a.endpoints()[0]);
        let mut leader = Runner::new(&a.url(), "leader").await;
        leader.lead().await;
        let mut waiter = Runner::new(&a.url_through(&[way.address()]), "waiter").await;
        drop(waiter.wait_behind(1).await);
        way.redirect(b.endpoints()[0]);
        let mut words = Vec::new();
        for _ in 0..4 {
            match waiter.attempt().await {
                Some(Ok(standing)) => panic!("in another store it {}", in_words(&standing)),
                Some(Err(error)) => words.push(error.to_string()),
                None => {}
            }
        }
        let is_said = |error: &String| error.contains("has no store id");
        assert!(words.iter().any(is_said), "{words:?}");
        assert_eq!(b.ctl(&["get", "--prefix", "elect/"]), "");
    });
}

#[test]
fn a_url_with_a_store_id_means_that_store_only() {
    run("divided", async {
        let [a, b] = two();
        for etcd in [&a, &b] {
            found(etcd).await;
        }
        let id = a.ctl(&["get", "--print-value-only", "elect/.store"]);
        let with_id = |etcd: &Etcd| format!("{}?store-id={}", etcd.url(), id.trim());
        let mut leader = Runner::new(&with_id(&a), "leader").await;
        leader.lead().await;
        let mut other = Runner::new(&with_id(&b), "other").await;
        let error = other.failure().await;
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert!(error.to_string().contains("is another store"), "{error}");
        let error = other.store.survey(&job()).await.expect_err("another store");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert!(Runner::new(&b.url(), "anybody").await.line_up().await.is_empty());
        // A store without an id is not the store that the URL names, and does not get an id.
        let new = Etcd::start(1);
        let error = Runner::new(&with_id(&new), "early").await.failure().await;
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert_eq!(new.ctl(&["get", "--prefix", "elect/"]), "");
    });
}

#[test]
fn the_id_of_a_store_is_made_once_and_only_by_candidates() {
    run("divided", async {
        let etcd = Etcd::start(1);
        let looker = Runner::new(&etcd.url(), "looker").await;
        assert!(looker.line_up().await.is_empty());
        let id = || etcd.ctl(&["get", "--print-value-only", "elect/.store"]);
        assert_eq!(id(), "");
        found(&etcd).await;
        let first = id();
        assert_eq!(first.trim().len(), 16, "{first}");
        found(&etcd).await;
        assert_eq!(id(), first);
        assert_eq!(looker.store.list(Scope::Entered).await.expect("a list"), []);
    });
}

/// The store may have given tokens already, up to the newest revision that was seen.
#[test]
fn a_candidate_that_saw_more_refuses_a_store_that_was_restored() {
    run("restored", async {
        let mut etcd = Etcd::start(1);
        found(&etcd).await;
        let (data, backup) = (etcd.data(0), etcd.data(0).with_extension("backup"));
        let copy = |from: &Path, to: &Path| {
            let _ = std::fs::remove_dir_all(to);
            let copied = Command::new("cp").args(["-a".as_ref(), from, to]).status();
            assert!(copied.expect("cp runs").success());
        };
        etcd.member(0).kill();
        copy(&data, &backup);
        etcd.member(0).restart();
        etcd.wait_until_it_serves();
        let mut ours = Runner::new(&etcd.url(), "ours").await;
        let mut token = ours.lead().await;
        for _ in 0..3 {
            ours.seat.resign(None).await.expect("a resign");
            token = ours.lead().await;
        }
        ours.seat.resign(None).await.expect("a resign");
        etcd.member(0).kill();
        copy(&backup, &data);
        etcd.member(0).restart();
        etcd.wait_until_it_serves();
        let mut errors = Vec::new();
        for _ in 0..4 {
            match ours.attempt().await {
                Some(Ok(standing)) => panic!("on what is older it {}", in_words(&standing)),
                Some(Err(error)) => errors.push(error),
                None => {}
            }
        }
        let is_final = |error: &Error| {
            !error.may_pass() && error.to_string().contains("has gone back to revision")
        };
        assert!(errors.iter().any(is_final), "{errors:?}");
        // A candidate that has seen no newer revision cannot know: the manual says so.
        assert!(Runner::new(&etcd.url(), "fresh").await.lead().await < token);
    });
}

/// A user with rights to one election only goes on as before, but cannot pin a store by its id.
#[test]
fn without_the_right_to_read_the_id_no_store_is_compared() {
    run("divided", async {
        let etcd = Etcd::start(1);
        let rights = ["readwrite elect/job/", "readwrite elect/.notes/job/"];
        etcd.demand_logins(&[("one", "pw", &rights)]);
        let url = etcd.url().replace("//", "//one:pw@");
        let mut ours = Runner::new(&url, "ours").await;
        ours.lead().await;
        ours.seat.resign(None).await.expect("a resign");
        let pinned = format!("{url}?store-id=00000000000000a1");
        let error = Runner::new(&pinned, "ours").await.failure().await;
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    });
}
