//! Tests with two ensembles where a URL means one: both are in its list, or its address comes to mean the other.

use elect_api::{Candidate, ErrorKind, Scope, Seat, Standing};
use elect_testkit::fault::TcpProxy;
use elect_testkit::servers::ZooKeeper;
use elect_testkit::{election, run};
use tokio::task::JoinSet;

use crate::common::{TTL, nodes, now, raw};
use crate::support::{Claim, attempt, lead, lead_in_time, seat};

fn two() -> [ZooKeeper; 2] {
    [ZooKeeper::one(), ZooKeeper::one()]
}

/// Enters first, so that the store gets its id.
async fn found(servers: &ZooKeeper) {
    let mut first = seat(&servers.url(), "first", TTL).await;
    lead(first.as_mut()).await;
    first.resign(None).await.expect("a resign");
}

async fn id_of(servers: &ZooKeeper) -> Option<String> {
    let client = raw(&[servers.address(0)]).await;
    let (text, _) = client.get_data("/elect/.store").await.ok()?;
    Some(String::from_utf8(text).expect("an id"))
}

/// Refreshes both as the engine does, until the waiter's session has ended and another store was reported twice. The
/// waiter must never lead, and the leader must go on.
async fn never_leads(waiter: &mut dyn Seat, leader: &mut dyn Seat) -> String {
    let mut words = Vec::new();
    for _ in 0..400 {
        drop(attempt(leader, TTL).await);
        match attempt(waiter, TTL).await {
            Some(Ok(standing)) => {
                let claim = Claim::of(&standing);
                assert!(claim.is_none(), "in another store it leads with {claim:?}");
            }
            Some(Err(error)) => {
                assert!(!error.is_permanent(), "{error}");
                if error.to_string().contains("another store") {
                    words.push(error.to_string());
                }
            }
            None => {}
        }
        if words.len() == 2 {
            return words.remove(0);
        }
        tokio::time::sleep(TTL / 16).await;
    }
    panic!("it never heard of another store");
}

#[test]
fn an_address_that_now_leads_to_another_ensemble_is_not_used() {
    run("divided", async {
        let [a, b] = two();
        found(&b).await;
        let ways = [TcpProxy::start(a.address(0)), TcpProxy::start(a.address(0))];
        let url = |way: &TcpProxy| format!("zk://{}", way.address());
        let mut leader = seat(&url(&ways[0]), "leader", TTL).await;
        let token = lead(leader.as_mut()).await.token;
        let mut waiter = seat(&url(&ways[1]), "waiter", TTL).await;
        let standing = waiter.refresh(now()).await.expect("an answer").standing;
        assert!(matches!(standing, Standing::Waiting { ahead: 1, .. }));
        ways[1].redirect(b.address(0));
        let words = never_leads(waiter.as_mut(), leader.as_mut()).await;
        assert!(words.contains(&format!("{} is another store", ways[1].address())), "{words}");
        assert_eq!(lead_in_time(leader.as_mut(), TTL).await.token, token);
        // The session does not exist on other servers, and its end is the end of the leadership.
        ways[0].redirect(b.address(0));
        loop {
            match attempt(leader.as_mut(), TTL).await {
                Some(Ok(Standing::Gone(why))) => break assert!(why.contains("session"), "{why}"),
                Some(Ok(Standing::Leading { token: same, .. })) => assert_eq!(same, token),
                _ => {}
            }
            tokio::time::sleep(TTL / 16).await;
        }
        leader.resign(None).await.expect_err("its entry is elsewhere");
        assert!(nodes(&raw(&[b.address(0)]).await, &election()).await.is_empty());
        ways[1].redirect(a.address(0));
        lead_in_time(waiter.as_mut(), TTL).await;
    });
}

