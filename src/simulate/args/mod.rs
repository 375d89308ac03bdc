//! The arguments of `elect simulate`.

mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use self::values::parse_tolerance;
pub use self::values::{
    Between, NodeName, Outage, RoundTrip, Sides, Timed, USUAL_TIME, What, When, parse_trip, share,
};
use crate::cli::values::{parse_share, parse_ttl};
use crate::cli::{OutputFormat, parse_duration};

/// The arguments of `elect simulate`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/simulate.txt"), disable_help_subcommand = true)]
pub struct SimulateArgs {
    /// What to simulate.
    #[command(subcommand)]
    pub command: SimulateCommand,
}

/// The subcommands of `elect simulate`.
#[derive(Debug, Subcommand)]
pub enum SimulateCommand {
    /// Find the TTL for a network and its outages
    Ttl(TtlArgs),
    /// Show what an election does when things go wrong
    WhatIf(WhatIfArgs),
    /// Compare elect with other elections
    Compare(CompareArgs),
}

/// A store that is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Simulated {
    /// etcd, where the store ends leases, and looks for them twice a second.
    #[value(help = "Leases, which etcd ends")]
    Etcd,
    /// ZooKeeper, where the store ends sessions, tick by tick.
    #[cfg(feature = "zookeeper")]
    #[value(name = "zookeeper", help = "Sessions, which ZooKeeper ends tick by tick")]
    ZooKeeper,
    /// Kubernetes. There, and on all that follow, candidates judge the leases in a record.
    #[value(help = "Leases that the candidates judge by their own clocks")]
    Kubernetes,
    /// Consul.
    #[value(help = "The same, in its keys")]
    Consul,
    /// DynamoDB.
    #[value(name = "dynamodb", help = "The same, in a table")]
    DynamoDb,
    /// MariaDB and MySQL.
    #[value(name = "mariadb", help = "The same, in a table")]
    MariaDb,
    /// S3.
    #[value(name = "s3", help = "The same, in objects")]
    S3,
    /// PostgreSQL.
    #[value(name = "postgresql", help = "The same, in a table")]
    PostgreSql,
    /// Redis and Valkey.
    #[value(help = "The same, in its keys")]
    Redis,
}

const NETWORK: &str = "Network and store";
const LEASE: &str = "Lease, as for `elect run`";
const FAULTS: &str = "What goes wrong";
const OUTPUT: &str = "Runs and output";

/// The network and the store.
#[derive(Args, Debug)]
pub struct NetworkArgs {
    /// Round trip between two machines [default: 1ms]
    ///
    /// What ping shows: 80ms always, 60ms..100ms evenly, normal:80ms:5ms (mean, standard deviation), or
    /// lognormal:80ms:0.3 (median, sigma). @FILE reads round trips that were measured: the JSON of `elect doctor
    /// -o json`, or one duration a line. Each way takes half.
    #[arg(long, env = "ELECT_RTT", value_name = "TIME", default_value = "1ms", hide_default_value = true, allow_hyphen_values = true, help_heading = NETWORK)]
    pub rtt: RoundTrip,

    /// Round trip between regions: who is where, and the time
    ///
    /// In 1,s1/2,s2/s3=80ms candidate 1 and the store's member s1 are in one region, 2 and s2 in another, s3 alone in a
    /// third. Within a region it is --rtt, and so it is for all that are not named. Of several that name the same two
    /// the last counts.
    #[arg(long, env = "ELECT_BETWEEN", value_name = "SIDES=TIME", value_delimiter = ' ', allow_hyphen_values = true, help_heading = NETWORK)]
    pub between: Vec<Between>,

    /// Kind of store
    #[arg(long, env = "ELECT_STORE", value_enum, value_name = "STORE", default_value_t = Simulated::Etcd, help_heading = NETWORK)]
    pub store: Simulated,

    /// Members of the store [default: 3, or 1 of a database or a cloud]
    ///
    /// From 1 to 9. They elect a leader among themselves, and need a majority. Databases and services in a cloud have
    /// one that takes writes.
    #[arg(long, env = "ELECT_MEMBERS", value_name = "N", value_parser = clap::value_parser!(u8).range(1..=9), help_heading = NETWORK)]
    pub members: Option<u8>,

    /// How often the store looks for leases that are over
    ///
    /// The default is 500ms for etcd, and 2s for ZooKeeper: there it is tickTime. The others do not look.
    #[arg(long, env = "ELECT_TICK", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = NETWORK)]
    pub tick: Option<Duration>,
}

