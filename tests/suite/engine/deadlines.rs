//! Tests against a store whose leases end by time: the whole tree is dead before its lease can end, at any answer of
//! the store and with any process stopped. The same tests notice when a guard is missing.

use elect_testkit::fault::{Cgroup, Outcome, Table, Traced};
use elect_testkit::oracle::Run;
use elect_testkit::sim::{Cause, Effect, Kind, Op, Options, Rule, SimServer};

use crate::prelude::*;
use crate::stage::{send_if_alive, stop};
use crate::support::job;

/// A leads and B waits, with the store between them.
struct Duel {
    server: SimServer,
    oracle: Oracle,
    a: Running,
    b: Running,
    cgroup: Option<Cgroup>,
}

struct Setting {
    options: Options,
    flags: Vec<String>,
    without: &'static str,
    frozen: bool,
}

impl Setting {
    fn new() -> Self {
        Self {
            options: Options::new(Kind::Queue),
            flags: words(&["--ttl", "5s"]),
            without: "",
            frozen: false,
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn elect(server: &SimServer, id: &str, flags: &[String], command: &Stamper) -> Elect {
    let elect = Elect::new(ELECT);
    elect
        .args(["run", "-b", &server.url(), "-e", "job", "--id", id])
        .args(flags)
        .arg("--")
        .args(command.command())
}

impl Duel {
    fn start(setting: &Setting) -> Self {
        let server = SimServer::start(&setting.options);
        let oracle = Oracle::new();
        let tree = oracle.stamper("A").children(2).depth(2).deaf();
        let cgroup = setting.frozen.then(Cgroup::v2);
        let mut leader =
            elect(&server, "A", &setting.flags, &tree).env("ELECT_TEST_WITHOUT", setting.without);
        if let Some(cgroup) = &cgroup {
            leader = leader.under(cgroup.enter());
        }
        let a = leader.spawn();
        oracle.wait_for_run("A");
        let next = oracle.stamper("B").children(1).lasting(Duration::from_millis(50));
        let b = elect(&server, "B", &setting.flags, &next).spawn();
        let status = Elect::new(ELECT).args(["status", "-b", &server.url(), "-o", "json"]);
        eventually("B in line", || status.run().stdout.contains("\"B-").then_some(()));
        Self { server, oracle, a, b, cgroup }
    }

    /// Has A's renewals fare like this from now on.
    fn renewals(&self, effect: Effect) {
        let rule = self.server.controls().add(Rule::new(effect).op(Op::Renew).client("A-"));
        eventually("a renewal", || (self.server.controls().hits(rule) > 0).then_some(()));
    }

    /// Waits for B to lead and end; returns A's run, and when A's lease was over.
    fn hand_over(&mut self) -> (Run, Boottime) {
        let b = std::mem::replace(&mut self.b, Running::idle());
        b.wait().exits(0);
        let run = self.oracle.newest("A").expect("A ran");
        let tenure = self.server.controls().history().into_iter().next().expect("A led");
        assert!(tenure.candidate.starts_with("A-"), "{tenure:?}");
        let (over, _) = tenure.over.expect("B led after it");
        (run, over)
    }

    /// Nothing of A ran when its lease was over, nor beside B.
    fn assert_in_time(&mut self) -> Outcome {
        let (run, over) = self.hand_over();
        self.oracle.assert_sound();
        assert!(
            !run.is_alive() && run.last < over,
            "{run} ran at {over:?}, when its lease was over"
        );
        // It may be over before by a resign, which comes after the death and tells nothing of slack.
        let lease_end = self.server.controls().history()[0].lease_end;
        let next = self.oracle.newest("B").map(|run| run.first);
        Outcome { last: run.last, lease_end: Some(lease_end), next, kept: None }
    }
}

/// The process that is stopped while the store misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    Nobody,
    Wrapper,
    Guardian,
    Both,
    Traced,
    Frozen,
}

const STOPS: [Stopped; 6] = [
    Stopped::Nobody,
    Stopped::Wrapper,
    Stopped::Guardian,
    Stopped::Both,
    Stopped::Traced,
    Stopped::Frozen,
];

/// One fault with one stop.
fn survive(effect: Effect, stopped: Stopped) -> Outcome {
    let mut duel = Duel::start(&Setting { frozen: stopped == Stopped::Frozen, ..Setting::new() });
    let (wrapper, guardian) = (duel.a.pid(), duel.a.guardian());
    // A loss that the store tells takes effect at once, so processes are stopped before.
    let is_told = effect == Effect::AnswerGone;
    if !is_told {
        duel.renewals(effect);
    }
    let mut traced = Vec::new();
    match stopped {
        Stopped::Nobody => {}
        Stopped::Traced => traced.extend([wrapper, guardian].map(Traced::hold)),
        Stopped::Wrapper => stop(wrapper),
        Stopped::Guardian => stop(guardian),
        Stopped::Both => [wrapper, guardian].into_iter().for_each(stop),
        Stopped::Frozen => duel.cgroup.as_ref().expect("A is in it").freeze(true),
    }
    if is_told {
        duel.server.controls().add(Rule::new(effect).op(Op::Renew).client("A-"));
    }
    let outcome = duel.assert_in_time();
    // A process that wakes later finds that it has lost, and touches no other candidate's entry.
    drop(traced);
    if let Some(cgroup) = &duel.cgroup {
        cgroup.freeze(false);
    }
    for pid in [guardian, wrapper] {
        send_if_alive(pid, Signal::SIGCONT);
    }
    let a = std::mem::replace(&mut duel.a, Running::idle());
    a.wait().exits(124);
    let history = duel.server.controls().history();
    assert_eq!(history.len(), 2, "{history:?}");
    assert_eq!(history[1].over.map(|(_, cause)| cause), Some(Cause::Left), "{history:?}");
    outcome
}

/// The fault with each stop, all at once. Prints what came of it.
fn survive_all(name: &str, effect: Effect) {
    let table = Table::new();
    thread::scope(|scope| {
        for stopped in STOPS {
            let table = &table;
            let fault = format!("{name}, stopped: {stopped:?}").to_lowercase();
            // A thread that panics says its name.
            let thread = thread::Builder::new().name(fault.clone());
            let run = move || table.add(&fault, "sim", &survive(effect, stopped));
            thread.spawn_scoped(scope, run).expect("a thread");
        }
    });
    println!("{table}");
}

#[test]
fn a_store_that_never_answers_finds_the_tree_dead_in_time() {
    survive_all("no answer", Effect::LoseReply);
}

#[test]
fn a_store_out_of_reach_finds_the_tree_dead_in_time() {
    survive_all("out of reach", Effect::LoseRequest);
}

#[test]
fn answers_that_come_late_change_nothing() {
    survive_all("answers 2 s late", Effect::DelayReply(Duration::from_secs(2)));
}

#[test]
fn answers_after_the_deadline_change_nothing() {
    survive_all("answers 6 s late", Effect::DelayReply(Duration::from_secs(6)));
}

#[test]
fn an_entry_that_is_gone_is_a_loss() {
    survive_all("gone", Effect::AnswerGone);
}

/// With wrapper and guardian stopped and a store out of reach, whether the promise was kept.
fn is_kept_without(part: &'static str) -> bool {
    let mut duel = Duel::start(&Setting { without: part, ..Setting::new() });
    duel.renewals(Effect::LoseRequest);
    let (wrapper, guardian) = (duel.a.pid(), duel.a.guardian());
    [wrapper, guardian].into_iter().for_each(stop);
    duel.keeps_the_promise()
}

impl Duel {
    /// Returns true if the promise was kept. A is ended in any case.
    fn keeps_the_promise(mut self) -> bool {
        let (run, over) = self.hand_over();
        let is_kept = run.last < over && self.oracle.verdict().faults.is_empty();
        let (guardian, wrapper) = (self.a.guardian_if_any(), self.a.pid());
        for pid in guardian.into_iter().chain([wrapper]) {
            send_if_alive(pid, Signal::SIGKILL);
        }
        for pid in self.oracle.living() {
            send_if_alive(pid, Signal::SIGKILL);
        }
        is_kept
    }
}

#[test]
fn without_the_dead_man_timer_the_promise_is_broken() {
    assert!(is_kept_without(""));
    assert!(!is_kept_without("dead-man"));
}

#[test]
fn without_the_death_pipe_the_promise_is_broken() {
    assert!(!is_kept_without("death-pipe"));
}

/// Renewals are answered late, then not at all; the clocks are taken for equal.
fn is_kept_when_answers_are_slow(without: &'static str) -> bool {
    let flags = words(&["--ttl", "5s", "--max-clock-drift", "0"]);
    let duel = Duel::start(&Setting { flags, without, ..Setting::new() });
    // Less than the attempt's timeout of a sixth, more than the margin of half a second.
    let slow = Rule::new(Effect::DelayReply(Duration::from_millis(750))).op(Op::Renew).client("A-");
    let slow = duel.server.controls().add(slow);
    eventually("two slow renewals", || (duel.server.controls().hits(slow) > 2).then_some(()));
    let lost =
        duel.server.controls().add(Rule::new(Effect::LoseRequest).op(Op::Renew).client("A-"));
    duel.server.controls().lift(slow);
    eventually("a lost renewal", || (duel.server.controls().hits(lost) > 0).then_some(()));
    duel.keeps_the_promise()
}

#[test]
fn leases_counted_from_the_answer_break_the_promise() {
    assert!(is_kept_when_answers_are_slow(""));
    assert!(!is_kept_when_answers_are_slow("anchor"));
}

/// Returns true if the promise is kept with a store out of reach, whose clock runs at this rate in thousandths.
fn is_kept_at_rate(per_mille: u32, without: &'static str) -> bool {
    let options = Options::new(Kind::Queue).rate_per_mille(per_mille);
    let flags = words(&["--ttl", "8s"]);
    let duel = Duel::start(&Setting { options, flags, without, ..Setting::new() });
    duel.renewals(Effect::LoseRequest);
    duel.keeps_the_promise()
}

#[test]
fn without_the_margin_a_clock_within_the_bound_breaks_the_promise() {
    assert!(is_kept_at_rate(1050, ""));
    assert!(!is_kept_at_rate(1050, "drift,margin"));
}

#[test]
fn clocks_within_the_bound_keep_the_promise_and_others_break_it() {
    // Ours at 0.91 of the store's, and at 0.8.
    assert!(is_kept_at_rate(1099, ""));
    assert!(!is_kept_at_rate(1250, ""), "the oracle does not bite");
}

/// A long lease: who follows within the test's patience has not waited for its end.
fn long() -> Setting {
    Setting { flags: words(&["--ttl", "10m"]), ..Setting::new() }
}

#[test]
fn a_leader_that_is_killed_hands_over_at_once() {
    let mut duel = Duel::start(&long());
    duel.a.signal(Signal::SIGKILL);
    duel.hand_over();
    duel.oracle.assert_sound();
    let history = duel.server.controls().history();
    assert_eq!(history[0].over.map(|(_, cause)| cause), Some(Cause::Left), "{history:?}");
}

#[test]
fn a_waiter_that_is_killed_blocks_no_other() {
    let mut duel = Duel::start(&long());
    let next = duel.oracle.stamper("C").lasting(Duration::from_millis(5));
    let c = elect(&duel.server, "C", &long().flags, &next).spawn();
    let status = Elect::new(ELECT).args(["status", "-b", &duel.server.url(), "-o", "json"]);
    eventually("C in line", || status.run().stdout.contains("\"C-").then_some(()));
    duel.b.signal(Signal::SIGKILL);
    eventually("the end of B's entry", || (!status.run().stdout.contains("\"B-")).then_some(()));
    duel.a.signal(Signal::SIGKILL);
    c.wait().exits(0);
    duel.oracle.assert_sound();
}

#[test]
fn a_candidate_killed_while_its_entry_is_made_blocks_no_other() {
    let server = SimServer::start(&Options::new(Kind::Queue));
    let oracle = Oracle::new();
    let rule = server.controls().add(Rule::new(Effect::LoseReply).op(Op::Enter).client("A-"));
    let mut a = elect(&server, "A", &long().flags, &oracle.stamper("A")).spawn();
    eventually("A's request", || (server.controls().hits(rule) > 0).then_some(()));
    eventually("A's entry", || server.controls().leader(&job()));
    a.signal(Signal::SIGKILL);
    let next = oracle.stamper("B").lasting(Duration::from_millis(5));
    elect(&server, "B", &long().flags, &next).run().exits(0);
    assert!(oracle.newest("A").is_none());
}
