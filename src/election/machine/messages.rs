//! What the machine is told and what it says.

use std::borrow::Cow;
use std::time::Duration;

use elect_api::{Boottime, Division, ElectionName, Error, Token};

use crate::election::control::Control;
use crate::election::{Call, Reply};
use crate::guard::{Ended, Left, Leftover, Order};

/// What the machine is told of a candidacy, but for the times of its lease ([`Timing`](crate::election::timing::Timing)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long to wait for leadership.
    pub wait: Wait,
    /// The signal that asks the command to stop, on a step-down request.
    pub signal: i32,
    /// From a forwarded INT, TERM or QUIT, or a step-down request, to the kill; `None` is for ever.
    pub stop_timeout: Option<Duration>,
    /// How long after the command's start the lease is kept at least.
    pub hold: Option<Duration>,
    /// How long after each start of the command it is asked to stop, with the time of `stop_timeout`, else the grace,
    /// until the kill; `None` is never.
    pub max_run: Option<Duration>,
    /// When a command that has ended is started again; `None` is never.
    pub restarts: Option<Restarts>,
    /// Whether a store that never gave us a place is tried without end, as long as `wait` lasts.
    pub insists: bool,
    /// Whether the store has let us in before this candidacy.
    pub let_in: LetIn,
    /// The greatest token of this process in this election, before this candidacy. No smaller one is taken.
    pub floor: Option<Token>,
    /// Whether what the command does is to be done once.
    pub once: bool,
    /// What happens to processes that the command leaves running. If they are awaited, they are a part of what is done.
    pub leftover: Leftover,
    /// Whether each run is counted before it starts.
    pub counting: Counting,
    /// Into what we take the election to be divided.
    pub division: Division,
    /// When it is settled that all agree on that.
    pub settles: Settles,
    /// Our id.
    pub id: String,
    /// Our priority, as long as nobody has set another: 0 never leads.
    pub priority: u32,
    /// What of that which people ask concerns it.
    pub heeds: Heeds,
    /// Whether it is kept who has led, and how that ended.
    pub keeps_history: bool,
    /// From a win to the start, unless the last leadership that is known has ended well. With `None` a start waits
    /// for no history.
    pub lock_delay: Option<Duration>,
}

impl Rules {
    /// From a win to the start, if a mark in the history has to be there by then.
    pub(super) fn delay(&self, is_local: bool) -> Option<Duration> {
        // A disk keeps room for the record, and what frees a full one is not kept away. A count is a mark itself.
        let is_uncounted_once = self.once && self.counting == Counting::Off;
        let is_probed = is_uncounted_once && self.keeps_history && !is_local;
        self.lock_delay.or(is_probed.then_some(Duration::ZERO))
    }

    /// Those of a candidate of a whole election that waits for as long as it takes, and runs a command once, for as
    /// long as that takes.
    pub fn of(id: &str, priority: u32) -> Self {
        Self {
            wait: Wait::Forever,
            signal: libc::SIGTERM,
            stop_timeout: None,
            hold: None,
            max_run: None,
            restarts: None,
            insists: false,
            let_in: LetIn::Never,
            floor: None,
            once: false,
            leftover: Leftover::Kill { grace: Duration::ZERO, kill_grace: Duration::ZERO },
            counting: Counting::Off,
            division: Division::Whole,
            settles: Settles::IfShown,
            id: id.to_owned(),
            priority,
            heeds: Heeds::All,
            keeps_history: true,
            lock_delay: None,
        }
    }
}

/// Whether a store has let us in: then its refusals may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetIn {
    /// Not that we know.
    Never,
    /// We had a place.
    Before,
}

/// Whether runs are counted, as there may be so many only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// They are not.
    Off,
    /// Each is, before it starts.
    BeforeStart,
}

/// When a candidate settles what an election is divided into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settles {
    /// Before it joins.
    First,
    /// Once it is shown another division than its own.
    IfShown,
}

impl Settles {
    /// As it has to be in this election: who divides it, or gives it a name that a part of another may have, does so first.
    pub fn of(division: Division, election: &ElectionName) -> Self {
        if division.is_whole() && Division::whole(election).is_none() {
            Self::IfShown
        } else {
            Self::First
        }
    }
}

/// What of that which people ask of an election concerns a candidacy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heeds {
    /// All.
    All,
    /// That a leader resign: nothing runs for it, so that there is nothing to pause, and any will do to lead.
    Resigning,
}

/// When a command that has ended by itself is started again, as long as we lead and nobody wants us to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarts {
    /// Whether also one that has succeeded is.
    pub after_success: bool,
    /// The pause before the first start again. It doubles with each that follows.
    pub delay: Duration,
    /// The longest pause, if `delay` is not longer; a command that has run for that long begins with `delay` again.
    pub longest_delay: Duration,
}

