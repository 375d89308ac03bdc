//! Every page, the address, and who inherits what.

use std::net::{Ipv4Addr, TcpListener};

use elect_testkit::program::children;
use elect_testkit::servers::free_port;

use super::client::{
    Events, address, exchange, get, leader, serving, sockets, try_get, wait_for_leader,
};
use crate::prelude::*;

#[test]
fn a_leader_and_a_waiter_show_their_state() {
    let ground = Ground::new();
    let (one, two) = (address(), address());
    let first = leader(&ground, one);
    let second = serving(&ground, two).sh("sleep 3600").spawn();
    eventually("a waiter", || (get(two, "/readyz").code == 200).then_some(()));

    let status = ground.status();
    let shown = eventually("the waiter to be seen", || {
        let shown = get(one, "/").json();
        (shown["candidates"]["waiting"][0]["place"] == 1).then_some(shown)
    });
    assert_eq!(
        (&shown["name"], &shown["is_leader"], &shown["place"]),
        (&"job".into(), &true.into(), &0.into())
    );
    assert_eq!(
        (&shown["id"], &shown["token"]),
        (&status["leader"]["id"], &status["leader"]["token"])
    );
    assert_eq!(shown["valid_for_ms"], Value::Null, "no time limit");
    assert!(shown["since"].is_string() && shown["candidates"]["age_ms"].is_u64(), "{shown}");
    assert_eq!(shown["candidates"]["leader"], status["leader"]);
    assert_eq!(shown["candidates"]["waiting"], status["waiting"]);

    let shown = get(two, "/").json();
    assert_eq!((&shown["is_leader"], &shown["place"]), (&false.into(), &1.into()));
    assert_eq!(
        (&shown["token"], &shown["since"], &shown["valid_for_ms"]),
        (&Value::Null, &Value::Null, &0.into())
    );
    for (path, leading, waiting) in [
        ("/leader", 200, 503),
        ("/healthz", 200, 200),
        ("/readyz", 200, 200),
        ("/metrics", 200, 200),
        ("/x", 404, 404),
    ] {
        assert_eq!((get(one, path).code, get(two, path).code), (leading, waiting), "{path}");
    }
    drop(first);
    wait_for_leader(two);
    let shown = get(two, "/").json();
    assert_eq!((&shown["place"], &shown["candidates"]["leader"]["id"]), (&0.into(), &shown["id"]));
    second.ended_by(Signal::SIGTERM).exits(143);
    assert!(try_get(two, "/").is_none(), "no server is left");
}

/// With a store out of reach, a candidate is not ready, and not unhealthy.
#[test]
fn a_candidate_that_has_not_reached_the_store_is_not_ready() {
    let server = address();
    let absent = format!("etcd://{}", address());
    let flags = ["run", "-b", &absent, "-e", "job", "--wait", "1h", "--http", &server.to_string()];
    let elect = Elect::new(ELECT).args(flags).args(["sleep", "1"]).spawn();
    assert_eq!(get(server, "/readyz").code, 503);
    assert_eq!(get(server, "/healthz").code, 200);
    let shown = get(server, "/").json();
    assert_eq!((&shown["place"], &shown["candidates"]), (&Value::Null, &Value::Null));
    elect.ended_by(Signal::SIGTERM).exits(143);
}

