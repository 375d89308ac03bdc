//! The messages of the machine: its rules, the events that it gets, and the commands that it returns.

use std::borrow::Cow;
use std::time::Duration;

use elect_api::{Boottime, Division, Doubt, ElectionName, Error, Token};

use crate::election::control::Control;
use crate::election::{Call, Reply};
use crate::guard::{Ended, Left, Order};

/// The rules of a candidacy, except for the times of its lease ([`Timing`](crate::election::timing::Timing)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long to wait for leadership.
    pub wait: Wait,
    /// The signal that asks the command to stop, on a step-down request.
    pub signal: i32,
    /// The time from a forwarded INT, TERM or QUIT, or from a step-down request, to the kill. `None` is for ever.
    pub stop_timeout: Option<Duration>,
    /// The time after the command's start for which the lease is kept at least.
    pub hold: Option<Duration>,
    /// The time after each start of the command at which it is asked to stop. It is killed after `stop_timeout`, or
    /// else after the grace. `None` is never.
    pub max_run: Option<Duration>,
    /// When a command that has ended is started again; `None` is never.
    pub restarts: Option<Restarts>,
    /// Whether a store that never gave a place is tried without end, as long as `wait` lasts.
    pub insists: bool,
    /// Whether the store has admitted an earlier candidacy.
    pub let_in: LetIn,
    /// The greatest token of this process in this election before this candidacy. A win with a smaller token is
    /// refused.
    pub floor: Option<Token>,
    /// Whether the command runs for a `--once` key.
    pub once: bool,
    /// How long processes that the command leaves running may go on until they are asked to end. With `None` they are
    /// awaited, as a part of the work.
    pub leftover_grace: Option<Duration>,
    /// Whether each run is counted before it starts.
    pub counting: Counting,
    /// The division of the election that the candidate wants.
    pub division: Division,
    /// When the candidate makes sure that all agree on the division.
    pub settles: Settles,
    /// The id of the candidate.
    pub id: String,
    /// The priority of the candidate, unless a person has set another. Priority 0 never leads.
    pub priority: u32,
    /// The requests to the election that concern this candidacy.
    pub heeds: Heeds,
    /// Whether a history of leaderships is kept.
    pub keeps_history: bool,
    /// The time from a win to the start, unless the last known leadership ended well. With `None`, a start does not
    /// wait for the history.
    pub lock_delay: Option<Duration>,
}

impl Rules {
    /// The time from a win to the start, if a mark in the history has to be written before the start.
    pub(super) fn delay(&self, is_local: bool) -> Option<Duration> {
        // A local disk keeps room for the record, and a full one must not stop a command that frees it. A count is
        // itself a mark.
        let is_uncounted_once = self.once && self.counting == Counting::Off;
        let is_probed = is_uncounted_once && self.keeps_history && !is_local;
        self.lock_delay.or(is_probed.then_some(Duration::ZERO))
    }

    /// Returns the rules of a candidate of a whole election. It waits without a limit, and runs a command once, without
    /// a limit of time.
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
            leftover_grace: Some(Duration::ZERO),
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

/// Whether the store has admitted the candidate before. Then its refusals may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetIn {
    /// Not as far as is known.
    Never,
    /// The candidate had a place.
    Before,
}

/// Whether runs are counted, as their number is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Runs are not counted.
    Off,
    /// Each run is counted before it starts.
    BeforeStart,
}

/// When a candidate settles the division of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settles {
    /// Before it joins.
    First,
    /// Once the control cell shows another division than its own.
    IfShown,
}

impl Settles {
    /// Returns what this election needs. A candidate settles first if it divides the election. It also settles first if
    /// the election's name could be the name of a part of another election.
    pub fn of(division: Division, election: &ElectionName) -> Self {
        if division.is_whole() && Division::whole(election).is_none() {
            Self::IfShown
        } else {
            Self::First
        }
    }
}

/// Which requests to an election concern a candidacy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heeds {
    /// All requests.
    All,
    /// Requests that a leader resign. The candidacy runs nothing, so a pause does not matter, nor which candidate
    /// leads.
    Resigning,
}

/// When a command that has ended by itself is started again, while the candidate leads and is not asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarts {
    /// Whether a command that has succeeded is started again, too.
    pub after_success: bool,
    /// The pause before the first new start. It doubles with each further one.
    pub delay: Duration,
    /// The longest pause, unless `delay` is longer. After a run of at least this length, the pause is `delay` again.
    pub longest_delay: Duration,
}

