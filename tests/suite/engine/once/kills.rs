//! KILL at random moments: it is done at least once, never again after a success, never twice at a time.

use elect_testkit::oracle::Run;
use elect_testkit::program::{children, name};
use fastrand::Rng;
use nix::sys::signal::kill;

use super::{Brand, Scene};
use crate::prelude::*;

const KILLS: usize = 200;

/// The number of hosts that contend for each key.
const HOSTS: usize = 3;

/// Long enough for two commands, so that kills meet the first and the second, and what is between them.
const LATEST: Duration = Duration::from_millis(60);

struct Arena {
    scene: Scene,
    oracle: Oracle,
    rng: Rng,
    /// Of leases, where they have one.
    ttl: &'static str,
    /// The most runs of a key; any number if it is empty.
    attempts: &'static str,
    /// The longest run, in milliseconds.
    longest: u64,
    rounds: usize,
    kills: usize,
}

impl Arena {
    fn start(&mut self, key: &str, host: usize) -> Running {
        let brief = self.oracle.stamper(&format!("{}.{host}", self.rounds)).children(1);
        let brief = brief.lasting(Duration::from_millis(self.rng.u64(0..self.longest)));
        let elect = self.scene.once(key).env("ELECT_TTL", self.ttl);
        let elect = match self.attempts {
            "" => elect,
            most => elect.env("ELECT_ONCE_ATTEMPTS", most),
        };
        elect.arg("--").args(brief.command()).spawn()
    }

    /// The runs of this round so far.
    fn runs(&self) -> Vec<Run> {
        let prefix = format!("{}.", self.rounds);
        let runs = self.oracle.assert_sound().into_iter();
        runs.filter(|run| run.tag.starts_with(&prefix)).collect()
    }

    fn has_run_since(&self, round: usize) -> bool {
        let round_of = |run: &Run| run.tag.split('.').next()?.parse::<usize>().ok();
        self.oracle.assert_sound().iter().any(|run| round_of(run) >= Some(round))
    }

    /// Kills the wrapper or the guardian of some host that runs, if one does, at some moment from now on, or in the
    /// next run that begins.
    fn strike(&mut self, hosts: &mut [Running]) -> bool {
        let mut runner = None;
        if self.rng.bool() {
            let before = self.runs().len();
            // The machine may be so busy that no command has started before the latest moment.
            eventually("a run, or the end of all hosts", || {
                let runs = self.runs();
                let number = |run: &Run| run.tag.rsplit('.').next()?.parse::<usize>().ok();
                runner = runs.get(before..).and_then(<[Run]>::last).and_then(number);
                let is_over = !hosts.iter_mut().any(Running::is_running);
                (is_over || runner.is_some()).then_some(())
            });
        }
        // Not to wait for anything: the moment of the kill is what varies.
        let micros = u64::try_from(LATEST.as_micros()).unwrap_or(u64::MAX);
        thread::sleep(Duration::from_micros(self.rng.u64(..micros)));
        let mut running: Vec<usize> = (0..HOSTS).filter(|&host| hosts[host].is_running()).collect();
        running.retain(|host| runner.is_none_or(|runner| runner == *host));
        if running.is_empty() {
            return false;
        }
        let wrapper = hosts[running[self.rng.usize(..running.len())]].pid();
        let is_guardian = |pid: &i32| name(*pid).as_deref() == Some("elect-guardian");
        let guardian = children(wrapper).into_iter().find(is_guardian);
        let victim = guardian.filter(|_| self.rng.bool()).unwrap_or(wrapper);
        kill(Pid::from_raw(victim), Signal::SIGKILL).is_ok()
    }

    /// Lets some hosts contend for a key with a limit of runs, and kills as many as asked, until the key is done or may
    /// not be tried any more. Returns true in the second case.
    fn exhaust(&mut self, key: &str, strikes: usize, most: usize) -> bool {
        let first = self.rounds + 1;
        let (codes, runs) = loop {
            self.rounds += 1;
            let mut hosts: Vec<Running> = (0..HOSTS).map(|host| self.start(key, host)).collect();
            self.kills += (0..strikes).filter(|_| self.strike(&mut hosts)).count();
            let codes: Vec<i32> = hosts.into_iter().map(|host| host.wait().code()).collect();
            let round_of = |run: &Run| run.tag.split('.').next()?.parse::<usize>().ok();
            let runs = self.oracle.assert_sound().into_iter();
            let runs = runs.filter(|run| round_of(run) >= Some(first)).count();
            if codes.iter().any(|code| [0, 75].contains(code)) {
                break (codes, runs);
            }
        };
        assert!(runs <= most, "{key}: {runs} runs, {most} permitted");
        codes.contains(&75)
    }

