//! A trial: an election, and what it goes through.

use std::time::Duration;

use crate::chance::Chance;
use crate::measure::{self, Progress, Summary};
use crate::world::World;
use crate::{History, Network, Node, Script, Senseless};

/// The most that can be tried: each pair has a link.
const MOST_CANDIDATES: usize = 1000;

/// An election algorithm that can be tried: what a script of faults and a measuring loop need of it.
///
/// What implements [`Protocol`] has this by itself.
pub trait Election: Sync {
    /// How many nodes it needs beside the candidates; a store, for example. They come behind the candidates.
    fn servers(&self) -> usize;

    /// Refuses settings that make no sense, alone or for so many candidates.
    fn check(&self, candidates: usize) -> Result<(), Senseless>;

    /// Plays one run. The same seed gives the same on every machine. What the scenario names is there ([`Trial::new`] has
    /// seen to it). If it is [cancelled](Progress::cancel), the run ends where it is.
    fn play(&self, scenario: &Scenario, seed: u64, progress: &Progress) -> History;
}

/// An election algorithm as [nodes](Node) of the world.
pub trait Protocol: Sync {
    /// What takes part.
    type Node: Node;

    /// How many nodes there are beside the candidates.
    fn servers(&self) -> usize {
        0
    }

    /// Refuses settings that make no sense, alone or for so many candidates.
    fn check(&self, _candidates: usize) -> Result<(), Senseless> {
        Ok(())
    }

    /// The candidates, and behind them what there is beside them.
    fn nodes(&self, candidates: usize, chance: &mut Chance) -> Vec<Self::Node>;
}

impl<P: Protocol> Election for P {
    fn servers(&self) -> usize {
        Protocol::servers(self)
    }

    fn check(&self, candidates: usize) -> Result<(), Senseless> {
        Protocol::check(self, candidates)
    }

    fn play(&self, scenario: &Scenario, seed: u64, progress: &Progress) -> History {
        let mut chance = Chance::with_seed(seed);
        let nodes = self.nodes(scenario.candidates, &mut chance);
        World::new(scenario, nodes, chance).run(progress)
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At this true time.
    At(Duration),
    /// As soon as somebody has begun to lead after the last fault.
    Replaced {
        /// Or at this true time, if nobody has.
        limit: Duration,
    },
}

impl End {
    pub(crate) const fn latest(self) -> Duration {
        match self {
            Self::At(end) | Self::Replaced { limit: end } => end,
        }
    }
}

/// What an election goes through.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How many take part: from 1 to 1000.
    pub candidates: usize,
    /// The network between all nodes.
    pub network: Network,
    /// What goes wrong, all of it before the end.
    pub script: Script,
    /// In each run all faults but those at zero come later by one time up to this, drawn anew: so that they meet
    /// heartbeats at any phase.
    pub shift: Duration,
    /// When it is over.
    pub end: End,
}

impl Scenario {
    /// So many candidates in this network until this true time; nothing goes wrong.
    pub const fn new(candidates: usize, network: Network, end: End) -> Self {
        Self { candidates, network, script: Script::new(), shift: Duration::ZERO, end }
    }

    /// The same with this fault at this true time.
    pub fn with(mut self, at: Duration, fault: crate::Fault) -> Self {
        self.script = self.script.at(at, fault);
        self
    }
}

/// An election and a scenario that fit each other.
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    election: &'a dyn Election,
    scenario: &'a Scenario,
}

impl<'a> Trial<'a> {
    /// Checks that they fit.
    ///
    /// # Errors
    /// [`Senseless`] says what does not.
    pub fn new(election: &'a dyn Election, scenario: &'a Scenario) -> Result<Self, Senseless> {
        let candidates = scenario.candidates;
        if !(1..=MOST_CANDIDATES).contains(&candidates) {
            return Err(Senseless::Candidates { candidates, most: MOST_CANDIDATES });
        }
        election.check(scenario.candidates)?;
        let nodes = scenario.candidates + election.servers();
        scenario.script.check(nodes, scenario.end.latest().saturating_sub(scenario.shift))?;
        match scenario.network.named().find(|node| *node >= nodes) {
            Some(node) => Err(Senseless::NoNode { node, nodes }),
            None => Ok(Self { election, scenario }),
        }
    }

    /// Plays the run of one seed.
    pub fn run(&self, seed: u64) -> History {
        self.run_under(seed, &Progress::default())
    }

    /// The same as part of a measurement: if that is [cancelled](Progress::cancel), the run ends where it is.
    pub fn run_under(&self, seed: u64, progress: &Progress) -> History {
        self.election.play(self.scenario, seed, progress)
    }

    /// Plays the runs of `runs` seeds from `seed` on, on all processors, and sums them up. If it is
    /// [cancelled](Progress::cancel), it sums up what is there by then.
    pub fn measure(&self, seed: u64, runs: u64, progress: &Progress) -> Summary {
        let run = |index| {
            let seed = seed.wrapping_add(index);
            (seed, self.run_under(seed, progress))
        };
        measure::over(0..runs, progress, run).into_iter().collect()
    }
}
