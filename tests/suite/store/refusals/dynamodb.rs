//! DynamoDB, with a way to have it give one answer.

use elect_testkit::servers::{Database as _, DatabaseServer as _, DatabaseSetup, Moto};
use serde_json::json;

use super::Refuser;
use super::stores::{Plain, keep, on_the_way};
use crate::prelude::*;

/// The answers that the service itself gives, each as it names them.
const ERRORS: [(&str, &str); 3] = [
    ("user, password or token refused (401)", "UnrecognizedClientException"),
    ("a right is missing (403)", "AccessDeniedException"),
    ("too many connections", "ThrottlingException"),
];

pub(super) fn dynamodb() -> Vec<Refuser> {
    let server = Moto::start_as(&DatabaseSetup::default());
    let target = server.address();
    let url = |address: SocketAddr, ca: Option<&Path>| {
        let plain = Moto::url(address, "elect", "PLACE");
        match ca {
            None => plain,
            Some(ca) => format!("{}&ca={}", plain.replace("http://", "https://"), ca.display()),
        }
    };
    let all = on_the_way(Plain { target, protocol: b"http/1.1", url: &url, own: None });
    let mut all = keep(all, Mutex::new(server));
    for number in 0..all.len() {
        Moto::create(target, &format!("place{number}"));
    }
    all.extend(ERRORS.map(|(answer, name)| {
        let server = Moto::start_as(&DatabaseSetup::default());
        server.create_here();
        let url = Moto::url(server.address(), "elect", "elect");
        let server = Arc::new(Mutex::new(server));
        let other = Arc::clone(&server);
        let fault = json!({"of": [], "status": 400, "name": name, "done": "never"});
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
