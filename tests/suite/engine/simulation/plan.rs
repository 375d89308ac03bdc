//! The choices that a seed makes before a game begins.

use std::ops::RangeInclusive;
use std::time::Duration;

use elect::election::machine::{Counting, Restarts};
use elect_api::Candidate;
use elect_testkit::sim::{Kind, Options};

/// The time for which a game has faults.
const PLAY: Duration = Duration::from_secs(300);

const LONGEST_STOP: u32 = 3;

/// The subject of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scene {
    /// One to five candidates, and every fault.
    Faults,
    /// One candidate. A visitor removes its entry again and again, and its client may make a new one.
    Removals,
    /// One to three candidates, and a store whose leader stands still again and again.
    Terms,
    /// The same, where a member that stood still answers reads from the past.
    Stale,
    /// Two candidates, and one crash.
    Crash,
    /// A crowd that comes to a store which is out of reach.
    Herd,
    /// One to five candidates of several priorities, and nothing befalls them.
    Ranks,
    /// The same, all with high priorities, and a better candidate that never comes forward.
    Shirker,
}

/// The processes of a candidate that are killed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Victims {
    Wrapper,
    Guardian,
    Both,
}

impl Victims {
    pub(crate) const ALL: [Self; 3] = [Self::Wrapper, Self::Guardian, Self::Both];

    pub(crate) const fn has_guardian(self) -> bool {
        matches!(self, Self::Guardian | Self::Both)
    }

    pub(crate) const fn has_wrapper(self) -> bool {
        matches!(self, Self::Wrapper | Self::Both)
    }

    /// Returns the name under which these faults are counted.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::Wrapper => "wrapper killed",
            Self::Guardian => "guardian killed",
            Self::Both => "wrapper and guardian killed",
        }
    }
}

/// The one crash of a game: of the first run on a computer, after so many awaits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crash {
    pub(crate) machine: usize,
    pub(crate) victims: Victims,
    pub(crate) awaits: u32,
}

/// The set-up of a game.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) scene: Scene,
    pub(crate) options: Options,
    pub(crate) ttl: Duration,
    /// For how long there are faults.
    pub(crate) play: Duration,
    /// The longest stop or suspend of any process, in leases.
    pub(crate) longest_stop: u32,
    /// The longest time that a process takes to die of a KILL.
    pub(crate) dying: Duration,
    /// The longest time that a command takes to end by itself.
    pub(crate) longest_command: Duration,
    /// The rates of the candidates' clocks, in thousandths.
    pub(crate) rates: Vec<u32>,
    /// The priorities of the candidates on each computer. Not all are 0.
    pub(crate) priorities: Vec<u32>,
    /// True if leases are sessions, and only confirmed answers count.
    pub(crate) confirms: bool,
    /// True if a seat whose entry is gone enters anew on its own.
    pub(crate) returns: bool,
    /// True if a simulated user pauses and resumes the election, asks leaders to step down, and sets priorities.
    pub(crate) steers: bool,
    /// The rules by which a leader's failed command is started again, if it is.
    pub(crate) restarts: Option<Restarts>,
    /// Says if runs are counted before they start.
    pub(crate) counting: Counting,
    pub(crate) crash: Option<Crash>,
}

/// A kind of store, and whether its leases are sessions.
const fn kind(drawn: u8) -> (Kind, bool) {
    match drawn {
        0 | 1 => (Kind::Queue, false),
        2 => (Kind::Queue, true),
        3 => (Kind::Race, false),
        _ => (Kind::Record, false),
    }
}

impl Plan {
    /// With clocks that differ by up to a tenth, which is the bound.
    pub(crate) fn new(scene: Scene, seed: u64) -> Self {
        match scene {
            Scene::Ranks | Scene::Shirker => Self {
                play: Duration::from_secs(60),
                longest_stop: 0,
                longest_command: Duration::from_secs(8),
                ..Self::drawn(scene, seed, 1100, 5..=6)
            },
            _ => Self::drawn(scene, seed, 1100, 5..=20),
        }
    }

    /// With clocks of which the fastest runs at so many thousandths of the slowest.
    pub(crate) fn with_clocks(seed: u64, fastest: u32) -> Self {
        Self::drawn(Scene::Faults, seed, fastest, 5..=20)
    }

    /// A short game of many.
    pub(crate) fn short(seed: u64) -> Self {
        Self {
            play: Duration::from_secs(15),
            longest_command: Duration::from_secs(8),
            ..Self::drawn(Scene::Faults, seed, 1100, 5..=6)
        }
    }

    /// Returns true if priorities differ from the usual one, so that it matters which candidate leads.
    pub(crate) fn is_ranked(&self) -> bool {
        self.priorities.iter().any(|&priority| priority != Candidate::USUAL_PRIORITY)
    }

