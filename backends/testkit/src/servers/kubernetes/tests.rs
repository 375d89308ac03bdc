use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::cases::{NAMESPACE, admit, ask_by, check_all};
use super::*;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/elect/leases";

fn lease(name: &str, holder: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15}})
}

/// Changes the holder of the only Lease that these tests write.
fn put(server: &ApiServer, holder: &str) -> (u16, Value) {
    let path = format!("{LEASES}/a");
    let (_, mut current) = server.call("GET", &format!("{path}?resourceVersion=0"), None);
    current["spec"]["holderIdentity"] = holder.into();
    server.call("PUT", &path, Some(&current))
}

fn holder(server: &ApiServer) -> Value {
    server.call("GET", &format!("{LEASES}/a"), None).1["spec"]["holderIdentity"].clone()
}

fn with_a_lease() -> ApiServer {
    let server = ApiServer::start();
    assert_eq!(server.call("POST", LEASES, Some(&lease("a", "one"))).0, 201);
    server
}

/// Sends a request, and does not read the answer yet.
fn sent(server: &ApiServer, method: &str, path: &str, body: &[u8]) -> TcpStream {
    let token = server.token(server.kubeconfig());
    let ask = Ask { method, path, token: Some(&token), body, ..Ask::default() };
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    stream.write_all(&ask.bytes("fake")).expect("it is sent");
    stream
}

/// Reads until these words have arrived, and returns all that was read.
fn read_until(stream: &mut TcpStream, words: &str) -> String {
    let mut text = String::new();
    let mut chunk = [0; 4096];
    while !text.contains(words) {
        let count = stream.read(&mut chunk).expect("an answer in time");
        assert_ne!(count, 0, "the end came before {words}: {text}");
        text += &String::from_utf8_lossy(&chunk[..count]);
    }
    text
}

fn rest(stream: &mut TcpStream) -> String {
    let mut rest = String::new();
    let _ = stream.read_to_string(&mut rest);
    rest
}

fn opened_watch(server: &ApiServer) -> TcpStream {
    let before = server.counts().watches;
    let path = format!("{LEASES}?watch=1&allowWatchBookmarks=true");
    let stream = sent(server, "GET", &path, b"");
    eventually("a watch", || (server.counts().watches > before).then_some(()));
    stream
}

#[test]
fn it_answers_as_a_real_server_does() {
    check_all(&ApiServer::start(), &cases::cases());
}

#[test]
fn it_answers_as_a_real_server_does_after_a_compaction() {
    let mut server = with_a_lease();
    server.compact();
    server.kill();
    server.restart();
    check_all(&server, &cases::compacted());
    check_all(&server, &cases::cases());
}

#[test]
fn it_answers_as_a_real_server_does_that_has_too_much_to_do() {
    let server = ApiServer::start();
    server.fault(Fault::Throttle(Scope::all(), 1));
    check_all(&server, &cases::throttled());
    server.fault(Fault::None);
    check_all(&server, &cases::cases()[..1]);
}

#[test]
fn it_answers_as_a_real_server_does_whose_etcd_stands_still() {
    let server = ApiServer::start();
    admit(&server);
    let ask = |caller, ask: &Ask<'_>| ask_by(&server, caller, ask);
    let stop = || server.fault(Fault::EtcdDown(Duration::from_millis(50)));
    let go_on = || server.fault(Fault::None);
    cases::while_etcd_stands_still(NAMESPACE, &ask, &stop, &go_on);
}

