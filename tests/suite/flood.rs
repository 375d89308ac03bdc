//! A store that announces more than anybody can want to read, and sends it: a program that has to do with it stays small.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use elect_testkit::program::{Elect, PATIENCE, Running, line_of};
use nix::sys::signal::Signal;

use crate::real::{Brand, Home};

mod etcd {
    #[test]
    fn a_look_at_a_flood_stays_small() {
        super::a_look_at_a_flood_stays_small(super::Brand::Etcd);
    }

    #[test]
    fn a_leader_in_a_flood_stays_small_and_leads_on() {
        super::a_leader_in_a_flood_stays_small_and_leads_on(super::Brand::Etcd);
    }
}

mod zookeeper {
    #[test]
    fn a_look_at_a_flood_stays_small() {
        super::a_look_at_a_flood_stays_small(super::Brand::ZooKeeper);
    }

    #[test]
    fn a_leader_in_a_flood_stays_small_and_leads_on() {
        super::a_leader_in_a_flood_stays_small_and_leads_on(super::Brand::ZooKeeper);
    }
}

/// What is announced, in bytes.
const ANNOUNCED: u32 = 500_000_000;
/// The most that the program may have had in memory, in KiB.
const SMALL: usize = 48 << 10;
/// Of HTTP/2: the header of a frame, and what one has in it at most if nobody says otherwise.
const HEAD: usize = 9;
const FRAME: usize = 1 << 14;

/// A way to a server that lets one reply become a flood, or each.
struct Way {
    address: SocketAddr,
    floods: Arc<AtomicBool>,
    /// How much of each flood was taken, in bytes.
    taken: Receiver<u64>,
}

impl Way {
    fn to(home: &Home, brand: Brand) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (floods, server) = (Arc::new(AtomicBool::new(false)), home.address());
        let (tell, taken) = channel();
        let flag = Arc::clone(&floods);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (tell, flag) = (tell.clone(), Arc::clone(&flag));
                let ends = client.and_then(|client| Ok((client, TcpStream::connect(server)?)));
                let Ok((client, server)) = ends else { continue };
                thread::spawn(move || relay(brand, client, server, &flag, &tell));
            }
        });
        Self { address, floods, taken }
    }

    /// Until somebody has taken of one what it takes.
    #[track_caller]
    fn flood(&self) {
        self.floods.store(true, Ordering::Relaxed);
        let taken = self.taken.recv_timeout(PATIENCE).expect("a flood");
        self.floods.store(false, Ordering::Relaxed);
        println!("{taken} bytes were taken");
    }
}

fn relay(
    brand: Brand,
    mut client: TcpStream,
    mut server: TcpStream,
    floods: &AtomicBool,
    tell: &Sender<u64>,
) {
    let ends = client.try_clone().and_then(|from| Ok((from, server.try_clone()?)));
    let Ok((mut from, mut to)) = ends else { return };
    let mut first = [0];
    if client.peek(&mut first).is_err() {
        return;
    }
    thread::spawn(move || io::copy(&mut from, &mut to));
    if brand == Brand::ZooKeeper && first != [0] {
        // A command of four letters: the answer is a text.
        let _ = io::copy(&mut server, &mut client);
        return;
    }
    while let Ok((head, body)) = frame(brand, &mut server) {
        // Of gRPC only data: 0 says that it is such.
        let is_reply = brand == Brand::ZooKeeper || (head[3] == 0 && body.len() > 5);
        if is_reply && floods.load(Ordering::Relaxed) {
            let _ = tell.send(pour(brand, &head, &mut client));
            return;
        }
        if client.write_all(&[head, body].concat()).is_err() {
            return;
        }
    }
}

/// What a server says next: the header, and what it says the length of.
fn frame(brand: Brand, server: &mut TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut head = vec![0; if brand == Brand::ZooKeeper { 4 } else { HEAD }];
    server.read_exact(&mut head)?;
    let length = match head[..] {
        [a, b, c, d] => u32::from_be_bytes([a, b, c, d]),
        _ => u32::from_be_bytes([0, head[0], head[1], head[2]]),
    };
    let mut body = vec![0; length as usize];
    server.read_exact(&mut body)?;
    Ok((head, body))
}

/// Sends the flood in the place of the frame that has this header, as long as somebody takes it. Says how much that was.
fn pour(brand: Brand, head: &[u8], client: &mut TcpStream) -> u64 {
    let announced = ANNOUNCED.to_be_bytes();
    let zeros = [0; FRAME];
    let (first, head) = match brand {
        Brand::ZooKeeper => (announced.to_vec(), Vec::new()),
        // On the same stream, and not at its end.
        Brand::Etcd => {
            let head = [&[0, 0x40, 0, 0, 0], &head[5..]].concat();
            let message = [&[0], &announced[..], &zeros[..FRAME - 5]].concat();
            ([&head[..], &message].concat(), head)
        }
    };
    let mut taken = 0;
    let mut next = first;
    while taken < u64::from(ANNOUNCED) && client.write_all(&next).is_ok() {
        taken += next.len() as u64;
        next = [&head[..], &zeros].concat();
    }
    taken
}

/// The most that a process has had in memory, in KiB, if it is there.
fn peak(pid: i32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Until it ends.
fn last_peak(mut running: Running) -> usize {
    let (pid, mut last) = (running.pid(), 0);
    while running.is_running() {
        last = peak(pid).map_or(last, |peak| last.max(peak));
        thread::yield_now();
    }
    let ended = running.wait();
    println!("{last} KiB; {}{}", ended.stdout, ended.stderr);
    assert_ne!(ended.code(), 0, "it cannot have seen anything");
    last
}

fn elect(subcommand: &str, home: &Home, way: &Way) -> Elect {
    let elect = Elect::new(env!("CARGO_BIN_EXE_elect"));
    elect.args([subcommand, "-b", &home.url_through(way.address)])
}

fn a_look_at_a_flood_stays_small(brand: Brand) {
    let home = Home::slow(brand);
    let way = Way::to(&home, brand);
    way.floods.store(true, Ordering::Relaxed);
    let peak = last_peak(elect("status", &home, &way).arg("job").spawn());
    assert!(peak > 0 && peak < SMALL, "{peak} KiB");
    way.taken.recv_timeout(PATIENCE).expect("a flood");
}

fn a_leader_in_a_flood_stays_small_and_leads_on(brand: Brand) {
    let home = Home::slow(brand);
    let way = Way::to(&home, brand);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    let run = elect("run", &home, &way).args(["-e", "job", "--ttl", "30s"]).env("FILE", &file);
    let mut leader = run.sh("echo \"$ELECT_TOKEN\" >\"$FILE\"; exec sleep 3600").spawn();
    let token = line_of(&file);
    let floods = 3;
    for _ in 0..floods {
        way.flood();
    }
    let peak = peak(leader.pid()).expect("it lives");
    assert!(peak < SMALL, "{peak} KiB");
    let told = elect("status", &home, &way).args(["-o", "json", "job"]).run().exits(0).stdout;
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["elections"][0]["leader"]["token"].to_string(), token.trim());
    leader.signal(Signal::SIGTERM);
    leader.wait().exits(128 + 15);
}
