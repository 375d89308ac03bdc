//! Clients that are slow, huge or hostile, while a lease of 4 s is renewed. The instants from which the
//! lease counts are read from what the guardian was told, and compared with each other.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use elect::guard::{Until, lease};
use elect_testkit::program::line_of;
use nix::sys::socket::{setsockopt, sockopt};

use super::client::{address, get, sample, sockets, wait_for_leader};
use crate::prelude::*;

const TTL: Duration = Duration::from_secs(4);
/// A renewal is sent each sixth of it, one after the other.
const INTERVAL: Duration = Duration::from_millis(667);
/// Under each attack.
const RENEWALS: usize = 4;
/// The most that each client may send, in bytes. Otherwise a server that takes it all is a test that never ends.
const FLOOD: usize = 64 << 20;

/// A leader of a lease on etcd.
struct Victim {
    _etcd: Etcd,
    elect: Running,
    server: SocketAddr,
    lease: PathBuf,
    folder: TempDir,
}

impl Victim {
    fn start(under: &[&str]) -> Self {
        let (etcd, server) = (Etcd::start(1), address());
        let folder = TempDir::new().expect("a temporary folder");
        let file = folder.path().join("lease");
        let (url, http) = (etcd.url(), server.to_string());
        let elect = Elect::new(ELECT)
            .under(under)
            .args(["run", "-b", &url, "-e", "job", "--ttl", "4s", "--http", &http])
            .env("FILE", &file)
            .sh("echo $ELECT_LEASE >\"$FILE\"; exec sleep 3600")
            .spawn();
        let lease = PathBuf::from(line_of(&file).trim_end());
        wait_for_leader(server);
        Self { _etcd: etcd, elect, server, lease, folder }
    }

    /// The hard deadline that the guardian knows: each renewal moves it on by the time since the one before.
    fn deadline(&self) -> Boottime {
        match lease::read(&self.lease, None).expect("a lease").expect("a leader").until {
            Until::Instant(until) => until,
            other => panic!("leadership is over: {other:?}"),
        }
    }

    /// The times between so many renewals, by their deadlines.
    fn gaps(&self, mut look: impl FnMut()) -> Vec<Duration> {
        let mut known = vec![self.deadline()];
        while known.len() <= RENEWALS {
            let next = eventually("a renewal", || {
                look();
                Some(self.deadline()).filter(|next| known.last() != Some(next))
            });
            known.push(next);
        }
        known.windows(2).map(|pair| pair[1].since(pair[0])).collect()
    }

