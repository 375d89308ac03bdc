//! KILL to everything at random moments, those of starting up among them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use elect_testkit::oracle::{Stamper, now};
use elect_testkit::program::{Running, children, eventually, name};
use fastrand::Rng;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpid};

use crate::stage::Stage;

const KILLS: usize = 1000;
/// Long enough for most to get to their command, and for some to end by themselves.
const LATEST_MICROS: u64 = 25_000;

/// The number of rounds in which wrapper and guardian are killed together.
const PAIRS: usize = 4200;
/// The longest between the two KILLs.
const LONGEST_GAP_MICROS: u64 = 500;
/// A tree that lives so long after them lives on.
const LINGERING: Duration = Duration::from_secs(2);

/// The processes that get the KILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Wrapper,
    Guardian,
    WrapperThenGuardian,
    GuardianThenWrapper,
    /// The group of both, at one blow.
    Group,
}

impl Victim {
    const ALL: [Self; 5] = [
        Self::Wrapper,
        Self::Guardian,
        Self::WrapperThenGuardian,
        Self::GuardianThenWrapper,
        Self::Group,
    ];

    /// Returns true if a process survives that can find the processes that left the command's group.
    fn spares_one(self) -> bool {
        matches!(self, Self::Wrapper | Self::Guardian)
    }

