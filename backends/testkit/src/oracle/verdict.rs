use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use elect_api::Boottime;

use super::map::Seen;

/// One process, as its stamps show it.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its process id, as it sees it.
    pub pid: i32,
    /// Its first stamp.
    pub first: Boottime,
    /// Its last stamp so far.
    pub last: Boottime,
    /// Whether it lives. A zombie does not.
    pub is_alive: bool,
    /// Whether it is the process that was executed.
    pub is_main: bool,
}

/// All processes with one fencing token.
#[derive(Clone, Debug)]
pub struct Run {
    /// The test's name for it.
    pub tag: String,
    /// Its fencing token.
    pub token: u64,
    /// The slot or shard that it works for, where the election has any. Each is an election of its
    /// own.
    pub part: Option<u32>,
    /// The first stamp of any of its processes.
    pub first: Boottime,
    /// The last stamp so far of any of its processes.
    pub last: Boottime,
    /// Its processes in the order of their starts.
    pub processes: Vec<Process>,
    expected: usize,
}

/// A breach of the promise.
#[derive(Clone, Debug)]
pub enum Fault {
    /// A process of the first run stamped after a process of the second run.
    Overlap(Box<Run>, Box<Run>, Duration),
    /// When this process of the first run started, that process of the second was not dead.
    Beside(Box<Run>, i32, Box<Run>, i32),
    /// The later of these runs has no greater token.
    TokenFell(Box<Run>, Box<Run>),
    /// Two commands were started with this run's token.
    TokenTwice(Box<Run>),
}

/// The verdict on all stamps.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The runs in the order of time.
    pub runs: Vec<Run>,
    /// Each breach of the promise.
    pub faults: Vec<Fault>,
}

impl Run {
    /// Returns whether every process of the tree has stamped.
    pub fn is_complete(&self) -> bool {
        self.expected > 0 && self.processes.len() >= self.expected
    }

    /// Returns whether a process of the run lives.
    pub fn is_alive(&self) -> bool {
        self.processes.iter().any(|process| process.is_alive)
    }

    /// Returns the process that was executed.
    pub fn main(&self) -> &Process {
        self.processes.iter().find(|process| process.is_main).expect("its first process")
    }

    /// Returns all processes but the one that was executed.
    pub fn others(&self) -> Vec<Process> {
        self.processes.iter().filter(|process| !process.is_main).cloned().collect()
    }

    fn of(slots: &[&Seen]) -> Self {
        let processes = slots.iter().map(|slot| Process {
            pid: slot.pid,
            first: slot.first,
            last: slot.last,
            is_alive: slot.is_alive,
            is_main: slot.expected.is_some(),
        });
        let mut processes: Vec<Process> = processes.collect();
        processes.sort_by_key(|process| process.first);
        let stamps = processes.iter();
        Self {
            tag: slots[0].tag.clone(),
            token: slots[0].token,
            part: slots[0].part,
            first: stamps.clone().map(|process| process.first).min().expect("not empty"),
            last: stamps.map(|process| process.last).max().expect("not empty"),
            processes,
            expected: slots.iter().filter_map(|slot| slot.expected).sum(),
        }
    }
}

impl Verdict {
    pub(super) fn of(slots: &[Seen]) -> Self {
        let mut parts: BTreeMap<Option<u32>, Vec<&Seen>> = BTreeMap::new();
        for slot in slots {
            parts.entry(slot.part).or_default().push(slot);
        }
        let (mut runs, mut faults) = (Vec::new(), Vec::new());
        for slots in parts.values() {
            let part = Self::of_one(slots);
            runs.extend(part.runs);
            faults.extend(part.faults);
        }
        runs.sort_by_key(|run: &Run| run.first);
        Self { runs, faults }
    }

    /// Returns the verdict on one election.
    fn of_one(slots: &[&Seen]) -> Self {
        let mut trees: BTreeMap<u64, Vec<&Seen>> = BTreeMap::new();
        for slot in slots {
            trees.entry(slot.token).or_default().push(slot);
        }
        let mut runs: Vec<Run> = trees.values().map(|slots| Run::of(slots)).collect();
        runs.sort_by_key(|run| run.first);
        let boxed = |run: &Run| Box::new(run.clone());
        let mut faults = Vec::new();
        let mut before: Option<&Run> = None;
        for run in &runs {
            if run.processes.iter().filter(|process| process.is_main).count() > 1 {
                faults.push(Fault::TokenTwice(boxed(run)));
            }
            if let Some(other) = before.filter(|other| other.last >= run.first) {
                faults.push(Fault::Overlap(boxed(other), boxed(run), other.last.since(run.first)));
            }
            before = Some(before.map_or(run, |b| if b.last >= run.last { b } else { run }));
        }
        for pair in runs.windows(2).filter(|pair| pair[0].token >= pair[1].token) {
            faults.push(Fault::TokenFell(boxed(&pair[0]), boxed(&pair[1])));
        }
        let run_of = |token| runs.iter().find(|run| run.token == token).map(boxed);
        for slot in slots {
            let other = slot.beside.and_then(|index| slots.iter().find(|s| s.index == index));
            if let Some(other) = other
                && let (Some(one), Some(two)) = (run_of(slot.token), run_of(other.token))
            {
                faults.push(Fault::Beside(one, slot.pid, two, other.pid));
            }
        }
        Self { runs, faults }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tag, token, part, first, last, processes, .. } = self;
        let (first, last) = (first.since_boot(), last.since_boot());
        let part = part.map(|part| format!("part {part}, ")).unwrap_or_default();
        write!(f, "{tag} ({part}token {token}, {first:.4?} to {last:.4?};")?;
        for process in processes {
            let mark = if process.is_alive { "alive" } else { "dead" };
            write!(f, " {} {mark} {:.4?}", process.pid, process.last.since_boot())?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap(one, two, span) => write!(f, "{one} overlaps {two} by {span:?}"),
            Self::Beside(one, pid, two, other) => {
                write!(f, "process {pid} of {one} started beside the living {other} of {two}")
            }
            Self::TokenFell(one, two) => write!(f, "the token does not rise from {one} to {two}"),
            Self::TokenTwice(run) => write!(f, "two commands with one token: {run}"),
        }
    }
}
