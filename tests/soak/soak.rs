//! The loop: candidates come and go, faults begin and end, leases are read.

use std::thread;
use std::time::Duration;

use elect_api::Boottime;
use elect_testkit::oracle::{Oracle, now};
use fastrand::Rng;
use nix::sys::signal::Signal;

use crate::Order;
use crate::arena::{Arena, CANDIDATES};
use crate::bystanders::Bystanders;
use crate::candidate::Candidate;
use crate::fault::{self, Active, Kind};
use crate::interrupts::Interrupts;
use crate::ledger::Ledger;
use crate::report::Report;

const TICK: Duration = Duration::from_millis(25);
/// Between two looks at what processes hold, and at the verdict.
const LOOK: Duration = Duration::from_secs(20);
/// The first of these looks: by then programs have what they need.
const FIRST_LOOK: Duration = Duration::from_secs(10);
/// The longest between two faults, and between the end of one candidate and its next start.
const LONGEST_PAUSE: u64 = 2_500;
/// The length of a period of faults. A period without faults follows.
const TROUBLE: Duration = Duration::from_secs(90);
/// A lease of 20 s can end meanwhile.
const QUIET: Duration = Duration::from_secs(30);
/// For candidates to end when they are asked to, and for the leases of those who could not to end.
const FAREWELL: Duration = Duration::from_secs(60);
/// Between two faults of the store: it gets to choose a leader.
const RECOVERY: Duration = Duration::from_secs(10);

pub(crate) struct Soak {
    order: Order,
    rng: Rng,
    // Dropped in this order: candidates before the store, and stampers after both.
    candidates: Vec<Candidate>,
    bystanders: Bystanders,
    arena: Arena,
    oracle: Oracle,
    ledger: Ledger,
    store_fault: Option<Active>,
    next_store_fault: Boottime,
    start: Boottime,
    next_fault: Boottime,
    next_quiet: Boottime,
    next_look: Boottime,
    interrupts: Interrupts,
}

impl Soak {
    pub(crate) fn start(order: Order) -> Self {
        let mut rng = Rng::with_seed(order.seed);
        let oracle = Oracle::new();
        let arena = Arena::new(order.backend);
        let bystanders = Bystanders::start(&arena);
        let diary = arena.folder().join("diary.log");
        let start = now();
        let candidates =
            (0..CANDIDATES).map(|number| Candidate::new(&arena, &mut rng, number, start)).collect();
        Self {
            order,
            rng,
            candidates,
            bystanders,
            arena,
            oracle,
            ledger: Ledger::new(&diary),
            store_fault: None,
            next_store_fault: start,
            start,
            next_fault: start + FIRST_LOOK,
            next_quiet: start + TROUBLE,
            next_look: start + FIRST_LOOK,
            interrupts: Interrupts::watch(),
        }
    }

    /// To the end, which an INT, TERM or HUP brings about early.
    pub(crate) fn run(mut self) -> Report {
        let end = self.start + self.order.span;
        while now() < end && !self.interrupts.came() {
            let now = now();
            self.heal(now, false);
            self.step(now);
            if now >= self.next_fault {
                self.strike(now);
            }
            if now >= self.next_look {
                self.look(now);
            }
            thread::sleep(TICK);
        }
        self.heal(now(), true);
        self.look(now());
        self.finish()
    }

    fn pause(&mut self) -> Duration {
        Duration::from_millis(self.rng.u64(..LONGEST_PAUSE))
    }

    /// Notes each candidate that has ended, and starts it again.
    fn step(&mut self, now: Boottime) {
        for index in 0..self.candidates.len() {
            let pause = self.pause();
            let candidate = &mut self.candidates[index];
            if let Some(term) = candidate.term().filter(|_| self.arena.backend.is_timed()) {
                self.ledger.term(term);
            }
            if let Some(code) = candidate.end(pause, now) {
                self.ledger.exit(code);
            }
            candidate.start_if_due(&self.arena, &self.oracle, &mut self.rng, now);
        }
    }

    /// Ends the faults whose time is over, or all.
    fn heal(&mut self, now: Boottime, all: bool) {
        for candidate in &mut self.candidates {
            if candidate.fault.as_ref().is_some_and(|fault| all || fault.until <= now)
                && let Some(active) = fault::heal(&self.arena, candidate)
            {
                self.ledger.end(&candidate.tag(), &active, now);
            }
        }
        if self.store_fault.as_ref().is_some_and(|fault| all || fault.until <= now)
            && let Some(active) = self.store_fault.take()
        {
            fault::heal_store(&mut self.arena);
            self.next_store_fault = now + RECOVERY;
            self.ledger.end("store", &active, now);
        }
    }

