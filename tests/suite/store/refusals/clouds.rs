//! DynamoDB and S3, with a way to have each give one answer.

use elect_testkit::servers::{Database, DatabaseServer, DatabaseSetup, Moto, MotoS3};
use serde_json::json;

use super::Refuser;
use super::stores::{Plain, keep, on_the_way};
use crate::prelude::*;

/// The answers that the services themselves give, each as the server's program names them.
const ERRORS: [(&str, &str); 3] = [
    ("user, password or token refused (401)", "stranger"),
    ("a right is missing (403)", "denied"),
    ("too many connections", "throttled"),
];

pub(super) fn dynamodb() -> Vec<Refuser> {
    let start = || Moto::start_as(&DatabaseSetup::default());
    // Each answer has a place of its own, which elect does not make.
    refusers(start, |server, place| Moto::create(DatabaseServer::address(server), place))
}

pub(super) fn s3() -> Vec<Refuser> {
    refusers(|| MotoS3::start_as(&DatabaseSetup::default()), |_, _| ())
}

fn refusers<S: Database + DatabaseServer + 'static>(
    start: impl Fn() -> S,
    create: impl Fn(&S, &str),
) -> Vec<Refuser> {
    let server = start();
    let target = DatabaseServer::address(&server);
    let url = |address: SocketAddr, ca: Option<&Path>| {
        let plain = S::url(address, "elect", "PLACE");
        match ca {
            None => plain,
            Some(ca) => format!("{}&ca={}", plain.replace("http://", "https://"), ca.display()),
        }
    };
    let all = on_the_way(Plain { target, protocol: b"http/1.1", url: &url, own: None });
    for number in 0..all.len() {
        create(&server, &format!("place{number}"));
    }
    let mut all = keep(all, Mutex::new(server));
    all.extend(ERRORS.map(|(answer, error)| {
        let server = start();
        create(&server, "elect");
        let url = S::url(DatabaseServer::address(&server), "elect", "elect");
        let server = Arc::new(Mutex::new(server));
        let other = Arc::clone(&server);
        let fault = json!({"of": [], "error": error, "done": "never"});
        Refuser {
            answer,
            url,
            begin: Box::new(move || server.lock().expect("not poisoned").fault(&fault)),
            end: Box::new(move || other.lock().expect("not poisoned").end_fault()),
            keeps: Box::new(()),
        }
    }));
    all
}
