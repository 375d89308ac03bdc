//! A server answers in the place of etcd for a while, as a balancer does whose members are away. It ends no candidate
//! that has, or had, a place, or was given time.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd as _;

use elect_testkit::fault::TcpProxy;
use nix::sys::socket::{setsockopt, sockopt};

use crate::prelude::*;

/// The answer to a connection.
pub(crate) type Answer = fn(&mut TcpStream);

/// Starts a server that is no store on a port. It ends with the test.
pub(crate) fn foreign_server(answer: Answer) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            thread::spawn(move || answer(&mut stream));
        }
    });
    address
}

/// As it is dropped next.
pub(crate) fn closes(_: &mut TcpStream) {}

pub(crate) fn resets(stream: &mut TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    setsockopt(&stream.as_fd(), sockopt::Linger, &linger).expect("a socket");
}

pub(crate) fn says(stream: &mut TcpStream, words: &[u8]) {
    let _ = stream.read(&mut [0; 24]);
    let _ = stream.write_all(words);
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
}

pub(crate) fn is_unavailable(stream: &mut TcpStream) {
    says(stream, b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
}

pub(crate) fn is_foreign(stream: &mut TcpStream) {
    says(stream, b"SSH-2.0-OpenSSH_9.2p1\r\n");
}

/// The same as the HTTP/1 one, for those who speak HTTP/2: each request is answered by a page.
fn is_unavailable_over_http2(stream: &mut TcpStream) {
    let frame = |kind: u8, flags: u8, lane: u32, body: &[u8]| {
        let length = u32::try_from(body.len()).expect("a short one").to_be_bytes();
        [&length[1..], &[kind, flags], &lane.to_be_bytes(), body].concat()
    };
    let mut serve = || -> std::io::Result<()> {
        stream.write_all(&frame(4, 0, 0, &[]))?;
        stream.read_exact(&mut [0; 24])?;
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head)?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            std::io::copy(&mut (&*stream).take(length.into()), &mut std::io::sink())?;
            if head[3] == 1 {
                let lane = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
                // `:status: 503` and `content-type: text/html`, by their places in the table of HPACK.
                let headers = b"\x08\x03503\x0f\x10\x09text/html";
                stream.write_all(&frame(1, 4, lane, headers))?;
                stream.write_all(&frame(0, 1, lane, b"<html>503 Service Unavailable</html>"))?;
            }
        }
    };
    let _ = serve();
}

/// An etcd behind a proxy.
struct ProxiedEtcd {
    folder: TempDir,
    etcd: Etcd,
    proxy: TcpProxy,
}

impl ProxiedEtcd {
    fn new() -> Self {
        let etcd = Etcd::start(1);
        let proxy = TcpProxy::start(etcd.endpoints()[0]);
        Self { folder: TempDir::new().expect("a folder"), etcd, proxy }
    }

    fn elect(&self, words: &[&str]) -> Elect {
        let url = self.etcd.url_through(&[self.proxy.address()]);
        let elect = Elect::new(ELECT).args([words[0], "-b", &url]);
        elect.args(&words[1..]).env("RECORD", self.folder.path().join("record"))
    }

