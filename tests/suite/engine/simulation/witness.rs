//! A witness of one `elect run`: it sees what the run asks of the store, and what it does about the answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect::election::control::Control;
use elect::election::machine::Counting;
use elect::election::runs::{Key, Run, Runs};
use elect_api::{Boottime, Token};
use elect_testkit::sim::Clock;

use super::candidate::{KEY, Name};
use super::host::Host;
use super::stage::Stage;

/// As long as it takes to send an order and to hear of its end.
const AT_ONCE: Duration = Duration::from_millis(200);

#[derive(Default)]
struct Seen {
    /// The token of the newest answer that says that we lead.
    token: Option<Token>,
    /// With which token the command was started.
    started: Option<Token>,
    /// s + V, of the newest proof.
    proven_until: Option<Boottime>,
    /// When the store said that our entry is gone, or we gave it up, of one that led our command.
    over: Option<Boottime>,
    /// Our entry is gone, and the seat was not resigned since.
    gone: bool,
    /// The token of the run that the store has shown to be counted last.
    counted: Option<Token>,
    /// The priority that the orders of the newest answer give to us, if they do.
    priority: Option<u32>,
}

/// All instants are by the clock of the host.
pub(crate) struct Witness {
    pub(crate) host: Arc<Host>,
    pub(crate) stage: Stage,
    name: Name,
    /// The time that a tree takes to die if no process is stopped or suspended. Steps that must follow at once do so
    /// then.
    dying: Option<Duration>,
    /// Says if runs are counted before they start.
    counting: Counting,
    seen: Mutex<Seen>,
}

impl Witness {
    pub(crate) fn new(
        host: Arc<Host>,
        stage: Stage,
        name: Name,
        dying: Option<Duration>,
        counting: Counting,
    ) -> Arc<Self> {
        Arc::new(Self { host, stage, name, dying, counting, seen: Mutex::default() })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn blame(&self, law: &'static str, how: &str) {
        self.stage.blame(law, format!("{} at {:?}: {how}", self.name.id, self.host.world.now()));
    }

    pub(crate) fn refreshes(&self) {
        let (over, gone) = {
            let seen = self.seen();
            (seen.over, seen.gone)
        };
        if let Some(over) = over {
            self.blame("a leader renews what it has lost or given up", &format!("at {over:?}"));
        }
        if gone {
            self.blame("a candidate asks again and again for an entry that is gone", "");
        }
    }

    /// The store has said that we have a place, and what is asked of the election.
    pub(crate) fn is_placed(&self, control: &Control) {
        let Name { id, priority } = &self.name;
        self.seen().priority = Some(control.priority_of(id, *priority));
        self.stage.list(self.host.world.now(), &self.name);
    }

    /// The store has said that we lead, by a request sent at `sent`.
    pub(crate) fn leads(&self, token: Token, sent: Boottime, window: Duration) {
        let mut seen = self.seen();
        seen.token = Some(token);
        if seen.started.is_some_and(|started| started != token) {
            seen.over.get_or_insert(self.host.now());
        }
        let until = sent + window.div_f64(1.1);
        seen.proven_until = Some(seen.proven_until.map_or(until, |known| known.max(until)));
    }

    /// The entry is gone, or is being given up.
    pub(crate) fn is_over(&self, is_gone: bool) {
        let mut seen = self.seen();
        self.stage.strike(&self.name, seen.started.is_some());
        seen.gone = is_gone;
        if seen.started.is_some() {
            seen.over.get_or_insert(self.host.now());
        }
    }

    pub(crate) fn starts(&self, token: Token, soft: Option<Boottime>) {
        if soft.is_none_or(|soft| soft <= self.host.now()) {
            self.blame("a start is ordered on a proof that leaves no grace", &format!("{soft:?}"));
        }
        if self.seen().priority == Some(0) {
            self.blame("a candidate of priority 0 starts its command", "");
        }
        let counted = self.seen().counted;
        if self.counting == Counting::BeforeStart && counted != Some(token) {
            let how = format!("{token}, and {counted:?} was counted last");
            self.blame("a run starts that is not counted", &how);
        }
        self.stage.choose(self.host.world.now(), &self.name);
        self.seen().started = Some(token);
    }

    /// The store has these runs, or has taken them.
    pub(crate) fn counts(&self, cell: &[u8]) {
        let runs = Runs::read(Some(cell)).expect("what was written here");
        self.seen().counted = runs.of(KEY).and_then(Key::last).map(Run::token);
    }

    pub(crate) fn renewed(&self) {
        let seen = self.seen();
        if let (Some(started), Some(token)) = (seen.started, seen.token)
            && started != token
        {
            drop(seen);
            let how = format!("{token} prolongs the tree of {started}");
            self.blame("a renewal with another token prolongs a tree", &how);
        }
    }

    /// The last process of the tree ended at `dead`.
    pub(crate) fn tree_ends(&self, dead: Boottime) {
        let (until, over) = {
            let seen = self.seen();
            (seen.proven_until, seen.over)
        };
        if until.is_none_or(|until| until < dead) {
            let how = format!("it lived until {dead:?}, proven was {until:?}");
            self.blame("a tree outlives what was proven of its lease", &how);
        }
        if let Some((dying, over)) = self.dying.zip(over)
            && over + dying + AT_ONCE < dead
        {
            self.blame("a tree outlives its entry", &format!("{dead:?}, {over:?}"));
        }
    }
}
