//! Tests of machines that can and cannot reach each other. They need root and iproute2.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::{catch_unwind, resume_unwind};
use std::path::Path;
use std::time::Duration;

use crate::clock::now;
use crate::fault::{Direction, Mode, Network, TcpProxy};
use crate::program::{Elect, PATIENCE, eventually};

/// Longer than a packet takes over two links, and shorter than the kernel waits before it sends
/// again.
const SOON: Duration = Duration::from_millis(700);

fn listen(network: &Network, machine: usize) -> (TcpListener, SocketAddr) {
    let address = (network.address(machine), 0);
    let listener = network.inside(machine, || TcpListener::bind(address)).expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

fn connect(network: &Network, machine: usize, to: SocketAddr) -> io::Result<TcpStream> {
    network.inside(machine, || TcpStream::connect_timeout(&to, PATIENCE))
}

#[track_caller]
fn is_lost(network: &Network, machine: usize, to: SocketAddr) {
    let result = network.inside(machine, || TcpStream::connect_timeout(&to, SOON));
    assert_eq!(result.expect_err("it is cut").kind(), ErrorKind::TimedOut);
}

#[test]
fn programs_on_two_machines_talk() {
    let network = Network::new(2);
    let (listener, address) = listen(&network, 1);
    let script = format!(
        "exec 3<>/dev/tcp/{}/{} && echo hello >&3 && read -r answer <&3 && echo \"$answer\"",
        address.ip(),
        address.port()
    );
    let client = Elect::new("bash").args(["-c", &script]).under(network.enter(0)).spawn();
    let (mut stream, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip(), network.address(0));
    let mut hello = [0; 6];
    stream.read_exact(&mut hello).unwrap();
    assert_eq!(&hello, b"hello\n");
    stream.write_all(b"to you\n").unwrap();
    client.wait().exits(0).prints("to you\n");
}

#[test]
fn a_machine_that_is_cut_off_reaches_no_other_until_it_is_healed() {
    let network = Network::new(3);
    let (_one, address) = listen(&network, 1);
    let (_two, other) = listen(&network, 2);
    for direction in [Direction::In, Direction::Out, Direction::Both] {
        connect(&network, 0, address).expect("a way");
        network.cut(0, direction);
        is_lost(&network, 0, address);
        connect(&network, 2, address).expect("a way for others");
        network.heal(0);
        // A cut at the peer has the same effect.
        network.cut(1, direction);
        is_lost(&network, 0, address);
        connect(&network, 0, other).expect("a way to others");
        network.heal(1);
    }
    connect(&network, 0, address).expect("a way");
}

#[test]
fn a_one_way_cut_leaves_the_other_way_and_the_connection() {
    let network = Network::new(2);
    let (listener, address) = listen(&network, 1);
    let mut client = connect(&network, 0, address).expect("a way");
    let (mut server, _) = listener.accept().unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut bytes = [0; 4];
    network.cut(0, Direction::In);
    client.write_all(b"ping").unwrap();
    server.read_exact(&mut bytes).unwrap();
    server.write_all(b"pong").unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    let error = client.read(&mut bytes).expect_err("the answer is lost");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    network.heal(0);
    client.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"pong");
}

#[test]
fn a_machine_that_is_rejected_is_told() {
    let network = Network::new(2);
    let (_listener, address) = listen(&network, 1);
    for rejected in [0, 1] {
        network.reject(rejected);
        let error = connect(&network, 0, address).expect_err("there is no way");
        assert_eq!(error.kind(), ErrorKind::NetworkUnreachable);
        network.heal(rejected);
        connect(&network, 0, address).expect("a way");
    }
}

#[test]
fn two_machines_that_are_parted_reach_a_third() {
    let network = Network::new(3);
    let listeners = [0, 1, 2].map(|machine| listen(&network, machine));
    network.part(0, 1);
    is_lost(&network, 0, listeners[1].1);
    // Machine 0 gets the packets, but its answers are lost.
    is_lost(&network, 1, listeners[0].1);
    for (from, to) in [(0, 2), (1, 2), (2, 0), (2, 1)] {
        connect(&network, from, listeners[to].1).expect("a way");
    }
    network.heal(1);
    connect(&network, 0, listeners[1].1).expect("a way");
}

#[test]
fn nothing_is_left_of_a_network_also_if_a_test_fails() {
    let network = Network::new(2);
    network.cut(1, Direction::Both);
    let names = ["0", "1", "router"].map(|part| {
        let machine = network.enter(0)[3].clone();
        format!("/run/netns/{}{part}", machine.trim_end_matches('0').to_owned())
    });
    let are_there = || names.iter().filter(|name| Path::new(name).exists()).count();
    assert_eq!(are_there(), 3);
    // A process that still runs on a machine does not keep its link.
    let mut stays = Elect::new("sleep").arg("60").under(network.enter(0)).spawn();
    let failed = catch_unwind(move || {
        let _dropped = network;
        resume_unwind(Box::new("a test that fails"));
    });
    assert!(failed.is_err() && stays.is_running());
    assert_eq!(are_there(), 0);
}

#[test]
fn a_proxy_stands_on_a_machine() {
    let network = Network::new(2);
    let (listener, address) = listen(&network, 1);
    let proxy = network.inside(0, || TcpProxy::start(address));
    let mut client = connect(&network, 0, proxy.address()).expect("a way");
    let (mut server, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip(), network.address(0));
    let mut bytes = [0; 4];
    client.write_all(b"ping").unwrap();
    server.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"ping");
    proxy.cut();
    assert_eq!(server.read(&mut bytes).expect_err("it is cut").kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_proxy_obeys_while_its_target_is_out_of_reach() {
    let network = Network::new(2);
    let (listener, address) = listen(&network, 1);
    let proxy = network.inside(0, || TcpProxy::start(address));
    network.cut(0, Direction::Both);
    let clients = [(); 3].map(|()| connect(&network, 0, proxy.address()).expect("a way"));
    let start = now();
    proxy.both(Mode::Hold);
    proxy.both(Mode::Pass);
    assert!(now().since(start) < Duration::from_secs(1), "held up");
    assert_eq!(proxy.traffic().connections, 0);
    drop(clients);
    network.heal(0);
    let mut client = connect(&network, 0, proxy.address()).expect("a way");
    client.write_all(b"ping").unwrap();
    let heard = || {
        let (mut server, _) = listener.accept().unwrap();
        let mut bytes = [0; 4];
        (server.read_exact(&mut bytes).is_ok() && &bytes == b"ping").then_some(())
    };
    eventually("who came after the cut", heard);
}
