//! The faults: the kind, the length, and the target of each.

use std::thread;
use std::time::Duration;

use elect_api::Boottime;
use elect_testkit::fault::{Direction, Mode};
use fastrand::Rng;
use nix::sys::signal::Signal;

use crate::arena::{Arena, machine};
use crate::candidate::Candidate;
use crate::cluster::Cluster;
use crate::found::Found;
use crate::starved::Starved;

/// Whose processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Victims {
    Wrapper,
    Guardian,
    Both,
    Tree,
    All,
}

/// Two blows, to wrapper and guardian, one after the other within some milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    first: Role,
    then: Role,
}

/// One of the two, and what it gets.
type Role = (Victims, Blow);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Blow {
    Kill,
    Stop,
}

/// Faults of packets or bytes on a candidate's way to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Reset,
    Refused,
    Delayed,
    RequestsLost,
    RepliesLost,
    Held,
    /// Some of the candidate's addresses lead to another store.
    Astray,
    Dropped,
    DroppedIn,
    DroppedOut,
    Rejected,
}

/// Faults of members of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Member {
    Stopped,
    Killed,
    LeaderStopped,
    LeaderKilled,
    TwoStopped,
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Killed(Victims),
    Stopped(Victims),
    Pair(Pair),
    Frozen,
    /// It shares one processor with many others, and has the least share of that.
    Starved,
    Terminated,
    Connection(Way),
    Store(Member),
    /// The disk of the state has no room left.
    FullDisk,
}

const fn pair(first: Role, then: Role) -> Kind {
    Kind::Pair(Pair { first, then })
}

const PROCESSES: [Kind; 19] = [
    Kind::Killed(Victims::Wrapper),
    Kind::Killed(Victims::Guardian),
    Kind::Killed(Victims::Both),
    Kind::Killed(Victims::Tree),
    Kind::Killed(Victims::All),
    Kind::Stopped(Victims::Wrapper),
    Kind::Stopped(Victims::Guardian),
    Kind::Stopped(Victims::Both),
    Kind::Stopped(Victims::All),
    pair((Victims::Wrapper, Blow::Kill), (Victims::Guardian, Blow::Kill)),
    pair((Victims::Guardian, Blow::Kill), (Victims::Wrapper, Blow::Kill)),
    pair((Victims::Wrapper, Blow::Stop), (Victims::Guardian, Blow::Kill)),
    pair((Victims::Guardian, Blow::Kill), (Victims::Wrapper, Blow::Stop)),
    pair((Victims::Guardian, Blow::Stop), (Victims::Wrapper, Blow::Kill)),
    pair((Victims::Wrapper, Blow::Kill), (Victims::Guardian, Blow::Stop)),
    pair((Victims::Wrapper, Blow::Stop), (Victims::Guardian, Blow::Stop)),
    Kind::Frozen,
    Kind::Starved,
    Kind::Terminated,
];
const WAYS: [Way; 11] = [
    Way::Reset,
    Way::Refused,
    Way::Delayed,
    Way::RequestsLost,
    Way::RepliesLost,
    Way::Held,
    Way::Astray,
    Way::Dropped,
    Way::DroppedIn,
    Way::DroppedOut,
    Way::Rejected,
];
const MEMBERS: [Member; 5] = [
    Member::Stopped,
    Member::Killed,
    Member::LeaderStopped,
    Member::LeaderKilled,
    Member::TwoStopped,
];

/// The longest between the two of a pair.
const LONGEST_GAP: u64 = 3_000;
/// The longest that two members of the store are stopped: the calm election is to live through that.
const LONGEST_OUTAGE: Duration = Duration::from_secs(12);

impl Kind {
    /// Chooses a fault for a candidate. If only wrapper and guardian can find the processes that the command left
    /// behind, the fault spares one of the two.
    pub(crate) fn of_candidate(rng: &mut Rng, is_remote: bool, escapes: bool) -> Self {
        loop {
            let kind = if is_remote && rng.bool() {
                Self::Connection(WAYS[rng.usize(..WAYS.len())])
            } else {
                PROCESSES[rng.usize(..PROCESSES.len())]
            };
            if !(escapes && kind.hits_wrapper_and_guardian()) {
                return kind;
            }
        }
    }

    /// One that befalls the store.
    pub(crate) fn of_store(rng: &mut Rng, is_remote: bool) -> Self {
        if is_remote { Self::Store(MEMBERS[rng.usize(..MEMBERS.len())]) } else { Self::FullDisk }
    }

    fn hits_wrapper_and_guardian(self) -> bool {
        matches!(
            self,
            Self::Killed(Victims::Both | Victims::All)
                | Self::Stopped(Victims::Both | Victims::All)
                | Self::Pair(_)
                | Self::Frozen
        )
    }