    /// Returns a process's own memory, in KiB.
    fn memory(pid: i32) -> usize {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a size");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

type Attack = fn(SocketAddr, &AtomicBool, &AtomicUsize);

const ATTACKS: [(&str, Attack); 8] = [
    ("a byte now and then, 300 at once", trickle),
    ("a request line without end", |server, end, count| {
        flood(server, end, count, b"GET /", b"aaaaaaaa");
    }),
    ("a header without end", |server, end, count| {
        flood(server, end, count, b"GET / HTTP/1.1\r\nX: ", b"aaaaaaaa");
    }),
    ("headers without end", |server, end, count| {
        flood(server, end, count, b"GET / HTTP/1.1\r\n", b"X: a\r\n");
    }),
    ("requests without a look at the answers", |server, end, count| {
        flood(server, end, count, b"", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }),
    ("unread events, 100 at once", unread),
    ("connections that are reset at once", reset),
    ("one request after the other, as fast as it goes", hurry),
];

/// Keeps 300 connections open, and sends a byte over each whenever it can.
fn trickle(server: SocketAddr, end: &AtomicBool, count: &AtomicUsize) {
    let mut open: Vec<TcpStream> = Vec::new();
    while !end.load(Ordering::Relaxed) {
        while open.len() < 300 && !end.load(Ordering::Relaxed) {
            let Ok(stream) = TcpStream::connect_timeout(&server, Duration::from_millis(500)) else {
                break;
            };
            let _ = stream.set_nonblocking(true);
            open.push(stream);
            count.fetch_add(1, Ordering::Relaxed);
        }
        open.retain_mut(|stream| stream.write(b"G").is_ok());
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a begin, and then more of the same until it is cut off.
fn flood(server: SocketAddr, end: &AtomicBool, count: &AtomicUsize, begin: &[u8], more: &[u8]) {
    let chunk = more.repeat(8192);
    while !end.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect_timeout(&server, Duration::from_millis(500)) else {
            continue;
        };
        let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
        count.fetch_add(1, Ordering::Relaxed);
        let mut sent = stream.write(begin).unwrap_or(0);
        while !end.load(Ordering::Relaxed) {
            match stream.write(&chunk) {
                Ok(length) => sent += length,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
            assert!(sent < FLOOD, "the server takes {sent} bytes");
        }
    }
}

fn unread(server: SocketAddr, end: &AtomicBool, count: &AtomicUsize) {
    let mut open = Vec::new();
    while !end.load(Ordering::Relaxed) {
        if open.len() < 100
            && let Ok(mut stream) = TcpStream::connect_timeout(&server, Duration::from_millis(500))
        {
            let _ = setsockopt(&stream, sockopt::RcvBuf, &1024);
            let _ = stream.write(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
            open.push(stream);
            count.fetch_add(1, Ordering::Relaxed);
        } else {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn reset(server: SocketAddr, end: &AtomicBool, count: &AtomicUsize) {
    while !end.load(Ordering::Relaxed) {
        let Ok(stream) = TcpStream::connect_timeout(&server, Duration::from_millis(500)) else {
            continue;
        };
        let now = libc::linger { l_onoff: 1, l_linger: 0 };
        let _ = setsockopt(&stream, sockopt::Linger, &now);
        count.fetch_add(1, Ordering::Relaxed);
    }
}

fn hurry(server: SocketAddr, end: &AtomicBool, count: &AtomicUsize) {
    let mut buffer = [0; 16 * 1024];
    while !end.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect_timeout(&server, Duration::from_millis(500)) else {
            continue;
        };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
        while !end.load(Ordering::Relaxed)
            && stream.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").is_ok()
            && stream.read(&mut buffer).is_ok_and(|length| length > 0)
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Has two threads attack until the leader has renewed its lease a few times. Returns the times between
/// these renewals, the most sockets and the most memory that there were, and how often they tried.
fn under(victim: &mut Victim, attack: Attack) -> (Vec<Duration>, usize, usize, usize) {
    let (end, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let server = victim.server;
    let attackers: Vec<_> = (0..2)
        .map(|_| {
            let (end, count) = (Arc::clone(&end), Arc::clone(&count));
            thread::spawn(move || attack(server, &end, &count))
        })
        .collect();
    let pid = victim.elect.pid();
    let (mut most_sockets, mut most_memory) = (0, 0);
    let gaps = victim.gaps(|| {
        most_sockets = most_sockets.max(sockets(pid).len());
        most_memory = most_memory.max(Victim::memory(pid));
    });
    end.store(true, Ordering::Relaxed);
    for attacker in attackers {
        attacker.join().expect("no complaint");
    }
    (gaps, most_sockets, most_memory, count.load(Ordering::Relaxed))
}

#[test]
fn no_client_delays_a_renewal() {
    let mut victim = Victim::start(&[]);
    let pid = victim.elect.pid();
    let quiet = victim.gaps(|| ());
    let (sockets_before, memory_before) = (sockets(pid).len(), Victim::memory(pid));
    println!(
        "TTL {TTL:?}, a renewal each {INTERVAL:?}; {sockets_before} sockets, {memory_before} KiB"
    );
    println!("{:<50} longest gap {:>9.2?}", "no client", quiet.iter().max().unwrap());
    for (what, attack) in ATTACKS {
        let (gaps, sockets, memory, count) = under(&mut victim, attack);
        let longest = *gaps.iter().max().unwrap();
        println!(
            "{what:<50} longest gap {longest:>9.2?}, {sockets:>2} sockets, {memory:>6} KiB, {count} tries"
        );
        assert!(count > 0, "no client came through");
        assert!(longest < INTERVAL * 2, "{what}: a renewal was left out: {gaps:?}");
        assert!(sockets <= sockets_before + 66, "{what}: {sockets} sockets");
        assert!(memory < memory_before + 8 * 1024, "{what}: {memory} KiB");
        // A polite client is served, at the latest when the hostile ones have gone.
        assert_eq!(get(victim.server, "/leader").code, 200, "{what}");
    }
    let page = get(victim.server, "/metrics").body;
    assert_eq!(sample(&page, "elect_failed_renewals_total{"), Some(0.0), "{page}");
    assert!(victim.elect.is_running() && Path::exists(victim.folder.path()));
}

/// If a process may open few descriptors, clients get a quarter of them.
#[test]
fn clients_leave_descriptors_for_the_store() {
    let mut victim = Victim::start(&["prlimit", "--nofile=64:64"]);
    let before = sockets(victim.elect.pid()).len();
    let (gaps, sockets, ..) = under(&mut victim, trickle);
    assert!(sockets <= before + 18, "{sockets} sockets, {before} before");
    assert!(gaps.iter().all(|&gap| gap < INTERVAL * 2), "{gaps:?}");
    assert_eq!(get(victim.server, "/leader").code, 200);
}
