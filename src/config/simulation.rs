//! What `elect simulate` is told, as elections and scenarios of the simulated world.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, bail, ensure};
use elect_api::{Cadence, Judge, Lease};
use elect_simulation::replicas::Replicas;
use elect_simulation::{Delay, Election, End, Fault, Network, NodeId, PerMillion, Scenario, Who};

use crate::cli::simulation::{
    Blow, FaultArgs, LeaseArgs, NetworkArgs, RoundTrip, StoreKind, When, Whom,
};
use crate::election::timing::Wishes;
#[cfg(feature = "kubernetes")]
use crate::simulation::OnRecord;
use crate::simulation::{InQueue, Leases, Proof, Setup};

/// By then everybody has found a leader.
const SETTLED: Duration = Duration::from_secs(20);
/// A run goes on for so many leases after the last fault.
const LEASES_AFTER: u32 = 4;
/// The longest run: an hour.
const LONGEST: Duration = Duration::from_secs(3600);

/// Whether members of the store may lose each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peace {
    /// They may: they talk as often as those of a real store.
    Troubled,
    /// They cannot, so that nothing comes of most of what they say: they talk a tenth as often, and a run takes less.
    Calm,
}

/// How much less often members talk that cannot lose each other.
const CALM: u32 = 10;

impl Peace {
    /// With these faults.
    pub fn of(faults: &FaultArgs) -> Self {
        if faults.trouble_the_store() { Self::Troubled } else { Self::Calm }
    }
}

/// elect's election with leases of one length.
pub struct Leased {
    /// What each candidate is like.
    pub setup: Setup,
    /// The election.
    pub election: Box<dyn Election>,
}

/// Leases of this length on the store that is asked for.
///
/// # Errors
/// Such a lease leaves no time to renew it.
pub fn leases(
    network: &NetworkArgs,
    lease: &LeaseArgs,
    ttl: Duration,
    stops_within: Option<Duration>,
    peace: Peace,
) -> anyhow::Result<Leased> {
    leases_on(network.store, network, lease, (ttl, stops_within), peace)
}

/// The same on another kind of store.
///
/// # Errors
/// As [`leases`].
pub fn leases_on(
    kind: StoreKind,
    network: &NetworkArgs,
    lease: &LeaseArgs,
    (ttl, stops_within): (Duration, Option<Duration>),
    peace: Peace,
) -> anyhow::Result<Leased> {
    let wishes = Wishes {
        ttl,
        kill_grace: lease.kill_grace,
        max_clock_drift: lease.max_clock_drift.unwrap_or(Wishes::default().max_clock_drift),
    };
    let cadence = match kind {
        StoreKind::Etcd => ETCD,
        #[cfg(feature = "zookeeper")]
        StoreKind::ZooKeeper => ZOOKEEPER,
        #[cfg(feature = "kubernetes")]
        StoreKind::Kubernetes => KUBERNETES,
    };
    let setup = Setup { wishes, lease: Lease::Timed(cadence), stops_within };
    setup.timing()?;
    let replicas = match (peace, Replicas::of(network.members.into())) {
        (Peace::Troubled, usual) => usual,
        (Peace::Calm, Replicas { members, election_timeout, heartbeat }) => Replicas {
            members,
            election_timeout: election_timeout * CALM,
            heartbeat: heartbeat * CALM,
        },
    };
    let tick = |usual| network.tick.unwrap_or(usual);
    let election: Box<dyn Election> = match kind {
        StoreKind::Etcd => {
            let looks_every = tick(Duration::from_millis(500));
            let kind = InQueue { looks_every, proof: Proof::Renewal };
            Box::new(Leases { kind, setup: setup.clone(), replicas })
        }
        #[cfg(feature = "zookeeper")]
        StoreKind::ZooKeeper => {
            let looks_every = tick(Duration::from_secs(2));
            let kind = InQueue { looks_every, proof: Proof::Session };
            Box::new(Leases { kind, setup: setup.clone(), replicas })
        }
        #[cfg(feature = "kubernetes")]
        StoreKind::Kubernetes => {
            let kind = OnRecord { election: "simulated".parse()? };
            Box::new(Leases { kind, setup: setup.clone(), replicas })
        }
    };
    Ok(Leased { setup, election })
}

/// What the store is, for people.
pub fn store(network: &NetworkArgs) -> String {
    let kind = match network.store {
        StoreKind::Etcd => "etcd",
        #[cfg(feature = "zookeeper")]
        StoreKind::ZooKeeper => "ZooKeeper",
        #[cfg(feature = "kubernetes")]
        StoreKind::Kubernetes => "Kubernetes",
    };
    match network.members {
        1 => format!("{kind} with one member"),
        members => format!("{kind} with {members} members"),
    }
}