    fn kill(self, contender: &mut Running, gap: Duration) {
        let wrapper = contender.pid();
        let is_guardian = |pid: &i32| name(*pid).as_deref() == Some("elect-guardian");
        let guardian = children(wrapper).into_iter().find(is_guardian);
        let blows = match self {
            Self::Group => {
                let _ = killpg(Pid::from_raw(wrapper), Signal::SIGKILL);
                return;
            }
            Self::Wrapper => [Some(wrapper), None],
            Self::Guardian => [guardian.or(Some(wrapper)), None],
            Self::WrapperThenGuardian => [Some(wrapper), guardian],
            Self::GuardianThenWrapper => [guardian, Some(wrapper)],
        };
        for (number, pid) in blows.into_iter().flatten().enumerate() {
            let end = now() + gap;
            while number > 0 && now() < end {
                std::hint::spin_loop();
            }
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

fn tree(rng: &mut Rng, stamper: Stamper, victim: Victim) -> Stamper {
    let mut tree = stamper.children(rng.u32(0..3)).depth(rng.u32(1..3));
    if victim.spares_one() {
        tree = tree.daemons(rng.u32(0..2)).groups(rng.u32(0..2));
        tree = if rng.bool() { tree.closing_descriptors() } else { tree };
    }
    tree = if rng.bool() { tree.deaf() } else { tree };
    if rng.u8(0..4) == 0 {
        tree.lasting(Duration::from_millis(rng.u64(0..8))).leaving()
    } else {
        tree
    }
}

fn start(stage: &Stage, stamper: &Stamper) -> Running {
    let mut command = stage.run(stamper).command();
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Running::new(command.spawn().expect("elect"))
}

/// Reaps the orphans that came to us, and returns who lives.
fn orphans() -> Vec<i32> {
    while waitpid(None, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
    children(getpid().as_raw())
}

/// Waits until there is neither a child nor a file left.
fn nothing_is_left(stage: &Stage) {
    eventually("the end of every process", || orphans().is_empty().then_some(()));
    assert_eq!(stage.oracle.living(), [0; 0]);
    let list = |path| -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(path)
            .expect("a directory")
            .map(|entry| entry.expect("a name").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let job = stage.ground.state().join("job");
    assert_eq!(list(stage.ground.path().to_owned()), ["state"]);
    assert_eq!(list(stage.ground.state()), ["job"]);
    let mut files = list(job.clone());
    // Files that only a leader makes are missing if no candidate has led yet.
    files.retain(|file| !["note-history", "tree"].contains(&file.as_str()));
    assert_eq!(files, ["enter", "lock", "queue", "token"]);
    assert_eq!(list(job.join("queue")), [""; 0]);
}

/// The findings of one round of kills.
struct Round {
    victims: Vec<Victim>,
    /// From the last kill to the first stamp of a newcomer.
    wait: Duration,
}

fn round(stage: &Stage, rng: &mut Rng, number: usize) -> Round {
    let mut contenders = Vec::new();
    for contender in 0..rng.usize(1..4) {
        let victim = Victim::ALL[rng.usize(..Victim::ALL.len())];
        let stamper = tree(rng, stage.stamper(&format!("r{number}c{contender}")), victim);
        contenders.push((victim, start(stage, &stamper)));
    }
    // Not to wait for anything: the moment of the kill is what varies.
    thread::sleep(Duration::from_micros(rng.u64(0..LATEST_MICROS)));
    for (victim, contender) in &mut contenders {
        victim.kill(contender, Duration::ZERO);
    }
    let at = now();
    let tag = format!("probe{number}");
    stage.run_with(&["--wait", "20s"], &stage.brief(&tag)).run().exits(0);
    let wait = stage.oracle.newest(&tag).expect("it ran").first.since(at);
    let mut victims = Vec::new();
    for (victim, contender) in contenders {
        victims.push(victim);
        contender.wait();
    }
    nothing_is_left(stage);
    Round { victims, wait }
}

/// Returns the source of random choices, seeded from `SEED` or at random, and prints the seed.
fn choices() -> Rng {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("the same choices again, if not the same timing: SEED={seed} tests/deep/run havoc");
    Rng::with_seed(seed)
}

/// The command has closed the descriptors that it inherited, so only wrapper and guardian have ends of the death-pipes.
#[test]
fn wrapper_and_guardian_killed_together_leave_nothing() {
    set_child_subreaper(true).expect("a subreaper");
    let (mut rng, stage) = (choices(), Stage::new());
    let mut survivals = BTreeMap::<Victim, usize>::new();
    for number in 0..PAIRS {
        let orders = [Victim::WrapperThenGuardian, Victim::GuardianThenWrapper];
        let victim = orders[rng.usize(..orders.len())];
        let tag = format!("pair{number}");
        let tree = stage.stamper(&tag).children(1).closing_descriptors().deaf();
        let mut running = start(&stage, &tree);
        stage.oracle.wait_for_run(&tag);
        victim.kill(&mut running, Duration::from_micros(rng.u64(..=LONGEST_GAP_MICROS)));
        running.wait();
        let end = now() + LINGERING;
        let survived = survivals.entry(victim).or_default();
        while !orphans().is_empty() {
            if now() > end {
                println!("{tag}: {victim:?}");
                *survived += 1;
                for pid in orphans() {
                    let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                }
                eventually("their end", || orphans().is_empty().then_some(()));
            }
        }
    }
    println!("of {PAIRS} pairs of kills trees survived: {survivals:?}");
    stage.oracle.assert_sound();
    assert!(survivals.values().all(|&survived| survived == 0), "{survivals:?}");
}

#[test]
fn a_thousand_kills_at_random_moments_leave_a_usable_election_and_nothing_else() {
    set_child_subreaper(true).expect("a subreaper");
    let (mut rng, stage) = (choices(), Stage::new());
    let mut tally = BTreeMap::<Victim, usize>::new();
    let mut waits = Vec::new();
    while tally.values().sum::<usize>() < KILLS {
        let round = round(&stage, &mut rng, waits.len());
        round.victims.into_iter().for_each(|victim| *tally.entry(victim).or_default() += 1);
        waits.push(round.wait);
    }
    let led = stage.oracle.assert_sound().len() - waits.len();
    waits.sort();
    let kills: usize = tally.values().sum();
    println!("{kills} kills in {} rounds: {tally:?}", waits.len());
    println!("{led} of the killed had started their command");
    println!(
        "from the last kill to the first stamp of a newcomer: median {:.2?}, 99 % {:.2?}, greatest {:.2?}",
        waits[waits.len() / 2],
        waits[waits.len() * 99 / 100],
        waits[waits.len() - 1]
    );
}
