//! Turns the fault flags of a simulation into a script of faults.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{bail, ensure};
use elect_simulation::{Drift, End, Fault, Network, NodeId, PerMillion, Process, Scenario, Target};

use super::one_way;
use crate::simulate::args::{Between, FaultArgs, NodeName, RoundTrip, Sides, Timed, What, When};

/// The time by which an undisturbed election has a leader.
const FIRST_LEADER: Duration = Duration::from_secs(20);
/// The number of leases for which a run goes on after the last fault.
const LEASES_AFTER: u32 = 4;
/// The greatest length of a run: an hour.
const LONGEST: Duration = Duration::from_secs(3600);

/// The nodes of a simulation, and the default fault.
#[derive(Clone, Copy, Debug)]
pub struct Cast {
    /// The number of candidates.
    pub candidates: usize,
    /// The number of members of the store. Their node ids follow those of the candidates.
    pub members: usize,
    /// The time at which the leader dies, if no other fault is given.
    pub usual_time: Duration,
}

impl Cast {
    fn node(self, node: NodeName) -> anyhow::Result<NodeId> {
        let Self { candidates, members, .. } = self;
        match node {
            NodeName::Leader => bail!("who leads is not known beforehand: name each by its number"),
            NodeName::Candidate(number) => {
                ensure!(
                    number <= candidates,
                    "there is no candidate {number}: they are 1 to {candidates}"
                );
                Ok(number - 1)
            }
            NodeName::Member(number) if members == 0 => {
                bail!(
                    "the faults of a comparison are of candidates, and s{number} is a member of a store"
                )
            }
            NodeName::Member(number) => {
                ensure!(
                    number <= members,
                    "the store has no member s{number}: they are s1 to s{members}"
                );
                Ok(candidates + number - 1)
            }
        }
    }

    fn target(self, node: NodeName) -> anyhow::Result<Target> {
        Ok(match node {
            NodeName::Leader => Target::Leader,
            node => Target::Node(self.node(node)?),
        })
    }

    /// The nodes of each side. No node may be on two sides.
    fn sides(self, Sides(sides): &Sides) -> anyhow::Result<Vec<Vec<NodeId>>> {
        let side = |side: &Vec<NodeName>| side.iter().map(|node| self.node(*node)).collect();
        let sides = sides.iter().map(side).collect::<anyhow::Result<Vec<Vec<_>>>>()?;
        let mut named = BTreeSet::new();
        if let Some(twice) = sides.iter().flatten().find(|node| !named.insert(**node)) {
            bail!("{} is named twice: name each once", self.name(*twice));
        }
        Ok(sides)
    }

    /// The network between all nodes. Nodes of different sides have the round trip of that separation.
    ///
    /// # Errors
    /// If a node does not exist or is named twice. If a file of measured round trips cannot be read, or has none.
    pub fn network(self, rtt: &RoundTrip, between: &[Between]) -> anyhow::Result<Network> {
        let mut network = Network::new(one_way(rtt)?);
        for Between { sides, rtt } in between {
            let (sides, delay) = (self.sides(sides)?, one_way(rtt)?);
            for (index, side) in sides.iter().enumerate() {
                for other in sides[index + 1..].iter().flatten() {
                    for one in side {
                        network = network.with_link(*one, *other, delay.clone());
                    }
                }
            }
        }
        Ok(network)
    }

    /// The name of a node for people: 1, or s1.
    pub fn name(self, node: NodeId) -> String {
        match node.checked_sub(self.candidates) {
            None => (node + 1).to_string(),
            Some(member) => format!("s{}", member + 1),
        }
    }

