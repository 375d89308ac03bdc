//! Tests of the error messages for stores that cannot be used.

use std::io::Read as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use elect_api::{Cell, Error, ErrorKind, Scope, Store};
use elect_testkit::servers::{ZooKeeper, ZooKeeperSetup};
use elect_testkit::{election, run};
use zookeeper_client::{Acls, Client, CreateMode};

use crate::common::{TTL, now, path_of};
use crate::support::{lead, lead_in_time, seat};

/// Returns the error of one refresh, and checks that it contains all these words and no secret.
pub(crate) async fn refused(url: &str, kind: ErrorKind, words: &[&str]) -> Error {
    let mut error = refusal(url).await;
    // The server was too slow to show its trouble, so nothing is known yet. A candidate asks again.
    while kind != ErrorKind::Unreachable && error.to_string().contains("no answer") {
        error = refusal(url).await;
    }
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is not in: {error}");
    }
    assert!(!format!("{error} {error:?}").contains("hush"), "a secret is shown");
    error
}

async fn refusal(url: &str) -> Error {
    let error = seat(url, "a", TTL).await.refresh(now()).await.err().expect("a refusal");
    eprintln!("{url}\n    {error}");
    error
}

#[test]
fn too_many_connections_are_no_impostor() {
    run("a limit", async {
        let setup =
            ZooKeeperSetup { lines: vec!["maxClientCnxns=1".into()], ..ZooKeeperSetup::default() };
        let servers = ZooKeeper::start(&setup);
        let other = Client::connect(&servers.address(0).to_string()).await.expect("a session");
        refused(&servers.url(), ErrorKind::Unreachable, &["maxClientCnxns"]).await;
        drop(other);
        lead_in_time(seat(&servers.url(), "a", TTL).await.as_mut(), TTL).await;
    });
}

#[test]
fn a_read_only_server() {
    run("read-only", async {
        let options = vec!["-Dreadonlymode.enabled=true".into()];
        let mut servers =
            ZooKeeper::start(&ZooKeeperSetup { members: 3, options, ..ZooKeeperSetup::default() });
        servers.member(1).kill();
        servers.member(2).kill();
        while servers.mode(0).as_deref() != Some("read-only") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let url = format!("zk://{}", servers.address(0));
        let words = ["read-only", "has no quorum"];
        refused(&url, ErrorKind::Unreachable, &words).await;
        let found = store(&url).examine(Arc::new(now)).await.expect("an examination");
        let error = found.endpoints[0].answer.as_ref().expect_err("no answer").to_string();
        assert!(error.contains("read-only"), "{error}");
    });
}

/// Behaves as a server that ends at the question for its state: it hangs up, and stops listening.
fn dying() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        loop {
            let (mut stream, _) = listener.accept().expect("a client that asks");
            let mut question = [0; 5];
            // The client library's own request begins with a length.
            if stream.read_exact(&mut question).is_ok() && question == *b"srvr\n" {
                drop(listener);
                return;
            }
        }
    });
    port
}

#[test]
fn a_server_that_is_ending_is_no_impostor() {
    run("a dying server", async {
        let url = format!("zk://127.0.0.1:{}", dying());
        refused(&url, ErrorKind::Unreachable, &["refused"]).await;
    });
}

#[test]
fn an_ensemble_without_a_quorum() {
    run("no quorum", async {
        let mut servers = ZooKeeper::three();
        servers.member(1).kill();
        servers.member(2).kill();
        while servers.mode(0).is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let url = format!("zk://{}", servers.address(0));
        refused(&url, ErrorKind::Unreachable, &["no quorum"]).await;
    });
}

fn with_user(servers: &ZooKeeper, user: &str) -> String {
    format!("zk://{user}:hush-{user}@{}", servers.address(0))
}

fn denied(outcome: Result<impl Sized, Error>, words: &[&str]) {
    let error = outcome.err().expect("a refusal");
    eprintln!("    {error}");
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is not in: {error}");
    }
}

fn store(url: &str) -> Box<dyn Store> {
    elect_zookeeper::connect(url).expect("a good URL")
}

#[test]
fn rights_are_those_of_the_creator() {
    run("rights", async {
        let servers = ZooKeeper::one();
        let path = path_of(&election());
        let mut owner = seat(&with_user(&servers, "ann"), "ann", TTL).await;
        lead(owner.as_mut()).await;
        for other in [servers.url(), with_user(&servers, "bob")] {
            refused(&other, ErrorKind::Denied, &[&path, "right to read"]).await;
            denied(store(&other).survey(&election()).await, &[&path, "read"]);
            denied(store(&other).list(Scope::Entered).await, &["/elect", "read"]);
        }
        let survey =
            store(&with_user(&servers, "ann")).survey(&election()).await.expect("a survey");
        assert_eq!(survey.leader.expect("a leader").entry.candidate.id, "ann");
        let elsewhere = format!("{}/other?acl=open", with_user(&servers, "bob"));
        let mut bob = seat(&elsewhere, "bob", TTL).await;
        lead(bob.as_mut()).await;
        let open_to_all = format!("{}/other", servers.url());
        let survey = store(&open_to_all).survey(&election()).await.expect("a survey");
        assert_eq!(survey.leader.expect("a leader").entry.candidate.id, "bob");
    });
}

