//! A trial: an election algorithm and the scenario that it is tried in.

use std::time::Duration;

use crate::chance::Chance;
use crate::measure::{self, Progress, Summary};
use crate::world::World;
use crate::{History, Network, Node, Script, Senseless};

/// The greatest number of candidates. Each pair of nodes has a link.
const MOST_CANDIDATES: usize = 1000;

/// An election algorithm that can be tried, as scripts and measurements see it.
///
/// Each [`Protocol`] implements it.
pub trait Election: Sync {
    /// Returns how many nodes it needs beside the candidates, for example a store. These nodes come after the
    /// candidates.
    fn servers(&self) -> usize;

    /// Returns an error for settings that make no sense, alone or for so many candidates.
    fn check(&self, candidates: usize) -> Result<(), Senseless>;

    /// Plays one run, which is the same for a seed on every machine. All nodes in the scenario exist ([`Trial::new`]
    /// has checked that). If `progress` is [cancelled](Progress::cancel), the run stops at once.
    fn play(&self, scenario: &Scenario, seed: u64, progress: &Progress) -> History;
}

/// An election algorithm whose participants are [nodes](Node) of the world.
pub trait Protocol: Sync {
    /// The type of the nodes.
    type Node: Node;

    /// Returns how many nodes there are beside the candidates.
    fn servers(&self) -> usize {
        0
    }

    /// Returns an error for settings that make no sense, alone or for so many candidates.
    fn check(&self, _candidates: usize) -> Result<(), Senseless> {
        Ok(())
    }

    /// Creates the candidates, followed by the other nodes.
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

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At this true time.
    At(Duration),
    /// As soon as a node has begun to lead after the last fault.
    Replaced {
        /// The true time at which the run ends if none has.
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

/// The circumstances of a run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The number of candidates, from 1 to 1000.
    pub candidates: usize,
    /// The network between all nodes.
    pub network: Network,
    /// The faults, all of them before the end.
    pub script: Script,
    /// The greatest delay of the faults. Each run draws one delay up to this, and adds it to all faults but those at
    /// zero. So faults meet heartbeats at any phase.
    pub shift: Duration,
    /// The end of a run.
    pub end: End,
}

impl Scenario {
    /// Returns a scenario with so many candidates, this network and this end, without faults.
    pub const fn new(candidates: usize, network: Network, end: End) -> Self {
        Self { candidates, network, script: Script::new(), shift: Duration::ZERO, end }
    }

    /// Adds this fault at this true time.
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
    /// Checks that the election and the scenario fit each other.
    ///
    /// # Errors
    /// [`Senseless`] names the part that does not fit.
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

    /// Plays the run of one seed as part of a measurement. If that is [cancelled](Progress::cancel), the run stops at
    /// once.
    pub fn run_under(&self, seed: u64, progress: &Progress) -> History {
        self.election.play(self.scenario, seed, progress)
    }

    /// Plays the runs of `runs` seeds from `seed` on, on all processors, and sums them up. After a
    /// [cancel](Progress::cancel) it sums up the finished runs.
    pub fn measure(&self, seed: u64, runs: u64, progress: &Progress) -> Summary {
        let run = |index| {
            let seed = seed.wrapping_add(index);
            (seed, self.run_under(seed, progress))
        };
        measure::over(0..runs, progress, run).into_iter().collect()
    }
}