#[test]
fn a_request_that_is_no_plain_get_is_refused() {
    let ground = Ground::new();
    let server = address();
    let _leader = leader(&ground, server);
    for (request, code) in [
        ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        ("DELETE /leader HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", 413),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\n", 413),
        ("nonsense\r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ] {
        let answer = exchange(server, request.as_bytes());
        let found = answer.as_ref().map(|answer| answer.code);
        assert!(found == Some(code) || (found.is_none() && code == 400), "{request}: {answer:?}");
    }
    let head = exchange(server, b"HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    assert_eq!((head.code, head.body.as_str()), (200, ""));
    assert!(head.head.contains("content-length: "), "{head:?}");
}

/// A browser that shows a page of `evil.example` asks for that, whatever address the name means by now.
#[test]
fn a_page_of_another_name_reads_nothing_on_the_loopback_interface() {
    let ground = Ground::new();
    let (local, open) = (address(), SocketAddr::from(([0, 0, 0, 0], free_port())));
    let _one = leader(&ground, local);
    let _two = serving(&ground, open).sh("sleep 3600").spawn();
    let through = SocketAddr::from(([127, 0, 0, 1], open.port()));
    let mapped = SocketAddr::from((Ipv4Addr::LOCALHOST.to_ipv6_mapped(), free_port()));
    let _three = serving(&ground, mapped).sh("sleep 3600").spawn();
    for waiter in [through, mapped] {
        eventually("a waiter", || try_get(waiter, "/readyz").filter(|answer| answer.code == 200));
    }
    let port = local.port();
    for (server, host, code) in [
        (mapped, "evil.example".to_owned(), 421),
        (local, format!("evil.example:{port}"), 421),
        (local, "evil.example".to_owned(), 421),
        (local, format!("0.0.0.0:{port}"), 421),
        (local, format!("127.0.0.1:{port}"), 200),
        (local, format!("LOCALHOST:{port}"), 200),
        (through, "evil.example".to_owned(), 200),
    ] {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = exchange(server, request.as_bytes()).expect("an answer");
        assert_eq!(answer.code, code, "{host}: {answer:?}");
    }
}

/// It would learn who leads by whether a script can be loaded from there.
#[test]
fn a_page_of_another_origin_cannot_learn_the_leader() {
    let ground = Ground::new();
    let (one, two) = (address(), address());
    let _leader = leader(&ground, one);
    let _waiter = serving(&ground, two).sh("sleep 3600").spawn();
    eventually("a waiter", || try_get(two, "/readyz").filter(|answer| answer.code == 200));
    let script = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script";
    let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document";
    let neighbour = "Sec-Fetch-Site: same-site\r\nOrigin: http://localhost:1";
    for (server, by, code) in [
        (one, script, 403),
        (two, script, 403),
        (one, neighbour, 403),
        (two, neighbour, 403),
        (one, link, 200),
        (two, link, 503),
    ] {
        let request =
            format!("GET /leader HTTP/1.1\r\nHost: localhost\r\n{by}\r\nConnection: close\r\n\r\n");
        let answer = exchange(server, request.as_bytes()).expect("an answer");
        assert_eq!(answer.code, code, "{by}: {answer:?}");
    }
}

#[test]
fn an_address_in_use_is_refused_before_anything_is_done() {
    let ground = Ground::new();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = taken.local_addr().unwrap();
    let ended = serving(&ground, server).args(["touch", "never"]).run().exits(125);
    ended.says(&format!("cannot listen on {server} for --http")).says("in use").says("0 for any");
    assert!(ground.status()["leader"].is_null() && !ground.has("never"));
    ground.job().args(["--http", "127.0.0.1:x", "true"]).run().exits(125).says("[::1]:9090");
    ground
        .job()
        .args(["--http", "192.0.2.1:0", "true"])
        .run()
        .exits(125)
        .says("cannot listen on 192.0.2.1:0 for --http; 192.0.2.1 is no address of this machine");
    let unresolved = ground.job().args(["--http", "no-such-host.invalid:9090", "true"]).run();
    let said = unresolved.exits(125).says("the name no-such-host.invalid does not resolve").stderr;
    assert!(!said.contains("port"), "{said}");
}

/// The command learns the address, and `-v` tells it to people.
#[test]
fn a_port_that_the_kernel_chose_is_told() {
    let ground = Ground::new();
    let script =
        "echo $ELECT_HTTP_ADDRESS >\"$D/address\"; until [ -e \"$D/end\" ]; do sleep 0.01; done";
    let elect = ground.job().args(["-v", "--http", "0"]).sh(script).spawn();
    let told: SocketAddr = ground.said("address").parse().unwrap();
    assert!(told.ip() == Ipv4Addr::LOCALHOST && told.port() != 0, "{told}");
    assert_eq!(get(told, "/leader").code, 200);
    fs::write(ground.path().join("end"), "").unwrap();
    elect.wait().exits(0).says(&format!("http://{told}/"));
}

#[test]
fn no_process_inherits_the_socket_or_its_variable() {
    let ground = Ground::new();
    let server = address();
    let script = "env >\"$D/env\"; echo $$ >\"$D/started\"; exec sleep 3600";
    let mut elect = ground.job().env("ELECT_HTTP", server.to_string()).sh(script).spawn();
    let command: i32 = ground.said("started").parse().unwrap();
    let variables = fs::read_to_string(ground.path().join("env")).unwrap();
    assert!(!variables.contains("ELECT_HTTP=") && !variables.contains("HANDOFF"), "{variables}");
    let _events = Events::of(server);
    let ours = sockets(elect.pid());
    let guardian = elect.guardian();
    assert_eq!(children(guardian), [command]);
    let shared: Vec<String> = sockets(guardian)
        .into_iter()
        .chain(sockets(command))
        .filter(|socket| ours.contains(socket))
        .collect();
    // The guardian's own socket has two ends, and each has its one.
    assert_eq!(shared, [""; 0]);
    elect.ended_by(Signal::SIGKILL);
    drop(TcpListener::bind(server).expect("the port is free"));
}

/// A script that ends tells its listeners so, before it hangs up.
#[test]
fn the_last_event_comes_before_the_end() {
    let ground = Ground::new();
    let server = address();
    let mut elect = leader(&ground, server);
    let mut events = Events::of(server);
    let first = events.next().unwrap();
    assert_eq!((first.kind.as_str(), &first.data["is_leader"]), ("present", &true.into()));
    elect.signal(Signal::SIGTERM);
    assert_eq!(events.next().unwrap().kind, "stopping");
    let last = events.next().unwrap();
    assert_eq!(
        (last.id, last.kind.as_str(), &last.data["is_leader"]),
        (first.id + 2, "ended", &false.into())
    );
    assert!(events.next().is_none());
    elect.wait().exits(143);
}
