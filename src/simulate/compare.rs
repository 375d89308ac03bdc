//! `elect simulate compare`: puts elect and other elections through the same faults.

use std::time::Duration;

use anyhow::bail;
use elect_simulation::peers::theory::{self, Theory};
use elect_simulation::peers::{Bully, Heartbeat, Ids, Raft, RaftOptions, Recipe, Recipes, Ring};
use elect_simulation::{Election, History, Scenario, Trial, over};

use super::args::{CompareArgs, NetworkArgs, NodeName, Simulated, USUAL_TIME};
use super::judged::{Judged, Sum, mean, ratio};
use super::picture::{Distribution, Quantiles, Report, Section};
use super::plan::{Cast, between_those, leases};
use super::report::{ComparedReport, ComparisonReport, Percentiles, TheoryReport, one_of, seconds};
use super::{Theatre, open_files, present, report};
use crate::report::Table;

/// An election to compare.
struct Entrant {
    name: &'static str,
    election: Box<dyn Election>,
    is_elect: bool,
    /// The known number of its messages in theory.
    theory: Option<Theory>,
}

impl Entrant {
    /// Returns how many messages of a run served to elect a leader. Returns `None` if no theory
    /// tells which do, or if no leader followed.
    fn to_elect(&self, run: &History, judged: &Judged) -> Option<u64> {
        judged.failover?;
        let sent = run.messages_since_fault();
        Some(self.theory?.kinds.iter().filter_map(|kind| sent.get(kind)).sum())
    }
}

/// Compares the elections. The exit code is 0.
pub(super) fn compare(args: &CompareArgs, theatre: &Theatre<'_>) -> anyhow::Result<u8> {
    // Raft may wait for two silences before it has its first leader.
    let led_by = args.ttl * 2;
    let usual_time = USUAL_TIME.max(led_by);
    let cast = Cast { candidates: args.candidates.into(), members: 0, usual_time };
    let NetworkArgs { rtt, between, .. } = &args.network;
    // Only the stores of elect have members, which may be far away.
    let of_elect = Cast { members: args.network.members(Simulated::Etcd).into(), ..cast }
        .network(rtt, between)?;
    let is_candidate = |node| !matches!(node, NodeName::Member(_));
    let network = cast.network(rtt, &between_those(between, is_candidate))?;
    let (seed, runs) = (args.output.seed, args.output.runs);
    let (mut elections, mut played) = (Vec::new(), 0);
    let shift = args.ttl / 6;
    let scenario = cast.scenario(network, &args.faults, (args.ttl, None), shift)?;
    let mut times = scenario.script.faults().iter().map(|(at, _)| *at);
    if let Some(at) = times.find(|at| !at.is_zero() && *at < led_by) {
        bail!(
            "a fault comes at {at:?}, and Raft may have no leader before {led_by:?}, two times the silence: take a later \
             time, such as @{}, or a shorter --ttl",
            humantime::format_duration(led_by).to_string().replace(' ', "")
        );
    }
    let entrants = entrants(args)?;
    let pictures = open_files(&args.output)?;
    let of_elect = Scenario { network: of_elect, ..scenario.clone() };
    for entrant in entrants {
        let name = entrant.name;
        let scenario = if entrant.is_elect { &of_elect } else { &scenario };
        let trial = Trial::new(&*entrant.election, scenario)?;
        let played_runs = theatre.play(name, runs, |progress| {
            over(0..runs, progress, |index| {
                let seed = seed.wrapping_add(index);
                let run = trial.run_under(seed, progress);
                let judged = Judged::new(seed, &run);
                (judged, entrant.to_elect(&run, &judged))
            })
        })?;
        if played_runs.is_empty() {
            break;
        }
        let (judged, to_elect): (Vec<_>, Vec<_>) = played_runs.into_iter().unzip();
        played = played.max(judged.len());
        let sum = Sum(&judged);
        let failover_ms = Percentiles::of(&sum.failovers());
        elections.push(ComparedReport {
            election: name.to_owned(),
            runs: judged.len(),
            failover_ms,
            unreplaced: sum.unreplaced().len(),
            messages: sum.messages(),
            to_elect: mean(to_elect.into_iter().flatten()),
            theory: entrant.theory.map(|Theory { least, most, .. }| TheoryReport { least, most }),
            overlaps: sum.overlaps(),
        });
        if theatre.has_ended_early() {
            break;
        }
    }
    let ended_early = theatre.has_ended_early();
    let figures = ComparisonReport { seed, runs: played, ended_early, elections };
    present(&figures, &picture(args, &figures), &pictures, args.output.output)?;
    Ok(0)
}