#[test]
fn last_words_that_may_not_be_written_delay_no_candidate() {
    run("last words", async {
        let servers = ZooKeeper::one();
        let owner = Client::connector().with_auth("digest", b"ann:hush");
        let owner = owner.connect(&servers.address(0).to_string()).await.expect("a session");
        let mut leader = seat(&servers.url(), "leader", TTL).await;
        lead(leader.as_mut()).await;
        let readable = [
            zookeeper_client::Acl::new(
                zookeeper_client::Permission::ALL,
                zookeeper_client::AuthId::authed(),
            ),
            zookeeper_client::Acl::new(
                zookeeper_client::Permission::READ,
                zookeeper_client::AuthId::anyone(),
            ),
        ];
        let options = CreateMode::Persistent.with_acls(Acls::new(&readable));
        let path = format!("/elect/.notes/{}/history", election());
        for (at, _) in path.match_indices('/').skip(2) {
            owner.create(&path[..at], b"", &options).await.expect("a node");
        }
        owner.create(&path, b"ann's", &options).await.expect("a node");
        leader.resign(Some((Cell::History, b"unheard"))).await.expect("a resign");
        lead(seat(&servers.url(), "next", TTL).await.as_mut()).await;
        let kept = store(&servers.url()).read(&election(), Cell::History).await;
        assert_eq!(kept.expect("an answer").bytes.as_deref(), Some(&b"ann's"[..]));
    });
}

#[test]
fn a_right_that_is_missing_is_named_with_its_path() {
    run("a right", async {
        let servers = ZooKeeper::one();
        let address = servers.address(0).to_string();
        let owner = Client::connector().with_auth("digest", b"ann:hush");
        let owner = owner.connect(&address).await.expect("a session");
        let readable = [
            zookeeper_client::Acl::new(
                zookeeper_client::Permission::ALL,
                zookeeper_client::AuthId::authed(),
            ),
            zookeeper_client::Acl::new(
                zookeeper_client::Permission::READ,
                zookeeper_client::AuthId::anyone(),
            ),
        ];
        let options = CreateMode::Persistent.with_acls(Acls::new(&readable));
        owner.create("/elect", b"", &options).await.expect("a node");
        let path = path_of(&election());
        refused(&servers.url(), ErrorKind::Denied, &[&path, "right to create"]).await;
        // A user who may only read can survey, and finds no leader.
        let survey = store(&servers.url()).survey(&election()).await.expect("a survey");
        assert!(survey.leader.is_none());
        assert_eq!(store(&servers.url()).list(Scope::Entered).await.expect("a list"), []);
        // The election's control cell may not be read, so it counts as absent.
        let closed = CreateMode::Persistent.with_acls(Acls::creator_all());
        owner.create("/elect/.notes", b"", &closed).await.expect("a node");
        assert_eq!(store(&servers.url()).list(Scope::Asked).await.expect("a list"), []);
    });
}

#[test]
fn a_server_that_demands_a_login() {
    run("enforced", async {
        let lines = vec!["enforce.auth.enabled=true".into(), "enforce.auth.schemes=digest".into()];
        let servers = ZooKeeper::start(&ZooKeeperSetup { lines, ..ZooKeeperSetup::default() });
        let words = ["lets in only clients that log in", "a user and a password"];
        refused(&servers.url(), ErrorKind::Denied, &words).await;
        lead(seat(&with_user(&servers, "ann"), "ann", TTL).await.as_mut()).await;
    });
}

#[test]
fn a_server_that_requires_sasl() {
    run("sasl", async {
        let lines = vec![
            "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider".into(),
            "sessionRequireClientSASLAuth=true".into(),
        ];
        let servers = ZooKeeper::start(&ZooKeeperSetup { lines, ..ZooKeeperSetup::default() });
        for url in [servers.url(), with_user(&servers, "ann")] {
            let error = refused(&url, ErrorKind::Denied, &["SASL"]).await;
            assert!(!error.to_string().contains("does not take our"), "{error}");
        }
    });
}

#[test]
fn of_a_cell_that_is_too_long_only_one_byte_more_is_kept() {
    run("a long cell", async {
        let servers = ZooKeeper::one();
        let onlooker = Client::connect(&servers.address(0).to_string()).await.expect("a session");
        let path = format!("/elect/.notes/{}/orders", election());
        let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
        for (at, _) in path.match_indices('/').skip(1) {
            onlooker.create(&path[..at], b"", &options).await.expect("a node");
        }
        onlooker.create(&path, &vec![b'x'; 900_000], &options).await.expect("a node");
        let mut leader = seat(&servers.url(), "leader", TTL).await;
        let led = leader.refresh(now()).await.expect("an answer");
        assert_eq!(led.control.bytes.expect("something").len(), Cell::LONGEST + 1);
        let read = store(&servers.url()).read(&election(), Cell::Control).await;
        assert_eq!(read.expect("an answer").bytes.expect("something").len(), Cell::LONGEST + 1);
    });
}
