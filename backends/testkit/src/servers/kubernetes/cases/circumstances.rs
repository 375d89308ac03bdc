//! Cases that need a server in a particular state.

use std::time::Duration;

use super::{Api, Ask, Asker, Caller, Case, new_name, version, with};

/// Cases for a server that has too much to do. Before each case the server has to throttle all requests.
pub fn throttled() -> Vec<Case> {
    vec![Case { name: "any request while throttled: 429, and no Status", run: too_many }]
}

/// Cases for a server whose etcd was compacted after at least one write. The server has to be restarted after that.
pub fn compacted() -> Vec<Case> {
    vec![
        Case { name: "WATCH from a compacted version: 200, and 410 in an ERROR event", run: watch },
        Case { name: "LIST that goes on from a token that is none: 400", run: bad_token },
    ]
}

fn too_many(api: &Api<'_>) {
    for path in [api.lease("a"), format!("{}?resourceVersion=0", api.lease("a")), api.leases()] {
        let answer = api.get(&path).is(429);
        answer.expect(answer.body == "Too many requests, please try again later.\n", "plain text");
    }
}

fn watch(api: &Api<'_>) {
    let rest = "watch=1&fieldSelector=metadata.name%3Da&allowWatchBookmarks=true";
    let path = format!("{}?{rest}&resourceVersion=1&timeoutSeconds=3", api.leases());
    let answer = api.get(&path).is(200);
    let events = answer.events();
    answer.expect(events.len() == 1 && events[0].0 == "ERROR", "one error");
    let status = &events[0].1;
    answer.expect(status["kind"] == "Status" && status["code"] == 410, "410");
    answer.expect(status["reason"] == "Expired", "reason");
}

fn bad_token(api: &Api<'_>) {
    api.get(&format!("{}?limit=1&continue=x", api.leases())).fails(400, "BadRequest");
}

/// A real server waits for etcd for up to a minute.
const LONG: Duration = Duration::from_secs(90);

/// Checks the answers of a server while its etcd stands still, and the outcome once etcd goes on. `go_on` returns
/// when the server serves again.
///
/// # Panics
/// Panics if an answer is wrong. etcd is continued all the same.
pub fn while_etcd_stands_still(namespace: &str, ask: Asker<'_>, stop: &dyn Fn(), go_on: &dyn Fn()) {
    let api = Api { case: "while etcd stands still", namespace, ask };
    let name = new_name("a");
    let path = api.lease(&name);
    let made = api.made(&name);
    api.get(&format!("{path}?resourceVersion={}", version(&made))).is(200);
    stop();
    let going_on = AtLast(go_on);
    let cached = api.get(&format!("{path}?resourceVersion=0")).is(200);
    cached.expect(cached.body == made, "the Lease from the cache");
    let put = with(&made, "spec.holderIdentity", "two").to_string();
    let patient = Ask { path: &path, patience: LONG, ..Ask::default() };
    let put = Ask { method: "PUT", body: put.as_bytes(), ..patient };
    for ask in [put, patient] {
        let answer = api.raw(Caller::Seats, &ask);
        answer.expect(matches!(answer.status, 500 | 504), "failure");
    }
    drop(going_on);
    let read = api.get(&path).is(200);
    // The outcome of the PUT is open. etcd has the request, and also knows that its client waits no more.
    let holder = read.body["spec"]["holderIdentity"].as_str().unwrap_or_default();
    read.expect(["one", "two"].contains(&holder), "holder");
}

/// A function that is called when this is dropped.
struct AtLast<'a>(&'a dyn Fn());

impl Drop for AtLast<'_> {
    fn drop(&mut self) {
        (self.0)();
    }
}