    fn spawn(&self, label: &str, words: &[&str]) -> Running {
        let said = self.folder.path().join(label);
        let elect = self.elect(words).args(["-v", "-e", "job", "--id", label]).env("SAID", said);
        let elect = elect.under(["sh", "-c", r#"exec "$0" "$@" 2>"$SAID""#]);
        match words[0] {
            "run" => elect.sh("echo \"$ELECT_LEADER_ID\" >>\"$RECORD\"; exec sleep 3600").spawn(),
            _ => elect.spawn(),
        }
    }

    fn said(&self, label: &str) -> String {
        fs::read_to_string(self.folder.path().join(label)).unwrap_or_default()
    }

    fn is_away_behind(&self, foreign_server: SocketAddr) {
        self.proxy.redirect(foreign_server);
    }

    fn is_back(&self) {
        self.proxy.redirect(self.etcd.endpoints()[0]);
    }

    fn wait_for_a_leader(&self) {
        let record = self.folder.path().join("record");
        eventually("a leader", || {
            fs::read_to_string(&record).is_ok_and(|text| !text.is_empty()).then_some(())
        });
    }

    /// What the store says of the election.
    fn job(&self) -> Option<Value> {
        let status = self.elect(&["status", "-o", "json", "job"]).run().stdout;
        let mut status: Value = serde_json::from_str(&status).ok()?;
        Some(status["elections"][0].take())
    }
}

/// The answers last longer than a lease: the leader loses it, and no candidate ends.
fn ends_no_candidate(answer: Answer, words: &str) {
    let stage = ProxiedEtcd::new();
    let run = |label| stage.spawn(label, &["run", "--ttl", "5", "--after-loss", "campaign"]);
    let mut all = vec![("leader", run("leader"))];
    stage.wait_for_a_leader();
    all.push(("waiter", run("waiter")));
    all.push(("sidecar", stage.spawn("sidecar", &["sidecar", "--ttl", "5"])));
    let first = eventually("two to wait", || {
        let job = stage.job()?;
        (job["waiting"].as_array()?.len() == 2).then(|| job["leader"]["token"].as_u64())?
    });
    stage.is_away_behind(foreign_server(answer));
    eventually("the leader to come again", || {
        let said = stage.said("leader");
        // The new process tells of it as the old one has.
        let (_, anew) = said.split_once("leadership was lost")?;
        anew.contains(words).then_some(())
    });
    for (label, run) in &mut all {
        assert!(run.is_running(), "{label} has ended: {}", stage.said(label));
        assert!(stage.said(label).contains(words), "{label}: {}", stage.said(label));
    }
    stage.is_back();
    // It may be the sidecar, which runs nothing.
    eventually("the next to lead", || {
        (stage.job()?["leader"]["token"].as_u64()? > first).then_some(())
    });
    for (label, mut run) in all {
        assert!(run.is_running(), "{label} has ended: {}", stage.said(label));
        let ended = run.ended_by(Signal::SIGTERM);
        assert!([0, 143].contains(&ended.code()), "{label}: {}", stage.said(label));
    }
}

/// At the start, for those who were given time.
fn is_waited_out_at_the_start(answer: Answer) {
    let stage = ProxiedEtcd::new();
    stage.is_away_behind(foreign_server(answer));
    let mut run = stage.spawn("run", &["run", "-w", "60s"]);
    eventually("some attempts", || {
        assert!(run.is_running(), "{}", stage.said("run"));
        stage.said("run").contains("trying again").then_some(())
    });
    stage.is_back();
    stage.wait_for_a_leader();
    run.ended_by(Signal::SIGTERM).exits(143);
}

#[test]
fn a_balancer_that_closes_without_a_byte_ends_no_candidate() {
    ends_no_candidate(closes, "closes the connection without an answer");
    is_waited_out_at_the_start(closes);
}

#[test]
fn a_balancer_that_resets_connections_ends_no_candidate() {
    ends_no_candidate(resets, "trying again");
    is_waited_out_at_the_start(resets);
}

#[test]
fn a_balancer_that_is_unavailable_ends_no_candidate() {
    ends_no_candidate(is_unavailable, "reports it unavailable (HTTP status 503)");
    is_waited_out_at_the_start(is_unavailable);
}

#[test]
fn a_balancer_that_is_unavailable_over_http2_ends_no_candidate() {
    ends_no_candidate(is_unavailable_over_http2, "reports it unavailable (HTTP status 503)");
    is_waited_out_at_the_start(is_unavailable_over_http2);
}

/// At the start it is final, as it is another server.
#[test]
fn a_foreign_server_ends_no_candidate_that_had_a_place() {
    ends_no_candidate(is_foreign, "does not speak etcd's protocol");
    let stage = ProxiedEtcd::new();
    stage.is_away_behind(foreign_server(is_foreign));
    let ended = stage.elect(&["run", "-e", "job", "-w", "60s", "true"]).run().exits(125);
    ended.says("does not speak etcd's protocol");
}