impl Restarts {
    /// The pause after one of so long, if what was started at its end has run for so long: it doubles from one to the
    /// next, up to the longest, until something has run for longer than that.
    pub fn next_pause(&self, before: Duration, ran: Option<Duration>) -> Duration {
        let longest = self.longest_delay.max(self.delay);
        let has_run_well = ran.is_some_and(|ran| ran >= longest);
        if has_run_well || before.is_zero() { self.delay } else { (before * 2).min(longest) }
    }
}

/// How long to wait for leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: the store's first word on our place decides.
    No,
    /// This long, and at least until the store's first word on our place.
    For(Duration),
    /// Until it is ours.
    Forever,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The store answered the call that is under way, or refused to.
    Replied(Result<Reply, Error>),
    /// The store hints that our standing may have changed.
    Woken,
    /// The store hints that more may be done by now.
    Noted,
    /// The candidate that leads waits, in the end, for us: we would wait for ever.
    WaitsForUs(String),
    /// The command runs.
    Started,
    /// The command could not be executed, for this `errno`.
    NotStarted(i32),
    /// The guardian saw the soft deadline pass, and has asked the command to stop.
    SoftPassed,
    /// The command itself has ended.
    Ended(Ended),
    /// The same, after a key in the terminal had sent it this signal, which was meant for us as well.
    EndedAfterKey(Ended, i32),
    /// No process of the command lives, and what runs beside it for as long as we lead does. Once that is stopped,
    /// or killed, [`Event::Empty`] comes.
    Outlived,
    /// No process of the tree lives.
    Empty,
    /// The guardian is dead.
    GuardianDied,
    /// This process of the tree may not be signalled by us, so that its end is awaited.
    MayNotSignal(i32),
    /// These processes of the tree live, though the command has ended or its time is over.
    Left(Left),
    /// This signal came to elect.
    Signal(i32),
    /// Somebody asks us to give leadership up, for this reason.
    StepDown(String),
    /// The command that runs is not well, for this reason: give leadership up.
    Sick(String),
    /// This is what people ask of the election from now on. It comes before the answer that it came with.
    ControlRead(Control),
    /// We are not to lead, for this reason: leave the queue, or give leadership up.
    Withdraw(String),
    /// The same, where to give leadership up is no failure: somebody else is to have it.
    Release(String),
    /// Time has passed.
    Tick,
}

/// What is to be done, in order.
#[derive(Clone, Debug)]
pub enum Command {
    /// Call the store; no other call is under way.
    Ask(Call),
    /// Have [`Event::Woken`] come when others may have come or gone, once.
    LookOut,
    /// Drop the call that is under way; its outcome is unknown for good.
    Abandon,
    /// Have the guardian start the command, or start it again.
    Start(Token),
    /// Have the guardian do this. Deadlines come before the start, and with each renewal. It says who stops the command
    /// where it does.
    Order(Order, Option<StoppedBy>),
    /// Kill what a dead guardian left; `Empty` is the answer.
    Sweep,
    /// Something that people may want to know.
    Tell(News),
    /// The candidacy is over.
    Finish(Verdict),
}

/// Who stops a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// elect itself: leadership is lost or given up, or the command has run for as long as it may.
    Elect,
    /// A signal to elect, which is passed on.
    Signal,
}

/// Something that people may want to know.
#[derive(Clone, Debug)]
pub enum News {
    /// We wait, with so many before us.
    Waiting {
        /// The leader and the waiters before us.
        ahead: usize,
    },
    /// It is not known whether anybody lives who is before us, and that is waited for as long as this, though we are not to wait
    /// any more.
    InDoubt(Duration),
    /// We lead.
    Leading(Token),
    /// What is to be done once is done, and nobody will know: why.
    Unrecorded(String),
    /// The store did not answer as it should; tried again after this time.
    Trouble(Error, Duration),
    /// The store grants leases of another length than was asked for.
    Granted {
        /// W as asked.
        asked: Duration,
        /// W as granted.
        granted: Duration,
    },
    /// The store answered again, after so many requests that failed.
    Recovered(u32),
    /// Leadership is lost.
    Lost(String),
    /// Leadership is ours, and nothing is started: why.
    Blocked(Block),
    /// Leadership is ours, and we stand back for somebody better.
    StandingBack {
        /// Its id.
        id: String,
        /// Its priority.
        priority: u32,
    },
    /// Our priority was set, or is our own again: which it is, and who wants that.
    Reprioritized(String),
    /// What people ask of the election cannot be read, and is not done.
    ControlUnread(Error),
    /// Our leadership is not in the election's history, as the store refuses that.
    HistoryUnkept(Error),
    /// We were asked to give leadership up.
    SteppingDown(String),
    /// The command has run for so long, the most that it may, and is asked to stop.
    MaxRun(Duration),
    /// This signal, which asks the command to stop, was passed on to it.
    Stopping(i32),
    /// The command has ended, with all that it had started, and is to be started again.
    Resting {
        /// How it has ended.
        ended: Ended,
        /// The pause until then.
        pause: Duration,
    },
    /// It is started again, for so many times by now.
    Restarting(u32),
    /// Nothing runs, and nothing is started again.
    Emptied,
    /// The command has ended, and the lease is kept for this long.
    Holding(Duration),
    /// Nothing runs: our entry is being removed.
    Leaving {
        /// Whether that is all; if not, leadership was lost and nobody wants us to end.
        for_good: bool,
    },
    /// Our entry could not be removed; the store will.
    EntryLeft(Error),
    /// This process of the tree may not be signalled by us, so that its end is awaited.
    MayNotSignal(i32),
    /// These processes of the tree live, though the command has ended or its time is over. `None` is for what a command
    /// that ended by itself has left.
    Left(Left, Option<Limit>),
}