impl NetworkArgs {
    /// Returns the number of the members of such a store.
    pub fn members(&self, store: Simulated) -> u8 {
        let usual = match store {
            Simulated::DynamoDb
            | Simulated::MariaDb
            | Simulated::PostgreSql
            | Simulated::Redis
            | Simulated::S3 => 1,
            _ => 3,
        };
        self.members.unwrap_or(usual)
    }
}

/// The lease.
#[derive(Args, Debug)]
pub struct LeaseArgs {
    /// Time to stop after leadership is lost [default: 4/15 of the TTL]
    #[arg(long, env = "ELECT_KILL_GRACE", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = LEASE)]
    pub kill_grace: Option<Duration>,

    /// Largest difference in clock speed [default: 10%]
    #[arg(long, env = "ELECT_MAX_CLOCK_DRIFT", value_name = "SHARE", value_parser = parse_share, allow_hyphen_values = true, help_heading = LEASE)]
    pub max_clock_drift: Option<f64>,
}

/// How many runs, and where to put what came of them.
#[derive(Args, Debug)]
pub struct OutputArgs {
    /// Seed of the first run
    ///
    /// The same seed gives the same run on every machine.
    #[arg(long, env = "ELECT_SEED", value_name = "N", default_value_t = 1, help_heading = OUTPUT)]
    pub seed: u64,

    /// Runs to measure
    #[arg(long, env = "ELECT_RUNS", value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = OUTPUT)]
    pub runs: u64,

    /// Output format: table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table, help_heading = OUTPUT)]
    pub output: OutputFormat,

    /// File to draw it into, as SVG
    ///
    /// `-` is stdout, in the place of the report.
    #[arg(long, env = "ELECT_SVG", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub svg: Option<PathBuf>,

    /// File to write it into, as a web page
    ///
    /// `-` is stdout, in the place of the report.
    #[arg(long, env = "ELECT_HTML", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub html: Option<PathBuf>,
}

/// What goes wrong.
#[derive(Args, Debug, Default)]
pub struct FaultArgs {
    /// Kill a machine, or processes of elect on it
    ///
    /// WHO is leader, the number of a candidate, or s1 for the store's first member. leader.wrapper and
    /// leader.guardian are one process of elect, leader.both are both of them. @20s says when, @20s..50s until when:
    /// then it starts again. Without a time it is at 30s.
    #[arg(long, env = "ELECT_KILL", value_name = "WHO@TIME", value_parser = |text: &str| Timed::blow(text, What::Kill), value_delimiter = ' ', help_heading = FAULTS)]
    pub kill: Vec<Timed>,

    /// Stop processes, as SIGSTOP does
    ///
    /// For a candidate both processes of elect, and not its command. For a member of the store all of it.
    #[arg(long, env = "ELECT_PAUSE", value_name = "WHO@TIME", value_parser = |text: &str| Timed::blow(text, What::Pause), value_delimiter = ' ', help_heading = FAULTS)]
    pub pause: Vec<Timed>,

    /// Stop a machine with its clock, as a hypervisor can
    ///
    /// Nothing can be promised then: two may lead once it goes on.
    #[arg(long, env = "ELECT_SUSPEND", value_name = "WHO@TIME", value_parser = |text: &str| Timed::blow(text, What::Suspend), value_delimiter = ' ', help_heading = FAULTS)]
    pub suspend: Vec<Timed>,

    /// Cut a machine off from all others
    #[arg(long, env = "ELECT_ISOLATE", value_name = "WHO@TIME", value_parser = |text: &str| Timed::blow(text, What::Isolate), value_delimiter = ' ', help_heading = FAULTS)]
    pub isolate: Vec<Timed>,

    /// Split the network: 1,s1/2,3,s2,s3@20s..50s
    #[arg(long, env = "ELECT_SPLIT", value_parser = Timed::split, value_name = "SIDES@TIME", value_delimiter = ' ', help_heading = FAULTS)]
    pub split: Vec<Timed>,

    /// Lose all messages of one way: 1:s1@20s..50s
    #[arg(long, env = "ELECT_ONE_WAY", value_parser = Timed::one_way, value_name = "FROM:TO@TIME", value_delimiter = ' ', help_heading = FAULTS)]
    pub one_way: Vec<Timed>,

    /// Let a clock run faster or slower: 1:+20%
    #[arg(long, env = "ELECT_DRIFT", value_parser = Timed::drift, value_name = "WHO:SHARE@TIME", value_delimiter = ' ', help_heading = FAULTS)]
    pub drift: Vec<Timed>,