impl Restarts {
    /// Returns the pause that follows a pause of length `before` and a run of length `ran`. It doubles up to the
    /// longest pause, and starts anew after a run that was at least that long.
    pub fn next_pause(&self, before: Duration, ran: Option<Duration>) -> Duration {
        let longest = self.longest_delay.max(self.delay);
        let has_run_well = ran.is_some_and(|ran| ran >= longest);
        if has_run_well || before.is_zero() { self.delay } else { (before * 2).min(longest) }
    }
}

/// How long to wait for leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all. The store's first answer about the place decides.
    No,
    /// This long, and at least until the store's first answer about the place.
    For(Duration),
    /// Until the candidate leads.
    Forever,
}

/// An event that the machine handles.
#[derive(Clone, Debug)]
pub enum Event {
    /// The store answered the pending call, or refused it.
    Replied(Result<Reply, Error>),
    /// The store hints that the standing may have changed.
    Woken,
    /// The store hints that more keys may be done.
    Noted,
    /// The leader waits, directly or through others, for this candidate. The wait would never end.
    WaitsForUs(String),
    /// The command runs.
    Started,
    /// The command could not be executed, for this `errno`.
    NotStarted(i32),
    /// The guardian saw the soft deadline pass, and has asked the command to stop.
    SoftPassed,
    /// The command itself has ended.
    Ended(Ended),
    /// The same, after a key in the terminal had sent the command this signal, which was also meant for elect.
    EndedAfterKey(Ended, i32),
    /// No process of the command lives, but one that runs beside it during the leadership does. Once that has ended,
    /// [`Event::Empty`] comes.
    Outlived,
    /// No process of the tree lives.
    Empty,
    /// The guardian is dead.
    GuardianDied,
    /// Elect may not signal this process of the tree, so it waits for its end.
    MayNotSignal(i32),
    /// These processes of the tree live, though the command has ended or its time is over.
    Left(Left),
    /// This signal came to elect.
    Signal(i32),
    /// The candidate is asked to give leadership up, for this reason.
    StepDown(String),
    /// The running command is not well, for this reason. The candidate gives leadership up.
    Sick(String),
    /// These are the requests to the election from now on. The event precedes the answer that brought them.
    ControlRead(Control),
    /// Only time tells whether this candidate leads next. The event precedes the answer that brought it.
    Doubted(Doubt),
    /// The candidate must not lead, for this reason. It leaves the queue, or gives leadership up.
    Withdraw(String),
    /// The same, where giving leadership up is no failure: another candidate is to have it.
    Release(String),
    /// Time has passed.
    Tick,
}

/// A command of the machine to the driver. The driver executes them in order.
#[derive(Clone, Debug)]
pub enum Command {
    /// Call the store. No other call is pending.
    Ask(Call),
    /// Send [`Event::Woken`] once, after a hint that another candidate joined or left.
    WatchElection,
    /// Drop the pending call. Its outcome stays unknown.
    Abandon,
    /// Have the guardian start the command, or start it again.
    Start(Token),
    /// Have the guardian obey this order. Deadlines come before the start, and with each renewal. If the order stops
    /// the command, it says who stops it.
    Order(Order, Option<StoppedBy>),
    /// Kill what a dead guardian left. The answer is `Empty`.
    Sweep,
    /// Something that people may want to know.
    Tell(News),
    /// The candidacy is over.
    Finish(Verdict),
}

/// Who stops a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// Elect itself: leadership is lost or given up, or the command has reached its longest run.
    Elect,
    /// A signal to elect, which is passed on.
    Signal,
}