    /// The scenario of these faults. Without any fault, the leader is killed. In each run all faults are later by one
    /// random time of up to `shift`.
    ///
    /// # Errors
    /// If a fault concerns a node that does not exist, or comes after the end.
    pub fn scenario(
        self,
        network: Network,
        faults: &FaultArgs,
        (ttl, length): (Duration, Option<Duration>),
        shift: Duration,
    ) -> anyhow::Result<Scenario> {
        let script = self.script(faults)?;
        let last = script.iter().map(|(at, _)| *at).max().unwrap_or_default().max(FIRST_LEADER);
        let end = length.unwrap_or(last + ttl * LEASES_AFTER + shift);
        ensure!(end <= LONGEST, "a run of {end:?} is too long: take at most an hour");
        ensure!(
            last + shift <= end,
            "the last fault comes by {:?}, and the run ends at {end:?}: take a longer --for",
            last + shift
        );
        let mut scenario = Scenario::new(self.candidates, network, End::At(end));
        scenario.shift = shift;
        for (at, fault) in script {
            scenario = scenario.with(at, fault);
        }
        Ok(scenario)
    }

    fn script(self, faults: &FaultArgs) -> anyhow::Result<Vec<(Duration, Fault)>> {
        let mut script = Vec::new();
        for Timed { what, when } in faults.all() {
            let (fault, mended) = self.fault(what, *when)?;
            script.push((when.from, fault));
            script.extend(when.until.map(|until| (until, mended)));
        }
        if script.is_empty() {
            script.push((self.usual_time, Fault::Kill(Target::Leader)));
        }
        script.sort_by_key(|(at, fault)| (*at, !mends(fault)));
        refuse_half_mended(faults)?;
        Ok(script)
    }

    /// A fault, and what ends it.
    fn fault(self, what: &What, when: When) -> anyhow::Result<(Fault, Fault)> {
        Ok(match *what {
            What::Kill(node, process) => {
                let target = self.target(node)?;
                let fault =
                    process.map_or(Fault::Kill(target), |it| Fault::KillProcess(target, it));
                (fault, Fault::Restart(target))
            }
            What::Pause(node, process) => {
                let target = self.target(node)?;
                let fault =
                    process.map_or(Fault::Pause(target), |it| Fault::PauseProcess(target, it));
                (fault, Fault::Resume(target))
            }
            What::Suspend(node, process) => {
                refuse_process(process, "--suspend")?;
                let target = self.target(node)?;
                (Fault::Suspend(target), Fault::Resume(target))
            }
            What::Isolate(node, process) => {
                refuse_process(process, "--isolate")?;
                (Fault::Isolate(self.target(node)?), Fault::Heal)
            }
            What::Split(ref sides) => (Fault::Split(self.sides(sides)?), Fault::Heal),
            What::OneWay(from, to) => {
                (Fault::OneWay { from: self.node(from)?, to: self.node(to)? }, Fault::Heal)
            }
            What::Drift(node, drift) => {
                let target = self.target(node)?;
                ensure!(
                    target != Target::Leader || when.until.is_none(),
                    "a drift of the leader cannot end, as another one may lead by then: name it by its number"
                );
                (Fault::Drift(target, drift), Fault::Drift(target, Drift::NONE))
            }
            What::Loss(share) => (Fault::Loss(share), Fault::Loss(PerMillion::NONE)),
        })
    }
}

/// The same regions, without the nodes that do not take part.
pub fn between_those(between: &[Between], plays: impl Fn(NodeName) -> bool) -> Vec<Between> {
    let mut all = between.to_vec();
    for side in all.iter_mut().flat_map(|between| &mut between.sides.0) {
        side.retain(|node| plays(*node));
    }
    all
}

