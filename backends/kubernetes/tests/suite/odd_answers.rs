//! Tests of servers that are no API server, or a faulty one: their answers must never count as the state of an
//! election.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use elect_api::{Candidate, ErrorKind, Store};
use elect_testkit::{election, oracle};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Connects to a server that answers each request with this status and this text.
fn store(status: &'static str, text: &'static str) -> (Box<dyn Store>, TempDir) {
    store_of(status, text, None)
}

/// Does the same, but the server answers the request for its version with another status.
fn store_of(
    status: &'static str,
    text: &'static str,
    version: Option<&'static str>,
) -> (Box<dyn Store>, TempDir) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer(&stream, status, text, version));
        }
    });
    connect(address, "")
}

/// Connects to the server at this address.
fn connect(address: SocketAddr, options: &str) -> (Box<dyn Store>, TempDir) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("config");
    let text = format!(
        "current-context: a\nclusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n\
         contexts: [{{name: a, context: {{cluster: c}}}}]\n"
    );
    std::fs::write(&path, text).expect("a file");
    let url = format!("kubernetes:///elect?kubeconfig={}{options}", path.display());
    (elect_kubernetes::connect(&url).expect("a good URL"), folder)
}

/// Starts a server whose watch reports other Leases as well, and ends at once. It reports each request for a watch.
fn watched() -> (Box<dyn Store>, TempDir, UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (tell, asked) = unbounded_channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            lines.find(String::is_empty);
            let lease = |name: &str, version: u64, holder: &str| {
                format!(
                    r#"{{"metadata":{{"name":"{name}","namespace":"elect","resourceVersion":"{version}"}},"spec":{{"holderIdentity":"{holder}"}}}}"#
                )
            };
            let text = if first.contains("watch=1") {
                let _ = tell.send(());
                format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", lease("another", 8, ""))
            } else {
                lease(election().as_str(), 7, "a")
            };
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
            let _ = (&stream).write_all(format!("{head}{text}").as_bytes());
        }
    });
    let (store, folder) = connect(address, "&order=race");
    (store, folder, asked)
}

/// Not every server that resembles an API server supports selectors.
#[tokio::test]
async fn a_watch_that_reports_other_leases_wakes_no_candidate() {
    let (store, _folder, mut asked) = watched();
    let wake = store.changed(&election()).await.expect("a Lease");
    tokio::select! {
        () = wake => panic!("another Lease has changed"),
        _ = async { (asked.recv().await, asked.recv().await) } => {}
    }
}

fn answer(stream: &TcpStream, status: &str, text: &str, version: Option<&str>) {
    let mut lines = BufReader::new(stream);
    loop {
        let (mut length, mut line, mut status) = (0, String::new(), status);
        while line != "\r\n" {
            line.clear();
            if lines.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.starts_with("GET /version ") {
                status = version.unwrap_or(status);
            }
            if let Some(said) = line.to_lowercase().strip_prefix("content-length:") {
                length = said.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        if lines.read_exact(&mut body).is_err() {
            return;
        }
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", text.len());
        let mut stream = stream;
        if stream.write_all(format!("{head}{text}").as_bytes()).is_err() {
            return;
        }
    }
}

const NOT_FOUND: &str = r#"{"kind":"Status","status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}"#;
const FORBIDDEN: &str = r#"{"kind":"Status","status":"Failure","message":"leases.coordination.k8s.io \"a\" is forbidden: exceeded quota","reason":"Forbidden","details":{"kind":"leases"},"code":403}"#;

#[tokio::test]
async fn an_answer_of_404_does_not_make_an_election_empty() {
    for (status, text) in [
        ("404 Not Found", "404 page not found"),
        ("404 Not Found", NOT_FOUND),
        ("301 Moved Permanently", ""),
        ("410 Gone", "{}"),
        ("502 Bad Gateway", "<html>"),
    ] {
        let (store, _folder) = store(status, text);
        let error = store.survey(&election()).await.expect_err(status);
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{status}: {error}");
        let candidate = Candidate::foreign("a");
        let ttl = Duration::from_secs(6);
        let seat = store.open(&election(), &candidate, ttl).await;
        let error = seat.expect("no request").refresh(oracle::now()).await.err().expect(status);
        assert!(!error.is_permanent(), "{status}: {error}");
    }
}

#[tokio::test]
async fn a_role_is_blamed_only_for_missing_rights() {
    let (store, _folder) = store_of("403 Forbidden", FORBIDDEN, Some("200 OK"));
    let error = store.survey(&election()).await.expect_err("403");
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(!error.to_string().contains("Role"), "{error}");
}

/// The API server has just started, and does not know its Roles yet.
#[tokio::test]
async fn an_api_server_that_refuses_all_requests_is_asked_again() {
    let (store, _folder) = store("403 Forbidden", FORBIDDEN);
    let error = store.survey(&election()).await.expect_err("403");
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
}

/// An absurd pause is not shown to people.
#[tokio::test]
async fn a_pause_without_end_is_not_believed() {
    let text = r#"{"kind":"Status","message":"later","details":{"retryAfterSeconds":18446744073709551615}}"#;
    let (store, _folder) = store("429 Too Many Requests", text);
    let error = store.survey(&election()).await.expect_err("429");
    assert!(!error.to_string().contains("patience"), "{error}");
}

#[tokio::test]
async fn answers_of_another_shape_end_no_candidate() {
    for text in ["[]", "\"ok\"", "7", "{}", "{\"items\":7}", "not JSON"] {
        let (store, _folder) = store("200 OK", text);
        let _ = store.survey(&election()).await;
        let _ = store.list(elect_api::Scope::Kept).await;
        let seat = store.open(&election(), &Candidate::foreign("a"), Duration::from_secs(6)).await;
        let _ = seat.expect("no request").refresh(oracle::now()).await;
        let wake = store.changed(&election()).await;
        if let Ok(wake) = wake {
            let _ = tokio::time::timeout(Duration::from_millis(50), wake).await;
        }
    }
}

/// For example, a cache answers a write with its old content.
#[tokio::test]
async fn no_candidate_leads_by_an_answer_that_differs_from_its_write() {
    for (name, namespace) in [("other", "elect"), ("NAME", "elect"), ("NAME", "other")] {
        let name = name.replace("NAME", election().as_str());
        let text = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","resourceVersion":"7"}},"items":[],"spec":{{}}}}"#
        );
        let (store, _folder) = store("200 OK", text.leak());
        let seat = store.open(&election(), &Candidate::foreign("a"), Duration::from_secs(6)).await;
        let error = seat.expect("no request").refresh(oracle::now()).await.err().expect("no Lease");
        assert!(!error.is_permanent(), "{error}");
    }
}

/// A gateway may answer with JSON, and a balancer gives no reasons. A candidate with a place waits for the API server.
#[tokio::test]
async fn errors_of_a_gateway_before_the_api_server_may_pass() {
    for (status, text) in [
        ("200 OK", "{}"),
        ("200 OK", r#"{"status":"maintenance"}"#),
        ("200 OK", r#"{"metadata":{"resourceVersion":"a"},"items":[]}"#),
        ("204 No Content", ""),
        ("400 Bad Request", "bad request"),
        ("413 Too Large", ""),
        ("422 Unprocessable", "no"),
    ] {
        let (store, _folder) = store(status, text);
        let error = store.survey(&election()).await.expect_err(status);
        assert!(error.may_pass(), "{status}, {text}: {error}");
    }
}