    /// Begins a fault, mostly with who leads.
    fn strike(&mut self, now: Boottime) {
        self.next_fault = now + self.pause();
        if now >= self.next_quiet {
            self.next_quiet = now + QUIET + TROUBLE;
            self.next_fault = now + QUIET;
            return;
        }
        let is_remote = self.arena.backend.is_timed();
        if self.rng.u8(0..6) == 0 {
            self.strike_store(now, is_remote);
            return;
        }
        let Some(index) = self.victim() else { return };
        let candidate = &mut self.candidates[index];
        let kind = Kind::of_candidate(&mut self.rng, is_remote, candidate.escapes());
        self.ledger.begin(&candidate.tag(), kind, now);
        fault::strike(&self.arena, candidate, index, kind, &mut self.rng, now);
    }

    /// Chooses the leader, or another candidate. The candidate runs and has no fault.
    fn victim(&mut self) -> Option<usize> {
        let well: Vec<usize> = (0..CANDIDATES)
            .filter(|&index| {
                let candidate = &self.candidates[index];
                candidate.fault.is_none() && candidate.is_running()
            })
            .collect();
        let leader = well.iter().copied().find(|&index| self.candidates[index].leads());
        leader.filter(|_| self.rng.u8(0..10) < 6).or_else(|| self.rng.choice(well))
    }

    fn strike_store(&mut self, now: Boottime, is_remote: bool) {
        if self.store_fault.is_none() && now >= self.next_store_fault {
            let kind = Kind::of_store(&mut self.rng, is_remote);
            let fault = fault::strike_store(&mut self.arena, kind, &mut self.rng, now);
            self.store_fault = Some(fault);
            self.ledger.begin("store", kind, now);
        }
    }

    fn look(&mut self, now: Boottime) {
        self.next_look = now + LOOK;
        self.bystanders.look(&mut self.arena, now);
        let verdict = self.oracle.verdict();
        let faults = self.ledger.faults.values().sum::<usize>();
        println!(
            "{:>5} s: {} runs, {faults} faults, {} overlaps",
            now.since(self.start).as_secs(),
            verdict.runs.len(),
            verdict.faults.len()
        );
    }

    /// Everybody leaves, and leaves nothing behind.
    fn finish(mut self) -> Report {
        let mut troubles = self.send_away();
        troubles.extend(self.entries());
        let (lives, more) = self.bystanders.end();
        troubles.extend(more);
        troubles.extend(self.candidates.iter().flat_map(complaints));
        if !self.oracle.living().is_empty() {
            troubles.push(format!("stampers live on: {:?}", self.oracle.living()));
        }
        let verdict = self.oracle.verdict();
        self.ledger.note_runs(&verdict.runs);
        let mut report = Report::new(verdict, self.ledger, lives);
        report.add(troubles);
        if !report.is_good() {
            println!("what elect said: {}", self.arena.keep().display());
        }
        report
    }

    fn send_away(&mut self) -> Vec<String> {
        let end = now() + FAREWELL;
        for candidate in &mut self.candidates {
            if let Some(wrapper) = candidate.wrapper() {
                wrapper.signal(Signal::SIGTERM);
            }
        }
        while self.candidates.iter().any(Candidate::is_running) && now() < end {
            let now = now();
            for candidate in &mut self.candidates {
                if let Some(code) = candidate.end(FAREWELL, now) {
                    self.ledger.exit(code);
                }
            }
            thread::sleep(TICK);
        }
        let running = self.candidates.iter().filter(|candidate| candidate.is_running());
        running.map(|candidate| format!("{} does not end", candidate.log().display())).collect()
    }

    /// Returns a complaint if the store still has entries after all leases are over.
    fn entries(&self) -> Option<String> {
        let end = now() + FAREWELL;
        let url = self.arena.near_url();
        let status = self.arena.near_elect().args(["status", "-b", &url, "-o", "json", "job"]);
        loop {
            let said = status.run().stdout;
            let report: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
            let election = &report["elections"][0];
            let is_empty = election["leader"].is_null()
                && election["waiting"].as_array().is_some_and(Vec::is_empty);
            if is_empty {
                return None;
            }
            if now() > end {
                return Some(format!("left behind: {said}"));
            }
            thread::sleep(TICK);
        }
    }
}

/// Returns the lines of a candidate's log that report a panic.
fn complaints(candidate: &Candidate) -> Vec<String> {
    let log = std::fs::read_to_string(candidate.log()).unwrap_or_default();
    log.lines().filter(|line| line.contains("panicked")).map(str::to_owned).collect()
}
