//! Tests of users, passwords and rights.

use elect_api::{Cell, ErrorKind, Removal, Scope, Standing};
use elect_testkit::run;
use elect_testkit::servers::Etcd;

use crate::support::{Runner, in_words};

/// Starts a cluster that demands logins. `me` has all rights in `elect/`, `onlooker` may read there, `stranger` has no
/// rights.
fn guarded() -> Etcd {
    let etcd = Etcd::start(1);
    etcd.demand_logins(&[
        ("me", "hush", &["readwrite elect/"]),
        ("onlooker", "hush", &["read elect/"]),
        ("stranger", "hush", &["readwrite other/"]),
    ]);
    etcd
}

fn url(etcd: &Etcd, user: &str) -> String {
    etcd.url().replace("://", &format!("://{user}@"))
}

#[test]
fn rights_to_the_prefix_suffice_to_lead_wait_and_look() {
    run("credentials", async {
        let etcd = guarded();
        let url = url(&etcd, "me:hush");
        let mut leader = Runner::new(&url, "leader").await;
        let token = leader.lead().await;
        let mut waiter = Runner::new(&url, "waiter").await;
        let wake = waiter.wait_behind(1).await;
        assert_eq!(leader.lead().await, token);
        assert_eq!(leader.line_up().await, ["leader", "waiter"]);
        leader.seat.resign(None).await.expect("a resign");
        wake.await;
        waiter.lead().await;
        let ticket = waiter.seat.ticket().expect("a ticket");
        leader
            .store
            .remove(&crate::support::job(), Removal::Crashed(&ticket))
            .await
            .expect("a redeemed ticket");
        leader.lead().await;
    });
}

#[test]
fn a_candidate_that_may_write_no_cell_leads_and_resigns() {
    run("credentials", async {
        let etcd = Etcd::start(1);
        etcd.demand_logins(&[("me", "hush", &["readwrite elect/job/", "read elect/.notes/job/"])]);
        let url = url(&etcd, "me:hush");
        let mut leader = Runner::new(&url, "leader").await;
        leader.lead().await;
        let mut waiter = Runner::new(&url, "waiter").await;
        let wake = waiter.wait_behind(1).await;
        leader.seat.resign(Some((Cell::History, b"unheard"))).await.expect("a resign");
        wake.await;
        waiter.lead().await;
        let kept = leader.store.read(&crate::support::job(), Cell::History).await;
        assert_eq!(kept.expect("an answer").bytes, None);
    });
}

#[test]
fn a_user_that_may_only_read_may_survey_and_list() {
    run("credentials", async {
        let etcd = guarded();
        let mut leader = Runner::new(&url(&etcd, "me:hush"), "leader").await;
        leader.lead().await;
        let mut onlooker = Runner::new(&url(&etcd, "onlooker:hush"), "onlooker").await;
        assert_eq!(onlooker.line_up().await, ["leader"]);
        onlooker.store.list(Scope::Entered).await.expect("a list");
        let error = onlooker.failure().await;
        assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
        assert!(error.to_string().contains("\"elect/job/\""), "{error}");
    });
}

#[test]
fn refusals_name_the_missing_right_and_no_password() {
    run("credentials", async {
        let etcd = guarded();
        for (user, words) in [
            ("me:wrong-hush", &["password is wrong", "me"][..]),
            ("nobody:hush", &["password is wrong", "nobody"]),
            ("stranger:hush", &["stranger", "read and write", "\"elect/job/\""]),
        ] {
            let error = Runner::new(&url(&etcd, user), "x").await.failure().await;
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}: {error:?}");
            let text = format!("{error}: {error:?}");
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
            assert!(!text.contains("hush"), "{text}");
        }
        let error = Runner::new(&etcd.url(), "x").await.failure().await;
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}: {error:?}");
        assert!(error.to_string().contains("ELECT_USER"), "{error}: {error:?}");
    });
}

#[test]
fn a_login_that_the_server_does_not_demand_does_no_harm() {
    run("credentials", async {
        let etcd = Etcd::start(1);
        Runner::new(&url(&etcd, "me:hush"), "x").await.lead().await;
    });
}

#[test]
fn a_forgotten_login_is_made_anew_in_time() {
    run("credentials", async {
        let mut etcd = guarded();
        let mut leader = Runner::new(&url(&etcd, "me:hush"), "leader").await;
        let token = leader.lead().await;
        // The server keeps tokens of the simple kind in its memory.
        etcd.member(0).kill();
        etcd.member(0).restart();
        etcd.wait_until_it_serves();
        match leader.within(3).await {
            Standing::Leading { token: same, .. } => assert_eq!(same, token),
            other => panic!("it {}", in_words(&other)),
        }
    });
}

#[test]
fn a_change_of_rights_ends_no_leadership() {
    run("credentials", async {
        let etcd = guarded();
        let mut leader = Runner::new(&url(&etcd, "me:hush"), "leader").await;
        let token = leader.lead().await;
        let root = ["--user=root:root", "user", "add", "new:new"];
        etcd.ctl(&root);
        match leader.within(3).await {
            Standing::Leading { token: same, .. } => assert_eq!(same, token),
            other => panic!("it {}", in_words(&other)),
        }
    });
}
