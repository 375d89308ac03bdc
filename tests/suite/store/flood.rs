//! An etcd that announces more than a client can want to read, and sends it: elect stays small.

use elect_testkit::fault::{Flood, Frames, Torrent};
use elect_testkit::program::{line_of, peak_memory};

use crate::prelude::*;
use crate::store::real::{Brand, Home};

#[test]
fn a_look_at_a_flood_stays_small() {
    a_look_stays_small(Torrent::Endless);
}

#[test]
fn a_leader_in_a_flood_stays_small_and_leads_on() {
    a_leader_stays_small_and_leads_on(Torrent::Endless);
}

#[test]
fn a_look_at_a_flood_of_interim_answers_stays_small() {
    a_look_stays_small(Torrent::Interim);
}

#[test]
fn a_leader_in_a_flood_of_interim_answers_stays_small_and_leads_on() {
    a_leader_stays_small_and_leads_on(Torrent::Interim);
}

/// The most that the program may have had in memory, in KiB.
const SMALL: u64 = 48 << 10;
/// The number of a leader's replies that become floods.
const FLOODS: u8 = 4;

/// Until it ends.
fn last_peak(running: Running) -> u64 {
    let (ended, last) = running.wait_with_peak();
    println!("{last} KiB; {}{}", ended.stdout, ended.stderr);
    assert_ne!(ended.code(), 0, "it cannot have seen anything");
    last
}

fn elect(subcommand: &str, home: &Home, way: SocketAddr) -> Elect {
    Elect::new(ELECT).args([subcommand, "-b", &home.url_through(way)])
}

fn a_look_stays_small(torrent: Torrent) {
    let home = Home::slow(Brand::Etcd);
    let way = Flood::before(home.address(), Frames::Grpc);
    // So that there is something to answer.
    elect("pause", &home, home.address()).args(["job", "--create"]).run().exits(0);
    way.begin(torrent);
    let peak = last_peak(elect("status", &home, way.address()).arg("job").spawn());
    assert!(peak > 0 && peak < SMALL, "{peak} KiB");
    way.end();
}

fn a_leader_stays_small_and_leads_on(torrent: Torrent) {
    let home = Home::slow(Brand::Etcd);
    let way = Flood::before(home.address(), Frames::Grpc);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    let run = elect("run", &home, way.address())
        .args(["-e", "job", "--id", "one", "--ttl", "60s"])
        .env("FILE", &file);
    let mut leader = run.sh("echo \"$ELECT_TOKEN\" >\"$FILE\"; exec sleep 3600").spawn();
    let token = line_of(&file);
    for priority in 1..=FLOODS {
        way.begin(torrent);
        // The leader watches this, so the flood is the answer to the watch.
        let set = elect("priority", &home, home.address()).args(["job", "one"]);
        set.arg(priority.to_string()).run().exits(0);
        println!("{} bytes were taken", way.end());
    }
    let peak = peak_memory(leader.pid()).expect("it lives");
    println!("{peak} KiB");
    assert!(peak < SMALL, "{peak} KiB");
    let told =
        elect("status", &home, way.address()).args(["-o", "json", "job"]).run().exits(0).stdout;
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["elections"][0]["leader"]["token"].to_string(), token.trim());
    leader.ended_by(Signal::SIGTERM).exits(128 + 15);
}
