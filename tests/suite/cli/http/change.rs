//! A change of leader on etcd, as the readers of events of both candidates see it.

use super::client::{Event, Events, address, get, wait_for_leader};
use crate::prelude::*;

fn candidate(etcd: &Etcd, id: &str, server: SocketAddr) -> Running {
    let (url, server) = (etcd.url(), server.to_string());
    let flags = ["run", "-b", &url, "-e", "job", "--id", id, "--ttl", "60s", "--http", &server];
    Elect::new(ELECT).args(flags).args(["sleep", "3600"]).spawn()
}

fn show(who: &str, event: &Event) -> Value {
    println!("{who}  id {} {:<8} {}", event.id, event.kind, event.data);
    event.data.clone()
}

#[test]
fn events_tell_of_a_change_of_leader() {
    let etcd = Etcd::start(1);
    let (one, two) = (address(), address());
    let mut a = candidate(&etcd, "A", one);
    wait_for_leader(one);
    let b = candidate(&etcd, "B", two);
    eventually("B to wait", || (get(two, "/readyz").code == 200).then_some(()));
    let (mut of_a, mut of_b) = (Events::of(one), Events::of(two));

    let present = of_a.next().expect("how things are");
    let first = show("A", &present);
    assert_eq!(
        (present.kind.as_str(), &first["is_leader"], &first["name"]),
        ("present", &true.into(), &"job".into())
    );
    let waiting = of_b.next().expect("how things are");
    let shown = show("B", &waiting);
    assert_eq!(
        (waiting.kind.as_str(), &shown["is_leader"], &shown["place"]),
        ("present", &false.into(), &1.into())
    );

    a.signal(Signal::SIGTERM);
    let stopping = of_a.next().expect("a change");
    // An event about this candidate is true when it is sent: the command may have ended by then.
    show("A", &stopping);
    assert_eq!(stopping.kind, "stopping");
    let ended = of_a.next().expect("a change");
    assert_eq!((ended.kind.as_str(), &show("A", &ended)["is_leader"]), ("ended", &false.into()));
    assert_eq!(ended.id, present.id + 2);
    assert!(of_a.next().is_none(), "A is gone");
    let won = of_b.next().expect("a change");
    let shown = show("B", &won);
    assert_eq!((won.kind.as_str(), won.id), ("leading", waiting.id + 1));
    assert!(shown["token"].as_u64() > first["token"].as_u64(), "{first} {shown}");
    assert!(shown["id"].as_str().is_some_and(|id| id.starts_with("B-")), "{shown}");
    a.wait().exits(143);

    // It is taken away from B.
    etcd.ctl(&["del", "--prefix", "elect/job/"]);
    let lost = of_b.next().expect("a change");
    let shown = show("B", &lost);
    assert_eq!(
        (lost.kind.as_str(), &shown["is_leader"], &shown["valid_for_ms"]),
        ("lost", &false.into(), &0.into())
    );
    assert!(shown["reason"].as_str().is_some_and(|why| !why.is_empty()), "{shown}");
    assert!(of_b.next().is_none(), "B is gone");
    b.wait().exits(124);
}

#[cfg(feature = "sim")]
#[test]
fn events_tell_of_troubles_with_the_store_and_of_their_end() {
    use elect_testkit::sim::{Effect, Kind, Op, Options, Rule, SimServer};
    let store = SimServer::start(&Options::new(Kind::Queue));
    let server = address();
    let flags = ["-b", &store.url(), "-e", "job", "--http", &server.to_string()].map(String::from);
    let leader = Elect::new(ELECT).arg("run").args(&flags).args(["sleep", "3600"]).spawn();
    wait_for_leader(server);
    let mut events = Events::of(server);
    assert_eq!(events.next().expect("how things are").kind, "present");
    store.controls().add(Rule::new(Effect::Refuse).op(Op::Renew).times(2));
    let trouble = events.next().expect("a change");
    let shown = show("", &trouble);
    assert_eq!((trouble.kind.as_str(), &shown["is_leader"]), ("trouble", &true.into()));
    assert!(shown["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{shown}");
    let over = events.next().expect("a change");
    assert_eq!((over.kind.as_str(), &show("", &over)["is_leader"]), ("recovered", &true.into()));
    leader.ended_by(Signal::SIGTERM).exits(143);
}