/// A share that is given as a fraction of one.
///
/// # Errors
/// It is more than one, or negative.
pub fn share(fraction: f64) -> anyhow::Result<PerMillion> {
    Ok(PerMillion::new(format!("{:.0}", fraction * 1e6).parse()?)?)
}

/// How often leases are renewed in etcd, as its profile has it.
const ETCD: Cadence = Cadence { anchor_lag_48ths: 0, renew_48ths: 8, judge: Judge::Store };
/// The same in `ZooKeeper`.
#[cfg(feature = "zookeeper")]
const ZOOKEEPER: Cadence = Cadence { anchor_lag_48ths: 15, renew_48ths: 3, judge: Judge::Store };
/// The same in Kubernetes, where candidates judge.
#[cfg(feature = "kubernetes")]
const KUBERNETES: Cadence =
    Cadence { anchor_lag_48ths: 0, renew_48ths: 8, judge: Judge::Candidates };

/// The network that is asked for.
///
/// # Errors
/// The file with what was measured cannot be read, or has no round trips.
pub fn network(rtt: &RoundTrip) -> anyhow::Result<Network> {
    Ok(Network::new(match rtt {
        RoundTrip::Given(delay) => delay.clone(),
        RoundTrip::Measured(file) => measured(file)?,
    }))
}

/// One way of the round trips in a file.
fn measured(file: &Path) -> anyhow::Result<Delay> {
    let name = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    let trips = match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(found @ serde_json::Value::Object(_)) => trips_of_doctor(&found),
        _ => lines(&text).with_context(|| {
            format!("{name} is neither what `elect doctor -o json` writes nor a list of durations")
        })?,
    };
    ensure!(
        !trips.is_empty(),
        "{name} has no round trips: `elect doctor -o json -b URL` writes them"
    );
    Ok(Delay::measured(trips.into_iter().map(|trip| trip / 2).collect::<Vec<_>>())?)
}

/// Each endpoint's, as `elect doctor` reports them.
fn trips_of_doctor(report: &serde_json::Value) -> Vec<Duration> {
    let endpoints = report["endpoints"].as_array().into_iter().flatten();
    let trips = endpoints.filter_map(|endpoint| endpoint["round_trip_ms"].as_f64());
    trips.filter_map(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()).collect()
}

fn lines(text: &str) -> anyhow::Result<Vec<Duration>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| crate::cli::parse_duration(line).map_err(anyhow::Error::msg)).collect()
}

/// What so many candidates and members of a store go through.
#[derive(Clone, Copy, Debug)]
pub struct Cast {
    /// How many candidates there are.
    pub candidates: usize,
    /// How many members, which are behind them.
    pub members: usize,
    /// When the leader dies, where nothing else is to go wrong.
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

    /// What people call a node: 1, or s1.
    pub fn name(self, node: NodeId) -> String {
        match node.checked_sub(self.candidates) {
            None => (node + 1).to_string(),
            Some(member) => format!("s{}", member + 1),
        }
    }

