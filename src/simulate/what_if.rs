//! `elect simulate what-if`: shows one run as a time line, and many runs as figures.

use std::time::Duration;

use elect_simulation::{
    Fault, History, Lead, NodeId, Process, Scenario, Script, Target, Trial, over,
};

use super::args::{USUAL_TIME, WhatIfArgs};
use super::judged::{Judged, Sum};
use super::picture::{
    Distribution, Lane, Mark, Quantiles, Report, Role, Section, Span, State, Timeline,
};
use super::plan::{Cast, leases, store};
use super::report::{FaultReport, LeaderReport, Ms, Percentiles, WhatIfReport};
use super::{Theatre, open_files, present, report};

/// Plays the faults. The exit code is 0, or 1 if two commands ran at once.
pub(super) fn what_if(args: &WhatIfArgs, theatre: &Theatre<'_>) -> anyhow::Result<u8> {
    let (network, span) = (&args.network, (args.ttl, args.stops_within));
    let leases =
        leases(network.store, network, &args.lease, span, args.faults.trouble_the_store())?;
    let cast = Cast {
        candidates: args.candidates.into(),
        members: args.network.members(args.network.store).into(),
        usual_time: USUAL_TIME,
    };
    let shift = leases.setup.timing()?.renew_interval;
    let network = cast.network(&args.network.rtt, &args.network.between)?;
    let scenario = cast.scenario(network, &args.faults, (args.ttl, args.length), shift)?;
    let trial = Trial::new(&*leases.election, &scenario)?;
    let pictures = open_files(&args.output)?;
    let (seed, runs) = (args.output.seed, args.output.runs);
    let (shown, judged) = theatre.play("what-if", runs, |progress| {
        let shown = trial.run_under(seed, progress);
        let judged = over(0..runs, progress, |index| {
            let seed = seed.wrapping_add(index);
            Judged::new(seed, &trial.run_under(seed, progress))
        });
        (shown, judged)
    })?;
    let sum = Sum(&judged);
    let play = Play { cast, scenario: &scenario, run: &shown };
    let figures = WhatIfReport {
        seed,
        runs: judged.len(),
        ended_early: theatre.has_ended_early(),
        store: store(&args.network),
        failover_ms: Percentiles::of(&sum.failovers()),
        gap_ms: Percentiles::of(&sum.gaps()),
        kept: sum.kept(),
        unreplaced: sum.unreplaced().into_iter().take(20).collect(),
        overlaps: sum.overlaps(),
        leaders: play.leaders(shown.leads()),
        store_leaders: play.leaders(shown.served()),
        faults: play.faults(),
    };
    for (at, fault, _) in play.events().filter(|(_, fault, hit)| fault.is_of_one() && hit.is_none())
    {
        let what = play.words(fault, None);
        theatre.log.warn(format_args!(
            "no process led at {at:?}: {what}. Name a process, or another time"
        ));
    }
    // A run that a signal has cut off may have ended before the first leader.
    if !judged.is_empty() && shown.leads().is_empty() {
        theatre.log.warn("no process ever led: a round trip may be too long for the TTL");
    }
    let picture = picture(args, &figures, &sum, play.timeline());
    present(&figures, &picture, &pictures, args.output.output)?;
    Ok(u8::from(figures.overlaps.runs > 0))
}

fn picture(args: &WhatIfArgs, figures: &WhatIfReport, sum: &Sum<'_>, timeline: Timeline) -> Report {
    let row = |times| Quantiles { label: "fail-over".to_owned(), times };
    let distribution = Distribution {
        title: format!("From the first fault to the next leader, {} runs", figures.runs),
        rows: figures.failover_ms.map(row).into_iter().collect(),
    };
    let title = format!(
        "{} candidates with a TTL of {} on {}",
        args.candidates,
        humantime::format_duration(args.ttl),
        figures.store
    );
    let mut sections = vec![Section::Timeline(timeline), Section::Text(words(figures, sum))];
    if !distribution.rows.is_empty() {
        sections.push(Section::Distribution(distribution));
    }
    report(title, figures.seed, sections)
}

