//! Applications that are asked over HTTP, and sidecars that answer.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use elect_testkit::program::eventually;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::application::Pods;

/// Answers every request with these bytes, and hangs where there are none.
struct Application {
    address: SocketAddr,
    answer: Arc<Mutex<&'static [u8]>>,
    asked: Arc<Mutex<String>>,
}

const WELL: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy";

impl Application {
    fn start(answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (answer, asked) = (Arc::new(Mutex::new(answer)), Arc::<Mutex<String>>::default());
        let (shared, heard) = (Arc::clone(&answer), Arc::clone(&asked));
        thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut request = [0; 1024];
                let length = stream.read(&mut request).unwrap_or(0);
                *heard.lock().unwrap() = String::from_utf8_lossy(&request[..length]).into_owned();
                let answer = *shared.lock().unwrap();
                if answer.is_empty() {
                    kept.push(stream);
                } else {
                    let _ = stream.write_all(answer);
                }
            }
        });
        Self { address, answer, asked }
    }

    fn answers(&self, answer: &'static [u8]) {
        *self.answer.lock().unwrap() = answer;
    }
}

fn get(address: &str, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    match stream.read_to_string(&mut text) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
        _ => {}
    }
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

#[test]
fn an_application_is_well_while_it_answers_with_success() {
    let pods = Pods::on_disk();
    let application = Application::start(WELL);
    let url = format!("http://{}/healthz?full=1", application.address);
    let elect = pods.sidecar("one").args(["--health-timeout", "200ms", "--health-http", &url]);
    let mut one = elect.spawn();
    pods.wait_until_leads("one");
    let asked = application.asked.lock().unwrap().to_lowercase();
    assert!(asked.starts_with("get /healthz?full=1 http/1.1\r\n"), "{asked}");
    assert!(asked.contains(&format!("host: {}\r\n", application.address)), "{asked}");
    for sick in [
        BUSY,
        b"HTTP/1.1 301 Moved Permanently\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"",
    ] {
        application.answers(sick);
        pods.wait_until_leads_no_more("one");
        application.answers(WELL);
        pods.wait_until_leads("one");
    }
    one.signal(Signal::SIGTERM);
    let ended = one.wait().exits(0).says("answered 503 Service Unavailable");
    ended.says("answered 301").says("no proper answer").says("did not answer within 200ms");
}

#[test]
fn an_application_that_is_not_there_is_not_well() {
    let pods = Pods::on_disk();
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = closed.local_addr().expect("an address");
    drop(closed);
    let url = format!("http://{address}/");
    let mut one = pods.sidecar("one").args(["--health-http", &url]).spawn();
    eventually("a lease file", || (pods.check("one").code() == 1).then_some(()));
    one.signal(Signal::SIGTERM);
    one.wait().exits(0).prints("");
}

#[test]
fn both_checks_have_to_pass() {
    let pods = Pods::on_disk();
    let application = Application::start(WELL);
    let url = format!("http://{}/", application.address);
    let one = pods.beside_an_application("one").args(["--health-http", &url]).spawn();
    pods.wait_until_leads("one");
    pods.set_well("one", false);
    pods.wait_until_leads_no_more("one");
    application.answers(BUSY);
    pods.set_well("one", true);
    let others = pods.elect("run").args(["-e", "web", "true"]);
    others.run().exits(0);
    pods.check("one").exits(1);
    application.answers(WELL);
    pods.wait_until_leads("one");
    drop(one);
}

#[test]
fn a_sidecar_says_over_http_what_check_says() {
    for pods in [Pods::on_disk(), Pods::on_etcd()] {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address").to_string();
        drop(free);
        let elect = pods.beside_an_application("one").args(["--http", &address]);
        pods.set_well("one", false);
        let mut one = elect.spawn();
        let status = |path: &str| get(&address, path).map_or(0, |(status, _)| status);
        eventually("a server", || (status("/healthz") == 200).then_some(()));
        assert_eq!((status("/leader"), status("/readyz")), (503, 503), "it takes no part yet");
        pods.set_well("one", true);
        pods.wait_until_leads("one");
        eventually("the lead", || (status("/leader") == 200).then_some(()));
        assert_eq!(status("/readyz"), 200);
        let (_, body) = get(&address, "/").expect("an answer");
        let page: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((&page["name"], &page["is_leader"]), (&"web".into(), &true.into()));
        assert_eq!(page["valid_for_ms"], 500, "{page}");

        pods.set_well("one", false);
        eventually("the end", || (status("/leader") == 503).then_some(()));
        pods.wait_until_leads_no_more("one");
        eventually("the rest", || (status("/readyz") == 503).then_some(()));
        assert_eq!(status("/healthz"), 200);
        pods.set_well("one", true);
        eventually("the next lead", || (status("/leader") == 200).then_some(()));
        let (_, metrics) = get(&address, "/metrics").expect("an answer");
        let ended = "reason=\"stepped_down\"";
        assert!(
            metrics.lines().any(|line| line.contains(ended) && line.ends_with(" 1")),
            "{metrics}"
        );
        one.signal(Signal::SIGTERM);
        one.wait().exits(0);
    }
}
