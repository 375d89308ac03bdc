//! Tests of a password that is renewed while candidates run. ZooKeeper takes it for another user with other rights.

use std::fs;
use std::path::Path;

use elect_api::{Cell, Durability, ErrorKind, Seat, Standing, Token, Written};
use elect_testkit::run;
use elect_testkit::servers::ZooKeeper;
use zookeeper_client::{Acl, AuthId, Client, Permission};

use crate::common::{TTL, now};
use crate::support::{Claim, lead, seat};

/// The user `ann` with the password `two`, as ACLs name them.
const TWO: &str = "ann:B4ISa1MXwbM1kaCN/fwJ3qUppOo=";

/// Gives that user alone the rights to all nodes.
async fn hand_over(servers: &ZooKeeper) {
    let both = Client::connector().with_auth("digest", b"ann:one").with_auth("digest", b"ann:two");
    let both = both.connect(&servers.address(0).to_string()).await.expect("a session");
    let rights = [Acl::new(Permission::ALL, AuthId::new("digest", TWO))];
    let mut paths = vec!["/elect".to_owned()];
    while let Some(path) = paths.pop() {
        let children = both.list_children(&path).await.expect("children");
        paths.extend(children.iter().map(|child| format!("{path}/{child}")));
        both.set_acl(&path, &rights, None).await.expect("rights");
    }
}

/// Asserts that all present nodes belong to the new user.
async fn belongs_to_the_new_one(servers: &ZooKeeper) {
    let new = Client::connector().with_auth("digest", b"ann:two");
    let new = new.connect(&servers.address(0).to_string()).await.expect("a session");
    let mut paths = vec!["/elect".to_owned()];
    while let Some(path) = paths.pop() {
        let children = new.list_children(&path).await.expect("children");
        paths.extend(children.iter().map(|child| format!("{path}/{child}")));
        let (owners, _) = new.get_acl(&path).await.expect("rights");
        assert_eq!(owners, [Acl::new(Permission::ALL, AuthId::new("digest", TWO))], "{path}");
    }
}

async fn is_denied(seat: &mut dyn Seat) {
    let error = seat.refresh(now()).await.err().expect("a refusal");
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
}

/// Returns the standing; the first call after a change may be refused.
async fn standing(seat: &mut dyn Seat) -> Standing {
    if let Ok(refreshed) = seat.refresh(now()).await {
        return refreshed.standing;
    }
    seat.refresh(now()).await.expect("it is let in").standing
}

async fn leads(seat: &mut dyn Seat, token: Token) {
    assert_eq!(Claim::of(&standing(seat).await).expect("it leads").token, token);
}

async fn waits(seat: &mut dyn Seat) {
    let standing = standing(seat).await;
    assert!(matches!(standing, Standing::Waiting { .. }), "it does not wait");
}

fn renew(file_first: bool) {
    run("a renewal", async move {
        let servers = ZooKeeper::one();
        let file = servers.directory().join("password");
        let write = |password: &str| fs::write(&file, password).expect("a file");
        let url = url(&servers, &file);
        write("one");
        let mut leader = seat(&url, "leader", TTL).await;
        let mut waiter = seat(&url, "waiter", TTL).await;
        let token = lead(leader.as_mut()).await.token;
        waits(waiter.as_mut()).await;
        if file_first {
            write("two\n");
            leads(leader.as_mut(), token).await;
            waits(waiter.as_mut()).await;
            let mut early = seat(&url, "early", TTL).await;
            is_denied(early.as_mut()).await;
            hand_over(&servers).await;
        } else {
            hand_over(&servers).await;
            for _ in 0..2 {
                is_denied(leader.as_mut()).await;
                is_denied(waiter.as_mut()).await;
            }
            // The file is empty while it is written.
            write("");
            is_denied(leader.as_mut()).await;
            write("two\n");
        }
        for _ in 0..2 {
            leads(leader.as_mut(), token).await;
            waits(waiter.as_mut()).await;
        }
        waits(seat(&url, "late", TTL).await.as_mut()).await;
        leader.resign(None).await.expect("a resign");
        let led = standing(waiter.as_mut()).await;
        assert!(Claim::of(&led).expect("it leads").token > token);
        // A user with the old password has no rights to nodes that are made from now on.
        waits(leader.as_mut()).await;
        let written = waiter.write(now(), Cell::Once, b"{}", Durability::Usual).await;
        assert!(matches!(written, Ok(Written::Yes(_))), "{written:?}");
        belongs_to_the_new_one(&servers).await;
    });
}

fn url(servers: &ZooKeeper, file: &Path) -> String {
    format!("zk://ann@{}?password-file={}", servers.address(0), file.display())
}

#[test]
fn a_file_that_is_renewed_before_the_rights() {
    renew(true);
}

#[test]
fn a_file_that_is_renewed_after_the_rights() {
    renew(false);
}
