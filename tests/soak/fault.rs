//! What goes wrong, for how long, and with whom.

use std::time::Duration;

use elect_api::Boottime;
use elect_testkit::fault::{Direction, Mode};
use fastrand::Rng;
use nix::sys::signal::Signal;

use crate::arena::{Arena, machine};
use crate::candidate::Candidate;
use crate::cluster::Cluster;
use crate::found::Found;

/// Whose processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    Wrapper,
    Guardian,
    Both,
    Tree,
    All,
}

/// What becomes of packets or bytes on a candidate's way to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Reset,
    Refused,
    Delayed,
    RequestsLost,
    RepliesLost,
    Held,
    Dropped,
    DroppedIn,
    DroppedOut,
    Rejected,
}

/// What happens to members of the store.
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
    Killed(Who),
    Stopped(Who),
    Frozen,
    Terminated,
    Connection(Way),
    Store(Member),
}

const PROCESSES: [Kind; 11] = [
    Kind::Killed(Who::Wrapper),
    Kind::Killed(Who::Guardian),
    Kind::Killed(Who::Both),
    Kind::Killed(Who::Tree),
    Kind::Killed(Who::All),
    Kind::Stopped(Who::Wrapper),
    Kind::Stopped(Who::Guardian),
    Kind::Stopped(Who::Both),
    Kind::Stopped(Who::All),
    Kind::Frozen,
    Kind::Terminated,
];
const WAYS: [Way; 10] = [
    Way::Reset,
    Way::Refused,
    Way::Delayed,
    Way::RequestsLost,
    Way::RepliesLost,
    Way::Held,
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

/// The longest that two members of the store are stopped: the calm election is to live through that.
const LONGEST_OUTAGE: Duration = Duration::from_secs(12);

impl Kind {
    /// One that may befall a candidate. Where nobody but wrapper and guardian can find what its command
    /// has left behind, one of the two is spared.
    pub(crate) fn of_candidate(rng: &mut Rng, is_remote: bool, escapes: bool) -> Self {
        loop {
            let kind = if is_remote && rng.bool() {
                Self::Connection(WAYS[rng.usize(..WAYS.len())])
            } else {
                PROCESSES[rng.usize(..PROCESSES.len())]
            };
            if !(escapes && kind.spares_nobody()) {
                return kind;
            }
        }
    }

    /// One that befalls the store.
    pub(crate) fn of_store(rng: &mut Rng) -> Self {
        Self::Store(MEMBERS[rng.usize(..MEMBERS.len())])
    }

    fn spares_nobody(self) -> bool {
        matches!(
            self,
            Self::Killed(Who::Both | Who::All) | Self::Stopped(Who::Both | Who::All) | Self::Frozen
        )
    }

    /// How long it lasts: often less than any lease, often more.
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
            Self::Killed(who) => format!("{} killed", who.words()),
            Self::Stopped(who) => format!("{} stopped", who.words()),
            Self::Frozen => "all frozen, cgroup v2".to_owned(),
            Self::Terminated => "wrapper got TERM".to_owned(),
            Self::Connection(way) => format!("connection: {}", way.words()),
            Self::Store(member) => format!("store: {}", member.words()),
        }
    }
}

impl Who {
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
    let mut stopped = Vec::new();
    match kind {
        Kind::Killed(who) => signal(&who.of(candidate), Signal::SIGKILL),
        Kind::Stopped(who) => {
            stopped = who.of(candidate);
            signal(&stopped, Signal::SIGSTOP);
        }
        Kind::Frozen => candidate.cgroup.freeze(true),
        Kind::Terminated => {
            if let Some(wrapper) = candidate.wrapper() {
                wrapper.signal(Signal::SIGTERM);
            }
        }
        Kind::Connection(way) => obstruct(arena, candidate, number, way, rng),
        Kind::Store(_) => {}
    }
    candidate.fault = Some(Active { kind, since: now, until, stopped, number });
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
            Way::Dropped | Way::DroppedIn | Way::DroppedOut | Way::Rejected => {}
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
    let active = candidate.fault.take()?;
    match active.kind {
        Kind::Frozen => candidate.cgroup.freeze(false),
        Kind::Connection(way) => {
            for proxy in &candidate.ways {
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
pub(crate) fn strike_store(
    cluster: &mut dyn Cluster,
    kind: Kind,
    rng: &mut Rng,
    now: Boottime,
) -> Active {
    let until = now + kind.span(rng);
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
    Active { kind, since: now, until, stopped: Vec::new(), number: 0 }
}

/// Has all members go on, or start again.
pub(crate) fn heal_store(cluster: &mut dyn Cluster) {
    for index in 0..cluster.addresses().len() {
        let member = cluster.member(index);
        if member.is_alive() {
            member.signal(Signal::SIGCONT);
        } else {
            member.restart();
        }
    }
}