    /// Lose messages: 5%@20s..50s
    #[arg(long, env = "ELECT_LOSS", value_parser = Timed::loss, value_name = "SHARE@TIME", value_delimiter = ' ', allow_hyphen_values = true, help_heading = FAULTS)]
    pub loss: Vec<Timed>,
}

impl FaultArgs {
    /// Returns all faults, flag by flag.
    pub fn all(&self) -> impl Iterator<Item = &Timed> {
        let Self { kill, pause, suspend, isolate, split, one_way, drift, loss } = self;
        [kill, pause, suspend, isolate, split, one_way, drift, loss].into_iter().flatten()
    }

    /// Returns whether any fault may separate the members of the store, or keep one of them from its work.
    pub fn trouble_the_store(&self) -> bool {
        self.all().any(|fault| match fault.what {
            What::Kill(node, _)
            | What::Pause(node, _)
            | What::Suspend(node, _)
            | What::Isolate(node, _)
            | What::Drift(node, _) => matches!(node, NodeName::Member(_)),
            What::Split(_) | What::OneWay(..) | What::Loss(_) => true,
        })
    }
}

/// The arguments of `elect simulate ttl`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/ttl.txt"))]
pub struct TtlArgs {
    /// The network and the store.
    #[command(flatten)]
    pub network: NetworkArgs,

    /// An outage of the network between a leader and the store
    ///
    /// 10s/week is one of 10 s each week, 2s*5/day are five of 2 s a day. Without one, elect takes 2s*2/day, 10s/week
    /// and 60s/year.
    #[arg(long, env = "ELECT_OUTAGE", value_name = "DUR/SPAN", value_delimiter = ' ', allow_hyphen_values = true, help_heading = FAULTS)]
    pub outage: Vec<Outage>,

    /// Messages that get lost all the time
    #[arg(long, env = "ELECT_LOSS", value_name = "SHARE", value_parser = parse_share, default_value_t = 0.0, allow_hyphen_values = true, help_heading = FAULTS)]
    pub loss: f64,

    /// Leaderships that may be lost for nothing in a month
    #[arg(long, env = "ELECT_TOLERATE", value_name = "N", value_parser = parse_tolerance, default_value_t = 0.1, allow_hyphen_values = true, help_heading = FAULTS)]
    pub tolerate: f64,

    /// The lease.
    #[command(flatten)]
    pub lease: LeaseArgs,

    /// Runs and output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The arguments of `elect simulate what-if`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/what-if.txt"))]
pub struct WhatIfArgs {
    /// Candidates
    #[arg(short, long, env = "ELECT_CANDIDATES", value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100), help_heading = NETWORK)]
    pub candidates: u16,

    /// The network and the store.
    #[command(flatten)]
    pub network: NetworkArgs,

    /// Length of the lease
    #[arg(long, env = "ELECT_TTL", value_name = "DUR", value_parser = parse_ttl, default_value = "15s", allow_hyphen_values = true, help_heading = LEASE)]
    pub ttl: Duration,

    /// The lease.
    #[command(flatten)]
    pub lease: LeaseArgs,

    /// How long a command takes to end once it is asked to
    ///
    /// Without it the command runs on until it is killed, which is the worst that it can do.
    #[arg(long, env = "ELECT_STOPS_WITHIN", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = LEASE)]
    pub stops_within: Option<Duration>,

    /// What goes wrong.
    #[command(flatten)]
    pub faults: FaultArgs,

    /// Time to simulate [default: four TTLs after the last fault]
    #[arg(long = "for", env = "ELECT_FOR", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = OUTPUT)]
    pub length: Option<Duration>,

    /// Runs and output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The arguments of `elect simulate compare`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/compare.txt"))]
pub struct CompareArgs {
    /// Candidates
    #[arg(short, long, env = "ELECT_CANDIDATES", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=100), help_heading = NETWORK)]
    pub candidates: u16,

    /// The network and the store.
    #[command(flatten)]
    pub network: NetworkArgs,

    /// Silence after which a leader counts as dead
    ///
    /// For elect it is the TTL.
    #[arg(long, env = "ELECT_TTL", value_name = "DUR", value_parser = parse_ttl, default_value = "15s", allow_hyphen_values = true, help_heading = LEASE)]
    pub ttl: Duration,

    /// The lease.
    #[command(flatten)]
    pub lease: LeaseArgs,

    /// What goes wrong.
    #[command(flatten)]
    pub faults: FaultArgs,

    /// Runs and output.
    #[command(flatten)]
    pub output: OutputArgs,
}
