//! Turns the arguments of `elect simulate` into elections and scenarios of the simulated world.

mod script;

use std::env;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use elect_api::{Cadence, Lease, Order, Price};
use elect_simulation::replicas::Replicas;
use elect_simulation::{Delay, Election};
use elect_system::path;

pub use self::script::{Cast, between_those};
use crate::election::timing::TimingOptions;
use crate::simulate::args::{LeaseArgs, NetworkArgs, RoundTrip, Simulated, parse_trip};
use crate::simulate::model::{InQueue, Leases, OnRecord, Proof, Setup};

/// The factor by which members wait longer between messages if no fault can separate them.
const CALM: u32 = 10;

/// An election of elect with leases of one length.
pub struct Leased {
    /// The properties of each candidate.
    pub setup: Setup,
    /// The election.
    pub election: Box<dyn Election>,
}

/// Makes an election with leases of this length, on this kind of store. If faults can separate the store's members,
/// they send heartbeats as often as real members do. If not, most heartbeats would change nothing. Then the members
/// send a tenth of them, so that a run takes less time.
///
/// # Errors
/// Such a lease leaves no time to renew it.
pub fn leases(
    kind: Simulated,
    network: &NetworkArgs,
    lease: &LeaseArgs,
    (ttl, stops_within): (Duration, Option<Duration>),
    is_troubled: bool,
) -> anyhow::Result<Leased> {
    let options = TimingOptions {
        ttl,
        kill_grace: lease.kill_grace,
        max_clock_drift: lease.max_clock_drift.unwrap_or(TimingOptions::default().max_clock_drift),
    };
    let setup = Setup { options, lease: Lease::Timed(facts(kind).1), stops_within };
    setup.timing()?;
    let mut replicas = Replicas::of(network.members(kind).into());
    if !is_troubled {
        replicas.election_timeout *= CALM;
        replicas.heartbeat *= CALM;
    }
    let queue = |usual, proof| {
        let expires_every = network.tick.unwrap_or(Duration::from_millis(usual));
        let (kind, setup) = (InQueue { expires_every, proof }, setup.clone());
        Box::new(Leases { kind, setup, replicas })
    };
    let election: Box<dyn Election> = match kind {
        Simulated::Etcd => queue(500, Proof::Renewal),
        #[cfg(feature = "zookeeper")]
        Simulated::ZooKeeper => queue(2000, Proof::Session),
        Simulated::Kubernetes
        | Simulated::Consul
        | Simulated::DynamoDb
        | Simulated::MariaDb
        | Simulated::PostgreSql
        | Simulated::Redis
        | Simulated::S3 => {
            let kind = OnRecord { election: "simulated".parse()? };
            Box::new(Leases { kind, setup: setup.clone(), replicas })
        }
    };
    Ok(Leased { setup, election })
}

/// The name of the store, for people.
pub fn store(network: &NetworkArgs) -> String {
    let (kind, _) = facts(network.store);
    match network.members(network.store) {
        1 => format!("{kind} with one member"),
        members => format!("{kind} with {members} members"),
    }
}

/// The name of a kind of store, and its cadence of renewals.
const fn facts(kind: Simulated) -> (&'static str, Cadence) {
    match kind {
        Simulated::Etcd => ("etcd", Cadence::LEASE),
        #[cfg(feature = "zookeeper")]
        Simulated::ZooKeeper => ("ZooKeeper", Cadence::SESSION),
        Simulated::Kubernetes => ("Kubernetes", Cadence::RECORD),
        Simulated::Consul => ("Consul", Cadence::RECORD),
        Simulated::DynamoDb => ("DynamoDB", Cadence::RECORD),
        Simulated::MariaDb => ("MariaDB", Cadence::RECORD),
        Simulated::PostgreSql => ("PostgreSQL", Cadence::RECORD),
        Simulated::Redis => ("Redis", Cadence::RECORD),
        Simulated::S3 => ("S3", Cadence::RECORD),
    }
}

/// What requests to this kind of store cost, and in which order its candidates lead by default; `None` if they cost
/// nothing.
pub const fn price(kind: Simulated) -> Option<(Price, Order)> {
    match kind {
        #[cfg(feature = "cloud")]
        Simulated::DynamoDb => Some((elect_dynamodb::PRICE, Order::Race)),
        #[cfg(feature = "cloud")]
        Simulated::S3 => Some((elect_objects::PRICE, Order::Race)),
        _ => None,
    }
}

/// The delay of one direction of a round trip.
fn one_way(rtt: &RoundTrip) -> anyhow::Result<Delay> {
    match rtt {
        RoundTrip::Given(delay) => Ok(delay.clone()),
        RoundTrip::Measured(file) => measured(file),
    }
}

/// The delay of one direction, from the round trips in a file.
fn measured(file: &Path) -> anyhow::Result<Delay> {
    let name = file.display();
    let text = path::read(file).with_context(|| format!("cannot read {name}"))?;
    let text = String::from_utf8_lossy(&text);
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

/// The round trip of each endpoint in a report of `elect doctor`.
fn trips_of_doctor(report: &serde_json::Value) -> Vec<Duration> {
    let endpoints = report["endpoints"].as_array().into_iter().flatten();
    let trips = endpoints.filter_map(|endpoint| endpoint["round_trip_ms"].as_f64());
    trips.filter_map(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()).collect()
}

fn lines(text: &str) -> anyhow::Result<Vec<Duration>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| parse_trip(line).map_err(anyhow::Error::msg)).collect()
}

/// Whether the locale allows characters other than ASCII in output.
pub fn has_unicode() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| env::var(name).ok());
    let first = set.into_iter().find(|value| !value.is_empty());
    first.is_some_and(|locale| locale.to_lowercase().replace('-', "").ends_with("utf8"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::BackendUrl;
    use crate::config::connect;

    /// Simulated leases renew as often as those of the real stores.
    #[test]
    fn leases_are_as_the_stores_have_them() {
        let stores = [
            #[cfg(feature = "etcd")]
            ("etcd://localhost", Simulated::Etcd),
            #[cfg(feature = "zookeeper")]
            ("zk://localhost", Simulated::ZooKeeper),
            #[cfg(feature = "consul")]
            ("consul://localhost", Simulated::Consul),
            #[cfg(feature = "cloud")]
            ("dynamodb://elect?region=eu-west-1", Simulated::DynamoDb),
            #[cfg(feature = "cloud")]
            ("s3://elect?region=eu-west-1", Simulated::S3),
            #[cfg(feature = "mariadb")]
            ("mariadb://me@localhost/jobs", Simulated::MariaDb),
            #[cfg(feature = "postgresql")]
            ("postgresql://me@localhost/jobs", Simulated::PostgreSql),
            #[cfg(feature = "redis")]
            ("redis://localhost", Simulated::Redis),
        ];
        for (url, store) in stores {
            let url: BackendUrl = url.parse().unwrap();
            assert_eq!(
                connect(&url).unwrap().profile().lease,
                Lease::Timed(facts(store).1),
                "{url}"
            );
        }
    }

    #[test]
    fn measured_delays_are_read_from_doctors_report_or_a_list() {
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
        for bad in ["", "soon", "4", "{}", "[1]", r#"{"endpoints": [{"round_trip_ms": null}]}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
        fs::remove_file(&file).unwrap();
        assert!(measured(&file).unwrap_err().to_string().contains("cannot read"));
    }
}