    /// Returns the length of the fault: often shorter than any lease, often longer.
    pub(crate) fn span(self, rng: &mut Rng) -> Duration {
        let millis = match self {
            Self::Killed(_) | Self::Terminated | Self::Connection(Way::Reset) => 0,
            Self::Store(Member::TwoStopped) => {
                rng.u64(100..u64::try_from(LONGEST_OUTAGE.as_millis()).unwrap_or(u64::MAX))
            }
            _ if rng.u8(0..3) > 0 => rng.u64(50..4_000),
            _ => rng.u64(4_000..25_000),
        };
        Duration::from_millis(millis)
    }

    pub(crate) fn words(self) -> String {
        match self {
            Self::Killed(victims) => format!("{} killed", victims.words()),
            Self::Stopped(victims) => format!("{} stopped", victims.words()),
            Self::Pair(Pair { first, then }) => {
                let words = |(victims, blow): Role| format!("{} {}", victims.words(), blow.words());
                format!("{}, then {}", words(first), words(then))
            }
            Self::Frozen => "all frozen, cgroup v2".to_owned(),
            Self::Starved => "all starved on one processor".to_owned(),
            Self::Terminated => "wrapper got TERM".to_owned(),
            Self::Connection(way) => format!("connection: {}", way.words()),
            Self::Store(member) => format!("store: {}", member.words()),
            Self::FullDisk => "disk of the state full".to_owned(),
        }
    }
}

impl Blow {
    const fn words(self) -> &'static str {
        match self {
            Self::Kill => "killed",
            Self::Stop => "stopped",
        }
    }

    const fn signal(self) -> Signal {
        match self {
            Self::Kill => Signal::SIGKILL,
            Self::Stop => Signal::SIGSTOP,
        }
    }
}

impl Victims {
    const fn words(self) -> &'static str {
        match self {
            Self::Wrapper => "wrapper",
            Self::Guardian => "guardian",
            Self::Both => "wrapper and guardian",
            Self::Tree => "command tree",
            Self::All => "wrapper, guardian and tree",
        }
    }

    fn of(self, candidate: &mut Candidate) -> Vec<Found> {
        let wrapper = matches!(self, Self::Wrapper | Self::Both | Self::All);
        let guardian = matches!(self, Self::Guardian | Self::Both | Self::All);
        let tree = matches!(self, Self::Tree | Self::All);
        let mut found: Vec<Found> = Vec::new();
        // Found before anybody of them is hit.
        found.extend(candidate.guardian().filter(|_| guardian));
        found.extend(candidate.wrapper().filter(|_| wrapper));
        found.extend(candidate.tree().into_iter().filter(|_| tree));
        found
    }
}

impl Way {
    const fn words(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Refused => "reset, and refused from then on",
            Self::Delayed => "late both ways",
            Self::RequestsLost => "requests lost",
            Self::RepliesLost => "replies lost",
            Self::Held => "held both ways",
            Self::Astray => "led to another store",
            Self::Dropped => "packets dropped",
            Self::DroppedIn => "packets to it dropped",
            Self::DroppedOut => "packets from it dropped",
            Self::Rejected => "packets rejected",
        }
    }
}

impl Member {
    const fn words(self) -> &'static str {
        match self {
            Self::Stopped => "a member stopped",
            Self::Killed => "a member killed, started again",
            Self::LeaderStopped => "its leader stopped",
            Self::LeaderKilled => "its leader killed, started again",
            Self::TwoStopped => "two of three stopped",
        }
    }
}

/// A fault that has begun.
#[derive(Debug)]
pub(crate) struct Active {
    pub(crate) kind: Kind,
    pub(crate) since: Boottime,
    pub(crate) until: Boottime,
    stopped: Vec<Found>,
    starved: Option<Starved>,
    number: usize,
}

/// Has a candidate suffer it, until it is [healed](heal).
pub(crate) fn strike(
    arena: &Arena,
    candidate: &mut Candidate,
    number: usize,
    kind: Kind,
    rng: &mut Rng,
    now: Boottime,
) {
    let until = now + kind.span(rng);
    let (mut stopped, mut starved) = (Vec::new(), None);
    match kind {
        Kind::Killed(victims) => signal(&victims.of(candidate), Signal::SIGKILL),
        Kind::Stopped(victims) => {
            stopped = victims.of(candidate);
            signal(&stopped, Signal::SIGSTOP);
        }
        Kind::Pair(pair) => stopped = pair.befall(candidate, rng),
        Kind::Frozen => candidate.cgroup.freeze(true),
        Kind::Starved => starved = Some(Starved::of(&candidate.cgroup)),
        Kind::Terminated => {
            if let Some(wrapper) = candidate.wrapper() {
                wrapper.signal(Signal::SIGTERM);
            }
        }
        Kind::Connection(way) => obstruct(arena, candidate, number, way, rng),
        Kind::Store(_) | Kind::FullDisk => {}
    }
    candidate.fault = Some(Active { kind, since: now, until, stopped, starved, number });
}

