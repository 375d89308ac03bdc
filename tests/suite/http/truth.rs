//! Nobody is told that we lead once we may not.

use std::io::{Read, Write};
use std::time::Duration;

use elect_testkit::program::{Elect, children, eventually, is_alive};
use elect_testkit::servers::Etcd;
use nix::sys::signal::Signal;

use super::client::{address, connect, get, request, sample, wait_for_leader};
use crate::stage::stop;

/// The wrapper is stopped until its command is dead. Clients ask meanwhile; their answers come at once when
/// it goes on, before the engine has looked around.
#[test]
fn a_leader_that_was_stopped_past_its_deadline_never_says_so() {
    let etcd = Etcd::start(1);
    let server = address();
    let url = etcd.url();
    let flags = ["run", "-b", &url, "-e", "job", "--ttl", "4s", "--http", &server.to_string()];
    let mut elect =
        Elect::new(env!("CARGO_BIN_EXE_elect")).args(flags).args(["sleep", "3600"]).spawn();
    wait_for_leader(server);
    let left = get(server, "/").json()["valid_for_ms"].as_u64().unwrap();
    assert!((1..4000).contains(&left), "{left}");
    let page = get(server, "/metrics").body;
    assert_eq!(sample(&page, "elect_is_leader{"), Some(1.0));
    let to_hard = sample(&page, "elect_hard_deadline_remaining_seconds{").unwrap();
    assert!(to_hard > 0.0 && to_hard < 4.0, "{page}");

    let guardian = elect.guardian();
    let command = eventually("the command", || children(guardian).first().copied());
    stop(elect.pid());
    let paths = ["/leader", "/", "/metrics", "/events"];
    let mut asked: Vec<_> = (0..32)
        .map(|number| {
            let mut stream = connect(server).expect("the kernel takes connections in");
            let path = paths[number % paths.len()];
            stream.write_all(request(path).as_bytes()).expect("there is room");
            (path, stream)
        })
        .collect();
    eventually("the command to be killed", || (!is_alive(command)).then_some(()));
    elect.signal(Signal::SIGCONT);
    let mut answers = 0;
    for (path, stream) in &mut asked {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text);
        let lies = text.contains("\"is_leader\":true")
            || text.contains("\nelect_is_leader{election=\"job\"} 1")
            || (*path == "/leader" && text.contains(" 200 "));
        assert!(!lies, "{path}: {text}");
        answers += usize::from(text.starts_with("HTTP/1.1 "));
    }
    assert!(answers > 0, "nobody was answered");
    println!("{answers} of {} were answered", asked.len());
    elect.wait().exits(124);
}