    /// The scenario of these faults; that of a killed leader if there are none. In each run they come later by one time of
    /// up to `shift`.
    ///
    /// # Errors
    /// A fault is of somebody who is not there, or comes after the end.
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
        let mut during = |when: When, fault: Fault, mended: Option<Fault>| {
            script.push((when.from, fault));
            script.extend(when.until.zip(mended));
        };
        for Blow { whom, process, when } in &faults.kill {
            let who = self.who(*whom)?;
            let fault = match process {
                None => Fault::Kill(who),
                Some(process) => Fault::KillProcess(who, *process),
            };
            during(*when, fault, Some(Fault::Restart(who)));
        }
        for Blow { whom, process, when } in &faults.pause {
            let who = self.who(*whom)?;
            let fault = match process {
                None => Fault::Pause(who),
                Some(process) => Fault::PauseProcess(who, *process),
            };
            during(*when, fault, Some(Fault::Resume(who)));
        }
        for blow in &faults.suspend {
            let who = self.who(machine(blow, "--suspend")?)?;
            during(blow.when, Fault::Suspend(who), Some(Fault::Resume(who)));
        }
        for blow in &faults.isolate {
            let who = self.who(machine(blow, "--isolate")?)?;
            during(blow.when, Fault::Isolate(who), Some(Fault::Heal));
        }
        for split in &faults.split {
            let side = |side: &Vec<Whom>| side.iter().map(|whom| self.node(*whom)).collect();
            let sides = split.sides.iter().map(side).collect::<anyhow::Result<Vec<Vec<_>>>>()?;
            let mut named = BTreeSet::new();
            if let Some(twice) = sides.iter().flatten().find(|node| !named.insert(**node)) {
                bail!("a split names {} twice: name each once", self.name(*twice));
            }
            during(split.when, Fault::Split(sides), Some(Fault::Heal));
        }
        for link in &faults.one_way {
            let (from, to) = (self.node(link.from)?, self.node(link.to)?);
            during(link.when, Fault::OneWay { from, to }, Some(Fault::Heal));
        }
        for drifting in &faults.drift {
            let who = self.who(drifting.whom)?;
            ensure!(
                who != Who::Leader || drifting.when.until.is_none(),
                "a drift of the leader cannot end, as another one may lead by then: name it by its number"
            );
            let back = Fault::Drift(who, elect_simulation::Drift::NONE);
            during(drifting.when, Fault::Drift(who, drifting.drift), Some(back));
        }
        for losing in &faults.loss {
            during(losing.when, Fault::Loss(losing.share), Some(Fault::Loss(PerMillion::NONE)));
        }
        if script.is_empty() {
            script.push((self.usual_time, Fault::Kill(Who::Leader)));
        }
        script.sort_by_key(|(at, _)| *at);
        refuse_half_mended(&script)?;
        Ok(script)
    }
}

/// Whatever ends a cut mends the whole network: so cuts that overlap end at the same time.
fn refuse_half_mended(script: &[(Duration, Fault)]) -> anyhow::Result<()> {
    let is_cut =
        |fault: &Fault| matches!(fault, Fault::Isolate(_) | Fault::Split(_) | Fault::OneWay { .. });
    let mut open = 0_u32;
    let mut last = Duration::ZERO;
    for (at, fault) in script {
        if is_cut(fault) {
            open += 1;
        } else if *fault == Fault::Heal {
            ensure!(
                open > 0 || last == *at,
                "cuts of the network that overlap have to end at the same time"
            );
            (open, last) = (0, *at);
        }
    }
    Ok(())
}

/// Whether texts may have other characters than ASCII, as the locale has it.
pub fn has_unicode() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| env::var(name).ok());
    let first = set.into_iter().find(|value| !value.is_empty());
    first.is_some_and(|locale| locale.to_lowercase().replace('-', "").ends_with("utf8"))
}

/// Whose machine is meant, where a process of it cannot be.
fn machine(blow: &Blow, flag: &str) -> anyhow::Result<Whom> {
    ensure!(
        blow.process.is_none(),
        "{flag} is of a machine, not of a process: leave out what is behind the dot"
    );
    Ok(blow.whom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::BackendUrl;
    use crate::config::connect;

    /// What is simulated renews as what is deployed.
    #[test]
    fn leases_are_as_the_stores_have_them() {
        let cadences = [
            #[cfg(feature = "etcd")]
            ("etcd://localhost", ETCD),
            #[cfg(feature = "zookeeper")]
            ("zk://localhost", ZOOKEEPER),
        ];
        for (url, cadence) in cadences {
            let url: BackendUrl = url.parse().unwrap();
            assert_eq!(connect(&url).unwrap().profile().lease, Lease::Timed(cadence));
        }
    }

    #[test]
    fn what_was_measured_is_read_from_doctors_report_or_from_a_list() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rtt");
        let read = |text: &str| {
            fs::write(&file, text).unwrap();
            measured(&file)
        };
        let ms = Duration::from_millis;
        let expected = Delay::measured([ms(1), ms(2)]).unwrap();
        assert_eq!(read("2ms\n\n 4ms\n").unwrap(), expected);
        let report = r#"{"endpoints": [{"round_trip_ms": 2.0}, {"round_trip_ms": null}, {"round_trip_ms": 4.0}]}"#;
        assert_eq!(read(report).unwrap(), expected);
        for bad in ["", "soon", "{}", "[1]", r#"{"endpoints": [{"round_trip_ms": null}]}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
        fs::remove_file(&file).unwrap();
        assert!(measured(&file).unwrap_err().to_string().contains("cannot read"));
    }

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
        let error = cast.script(&faults(&["3@5s"])).unwrap_err();
        assert!(error.to_string().contains("no candidate 3"), "{error}");
    }
}