/// Something that people may want to know.
#[derive(Clone, Debug)]
pub enum News {
    /// The candidate waits behind others.
    Waiting {
        /// The number of entries ahead: the leader and the earlier waiters.
        ahead: usize,
    },
    /// Only time tells whether the candidates ahead are dead, or whether another candidate leads. The candidate waits
    /// so much longer for that, also if its own wait is over.
    InDoubt(Doubt),
    /// The candidate leads.
    Leading(Token),
    /// The `--once` work is done, but that could not be recorded, for this reason.
    Unrecorded(String),
    /// The store did not answer as it should. The request is repeated after this time.
    Trouble(Error, Duration),
    /// The store grants leases of another length than was asked for.
    Granted {
        /// W as asked.
        asked: Duration,
        /// W as granted.
        granted: Duration,
    },
    /// The store answers again, after this number of failed requests.
    Recovered(u32),
    /// Leadership is lost.
    Lost(String),
    /// The candidate has won, and starts nothing, for this reason.
    Blocked(Block),
    /// The candidate has won, and gives way to a better one.
    StandingBack {
        /// The id of the better one.
        id: String,
        /// The priority of the better one.
        priority: u32,
    },
    /// The priority was set, or is the original one again. The text says which it is, and who set it.
    Reprioritized(String),
    /// The requests to the election cannot be read, and are not obeyed.
    ControlUnread(Error),
    /// The leadership is not in the election's history, as the store refuses to write it.
    HistoryUnkept(Error),
    /// The leader was asked to give leadership up.
    SteppingDown(String),
    /// The command has reached its longest run, which is this, and is asked to stop.
    MaxRun(Duration),
    /// This signal, which asks the command to stop, was passed on to it.
    Stopping(i32),
    /// The command and all its processes have ended, and it will start again.
    Resting {
        /// How it ended.
        ended: Ended,
        /// The pause until the start.
        pause: Duration,
    },
    /// The command is started again. The number counts these starts.
    Restarting(u32),
    /// Nothing runs, and nothing is started again.
    Emptied,
    /// The command has ended, and the lease is kept for this time.
    Holding(Duration),
    /// Nothing runs, and the entry is being removed.
    Leaving {
        /// Whether the candidacy ends for good. If not, leadership was lost and elect was not asked to end.
        for_good: bool,
    },
    /// The entry could not be removed. The store will remove it.
    EntryLeft(Error),
    /// Elect may not signal this process of the tree, so it waits for its end.
    MayNotSignal(i32),
    /// These processes of the tree live, though the command has ended or its time is over. The limit is `None` for
    /// processes that a command left when it ended by itself.
    Left(Left, Option<Limit>),
}

impl News {
    /// The stable name of the news, for programs.
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

/// The limit on the time of processes that were asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `--stop-timeout`, with its length. `None` is for ever.
    StopTimeout(Option<Duration>),
    /// `--kill-grace`, with its length.
    KillGrace(Duration),
}

/// The reason why a winner starts nothing. It keeps its place meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// The election is paused, for this reason.
    Pause(String),
    /// This candidate must never lead, for this reason, and no other candidate is there.
    Exclusion(String),
    /// The last leader did not record that it ended well.
    Delay {
        /// The token of this candidate's leadership.
        token: Token,
        /// The end of the delay.
        until: Boottime,
        /// The time left until then.
        left: Duration,
    },
}

impl Block {
    /// The stable name of the block among the changes that people and programs hear of.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pause(_) => "paused",
            Self::Exclusion(_) => "looking_on",
            Self::Delay { .. } => "delayed",
        }
    }

    /// Returns whether its end is unknown, as people decide it. A delay ends by itself.
    pub const fn is_open_ended(&self) -> bool {
        match self {
            Self::Pause(_) | Self::Exclusion(_) => true,
            Self::Delay { .. } => false,
        }
    }

    /// Returns the reason in words.
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
    /// The command was stopped as it had reached its longest run, which is this, and ended like this.
    MaxRun(Ended, Duration),
    /// The command could not be executed, for this `errno`.
    NotStarted(i32),
    /// Leadership was lost while the command ran.
    Lost(String),
    /// The candidate was asked to give leadership up, for this reason, and has done so.
    SteppedDown(String),
    /// Leadership was lost, given up or withdrawn, and no other candidacy follows. Elect was told to end meanwhile, or
    /// the command has done its work.
    LostForGood(String),
    /// The candidate withdrew, for this reason.
    Withdrawn(String),
    /// The `--once` key was done already.
    AlreadyDone,
    /// The `--once` key has used up its attempts, as the text says.
    UsedUp(String),
    /// The candidate did not get leadership in time, for this reason.
    NotAcquired(Cow<'static, str>),
    /// The candidate did not get leadership in time, for a lasting reason ([`Block::is_open_ended`]), as the text says.
    Unwanted(String),
    /// This signal ended the wait.
    Interrupted(i32),
    /// The store refused, was never reached, or answered and took no entry.
    StoreFailed {
        /// The last error.
        error: Error,
        /// Whether only the time to try was over. Then more time could have helped.
        out_of_time: bool,
    },
    /// The store never answered in time.
    Unreached,
    /// Elect itself failed.
    Failed(String),
}
