//! Readers of events whose machine loses its power or its network.

use std::io::{Read, Write};

use elect_testkit::fault::{Direction, Network};

use super::client::{Events, connect, request, serving};
use crate::prelude::*;

/// The most readers of events.
const READERS: usize = 16;

#[test]
fn readers_that_vanish_without_a_word_make_room_for_others() {
    let (network, ground) = (Network::new(2), Ground::new());
    let server = SocketAddr::from((network.address(0), 8080));
    let stay = serving(&ground, server).sh(crate::usage::STAY);
    let mut elect = stay.under(network.enter(0)).spawn();
    ground.said("started");
    let mut living = network.inside(0, || Events::of(server));
    let _vanished: Vec<Events> =
        network.inside(1, || (1..READERS).map(|_| Events::of(server)).collect());
    let has_room = || {
        let mut stream = connect(server).expect("a connection");
        stream.write_all(request("/events").as_bytes()).expect("sent");
        let mut head = *b"HTTP/1.1 ...";
        stream.read_exact(&mut head).expect("an answer");
        head.ends_with(b"200")
    };
    assert!(!network.inside(0, has_room));
    network.cut(1, Direction::Both);
    eventually("room", || network.inside(0, has_room).then_some(()));
    elect.signal(Signal::SIGTERM);
    assert!(living.any(|event| event.kind == "stopping"), "a reader that lives has lost its place");
    elect.wait().exits(143);
}