    /// Some hosts contend for a key, and up to so many are killed. Says whether it is done by now.
    fn round(&mut self, key: &str, strikes: usize) -> bool {
        self.rounds += 1;
        let mut hosts: Vec<Running> = (0..HOSTS).map(|host| self.start(key, host)).collect();
        let kills = (0..strikes).filter(|_| self.strike(&mut hosts)).count();
        let codes: Vec<i32> = hosts.into_iter().map(|host| host.wait().code()).collect();
        let runs = self.runs();
        assert!(kills > 0 || codes == [0; HOSTS], "{key}: {codes:?} without a kill");
        let tag = |host: usize| format!("{}.{host}", self.rounds);
        let has_run = |host: &usize| runs.iter().any(|run| run.tag == tag(*host));
        let done: Vec<usize> = (0..HOSTS).filter(|&host| codes[host] == 0).collect();
        let successes: Vec<usize> = done.iter().copied().filter(has_run).collect();
        // A host that returns 0 without a run knows that another host succeeded and was killed afterwards.
        assert!(successes.len() <= 1, "{key}: {successes:?} succeeded, {codes:?}");
        if let Some(&host) = successes.first() {
            let last = runs.last().expect("a run");
            assert_eq!(last.tag, tag(host), "{key}: a run after a success: {codes:?}");
        }
        self.kills += kills;
        !done.is_empty()
    }
}

fn arena(brand: Option<Brand>, attempts: &'static str, longest: u64) -> Arena {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("the same choices again, if not the same timing: SEED={seed}");
    let rng = Rng::with_seed(seed);
    let ttl = if brand.is_some() { "5s" } else { "" };
    let (scene, oracle) = (Scene::new(brand), Oracle::new());
    Arena { scene, oracle, rng, ttl, attempts, longest, rounds: 0, kills: 0 }
}

/// A run that is killed between the count and the start has used up an attempt all the same.
fn there_are_no_more_runs_than_permitted(brand: Option<Brand>) {
    // So most kills meet a run.
    let mut arena = arena(brand, "2", 300);
    let keys = 25;
    let used_up = (0..keys).filter(|key| {
        let strikes = arena.rng.usize(2..=HOSTS + 1);
        arena.exhaust(&format!("k{key}"), strikes, 2)
    });
    let used_up = used_up.count();
    println!("{} kills, {used_up} of {keys} keys used up", arena.kills);
    assert!(used_up > 0 && arena.kills >= keys, "{used_up} keys used up, {} kills", arena.kills);
}

fn is_done_once_in_spite_of_kills(brand: Option<Brand>) {
    let mut arena = arena(brand, "", 80);
    let (mut number, mut reopened) = (0, 0);
    while arena.kills < KILLS {
        let key = format!("k{number}");
        number += 1;
        let first = arena.rounds + 1;
        // A host does it in the end, as no host is killed then.
        let mut strikes = arena.rng.usize(1..=HOSTS);
        while !arena.round(&key, strikes) {
            strikes = arena.rng.usize(0..=HOSTS);
            reopened += 1;
        }
        let has_run = arena.has_run_since(first);
        assert!(has_run, "{key} was not done");
        assert!(arena.round(&key, 0), "{key} is forgotten");
        assert_eq!(arena.runs().len(), 0, "{key} was done again");
    }
    println!("{} kills, {number} keys, {reopened} times all hosts failed", arena.kills);
}

#[test]
fn on_the_local_disk() {
    is_done_once_in_spite_of_kills(None);
}

#[test]
fn in_etcd() {
    is_done_once_in_spite_of_kills(Some(Brand::Etcd));
}

#[test]
fn in_kubernetes() {
    is_done_once_in_spite_of_kills(Some(Brand::Kubernetes));
}

#[test]
fn in_zookeeper() {
    is_done_once_in_spite_of_kills(Some(Brand::ZooKeeper));
}

#[test]
fn attempts_on_the_local_disk() {
    there_are_no_more_runs_than_permitted(None);
}

#[test]
fn attempts_in_etcd() {
    there_are_no_more_runs_than_permitted(Some(Brand::Etcd));
}

#[test]
fn attempts_in_zookeeper() {
    there_are_no_more_runs_than_permitted(Some(Brand::ZooKeeper));
}
