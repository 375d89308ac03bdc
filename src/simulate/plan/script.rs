//! Turns the fault flags of a simulation into a script of faults.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{bail, ensure};
use elect_simulation::{Drift, End, Fault, Network, NodeId, PerMillion, Scenario, Who};

use super::one_way;
use crate::simulate::args::{
    Between, Blow, Drifting, FaultArgs, OneWay, RoundTrip, Sides, Timed, When, Whom,
};

/// The time by which an undisturbed election has a leader.
const SETTLED: Duration = Duration::from_secs(20);
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
    fn node(self, whom: Whom) -> anyhow::Result<NodeId> {
        let Self { candidates, members, .. } = self;
        match whom {
            Whom::Leader => bail!("who leads is not known beforehand: name each by its number"),
            Whom::Candidate(number) => {
                ensure!(
                    number <= candidates,
                    "there is no candidate {number}: they are 1 to {candidates}"
                );
                Ok(number - 1)
            }
            Whom::Member(number) if members == 0 => {
                bail!(
                    "the faults of a comparison are of candidates, and s{number} is a member of a store"
                )
            }
            Whom::Member(number) => {
                ensure!(
                    number <= members,
                    "the store has no member s{number}: they are s1 to s{members}"
                );
                Ok(candidates + number - 1)
            }
        }
    }

    fn who(self, whom: Whom) -> anyhow::Result<Who> {
        Ok(match whom {
            Whom::Leader => Who::Leader,
            whom => Who::Node(self.node(whom)?),
        })
    }

    /// The nodes of each side. No node may be on two sides.
    fn sides(self, Sides(sides): &Sides) -> anyhow::Result<Vec<Vec<NodeId>>> {
        let side = |side: &Vec<Whom>| side.iter().map(|whom| self.node(*whom)).collect();
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
        let last = script.iter().map(|(at, _)| *at).max().unwrap_or_default().max(SETTLED);
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
        let mut during = |when: When, fault: Fault, mended: Fault| {
            script.push((when.from, fault));
            script.extend(when.until.map(|until| (until, mended)));
        };
        for Timed { what: Blow { whom, process }, when } in &faults.kill {
            let who = self.who(*whom)?;
            let fault = process.map_or(Fault::Kill(who), |it| Fault::KillProcess(who, it));
            during(*when, fault, Fault::Restart(who));
        }
        for Timed { what: Blow { whom, process }, when } in &faults.pause {
            let who = self.who(*whom)?;
            let fault = process.map_or(Fault::Pause(who), |it| Fault::PauseProcess(who, it));
            during(*when, fault, Fault::Resume(who));
        }
        for Timed { what, when } in &faults.suspend {
            let who = self.who(machine(what, "--suspend")?)?;
            during(*when, Fault::Suspend(who), Fault::Resume(who));
        }
        for Timed { what, when } in &faults.isolate {
            during(*when, Fault::Isolate(self.who(machine(what, "--isolate")?)?), Fault::Heal);
        }
        for Timed { what, when } in &faults.split {
            during(*when, Fault::Split(self.sides(what)?), Fault::Heal);
        }
        for Timed { what: OneWay { from, to }, when } in &faults.one_way {
            let (from, to) = (self.node(*from)?, self.node(*to)?);
            during(*when, Fault::OneWay { from, to }, Fault::Heal);
        }
        for Timed { what: Drifting { whom, drift }, when } in &faults.drift {
            let who = self.who(*whom)?;
            ensure!(
                who != Who::Leader || when.until.is_none(),
                "a drift of the leader cannot end, as another one may lead by then: name it by its number"
            );
            during(*when, Fault::Drift(who, *drift), Fault::Drift(who, Drift::NONE));
        }
        for Timed { what: share, when } in &faults.loss {
            during(*when, Fault::Loss(*share), Fault::Loss(PerMillion::NONE));
        }
        if script.is_empty() {
            script.push((self.usual_time, Fault::Kill(Who::Leader)));
        }
        script.sort_by_key(|(at, fault)| (*at, !mends(fault)));
        refuse_half_mended(faults)?;
        Ok(script)
    }
}

/// The same regions, without the nodes that do not take part.
pub fn between_those(between: &[Between], plays: impl Fn(Whom) -> bool) -> Vec<Between> {
    let mut all = between.to_vec();
    for side in all.iter_mut().flat_map(|between| &mut between.sides.0) {
        side.retain(|whom| plays(*whom));
    }
    all
}

/// Refuses overlapping faults that end at different times. The end of a fault ends all faults of its kind, so those
/// that overlap must end together.
fn refuse_half_mended(faults: &FaultArgs) -> anyhow::Result<()> {
    fn spans<T, K>(faults: &[Timed<T>], of: impl Fn(&T) -> K) -> Vec<(K, When)> {
        faults.iter().map(|fault| (of(&fault.what), fault.when)).collect()
    }
    let cuts = spans(&faults.isolate, |_| ());
    let cuts = [cuts, spans(&faults.split, |_| ()), spans(&faults.one_way, |_| ())].concat();
    end_together("cuts of the network", &cuts)?;
    end_together("losses of messages", &spans(&faults.loss, |_| ()))?;
    end_together("drifts of one clock", &spans(&faults.drift, |drifting| drifting.whom))?;
    let [kills, pauses, suspends] =
        [&faults.kill, &faults.pause, &faults.suspend].map(|blows| spans(blows, |it| it.whom));
    let stops = [pauses, suspends].concat();
    end_together("kills of one machine", &kills)?;
    end_together("stops of one machine", &stops)?;
    // The end of a leader's fault applies to the last leader that was hit.
    let mut of_leader = [kills, stops].concat();
    of_leader.retain(|(whom, _)| *whom == Whom::Leader);
    let is_plain = of_leader.iter().enumerate().all(|(index, (_, one))| {
        let mut later = of_leader[index + 1..].iter().map(|(_, when)| when);
        later.all(|other| !meet(*one, *other) || one.until.is_none() && other.until.is_none())
    });
    ensure!(
        is_plain,
        "two faults of the leader overlap, and by the second another may lead: name it by its number"
    );
    Ok(())
}

/// Refuses spans of one owner that overlap, and end at different times.
fn end_together<T: PartialEq>(what: &str, spans: &[(T, When)]) -> anyhow::Result<()> {
    let are_mended = spans.iter().all(|(of, one)| {
        let mut same = spans.iter().filter(|(other, _)| other == of);
        same.all(|(_, other)| !meet(*one, *other) || one.until == other.until)
    });
    ensure!(are_mended, "{what} that overlap have to end at the same time");
    Ok(())
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

/// The node of a fault that applies to a whole machine, and not to a process.
fn machine(blow: &Blow, flag: &str) -> anyhow::Result<Whom> {
    ensure!(
        blow.process.is_none(),
        "{flag} names a machine, not a process: leave out the dot and what follows it"
    );
    Ok(blow.whom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_that_overlap_end_together() {
        let cast = Cast { candidates: 2, members: 1, usual_time: Duration::ZERO };
        let faults = |words: &[&str]| FaultArgs {
            isolate: words.iter().map(|word| word.parse().unwrap()).collect(),
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
            kill: words.iter().map(|word| word.parse().unwrap()).collect(),
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