impl Pair {
    /// Strikes, and returns the processes that are now stopped.
    fn befall(self, candidate: &mut Candidate, rng: &mut Rng) -> Vec<Found> {
        // Found before either is hit.
        let found = [self.first, self.then].map(|(victims, blow)| (victims.of(candidate), blow));
        let gap = Duration::from_micros(rng.u64(..LONGEST_GAP));
        let mut stopped = Vec::new();
        for (index, (processes, blow)) in found.into_iter().enumerate() {
            if index > 0 {
                thread::sleep(gap);
            }
            signal(&processes, blow.signal());
            stopped.extend(processes.into_iter().filter(|_| blow == Blow::Stop));
        }
        stopped
    }
}

fn obstruct(arena: &Arena, candidate: &Candidate, number: usize, way: Way, rng: &mut Rng) {
    let network = arena.network().expect("a remote store");
    let machine = machine(number);
    let late = Duration::from_millis(rng.u64(20..5_000));
    for proxy in &candidate.ways {
        match way {
            Way::Reset => proxy.cut(),
            Way::Refused => {
                proxy.refuse(true);
                proxy.cut();
            }
            Way::Delayed => proxy.both(Mode::Delay(late)),
            Way::RequestsLost => proxy.requests(Mode::Swallow),
            Way::RepliesLost => proxy.replies(Mode::Swallow),
            Way::Held => proxy.both(Mode::Hold),
            Way::Astray if rng.u8(0..3) > 0 => {
                proxy.redirect(arena.other().expect("a remote store"));
            }
            Way::Astray | Way::Dropped | Way::DroppedIn | Way::DroppedOut | Way::Rejected => {}
        }
    }
    match way {
        Way::Dropped => network.cut(machine, Direction::Both),
        Way::DroppedIn => network.cut(machine, Direction::In),
        Way::DroppedOut => network.cut(machine, Direction::Out),
        Way::Rejected => network.reject(machine),
        _ => {}
    }
}

/// Ends what a candidate suffers from.
pub(crate) fn heal(arena: &Arena, candidate: &mut Candidate) -> Option<Active> {
    let mut active = candidate.fault.take()?;
    match active.kind {
        Kind::Frozen => candidate.cgroup.freeze(false),
        Kind::Starved => drop(active.starved.take().map(|starved| starved.feed(&candidate.cgroup))),
        Kind::Connection(way) => {
            for (proxy, member) in candidate.ways.iter().zip(arena.addresses()) {
                if way == Way::Astray {
                    proxy.redirect(member);
                }
                // Half a message would be all that comes of what was lost.
                if matches!(way, Way::RequestsLost | Way::RepliesLost) {
                    proxy.cut();
                }
                proxy.refuse(false);
                proxy.both(Mode::Pass);
            }
            arena.network().expect("a remote store").heal(machine(active.number));
        }
        _ => signal(&active.stopped, Signal::SIGCONT),
    }
    Some(active)
}

fn signal(processes: &[Found], signal: Signal) {
    for process in processes {
        process.signal(signal);
    }
}

/// Has the store suffer it.
pub(crate) fn strike_store(arena: &mut Arena, kind: Kind, rng: &mut Rng, now: Boottime) -> Active {
    let until = now + kind.span(rng);
    match arena.cluster() {
        Some(cluster) => strike_members(cluster, kind, rng),
        None => arena.disk().fill(),
    }
    Active { kind, since: now, until, stopped: Vec::new(), starved: None, number: 0 }
}

fn strike_members(cluster: &mut dyn Cluster, kind: Kind, rng: &mut Rng) {
    let count = cluster.addresses().len();
    let leader = cluster.leader();
    let other = (leader + rng.usize(1..count)) % count;
    match kind {
        Kind::Store(Member::Stopped) => cluster.member(other).signal(Signal::SIGSTOP),
        Kind::Store(Member::Killed) => cluster.member(other).kill(),
        Kind::Store(Member::LeaderStopped) => cluster.member(leader).signal(Signal::SIGSTOP),
        Kind::Store(Member::LeaderKilled) => cluster.member(leader).kill(),
        _ => {
            cluster.member(leader).signal(Signal::SIGSTOP);
            cluster.member(other).signal(Signal::SIGSTOP);
        }
    }
}

/// Has all members go on, or start again; or the disk have room.
pub(crate) fn heal_store(arena: &mut Arena) {
    let Some(cluster) = arena.cluster() else { return arena.disk().free() };
    for index in 0..cluster.addresses().len() {
        let member = cluster.member(index);
        if member.is_alive() {
            member.signal(Signal::SIGCONT);
        } else {
            member.restart();
        }
    }
}