#[test]
fn acknowledged_requests_outlive_a_kill() {
    let mut server = ApiServer::start();
    let user = server.kubeconfig_of(&[Rule::leases(NAMESPACE, &["get"])]);
    let (status, made) = server.call("POST", LEASES, Some(&lease("a", "one")));
    assert_eq!(status, 201, "{made}");
    server.kill();
    server.restart();
    let path = format!("{LEASES}/a");
    let (status, read) = server.call("GET", &path, None);
    assert_eq!((status, &read), (200, &made));
    let token = server.token(&user);
    let ask =
        |method| server.ask(&Ask { method, path: &path, token: Some(&token), ..Ask::default() }).0;
    assert_eq!((ask("GET"), ask("DELETE")), (200, 403));
    let watch = format!("{LEASES}?watch=1&resourceVersion=99&timeoutSeconds=1");
    let (status, event) = server.call("GET", &watch, None);
    assert_eq!((status, &event["object"]["code"]), (200, &json!(410)), "{event}");
    assert_eq!(server.counts().of("get", "leases"), 2);
}

#[test]
fn a_connection_serves_many_requests_and_a_stopped_server_none() {
    let server = with_a_lease();
    let token = server.token(server.kubeconfig());
    let path = format!("{LEASES}/a");
    let bytes = Ask { path: &path, token: Some(&token), ..Ask::default() }.bytes("fake");
    let kept = String::from_utf8(bytes).expect("text").replace("Connection: close\r\n", "");
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    let mut connections = Vec::new();
    for _ in 0..2 {
        stream.write_all(kept.as_bytes()).expect("it is sent");
        let answer = read_until(&mut stream, "}}\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("content-length: "), "{answer}");
        connections.push(server.counts().connections);
    }
    server.stop();
    stream.write_all(kept.as_bytes()).expect("it is sent");
    stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a time limit");
    assert!(stream.read(&mut [0]).is_err());
    server.resume();
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    read_until(&mut stream, "}}\n");
    assert_eq!(connections, [server.counts().connections; 2]);
}

#[test]
fn failures_do_not_tell_whether_the_write_was_done() {
    let server = with_a_lease();
    for (status, done, expected) in [(500, false, "one"), (503, true, "two"), (504, false, "two")] {
        let scope = Scope::writes().of("leases").named("a").times(1);
        server.fault(Fault::Fail { scope, status, done });
        let (answer, body) = put(&server, if done { "two" } else { "three" });
        assert_eq!((answer, &body["code"]), (status, &json!(status)));
        assert_eq!(holder(&server), expected, "{status}");
    }
    server.fault(Fault::Throttle(Scope::writes().times(2), 7));
    assert_eq!(
        (put(&server, "four").0, put(&server, "four").0, put(&server, "four").0),
        (429, 429, 200)
    );
    assert_eq!(server.counts().faults, 5);
    assert_eq!(server.counts().answers[&429], 2);
}

#[test]
fn answers_may_be_late_or_never_come() {
    let server = with_a_lease();
    let scope = || Scope::writes().times(1);
    let late = Duration::from_millis(100);
    let body = lease("b", "one").to_string().into_bytes();
    // The client has gone, and the request is carried out all the same.
    server.fault(Fault::Delay { scope: scope(), by: late, done: false });
    let stream = sent(&server, "POST", LEASES, &body);
    eventually("the fault", || (server.counts().faults == 1).then_some(()));
    drop(stream);
    let there = |name: &str| server.call("GET", &format!("{LEASES}/{name}"), None).0 == 200;
    eventually("a late write", || there("b").then_some(()));
    for (number, done) in [(2, false), (3, true)] {
        server.fault(Fault::Hang { scope: scope(), done });
        let name = format!("c{number}");
        let body = lease(&name, "one").to_string().into_bytes();
        let mut stream = sent(&server, "POST", LEASES, &body);
        eventually("the fault", || (server.counts().faults == number).then_some(()));
        if done {
            eventually("the write", || there(&name).then_some(()));
        }
        assert_eq!(there(&name), done);
        stream.set_read_timeout(Some(late)).expect("a time limit");
        assert!(stream.read(&mut [0]).is_err());
    }
    server.fault(Fault::Drop { scope: scope(), done: true });
    let mut stream = sent(&server, "POST", LEASES, lease("d", "one").to_string().as_bytes());
    assert_eq!((rest(&mut stream), there("d")), (String::new(), true));
}

#[test]
fn a_cache_that_lags_tells_of_the_past_and_watches_of_nothing() {
    let server = with_a_lease();
    let mut watch = opened_watch(&server);
    read_until(&mut watch, "ADDED");
    server.fault(Fault::CacheLags);
    let made = put(&server, "two").1;
    let cached = || {
        server.call("GET", &format!("{LEASES}/a?resourceVersion=0"), None).1["spec"]["holderIdentity"].clone()
    };
    assert_eq!((holder(&server), cached()), (json!("two"), json!("one")));
    let newest = format!(
        "{LEASES}/a?resourceVersion={}",
        made["metadata"]["resourceVersion"].as_str().unwrap_or_default()
    );
    let waits = thread::scope(|scope| {
        let read = scope.spawn(|| server.call("GET", &newest, None));
        eventually("the read", || (server.counts().of("get", "leases") >= 4).then_some(()));
        server.fault(Fault::None);
        read.join().expect("an answer")
    });
    assert_eq!((waits, cached()), ((200, made), json!("two")));
    read_until(&mut watch, "\"MODIFIED\"");
}

#[test]
fn watches_go_silent_end_or_expire() {
    let server = with_a_lease();
    let mut silent = opened_watch(&server);
    read_until(&mut silent, "ADDED");
    server.fault(Fault::SilentWatches);
    server.fault(Fault::None);
    let mut watch = opened_watch(&server);
    assert_eq!(put(&server, "two").0, 200);
    server.bookmark();
    let told = read_until(&mut watch, "BOOKMARK");
    assert!(told.contains("\"MODIFIED\""), "{told}");
    server.fault(Fault::ExpireWatches);
    let told = rest(&mut watch);
    assert!(
        told.contains("\"ERROR\"") && told.contains("410") && told.ends_with("0\r\n\r\n"),
        "{told}"
    );
    let mut watch = opened_watch(&server);
    server.fault(Fault::EndWatches);
    assert!(rest(&mut watch).ends_with("0\r\n\r\n"));
    assert_eq!(server.counts().watches, 1);
    silent.set_read_timeout(Some(Duration::from_millis(50))).expect("a time limit");
    assert!(silent.read(&mut [0]).is_err());
    drop(silent);
    eventually("no watch", || (server.counts().watches == 0).then_some(()));
}

#[test]
fn it_hangs_up_and_refuses() {
    let server = with_a_lease();
    let mut watch = opened_watch(&server);
    read_until(&mut watch, "ADDED");
    server.fault(Fault::HangUp);
    assert!(!rest(&mut watch).ends_with("0\r\n\r\n"));
    server.fault(Fault::Refuse);
    let connect = || TcpStream::connect(server.address());
    eventually("refusal", || connect().is_err().then_some(()));
    server.fault(Fault::None);
    eventually("an address that serves", || connect().ok());
    assert_eq!(holder(&server), "one");
}

#[test]
fn a_token_expires_and_another_takes_its_place() {
    let server = with_a_lease();
    let config = server.kubeconfig_of(&[Rule::leases(NAMESPACE, &["get"])]);
    let path = format!("{LEASES}/a");
    let get =
        |token: &str| server.ask(&Ask { path: &path, token: Some(token), ..Ask::default() }).0;
    let first = server.token(&config);
    assert_eq!(get(&first), 200);
    server.expire_token(&config);
    assert_eq!(get(&first), 401);
    server.renew_token(&config);
    let second = server.token(&config);
    assert!(fs::read_to_string(&config).is_ok_and(|text| text.contains(&second)));
    assert_eq!((get(&second), get(&first)), (200, 401));
}

#[test]
fn urls_name_the_configuration() {
    let url = ApiServer::url_with("elect", Path::new("/tmp/a b/config.yaml"));
    assert_eq!(url, "kubernetes:///elect?kubeconfig=/tmp/a%20b/config.yaml");
}
