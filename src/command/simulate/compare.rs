//! `elect simulate compare`: elect beside other elections, through the same faults.

use std::time::Duration;

use anyhow::bail;
use elect_simulation::peers::{Bully, Heartbeat, Ids, Raft, RaftOptions, Recipe, Recipes, Ring};
use elect_simulation::{Election, Trial, over};

use super::judged::{Judged, Sum, quantiles, ratio};
use super::{Played, Theatre, open_files, present, repeated};
use crate::cli::simulation::{CompareArgs, StoreKind, USUAL_TIME};
use crate::config::{Cast, Peace, leases_on, network};
use crate::report::Table;
use crate::report::picture::{Distribution, Quantiles, Report, Section};
use crate::report::simulation::{ComparedReport, ComparisonReport, Spread};

/// What is compared.
struct Entrant {
    name: &'static str,
    election: Box<dyn Election>,
}

/// The exit code is 0.
pub(super) fn compare(args: &CompareArgs, theatre: &Theatre<'_>) -> anyhow::Result<u8> {
    // Raft waits for up to two silences before it has its first leader.
    let settled = args.ttl * 2;
    let usual_time = USUAL_TIME.max(settled);
    let cast = Cast { candidates: args.candidates.into(), members: 0, usual_time };
    let network = network(&args.network.rtt)?;
    let (seed, runs) = (args.output.seed, args.output.runs);
    let (mut elections, mut rows, mut by, mut played) = (Vec::new(), Vec::new(), None, 0);
    let shift = args.ttl / 6;
    let scenario = cast.scenario(network, &args.faults, (args.ttl, None), shift)?;
    let mut times = scenario.script.faults().iter().map(|(at, _)| *at);
    if let Some(at) = times.find(|at| !at.is_zero() && *at < settled) {
        bail!(
            "a fault comes at {at:?}, and Raft may have no leader before {settled:?}, two times the silence: take a later \
             time, such as @{}, or a shorter --ttl",
            humantime::format_duration(settled).to_string().replace(' ', "")
        );
    }
    let entrants = entrants(args)?;
    open_files(&args.output)?;
    for Entrant { name, election } in entrants {
        let trial = Trial::new(&*election, &scenario)?;
        let Played { what: judged, by: signal } = theatre.play(name, runs, |progress| {
            over(0..runs, progress, |index| {
                let seed = seed.wrapping_add(index);
                Judged::new(seed, &trial.run(seed))
            })
        })?;
        played = judged.len();
        let sum = Sum(&judged);
        rows.extend(quantiles(name, &sum.failovers()));
        elections.push(ComparedReport {
            election: name.to_owned(),
            failover_ms: Spread::of(&sum.failovers()),
            unreplaced: sum.unreplaced().len(),
            messages: sum.messages(),
            overlaps: sum.overlaps(),
        });
        by = signal;
        if by.is_some() {
            break;
        }
    }
    let ended_early = by.is_some();
    let figures = ComparisonReport { seed, runs: played, ended_early, elections };
    let picture = picture(args, &figures, rows);
    present(&figures, &picture, &args.output, (0, by))
}

/// All elections, each with the same silence before a leader counts as dead.
fn entrants(args: &CompareArgs) -> anyhow::Result<Vec<Entrant>> {
    let ttl = args.ttl;
    let heartbeat = Heartbeat { interval: ttl / 6, patience: ttl };
    let answer_within = (ttl / 10).min(Duration::from_secs(2));
    let ring = Ring { heartbeat, acknowledged_within: answer_within, ids: Ids::Shuffled };
    let raft = RaftOptions { heartbeat: ttl / 6, ..RaftOptions::with_timeout(ttl, ttl * 2) };
    let safe = RaftOptions { pre_vote: true, stickiness: true, check_quorum: true, ..raft.clone() };
    let priorities = (1..=u32::from(args.candidates)).rev().map(|rank| rank * 10).collect();
    let ranked = RaftOptions { priorities: Some(priorities), ..raft.clone() };
    let recipe = |recipe| Recipes { recipe, session_timeout: ttl };
    let peace = Peace::of(&args.faults);
    let elect = |kind| leases_on(kind, &args.network, &args.lease, (ttl, None), peace);
    let entrant = |name, election| Entrant { name, election };
    let elects = |name, kind| Ok::<_, anyhow::Error>(entrant(name, elect(kind)?.election));
    Ok(vec![
        elects("elect on etcd", StoreKind::Etcd)?,
        #[cfg(feature = "zookeeper")]
        elects("elect on ZooKeeper", StoreKind::ZooKeeper)?,
        #[cfg(feature = "kubernetes")]
        elects("elect on Kubernetes", StoreKind::Kubernetes)?,
        entrant("ZooKeeper's queue", Box::new(recipe(Recipe::Queue))),
        entrant("naive herd", Box::new(recipe(Recipe::Herd))),
        entrant("Raft", Box::new(Raft::new(raft))),
        entrant("Raft as in etcd", Box::new(Raft::new(safe))),
        entrant("Raft as in NuRaft", Box::new(Raft::new(ranked))),
        entrant("Bully", Box::new(Bully { heartbeat, answer_within })),
        entrant("Chang-Roberts ring", Box::new(ring)),
    ])
}

fn picture(args: &CompareArgs, figures: &ComparisonReport, rows: Vec<Quantiles>) -> Report {
    let seconds = |ms: f64| format!("{:.1}s", ms / 1000.0);
    let mut table = Table::new(&[
        "ELECTION",
        "FAIL-OVER",
        "99 %",
        "NO LEADER",
        "MESSAGES",
        "TWO AT ONCE",
        "LONGEST",
    ])
    .without(&["MESSAGES", "99 %", "LONGEST", "NO LEADER"]);
    let percent = |count: usize| match count {
        0 => "never".to_owned(),
        _ => format!("{:.1} %", 100.0 * ratio(count, figures.runs)),
    };
    for row in &figures.elections {
        let failover = |of: fn(&Spread) -> f64| {
            row.failover_ms.as_ref().map_or_else(|| "-".to_owned(), |spread| seconds(of(spread)))
        };
        let overlaps = &row.overlaps;
        table.row([
            row.election.clone(),
            failover(|spread| spread.median),
            failover(|spread| spread.p99),
            percent(row.unreplaced),
            format!("{:.0}", row.messages),
            percent(overlaps.runs),
            if overlaps.runs == 0 { "-".to_owned() } else { seconds(overlaps.longest_ms) },
        ]);
    }
    let early = if figures.ended_early {
        "Ended early: elections are missing, and runs of the last one. "
    } else {
        ""
    };
    let caption = format!(
        "{early}{} candidates; all wait for {} of silence. Messages are from the last fault to the end of a run, heartbeats \
         among them, but for those within a store. As etcd has it, Raft takes pre-votes and checks \
         its quorum; as NuRaft has it, it knows priorities.",
        args.candidates,
        humantime::format_duration(args.ttl)
    );
    let distribution =
        Distribution { title: "From the first fault to the next leader".to_owned(), rows };
    Report {
        title: "elect beside other elections".to_owned(),
        command_line: repeated(figures.seed),
        seed: figures.seed,
        sections: vec![Section::Table(caption, table), Section::Distribution(distribution)],
    }
}
