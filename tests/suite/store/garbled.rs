//! A store whose answers are garbled on their way. No answer ends a process of elect, and once the store is sound
//! again, so is the election. Meanwhile two may lead, as the manual says of an attacker who can change answers: that is
//! counted.

use elect_testkit::fault::{Frames, Garbling, Mode, Spoil, TcpProxy};

use crate::prelude::*;
use crate::store::real::Brand;

/// The time for which answers are garbled.
const SPAN: Duration = Duration::from_secs(30);
/// The time for which candidates have to do with them, before others come.
const ROUND: Duration = Duration::from_secs(5);

/// A store, and a way to it that garbles.
struct Den {
    brand: Brand,
    frames: Frames,
    proxy: TcpProxy,
    oracle: Oracle,
    rounds: u32,
}

impl Den {
    fn elect(&self, subcommand: &str) -> Elect {
        let url = self.brand.url(&[self.proxy.address()]);
        Elect::new(ELECT).args([subcommand, "--backend", &url])
    }

    fn candidate(&self, tag: &str) -> Running {
        let stamper = self.oracle.stamper(tag).children(1);
        let run = self.elect("run").args(["--election", "job", "--ttl", "5s", "--"]);
        run.args(stamper.command()).spawn()
    }

    /// Runs two candidates, and commands that look, write and ask, for a while.
    fn round(&mut self, seed: u64) {
        self.rounds += 1;
        let odds = [2, 8, 32][self.rounds as usize % 3];
        self.proxy.replies(Mode::Pass);
        let tags = ["a", "b"].map(|name| format!("{name}{}", self.rounds));
        let early = self.rounds.is_multiple_of(2).then(|| self.candidate(&tags[0]));
        if early.is_some() {
            self.oracle.wait_for_run(&tags[0]);
        }
        let spoil = Spoil::AtRandom { odds, seed };
        self.proxy.replies(Mode::Garble(Garbling { frames: self.frames, spoil }));
        // Candidates that are connected already meet them, too.
        let mut candidates: Vec<Running> = early.into_iter().collect();
        candidates.extend(tags[candidates.len()..].iter().map(|tag| self.candidate(tag)));
        let end = now() + ROUND;
        let looks = [
            self.elect("status").arg("job"),
            self.elect("list"),
            self.elect("history").arg("job"),
            self.elect("doctor"),
            self.elect("pause").args(["other", "--create", "--reason", "garbled"]),
            self.elect("resume").arg("other"),
            self.elect("get").args(["-e", "job", "key"]),
        ];
        let looks = looks.map(|look| look.under(["timeout", "10"]).spawn());
        for look in looks {
            ended_well(&look.wait(), seed);
        }
        eventually("the end of a round", || (now() > end).then_some(()));
        for candidate in &mut candidates {
            if candidate.is_running() {
                candidate.signal(Signal::SIGTERM);
            }
        }
        for candidate in candidates {
            ended_well(&candidate.wait(), seed);
        }
    }
}

/// With an exit code of its own, and not in a panic.
#[track_caller]
fn ended_well(ended: &Ended, seed: u64) {
    let is_well =
        ended.status.code().is_some_and(|code| code != 101) && !ended.stderr.contains("panicked");
    assert!(is_well, "seed {seed}: {}: {}{}", ended.status, ended.stdout, ended.stderr);
}

pub(crate) fn survive(brand: Brand, span: Duration) {
    let frames = brand.frames().expect("frames");
    let store = brand.here(1);
    let proxy = TcpProxy::start(store.addresses()[0]);
    let mut den = Den { brand, frames, proxy, oracle: Oracle::new(), rounds: 0 };
    let end = now() + span;
    while now() < end {
        den.round(fastrand::u64(..));
    }
    den.proxy.replies(Mode::Pass);
    den.proxy.cut();
    let (runs, faults) = den.oracle.count();
    println!("{} rounds, {runs} commands ran, {faults} times beside another", den.rounds);
    assert!(runs > 0, "no candidate led in {} rounds", den.rounds);
    let afterwards = Oracle::new();
    let contenders = ["one", "two", "three"].map(|tag| {
        let brief = afterwards.stamper(tag).lasting(Duration::from_millis(3));
        let run = den.elect("run").args(["--election", "job", "--wait", "60s", "--"]);
        run.args(brief.command()).spawn()
    });
    for contender in contenders {
        contender.wait().exits(0);
    }
    assert_eq!(afterwards.assert_sound().len(), 3);
}

#[test]
fn no_answer_of_etcd_ends_us() {
    survive(Brand::Etcd, SPAN);
}

#[test]
fn no_answer_of_zookeeper_ends_us() {
    survive(Brand::ZooKeeper, SPAN);
}
