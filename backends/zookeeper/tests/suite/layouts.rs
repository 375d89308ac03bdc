//! Tests of elections that are shared with other programs, as far as that is safe.

use elect_api::{ErrorKind, Seat, Standing, Survey};
use elect_testkit::servers::{ZooKeeper, ZooKeeperSetup};
use elect_testkit::{election, run};

use crate::common::{TTL, now, path_of, raw};
use crate::support::{lead, plant, seat};

const UUID: &str = "d1a1bb6d-3c3c-4a4a-9f9f-0123456789ab";

async fn wait_behind(seat: &mut dyn Seat, expected: usize) -> elect_api::Wake {
    match seat.refresh(now()).await.expect("a standing").standing {
        Standing::Waiting { ahead, wake, .. } if ahead == expected => wake,
        Standing::Waiting { ahead, .. } => panic!("it waits behind {ahead}"),
        _ => panic!("it does not wait"),
    }
}

#[test]
fn candidates_of_other_clients_are_in_the_same_queue() {
    run("shared", async {
        let servers = ZooKeeper::one();
        let other = raw(&[servers.address(0)]).await;
        let plain = UUID.replace('-', "");
        for (layout, name) in [
            ("curator-latch", format!("_c_{UUID}-latch--000000007")),
            ("curator-lock", format!("_c_{UUID}-lock--000000007")),
            ("kazoo", format!("{plain}__lock__-000000007")),
        ] {
            let url = format!("{}/{layout}?layout={layout}", servers.url());
            let directory = format!("/{layout}/{}", election().as_str());
            let elect = elect_zookeeper::connect(&url).expect("a good URL");
            let container = zookeeper_client::CreateMode::Container
                .with_acls(zookeeper_client::Acls::anyone_all());
            other.mkdir(&directory, &container).await.expect("a directory");
            let ephemeral = zookeeper_client::CreateMode::Ephemeral
                .with_acls(zookeeper_client::Acls::anyone_all());
            let path = format!("{directory}/{name}");
            other.create(&path, b"host-7", &ephemeral).await.expect("a node");
            let noise = format!("{directory}/leases");
            other.create(&noise, b"", &ephemeral).await.expect("a node");
            let mut seat = seat(&url, "a", TTL).await;
            let wake = wait_behind(seat.as_mut(), 1).await;
            let survey = elect.survey(&election()).await.expect("a survey");
            let leader = survey.leader.expect("a leader");
            assert_eq!(leader.entry.candidate.id, "host-7");
            assert!(leader.entry.joined.is_some());
            assert_eq!(survey.waiting.len(), 1);
            other.delete(&path, None).await.expect("it was there");
            wake.await;
            lead(seat.as_mut()).await;
        }
    });
}

/// Each of the nodes could be a candidate's.
#[test]
fn more_bytes_than_any_election_has_are_refused() {
    run("overfull", async {
        let servers = ZooKeeper::one();
        let other = raw(&[servers.address(0)]).await;
        let name = |number: i32| format!("latch-{number:010}");
        for number in 0..513 {
            plant(&other, &name(number), &[b'x'; 16 << 10]).await;
        }
        let store = elect_zookeeper::connect(&servers.url()).expect("a good URL");
        let refused = store.survey(&election()).await.expect_err("too much");
        assert!(refused.to_string().contains("more than 8388608 bytes"), "{refused}");
        let path = format!("{}/{}", path_of(&election()), name(7));
        other.delete(&path, None).await.expect("it was there");
        let survey = store.survey(&election()).await.expect("a survey");
        assert_eq!(survey.entries().count(), 512);
    });
}

#[test]
fn more_candidates_than_any_election_has_are_refused() {
    let servers = ZooKeeper::one();
    let directory = path_of(&election());
    let path = |number| format!("{directory}/latch-{number:010}");
    let kept =
        zookeeper_client::CreateMode::Persistent.with_acls(zookeeper_client::Acls::anyone_all());
    let numbers: Vec<usize> = (0..=Survey::MOST).collect();
    // All of them take a busy machine longer than a test may wait.
    for part in numbers.chunks(4096) {
        run("nodes", async {
            let other = raw(&[servers.address(0)]).await;
            other.mkdir(&directory, &kept).await.expect("a directory");
            // A busy machine answers a longer one too late.
            for some in part.chunks(128) {
                let mut all = other.new_multi_writer();
                for &number in some {
                    all.add_create(&path(number), b"", &kept).expect("a path");
                }
                all.commit().await.expect("nodes");
            }
        });
    }
    run("overfull", async {
        let other = raw(&[servers.address(0)]).await;
        let store = elect_zookeeper::connect(&servers.url()).expect("a good URL");
        let refused = store.survey(&election()).await.expect_err("too many");
        assert!(refused.to_string().contains("more than 32768 candidates"), "{refused}");
        other.delete(&path(7), None).await.expect("it was there");
        let survey = store.survey(&election()).await.expect("a survey");
        assert_eq!(survey.entries().count(), Survey::MOST);
    });
}