    /// Returns the same plan with a simulated user who steers.
    pub(crate) fn steered(self) -> Self {
        Self { steers: true, ..self }
    }

    /// The same with runs that are counted before they start.
    pub(crate) fn counting(self) -> Self {
        Self { counting: Counting::BeforeStart, ..self }
    }

    /// The same with commands that fail and are started again, soon or after longer than a lease.
    pub(crate) fn restarting(self) -> Self {
        let (delay, longest_delay) = (Duration::from_millis(50), Duration::from_secs(8));
        Self {
            restarts: Some(Restarts { after_success: false, delay, longest_delay }),
            longest_command: Duration::from_secs(2),
            ..self
        }
    }

    /// The same with candidates of several priorities, of whom a store with a queue knows.
    pub(crate) fn ranked(mut self) -> Self {
        let drawn = [0, 0, 1, 50, 80, Candidate::USUAL_PRIORITY, Candidate::USUAL_PRIORITY, 200];
        self.priorities = priorities(self.seed, self.rates.len(), &drawn);
        self.options.kind = Kind::Queue;
        self
    }

    /// A game in which each computer's first candidate has led and ended soon, and then this crash.
    pub(crate) fn crashing(seed: u64, crash: Crash) -> Self {
        Self {
            play: Duration::from_secs(4),
            longest_stop: 0,
            longest_command: Duration::from_millis(500),
            crash: Some(crash),
            ..Self::drawn(Scene::Crash, seed, 1100, 5..=6)
        }
    }

    fn drawn(scene: Scene, seed: u64, fastest: u32, ttl: RangeInclusive<u64>) -> Self {
        let mut chance = fastrand::Rng::with_seed(seed);
        let drawn = chance.u8(0..5);
        let (kind, confirms) = match scene {
            Scene::Faults => kind(drawn),
            // One after the other.
            Scene::Crash => kind([1, 2, 3, 4][usize::try_from(seed % 4).unwrap_or_default()]),
            Scene::Ranks => kind(drawn % 3),
            Scene::Removals | Scene::Terms | Scene::Stale | Scene::Herd | Scene::Shirker => {
                (Kind::Queue, false)
            }
        };
        let ttl = Duration::from_secs(chance.u64(ttl));
        let slowest = chance.u32(900..=1000);
        let mut rate = || match chance.u8(0..4) {
            0 => slowest,
            1 => slowest * fastest / 1000,
            _ => chance.u32(slowest..=slowest * fastest / 1000),
        };
        let mut options = Options::new(kind).seed(seed).rate_per_mille(rate());
        let candidates = match scene {
            Scene::Faults | Scene::Ranks | Scene::Shirker => 1 + seed % 5,
            Scene::Removals => 1,
            Scene::Terms | Scene::Stale => 1 + seed % 3,
            Scene::Crash => 2,
            Scene::Herd => 12,
        };
        let is_herd = scene == Scene::Herd;
        let rates: Vec<u32> =
            (0..candidates).map(|_| if is_herd { 1000 } else { rate() }).collect();
        if confirms {
            options = options.telling_every(ttl / 4);
        }
        if scene == Scene::Terms {
            options = options.showing_terms();
        }
        if scene == Scene::Stale {
            options = options.reading_stale();
        }
        let longest = chance.u64(0..=20);
        let lasting = if is_herd { Duration::from_secs(10) } else { PLAY };
        let plan = Self {
            seed,
            scene,
            options: options.latency(Duration::from_millis(longest)),
            ttl,
            play: lasting,
            longest_stop: LONGEST_STOP,
            dying: Duration::from_millis(if scene == Scene::Removals { 2_000 } else { 50 }),
            longest_command: Duration::from_secs(60),
            priorities: vec![Candidate::USUAL_PRIORITY; rates.len()],
            rates,
            confirms,
            returns: scene == Scene::Removals && seed % 2 == 1,
            steers: false,
            restarts: None,
            counting: Counting::Off,
            crash: None,
        };
        match scene {
            Scene::Ranks => plan.ranked(),
            Scene::Shirker => {
                let priorities = priorities(seed, plan.rates.len(), &[200, 250, 300]);
                Self { priorities, ..plan }
            }
            _ => plan,
        }
    }
}

/// Of so many candidates, each one of these.
fn priorities(seed: u64, candidates: usize, drawn: &[u32]) -> Vec<u32> {
    let mut chance = fastrand::Rng::with_seed(seed ^ 0x9a2c);
    let mut priorities: Vec<u32> =
        (0..candidates).map(|_| drawn[chance.usize(..drawn.len())]).collect();
    if priorities.iter().all(|&priority| priority == 0) {
        priorities[chance.usize(..candidates)] = 1;
    }
    priorities
}