/// Returns all elections. Each waits for the same silence before a leader counts as dead.
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
    let is_troubled = args.faults.trouble_the_store();
    let elect = |kind| leases(kind, &args.network, &args.lease, (ttl, None), is_troubled);
    let entrant = |name, election, theory| Entrant { name, election, is_elect: false, theory };
    let elects = |name, kind, theory| {
        let election = elect(kind)?.election;
        Ok::<_, anyhow::Error>(Entrant { name, election, is_elect: true, theory })
    };
    let nodes = args.candidates.into();
    let (queue, herd) = (Some(theory::queue()), Some(theory::herd(nodes)));
    let raft_theory = |pre_vote| Some(theory::raft(nodes, pre_vote));
    Ok(vec![
        elects("elect on etcd", Simulated::Etcd, queue)?,
        #[cfg(feature = "zookeeper")]
        elects("elect on ZooKeeper", Simulated::ZooKeeper, queue)?,
        elects("elect on Kubernetes", Simulated::Kubernetes, None)?,
        entrant("ZooKeeper's queue", Box::new(recipe(Recipe::Queue)), queue),
        entrant("naive herd", Box::new(recipe(Recipe::Herd)), herd),
        entrant("Raft", Box::new(Raft::new(raft)), raft_theory(false)),
        entrant("Raft as in etcd", Box::new(Raft::new(safe)), raft_theory(true)),
        entrant("Raft as in NuRaft", Box::new(Raft::new(ranked)), raft_theory(false)),
        entrant("Bully", Box::new(Bully { heartbeat, answer_within }), Some(theory::bully(nodes))),
        entrant("Chang-Roberts ring", Box::new(ring), Some(theory::ring(nodes))),
    ])
}

fn picture(args: &CompareArgs, figures: &ComparisonReport) -> Report {
    let report = |sections| report("elect beside other elections", figures.seed, sections);
    if figures.elections.is_empty() {
        let why = "Ended early, before any election had a run.".to_owned();
        return report(vec![Section::Text(why)]);
    }
    let headings = ["ELECTION", "FAIL-OVER", "99 %", "NO LEADER", "TWO AT ONCE", "LONGEST"];
    let mut table = Table::new(&headings).without(&["99 %", "LONGEST", "NO LEADER"]);
    let mut messages = Table::new(&["ELECTION", "MESSAGES", "TO ELECT", "THEORY"]);
    for row in &figures.elections {
        let percent = |count: usize| match count {
            0 => "never".to_owned(),
            _ => format!("{:.1} %", 100.0 * ratio(count, row.runs)),
        };
        let (failover, overlaps) = (row.failover_ms.as_ref(), &row.overlaps);
        table.row([
            row.election.clone(),
            one_of(failover, |times| times.median),
            one_of(failover, |times| times.p99),
            percent(row.unreplaced),
            percent(overlaps.runs),
            if overlaps.runs == 0 { "-".to_owned() } else { seconds(overlaps.longest_ms) },
        ]);
        let unknown = || "-".to_owned();
        messages.row([
            row.election.clone(),
            format!("{:.0}", row.messages),
            row.to_elect.map_or_else(unknown, |mean| format!("{mean:.1}")),
            row.theory.as_ref().map_or_else(unknown, TheoryReport::to_string),
        ]);
    }
    let early = if figures.ended_early {
        "Ended early: elections are missing, and runs of the last one. "
    } else {
        ""
    };
    let caption = format!(
        "{early}{} candidates; all wait for {} of silence. As etcd has it, Raft takes pre-votes and checks its quorum; as \
         NuRaft has it, it knows priorities.",
        args.candidates,
        humantime::format_duration(args.ttl)
    );
    let counted = "From the last fault to the end of a run, heartbeats among them, but for those within a store. TO ELECT \
                   are those of the election itself, where the next leader came, and THEORY says how many one takes.";
    let mut sections = vec![Section::Table(caption, table)];
    let row = |row: &ComparedReport| {
        Some(Quantiles { label: row.election.clone(), times: row.failover_ms? })
    };
    let rows: Vec<_> = figures.elections.iter().filter_map(row).collect();
    if !rows.is_empty() {
        let title = "From the first fault to the next leader".to_owned();
        sections.push(Section::Distribution(Distribution { title, rows }));
    }
    sections.push(Section::Table(counted.to_owned(), messages));
    report(sections)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::simulate::picture::Shape;
    use crate::simulate::report::OverlapReport;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CompareArgs,
    }

    /// If a comparison ends early, its last election has had fewer runs.
    #[test]
    fn shares_are_of_the_runs_that_each_election_had() {
        let elections = [("whole", 10), ("part", 4)].map(|(name, runs)| ComparedReport {
            election: name.to_owned(),
            runs,
            failover_ms: None,
            unreplaced: 2,
            messages: 0.0,
            to_elect: None,
            theory: None,
            overlaps: OverlapReport { runs: 1, ..OverlapReport::default() },
        });
        let figures =
            ComparisonReport { seed: 1, runs: 10, ended_early: true, elections: elections.into() };
        let shape = Shape { width: 120, is_unicode: false, has_colour: false };
        let text = picture(&Line::parse_from(["x"]).args, &figures).text(shape);
        for (name, shares) in [("whole", ["20.0 %", "10.0 %"]), ("part", ["50.0 %", "25.0 %"])] {
            let row = text.lines().find(|line| line.starts_with(name)).expect("a row");
            assert!(shares.iter().all(|share| row.contains(share)), "{text}");
        }
    }
}