#[test]
fn another_layout_is_refused_before_anything_is_made() {
    run("mixed", async {
        let servers = ZooKeeper::one();
        let other = raw(&[servers.address(0)]).await;
        plant(&other, "x__lock__0000000900", b"").await;
        let mut refused = seat(&servers.url(), "a", TTL).await;
        for _ in 0..2 {
            let error = refused.refresh(now()).await.err().expect("a refusal");
            assert_eq!(error.kind(), ErrorKind::Unfit);
            for word in ["layout=kazoo", "x__lock__0000000900"] {
                assert!(error.to_string().contains(word), "{error}");
            }
        }
        let store = elect_zookeeper::connect(&servers.url()).expect("a good URL");
        let error = store.survey(&election()).await.expect_err("candidates that are not counted");
        assert!(error.to_string().contains("layout=kazoo"), "{error}");
        let children = other.list_children(&path_of(&election())).await.expect("a list");
        assert_eq!(children.len(), 1, "an entry was made: {children:?}");
        refused.resign(None).await.expect("nothing to give up");
    });
}

/// A candidate of each layout would find itself first.
#[test]
fn no_candidate_leads_beside_another_layout_that_came_later() {
    run("mixed later", async {
        let servers = ZooKeeper::one();
        let other = raw(&[servers.address(0)]).await;
        plant(&other, "_c_x-latch--000000001", b"").await;
        let mut waiter = seat(&servers.url(), "a", TTL).await;
        drop(wait_behind(waiter.as_mut(), 1).await);
        plant(&other, "x__lock__0000000900", b"").await;
        let first = format!("{}/_c_x-latch--000000001", path_of(&election()));
        other.delete(&first, None).await.expect("it was there");
        let error = waiter.refresh(now()).await.err().expect("a refusal");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        waiter.resign(None).await.expect("a resign");
        let children = other.list_children(&path_of(&election())).await.expect("a list");
        assert_eq!(children, ["x__lock__0000000900"]);
    });
}

/// Its container would block the election that it is nested in.
#[test]
fn an_election_that_reads_as_a_candidate_is_refused() {
    run("nested", async {
        let store = elect_zookeeper::connect("zk://127.0.0.1:1/elect/outer").expect("a good URL");
        let candidate = elect_api::Candidate::foreign("a");
        for name in ["x-latch-0000000000", "x-lock-0000000001", "x__lock__0000000002"] {
            let name = name.parse().expect("a good name");
            let error = store.open(&name, &candidate, TTL).await.err().expect("a refusal");
            assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        }
    });
}

/// An election without candidates vanishes, and so do the nodes made for it. The store's id stays.
#[test]
fn empty_directories_go_by_themselves() {
    run("containers", async {
        let servers = ZooKeeper::start(&ZooKeeperSetup {
            options: vec!["-Dznode.container.checkIntervalMs=50".into()],
            ..ZooKeeperSetup::default()
        });
        let url = format!("{}/deep/down", servers.url());
        let mut seat = seat(&url, "a", TTL).await;
        lead(seat.as_mut()).await;
        seat.resign(None).await.expect("a resign");
        let other = raw(&[servers.address(0)]).await;
        let directory = format!("/deep/down/{}", election());
        loop {
            let (found, watcher) = other.check_and_watch_stat(&directory).await.expect("a look");
            if found.is_none() {
                break;
            }
            watcher.changed().await;
        }
        assert_eq!(other.list_children("/deep/down").await.expect("a list"), [".store"]);
        lead(seat.as_mut()).await;
    });
}

/// To count a very long queue is expensive: the seat counts again when the candidate before it goes.
#[test]
fn far_back_it_is_enough_to_be_there() {
    run("a crowd", async {
        let servers = ZooKeeper::one();
        let other = raw(&[servers.address(0)]).await;
        let name = |number: i32| format!("latch-{:010}", number - 1000);
        for number in 0..120 {
            plant(&other, &name(number), b"").await;
        }
        let mut seat = seat(&servers.url(), "a", TTL).await;
        let wake = wait_behind(seat.as_mut(), 120).await;
        let path = |number| format!("{}/{}", path_of(&election()), name(number));
        other.delete(&path(0), None).await.expect("it was there");
        drop(wait_behind(seat.as_mut(), 120).await);
        other.delete(&path(119), None).await.expect("it was there");
        wake.await;
        drop(wait_behind(seat.as_mut(), 118).await);
        let entries = crate::common::nodes(&other, &election()).await;
        let own = entries.iter().find(|(_, data)| !data.is_empty()).expect("its entry");
        other.delete(&own.0, None).await.expect("it was there");
        // The seat notices, enters anew, and again is behind all others.
        drop(wait_behind(seat.as_mut(), 118).await);
        drop(wait_behind(seat.as_mut(), 118).await);
    });
}