/// Only the servers of the list that have the right store are used.
#[test]
fn a_waiter_never_leads_in_another_ensemble_of_the_list() {
    run("divided", async {
        let [a, b] = two();
        for servers in [&a, &b] {
            found(servers).await;
        }
        let mut leader = seat(&a.url(), "leader", TTL).await;
        let token = lead(leader.as_mut()).await.token;
        let way = TcpProxy::start(a.address(0));
        let id = id_of(&a).await.expect("an id");
        let list = format!("zk://{},{}?store-id={id}", way.address(), b.address(0));
        for _ in 0..6 {
            // The client may ask either of the two first.
            let mut waiter = seat(&list, "waiter", TTL).await;
            let standing = waiter.refresh(now()).await.expect("an answer").standing;
            assert!(matches!(standing, Standing::Waiting { ahead: 1, .. }));
            waiter.resign(None).await.expect("a resign");
        }
        let mut waiter = seat(&list, "waiter", TTL).await;
        drop(waiter.refresh(now()).await.expect("an answer"));
        way.refuse(true);
        way.cut();
        let words = never_leads(waiter.as_mut(), leader.as_mut()).await;
        assert!(words.contains(&format!("{} is another store", b.address(0))), "{words}");
        assert_eq!(lead_in_time(leader.as_mut(), TTL).await.token, token);
    });
}

/// This holds whichever of the two the client begins with.
#[test]
fn a_list_of_two_ensembles_is_refused_from_the_start() {
    run("divided", async {
        let [a, b] = two();
        found(&a).await;
        let list = format!("zk://{},{}", a.address(0), b.address(0));
        for _ in 0..10 {
            let mut ours = seat(&list, "ours", TTL).await;
            let error = ours.refresh(now()).await.err().expect("refused");
            assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
            let words = format!("{} is one that has no id yet", b.address(0));
            assert!(error.to_string().contains(&words), "{error}");
        }
        assert_eq!(id_of(&b).await, None);
        // Two names of one server are not two stores.
        let twice = format!("zk://{},localhost:{}", a.address(0), a.address(0).port());
        lead(seat(&twice, "ours", TTL).await.as_mut()).await;
    });
}

/// Two names of one server look like two stores, so each newcomer asks both. Others give the store its id meanwhile.
#[test]
fn a_store_that_gets_its_id_meanwhile_is_one_store() {
    run("divided", async {
        let server = ZooKeeper::one();
        let address = server.address(0);
        for round in 0..10 {
            let twice = format!("zk://{address},localhost:{}/round{round}", address.port());
            let mut crowd = JoinSet::new();
            for number in 0..8 {
                let mut newcomer = seat(&twice, &format!("c{number}"), TTL).await;
                crowd.spawn(async move { newcomer.refresh(now()).await.map(drop) });
            }
            for entered in crowd.join_all().await {
                entered.expect("an answer");
            }
        }
    });
}

#[test]
fn a_url_with_a_store_id_means_that_store_only() {
    run("divided", async {
        let [a, b] = two();
        for servers in [&a, &b] {
            found(servers).await;
        }
        let id = id_of(&a).await.expect("an id");
        let with_id = |servers: &ZooKeeper| format!("{}?store-id={id}", servers.url());
        let mut leader = seat(&with_id(&a), "leader", TTL).await;
        lead(leader.as_mut()).await;
        let store = elect_zookeeper::connect(&with_id(&b)).expect("a good URL");
        let mut other =
            store.open(&election(), &Candidate::foreign("other"), TTL).await.expect("a seat");
        let error = other.refresh(now()).await.err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert!(error.to_string().contains("is another store"), "{error}");
        let error = store.survey(&election()).await.expect_err("another store");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        let new = ZooKeeper::one();
        let mut early = seat(&with_id(&new), "early", TTL).await;
        let error = early.refresh(now()).await.err().expect("refused");
        assert!(error.to_string().contains("has no store id"), "{error}");
        assert_eq!(id_of(&new).await, None);
    });
}

#[test]
fn the_id_of_a_store_is_made_once_and_only_by_candidates() {
    run("divided", async {
        let servers = ZooKeeper::one();
        let looker = elect_zookeeper::connect(&servers.url()).expect("a good URL");
        assert!(looker.survey(&election()).await.expect("a survey").leader.is_none());
        assert_eq!(id_of(&servers).await, None);
        found(&servers).await;
        let first = id_of(&servers).await.expect("an id");
        assert_eq!(first.len(), 16, "{first}");
        found(&servers).await;
        assert_eq!(id_of(&servers).await, Some(first));
        let names = looker.list(Scope::Entered).await.expect("a list");
        assert_eq!(names, [election()]);
    });
}