impl News {
    /// Its name for programs; stable.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Waiting { .. } => "waiting",
            Self::InDoubt(_) => "in_doubt",
            Self::Leading(_) => "leading",
            Self::Unrecorded(_) => "unrecorded",
            Self::Trouble(..) => "trouble",
            Self::Granted { .. } => "granted",
            Self::Recovered(_) => "recovered",
            Self::Lost(_) => "lost",
            Self::Blocked(block) => block.name(),
            Self::StandingBack { .. } => "standing_back",
            Self::Reprioritized(_) => "priority",
            Self::ControlUnread(_) => "control_unread",
            Self::HistoryUnkept(_) => "history_unkept",
            Self::SteppingDown(_) => "stepping_down",
            Self::MaxRun(_) => "max_run",
            Self::Stopping(_) => "stopping",
            Self::Resting { .. } => "resting",
            Self::Restarting(_) => "restarting",
            Self::Emptied => "ended",
            Self::Holding(_) => "holding",
            Self::Leaving { .. } => "leaving",
            Self::EntryLeft(_) => "entry_left",
            Self::MayNotSignal(_) => "may_not_signal",
            Self::Left(..) => "left_running",
        }
    }
}

/// What limits the time of processes that were asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `--stop-timeout`, for so long; `None` is for ever.
    StopTimeout(Option<Duration>),
    /// `--kill-grace`, for so long.
    KillGrace(Duration),
}

/// What keeps a winner from starting anything: it keeps its place meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// The election is paused, for this reason.
    Pause(String),
    /// We are never to lead, for this reason, and nobody else is there.
    Exclusion(String),
    /// Whoever led before did not say that it ended well.
    Delay {
        /// The token of our leadership.
        token: Token,
        /// Until then.
        until: Boottime,
        /// How long that is.
        left: Duration,
    },
}

impl Block {
    /// Its name among the changes that people and programs hear of; stable.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pause(_) => "paused",
            Self::Exclusion(_) => "looking_on",
            Self::Delay { .. } => "delayed",
        }
    }

    /// Whether nobody knows when it ends, as people decide that; a delay is over by itself.
    pub const fn is_open_ended(&self) -> bool {
        match self {
            Self::Pause(_) | Self::Exclusion(_) => true,
            Self::Delay { .. } => false,
        }
    }

    /// In words.
    pub fn why(&self) -> String {
        match self {
            Self::Pause(why) | Self::Exclusion(why) => why.clone(),
            Self::Delay { left, .. } => {
                format!("nothing is started for {}", humantime::format_duration(*left))
            }
        }
    }
}

/// How a candidacy ended.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The command ran and ended like this.
    Ended(Ended),
    /// The command was stopped as it had run for so long, the most that it may, and ended like this.
    MaxRun(Ended, Duration),
    /// The command could not be executed, for this `errno`.
    NotStarted(i32),
    /// Leadership was lost while the command ran.
    Lost(String),
    /// We were asked to give leadership up, for this reason, and have done so.
    SteppedDown(String),
    /// Lost, given up or withdrawn, and there is to be no other candidacy: we were told to end meanwhile, or the
    /// command has done what it was for.
    LostForGood(String),
    /// We withdrew, for this reason.
    Withdrawn(String),
    /// What is to be done once was done already.
    AlreadyDone,
    /// What is to be done once was tried as often as it may be, in these words.
    UsedUp(String),
    /// Leadership was not to be had in time, for this reason.
    NotAcquired(Cow<'static, str>),
    /// It was not to be had in time for a reason that stays ([`Block::is_open_ended`]), in these words.
    Unwanted(String),
    /// This signal ended the wait.
    Interrupted(i32),
    /// The store refused, was never reached, or answered and took no entry.
    StoreFailed(Error),
    /// The store did not answer in time, ever.
    Unreached,
    /// Elect itself failed.
    Failed(String),
}