/// Returns a summary of all runs in sentences.
fn words(figures: &WhatIfReport, sum: &Sum<'_>) -> String {
    let WhatIfReport { runs, kept, overlaps, unreplaced, .. } = figures;
    let unled = sum.unreplaced().len();
    let mut lines = Vec::new();
    if figures.ended_early {
        lines.push("Ended early.".to_owned());
    }
    lines.push(match overlaps.runs {
        0 => format!("In {runs} runs no two commands ran at once."),
        count => format!(
            "In {count} of {runs} runs two commands ran at once, for {:.3} s at most (seed {}).",
            overlaps.longest_ms.0.as_secs_f64(),
            overlaps.seeds.first().copied().unwrap_or_default(),
        ),
    });
    if let Some((failover, gap)) = figures.failover_ms.zip(figures.gap_ms) {
        let seconds = |time: Ms| format!("{:.1} s", time.0.as_secs_f64());
        lines.push(format!(
            "The next command ran {} after the first fault (median; 99 % within {}), and none did for {} before that.",
            seconds(failover.median),
            seconds(failover.p99),
            seconds(gap.median),
        ));
    }
    if *kept > 0 {
        lines.push(format!("In {kept} of them the leader stayed the same."));
    }
    if let Some(seed) = unreplaced.first() {
        lines.push(format!("In {unled} of them no process led at the end (seed {seed})."));
    }
    lines.join("\n")
}

/// A run, and the scenario that it played.
struct Play<'a> {
    cast: Cast,
    scenario: &'a Scenario,
    run: &'a History,
}