/// Refuses overlapping faults that end at different times. The end of a fault ends all faults of its kind, so those
/// that overlap must end together.
fn refuse_half_mended(faults: &FaultArgs) -> anyhow::Result<()> {
    let all: Vec<&Timed> = faults.all().collect();
    for (index, one) in all.iter().enumerate() {
        for other in all[index + 1..].iter().filter(|other| meet(one.when, other.when)) {
            let (kind, of_other) = (kind(&one.what), kind(&other.what));
            ensure!(
                kind != of_other || one.when.until == other.when.until,
                "{} that overlap have to end at the same time",
                kind.0
            );
            // The end of a leader's fault applies to the last leader that was hit.
            let hit_leader = [kind, of_other]
                .iter()
                .all(|(name, node)| *node == Some(NodeName::Leader) && *name != DRIFTS);
            ensure!(
                !hit_leader || one.when.until.is_none() && other.when.until.is_none(),
                "two faults of the leader overlap, and by the second another may lead: name it by its number"
            );
        }
    }
    Ok(())
}

const DRIFTS: &str = "drifts of one clock";

/// The name of the faults that end together with this one, and their node if they hit only one.
const fn kind(what: &What) -> (&'static str, Option<NodeName>) {
    match *what {
        What::Isolate(..) | What::Split(_) | What::OneWay(..) => ("cuts of the network", None),
        What::Loss(_) => ("losses of messages", None),
        What::Drift(node, _) => (DRIFTS, Some(node)),
        What::Kill(node, _) => ("kills of one machine", Some(node)),
        What::Pause(node, _) | What::Suspend(node, _) => ("stops of one machine", Some(node)),
    }
}

fn meet(one: When, other: When) -> bool {
    let end = |when: When| when.until.unwrap_or(Duration::MAX);
    one.from < end(other) && other.from < end(one)
}

/// Whether this ends a fault. Ends are sorted before faults that begin at the same time.
fn mends(fault: &Fault) -> bool {
    match fault {
        Fault::Heal | Fault::Restart(_) | Fault::Resume(_) => true,
        Fault::Loss(share) => *share == PerMillion::NONE,
        Fault::Drift(_, drift) => *drift == Drift::NONE,
        _ => false,
    }
}

/// Refuses a process where a fault applies to a whole machine.
fn refuse_process(process: Option<Process>, flag: &str) -> anyhow::Result<()> {
    ensure!(
        process.is_none(),
        "{flag} names a machine, not a process: leave out the dot and what follows it"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_that_overlap_end_together() {
        let cast = Cast { candidates: 2, members: 1, usual_time: Duration::ZERO };
        let faults = |words: &[&str]| FaultArgs {
            isolate: words.iter().map(|word| Timed::blow(word, What::Isolate).unwrap()).collect(),
            ..FaultArgs::default()
        };
        assert!(cast.script(&faults(&["1@5s..9s", "2@6s..9s"])).is_ok());
        assert!(cast.script(&faults(&["1@5s..9s", "2@9s..12s", "1@20s"])).is_ok());
        let error = cast.script(&faults(&["1@5s..9s", "2@6s..12s"])).unwrap_err();
        assert!(error.to_string().contains("end at the same time"), "{error}");
        for bad in [["1@20s..40s", "2@35s"], ["1@30s", "2@10s..31s"]] {
            assert!(cast.script(&faults(&bad)).is_err(), "{bad:?}");
        }
        let script = cast.script(&faults(&["2@30s..90s", "1@10s..30s"])).unwrap();
        assert_eq!((script[1].1.clone(), script[2].0), (Fault::Heal, Duration::from_secs(30)));
        let kills = |words: &[&str]| FaultArgs {
            kill: words.iter().map(|word| Timed::blow(word, What::Kill).unwrap()).collect(),
            ..FaultArgs::default()
        };
        for bad in [["1@10s..30s", "1@20s..90s"], ["leader@20s..80s", "leader@45s..80s"]] {
            assert!(cast.script(&kills(&bad)).is_err(), "{bad:?}");
        }
        for good in [["1@10s..30s", "2@20s..90s"], ["leader@20s", "leader@45s"]] {
            assert!(cast.script(&kills(&good)).is_ok(), "{good:?}");
        }
        let error = cast.script(&faults(&["3@5s"])).unwrap_err();
        assert!(error.to_string().contains("no candidate 3"), "{error}");
    }
}
