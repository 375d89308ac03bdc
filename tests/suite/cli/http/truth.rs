//! No client is told that this candidate leads once it may not lead.

use std::io::{Read, Write};

use elect_testkit::program::{children, is_alive};

use super::client::{address, connect, get, request, sample, serving, wait_for_leader};
use crate::prelude::*;
use crate::stage::stop;

/// The wrapper is stopped until its command is dead. Clients ask meanwhile; their answers come at once when
/// it goes on, before the engine has looked around.
#[test]
fn a_leader_that_was_stopped_past_its_deadline_never_says_so() {
    let etcd = Etcd::start(1);
    let server = address();
    let url = etcd.url();
    let flags = ["run", "-b", &url, "-e", "job", "--ttl", "4s", "--http", &server.to_string()];
    let mut elect = Elect::new(ELECT).args(flags).args(["sleep", "3600"]).spawn();
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
            || sample(&text, "elect_is_leader{").is_some_and(|leads| leads > 0.0)
            || (*path == "/leader" && text.contains(" 200 "));
        assert!(!lies, "{path}: {text}");
        answers += usize::from(text.starts_with("HTTP/1.1 "));
    }
    assert!(answers > 0, "no client was answered");
    println!("{answers} of {} were answered", asked.len());
    elect.wait().exits(124);
}

/// A planned pause is no outage, on the page of the former leader as well as on the page of the next.
#[test]
fn every_candidate_shows_a_pause_and_its_end() {
    let (ground, one, two) = (Ground::new(), address(), address());
    let again = ["--after-loss", "campaign"];
    let _one = serving(&ground, one).args(again).args(["--", "sleep", "3600"]).spawn();
    wait_for_leader(one);
    let _two = serving(&ground, two).args(again).args(["--", "sleep", "3600"]).spawn();
    let shows = |is_paused: bool| {
        for server in [one, two] {
            eventually("the page to show it", || {
                let page = get(server, "/metrics").body;
                let paused = get(server, "/").json()["paused"].take();
                let is_so = sample(&page, "elect_paused{") == Some(f64::from(u8::from(is_paused)));
                (is_so && paused.is_object() == is_paused).then_some(())
            });
        }
    };
    shows(false);
    let pause = ["job", "--reason", "upgrade", "--until", "2999-01-01T00:00:00Z"];
    ground.elect("pause").args(pause).run().exits(0);
    shows(true);
    let paused = get(two, "/").json()["paused"].take();
    assert_eq!(
        (&paused["reason"], &paused["until"]),
        (&"upgrade".into(), &"2999-01-01T00:00:00.000Z".into())
    );
    ground.elect("resume").arg("job").run().exits(0);
    shows(false);
}