impl Play<'_> {
    fn leaders(&self, leads: &[Lead]) -> Vec<LeaderReport> {
        let report = |lead: &Lead| LeaderReport {
            node: self.cast.name(lead.node),
            token: lead.term,
            from_ms: Ms(lead.from),
            until_ms: Ms(lead.until.unwrap_or(self.run.end())),
        };
        leads.iter().map(report).collect()
    }

    /// Returns the faults in order of time, each with its time and the node that it hit.
    fn events(&self) -> impl Iterator<Item = (Duration, &Fault, Option<NodeId>)> {
        let script: &Script = &self.scenario.script;
        script.faults().iter().zip(self.run.faults()).enumerate().map(
            |(index, ((_, fault), at))| {
                let hit = self.run.hits().iter().find(|(fault, _)| *fault == index);
                (*at, fault, hit.map(|(_, node)| *node))
            },
        )
    }

    fn faults(&self) -> Vec<FaultReport> {
        let report = |(at, fault, hit)| FaultReport { at_ms: Ms(at), what: self.words(fault, hit) };
        self.events().map(report).collect()
    }

    fn words(&self, fault: &Fault, hit: Option<NodeId>) -> String {
        let named = |node: &NodeId| self.cast.name(*node);
        let whom = |who: &Target| match (who, &hit) {
            (Target::Leader, Some(node)) => format!("the leader, {},", named(node)),
            (Target::Leader, None) => "nobody".to_owned(),
            (Target::Node(node), _) => named(node),
        };
        let again = |who| hit.as_ref().map_or_else(|| whom(who), named);
        match fault {
            Fault::Kill(who) => format!("{} dies with its machine", whom(who)),
            Fault::Restart(who) => format!("{} starts again", again(who)),
            Fault::KillProcess(who, process) => format!("{} loses {}", whom(who), name(*process)),
            Fault::PauseProcess(who, process) => {
                format!("{} is stopped: {}", whom(who), name(*process))
            }
            Fault::Pause(who) => format!("{} is stopped", whom(who)),
            Fault::Suspend(who) => format!("{} is suspended with its machine", whom(who)),
            Fault::Resume(who) => format!("{} goes on", again(who)),
            Fault::Split(sides) => {
                let side =
                    |side: &Vec<NodeId>| side.iter().map(named).collect::<Vec<_>>().join(",");
                let sides: Vec<String> = sides.iter().map(side).collect();
                format!("the network splits: {}", sides.join(" / "))
            }
            Fault::OneWay { from, to } => {
                format!("{} no longer hears {}", named(to), named(from))
            }
            Fault::Isolate(who) => format!("{} is cut off", whom(who)),
            Fault::Heal => "the network is whole again".to_owned(),
            Fault::Loss(share) => {
                format!("{} % of messages get lost", f64::from(share.get()) / 1e4)
            }
            Fault::Drift(who, drift) => format!("the clock of {} runs {drift}", whom(who)),
            Fault::Suspect(node) => format!("{} has doubts", named(node)),
        }
    }

    fn timeline(&self) -> Timeline {
        let nodes = self.cast.candidates + self.cast.members;
        let mark = |(at, fault, hit)| Mark { at, text: self.words(fault, hit) };
        Timeline {
            title: "The run of this seed".to_owned(),
            end: self.run.end(),
            lanes: (0..nodes).map(|node| self.lane(node)).collect(),
            marks: self.events().map(mark).collect(),
        }
    }

    fn lane(&self, node: NodeId) -> Lane {
        let is_candidate = node < self.cast.candidates;
        let (role, leads, leading) = if is_candidate {
            (Role::Candidate, self.run.leads(), State::Runs)
        } else {
            (Role::Store, self.run.served(), State::Serves)
        };
        let end = self.run.end();
        let mut spans = Vec::new();
        if is_candidate {
            spans.extend(self.waiting(node));
        }
        let own = leads.iter().filter(|lead| lead.node == node).map(|lead| Span {
            token: is_candidate.then_some(lead.term),
            ..Span::new(lead.from, lead.until.unwrap_or(end), leading)
        });
        spans.extend(own);
        spans.extend(self.cut_off(node));
        spans.extend(self.ills(node));
        Lane { label: self.cast.name(node), role, spans }
    }

    /// Returns when a candidate waits: until it leads, and again after each restart. A candidate's `elect run` ends
    /// with its leadership.
    fn waiting(&self, node: NodeId) -> Vec<Span> {
        let restarts = self.events().filter_map(|(at, fault, hit)| {
            (matches!(fault, Fault::Restart(_)) && hit == Some(node)).then_some(at)
        });
        let starts: Vec<Duration> = std::iter::once(Duration::ZERO).chain(restarts).collect();
        let ends = starts.iter().skip(1).copied().chain([self.run.end()]);
        let spans = starts.iter().zip(ends).map(|(&from, end)| {
            let is_own = |lead: &&Lead| lead.node == node && (from..end).contains(&lead.from);
            let last = self.run.leads().iter().rfind(is_own);
            Span::new(from, last.map_or(end, |lead| lead.from), State::Waits)
        });
        spans.collect()
    }

    /// Returns when this node could not reach a majority of the store, or any other node. Members pass requests on to
    /// their leader.
    fn cut_off(&self, node: NodeId) -> Vec<Span> {
        let all = 0..self.cast.candidates + self.cast.members;
        let (mut cuts, mut spans, mut is_cut_off) = (Vec::new(), Vec::<Span>::new(), false);
        for (at, fault, hit) in self.events() {
            match fault {
                Fault::Isolate(_) => {
                    cuts.extend(
                        hit.into_iter().flat_map(|hit| all.clone().map(move |it| (hit, it))),
                    );
                }
                Fault::Split(sides) => {
                    for (number, side) in sides.iter().enumerate() {
                        let others = sides[number + 1..].concat();
                        let pairs = |one| others.iter().map(move |other| (one, *other));
                        cuts.extend(side.iter().flat_map(|one| pairs(*one)));
                    }
                }
                Fault::OneWay { from, to } => cuts.push((*from, *to)),
                Fault::Heal => cuts.clear(),
                _ => continue,
            }
            let was_cut_off = std::mem::replace(&mut is_cut_off, !self.has_way(node, &cuts));
            match (was_cut_off, is_cut_off, spans.last_mut()) {
                (false, true, _) => spans.push(Span::new(at, self.run.end(), State::CutOff)),
                (true, false, Some(span)) => span.until = at,
                _ => {}
            }
        }
        spans
    }

    fn has_way(&self, node: NodeId, cuts: &[(NodeId, NodeId)]) -> bool {
        let Cast { candidates, members, .. } = self.cast;
        let meet = |one, other| !cuts.contains(&(one, other)) && !cuts.contains(&(other, one));
        // The node itself, and all members that it reaches, even through other members.
        let mut reached = vec![node];
        let mut next = 0;
        while let Some(&from) = reached.get(next) {
            let new = (candidates..candidates + members).filter(|to| meet(from, *to));
            let new: Vec<_> = new.filter(|to| !reached.contains(to)).collect();
            reached.extend(new);
            next += 1;
        }
        let count = reached.len() - usize::from(node < candidates);
        let is_alone = !(0..candidates + members).any(|other| other != node && meet(node, other));
        2 * count > members && !is_alone
    }

    /// Returns when this node was dead or stopped.
    fn ills(&self, node: NodeId) -> Vec<Span> {
        let (mut spans, mut ended) = (Vec::<Span>::new(), 0);
        for (at, fault, _) in self.events().filter(|(.., hit)| *hit == Some(node)) {
            let state = match fault {
                Fault::Kill(_) | Fault::KillProcess(_, Process::Both) => State::Dead,
                Fault::Pause(_) | Fault::PauseProcess(_, Process::Both) | Fault::Suspend(_) => {
                    State::Stopped
                }
                Fault::Restart(_) | Fault::Resume(_) => {
                    spans[ended..].iter_mut().for_each(|span| span.until = at);
                    ended = spans.len();
                    continue;
                }
                _ => continue,
            };
            spans.push(Span::new(at, self.run.end(), state));
        }
        spans
    }
}

const fn name(process: Process) -> &'static str {
    match process {
        Process::Wrapper => "its elect run",
        Process::Guardian => "its guardian",
        Process::Both => "its elect run and guardian",
    }
}
