//! Tells people about a candidacy, in the log and in the line that shows the waiting. It also notices when elect would
//! wait for itself, which the engine cannot see.

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::{Boottime, Candidate, Doubt, ElectionName, Entry, Error, Survey, Token};

use super::environment::is_our_ancestor;
use super::{Feed, Service};
use crate::election::machine::{Block, Event, Limit, News};
use crate::election::slots::Slot;
use crate::election::{CallEnd, driver};
use crate::guard::{self, Deadlines, Ended, Fate, Left};
use crate::report::{Complaints, Level, Log, LogEvent, Waiting, wall_clock};

/// The time between two drawings of the waiting line.
const REDRAW: Duration = Duration::from_secs(1);
/// How long an outage may last before people are warned, for a candidate that does not lead. A shorter one does no
/// harm, and off a terminal the log does not mention it.
const LONG: Duration = Duration::from_secs(300);

/// The state that the candidacy shares with the line that shows the waiting.
pub(in crate::command) struct Shared {
    waiting: Mutex<Waiting>,
    token: Mutex<Option<Token>>,
}

impl Shared {
    pub(in crate::command) fn new(log: &Log, now: Boottime) -> Self {
        Self { waiting: Mutex::new(Waiting::new(log, now)), token: Mutex::default() }
    }

    /// Draws the line again and again, if there is one.
    pub(in crate::command) async fn keep_drawing(&self) -> Infallible {
        if !self.waiting().is_wanted() {
            return std::future::pending().await;
        }
        let mut beat = tokio::time::interval(REDRAW);
        loop {
            beat.tick().await;
            if lock(&self.token).is_none() {
                self.waiting().tick(guard::now(), wall_clock());
            }
        }
    }

    pub(in crate::command) fn clear(&self) {
        self.waiting().clear();
    }

    /// Returns the token of the last leadership, if there was one.
    pub(in crate::command) fn token(&self) -> Option<Token> {
        *lock(&self.token)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(in crate::command) struct Observer<'a> {
    log: &'a Log,
    shared: &'a Shared,
    candidate: &'a Candidate,
    service: Option<&'a Service<'a>>,
    /// The feed of `--http`.
    feed: Option<Feed<'a>>,
    trouble: Outage,
    /// Whether an outage may end something: the command runs, or is about to.
    leads: bool,
    /// The first message that this candidate waits has been logged.
    has_waited: bool,
    /// The candidate leads for an application beside elect, as a sidecar does. Then messages about a command are
    /// reworded. When leadership is about to be given up, it is said at once that this candidate does not lead.
    pub(in crate::command) is_sidecar: bool,
    /// The log level at which giving up leadership is told.
    pub(in crate::command) giving_way: Level,
    /// The log level at which it is told that another candidate leads.
    pub(in crate::command) being_led: Level,
    /// The slot in which this candidate leads, if the election has slots, and the name of the whole election.
    pub(in crate::command) slot: Option<(&'a Slot, &'a ElectionName)>,
}

/// An outage of the store, if there is one.
#[derive(Default)]
struct Outage {
    /// The messages so far: people need not read one twice.
    told: Complaints,
    /// The start of the outage: the first failure since the last answer.
    since: Option<Boottime>,
}

impl Outage {
    /// Returns the log level for the store's failure with `text` at `now`, and words that follow it. Returns `None` if
    /// people know enough.
    fn again(
        &mut self,
        now: Boottime,
        is_serious: bool,
        text: &str,
    ) -> Option<(Level, &'static str)> {
        let since = *self.since.get_or_insert(now);
        let is_serious = is_serious || now.since(since) >= LONG;
        let level = if is_serious { Level::Warn } else { Level::Info };
        self.told.tell(level, text).map(|more| (level, more))
    }

    /// Ends the outage. Returns the log level for the end, which is the level of its last message.
    fn over(&mut self) -> Level {
        std::mem::take(self).told.end().unwrap_or(Level::Info)
    }
}

/// The log, for messages about one event.
#[derive(Clone, Copy)]
struct Told<'a> {
    log: &'a Log,
    event: LogEvent,
}

impl Told<'_> {
    fn say(self, level: Level, message: impl Display) {
        self.log.event(level, self.event, message, &[]);
    }

    fn error(self, message: impl Display) {
        self.say(Level::Error, message);
    }

    fn warn(self, message: impl Display) {
        self.say(Level::Warn, message);
    }

    fn info(self, message: impl Display) {
        self.say(Level::Info, message);
    }

    fn debug(self, message: impl Display) {
        self.say(Level::Debug, message);
    }
}

impl<'a> Observer<'a> {
    /// Makes an observer. The service manager and the feed of `--http` get the news as well, if they are there.
    pub(in crate::command) const fn new(
        log: &'a Log,
        shared: &'a Shared,
        candidate: &'a Candidate,
        service: Option<&'a Service<'a>>,
        feed: Option<Feed<'a>>,
    ) -> Self {
        let trouble = Outage { told: Complaints::none(), since: None };
        let (leads, has_waited) = (false, false);
        Self {
            log,
            shared,
            candidate,
            service,
            feed,
            trouble,
            leads,
            has_waited,
            is_sidecar: false,
            giving_way: Level::Warn,
            being_led: Level::Warn,
            slot: None,
        }
    }

    /// Returns the token of the current leadership.
    fn token(&self) -> Option<Token> {
        self.leads.then(|| self.shared.token()).flatten()
    }

    fn in_doubt(&self, told: Told<'_>, doubt: Doubt) {
        let words =
            |left: Duration| humantime::format_duration(Duration::from_secs(left.as_secs()));
        match doubt {
            Doubt::Leader(left) => told.say(
                self.being_led,
                format_args!(
                    "the leader has not renewed its lease while elect looked on: it may be dead. elect waits {} more \
                     to see",
                    words(left)
                ),
            ),
            Doubt::Store(left) => told.warn(format_args!(
                "the store may have lost the record of a leader, as one that is new, was emptied, was started again or \
                 has failed over may have: elect waits {} more, so that such a leader has ended",
                words(left)
            )),
        }
    }

    fn troubled(&mut self, told: Told<'_>, error: Error, pause: Duration) {
        let pause = Duration::from_millis(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
        let pause = humantime::format_duration(pause);
        // A refusal does not end by itself, as a rule.
        let is_serious = self.leads || error.is_permanent();
        let text = format!("{:#}", anyhow::Error::from(error));
        match self.trouble.again(guard::now(), is_serious, &text) {
            Some((level, more)) => told.say(level, format_args!("{text}; trying again{more}")),
            None if self.trouble.told.knows(&text) => {
                told.debug(format_args!("the same again; trying again in {pause}"));
            }
            None => told.debug(format_args!("{text}; trying again in {pause}")),
        }
    }

    fn recovered(&mut self, told: Told<'_>, failures: u32) {
        let times = if failures == 1 { "time" } else { "times" };
        let text = format_args!("the store answers again, after failing {failures} {times}");
        told.say(self.trouble.over(), text);
    }

    /// Tells the first wait at a higher level, for people who only see the log.
    fn waiting(&mut self, told: Told<'_>, ahead: usize) {
        let is_first = !std::mem::replace(&mut self.has_waited, true);
        let level = if is_first && self.log.tells_turns() { Level::Info } else { Level::Debug };
        told.say(level, format_args!("waiting, {ahead} ahead"));
    }

    /// Tells what elect does about processes that outlast the command or its time limit, and which flags change that.
    fn outlasted(told: Told<'_>, left: Left, limit: Option<Limit>) {
        let within = match limit {
            Some(Limit::StopTimeout(Some(limit))) => Some((limit, "--stop-timeout")),
            Some(Limit::KillGrace(limit)) => Some((limit, "-k")),
            Some(Limit::StopTimeout(None)) | None => None,
        };
        let within = within
            .map(|(limit, flag)| format!("within {} ({flag})", humantime::format_duration(limit)));
        match (left.fate, within) {
            (Fate::Awaited, Some(within)) => {
                told.info(format_args!("waiting for {left} to end {within}"));
            }
            (Fate::Awaited, None) => {
                let why = match limit {
                    None => "which the command left (--leftover wait)",
                    Some(_) => "which the command left; --stop-timeout limits that",
                };
                told.info(format_args!("the command has ended; waiting for {left}, {why}"));
            }
            (Fate::Asked, _) => {
                let them = if left.count == 1 { "it" } else { "them" };
                told.warn(format_args!(
                    "the command left {left} running: asking {them} to end; --leftover wait waits for {them}, \
                     --leftover-grace gives {them} longer"
                ));
            }
            (Fate::Killed, Some(within)) => {
                told.warn(format_args!("killed {left}, which did not end {within}"));
            }
            (Fate::Killed, None) => told.warn(format_args!(
                "killed {left}, which the command left running and TERM did not end; -k gives it longer"
            )),
        }
    }

    fn leading(&mut self, told: Told<'_>, token: Token) {
        self.leads = true;
        *lock(&self.shared.token) = Some(token);
        self.shared.clear();
        match self.slot.and_then(|(slot, whole)| slot.of(whole)) {
            Some(slot) => told.info(format_args!("leading {slot}, token {token}")),
            None => told.info(format_args!("leading, token {token}")),
        }
    }

    /// Tells that the application of a sidecar must stop, before it has.
    fn sidecar_is_over(&self, news: &News, level: Level, text: impl Display) {
        if let Some(service) = self.service {
            service.news(news);
        }
        self.log.event(level, LogEvent::named(news.name()), text, &[]);
        if let Some(feed) = &self.feed {
            feed.sidecar_is_over(news);
        }
    }

    /// Tells all receivers of a piece of news.
    fn say(&mut self, news: News) {
        if let Some(service) = self.service {
            service.news(&news);
        }
        if let Some(feed) = &mut self.feed {
            feed.news(&news);
        }
        let token = if let News::Leading(token) = news { Some(token) } else { self.token() };
        let told = Told { log: self.log, event: LogEvent::named(news.name()).with_token(token) };
        match news {
            News::Waiting { ahead } => self.waiting(told, ahead),
            News::InDoubt(doubt) => self.in_doubt(told, doubt),
            News::Leading(token) => self.leading(told, token),
            News::Trouble(error, pause) => self.troubled(told, error, pause),
            News::Granted { asked, granted } => {
                let granted_less = granted < asked;
                let (asked, granted) =
                    (humantime::format_duration(asked), humantime::format_duration(granted));
                let text =
                    format_args!("the store grants a lease of {granted}, {asked} was asked for");
                if granted_less { told.warn(text) } else { told.info(text) }
            }
            News::Recovered(failures) => self.recovered(told, failures),
            News::Unrecorded(why) => told.error(why),
            News::Lost(why) => {
                told.error(format_args!("leadership is lost, stopping the command: {why}"));
            }
            News::Blocked(Block::Delay { token, left, .. }) => {
                let left = humantime::format_duration(Duration::from_millis(
                    u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
                ));
                self.shared.waiting().hold_back();
                told.info(format_args!(
                    "leading, token {token}, and starting nothing for {left}: the leader before has not reported a clean end"
                ));
            }
            News::Blocked(block) => {
                told.info(format_args!("next to lead, and starting nothing: {}", block.why()));
            }
            News::Reprioritized(what) => told.info(what),
            News::StandingBack { id, priority } => {
                told.info(format_args!("standing back for {id}, of priority {priority}"));
            }
            News::ControlUnread(error) => {
                told.warn(format_args!("{:#}", anyhow::Error::from(error)));
            }
            News::HistoryUnkept(error) => {
                let error = anyhow::Error::from(error);
                told.info(format_args!("`elect history` will not show this leadership: {error:#}"));
            }
            News::SteppingDown(why) => {
                told.say(self.giving_way, format_args!("giving leadership up: {why}"));
            }
            News::MaxRun(limit) => {
                let limit = humantime::format_duration(limit);
                told.warn(format_args!(
                    "the command has run for {limit}, as long as --max-run allows: stopping it"
                ));
            }
            News::Stopping(signal) => {
                let signal = guard::signal_name(signal);
                told.debug(format_args!("{signal} is passed on to the command"));
            }
            News::Resting { ended, pause } => {
                let pause = humantime::format_duration(pause);
                let text = format_args!("the command {ended}; it is started again in {pause}");
                if ended == Ended::Exited(0) { told.info(text) } else { told.warn(text) }
            }
            News::Restarting(_) => told.debug("the command is started again"),
            News::Emptied => {}
            News::Leaving { .. } => {
                self.leads = false;
                told.debug("leaving the election");
            }
            News::Holding(left) => {
                let left = humantime::format_duration(Duration::from_secs(left.as_secs()));
                told.info(format_args!("the command has ended; keeping the lease for {left}"));
            }
            News::MayNotSignal(pid) => told.warn(format_args!(
                "cannot signal process {pid}: elect may not signal the user that it runs as; waiting for its end"
            )),
            News::Left(left, limit) => Self::outlasted(told, left, limit),
            News::EntryLeft(error) => {
                let error = anyhow::Error::from(error);
                told.warn(format_args!(
                    "our entry may stay in the store until it ends, or the next leader removes it: {error:#}"
                ));
            }
        }
    }
}

impl driver::Observer for Observer<'_> {
    fn happened(&mut self, event: &Event) {
        let is_of_command = matches!(event, Event::Ended(_) | Event::Outlived | Event::Empty);
        if let Some(feed) = self.feed.as_mut().filter(|_| !(self.is_sidecar && is_of_command)) {
            feed.happened(event);
        }
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        if let Some(feed) = &mut self.feed {
            feed.renewed(deadlines);
        }
    }

    fn called(&mut self, called: &CallEnd) {
        if let Some(feed) = &mut self.feed {
            feed.called(called);
        }
    }

    fn news(&mut self, news: News) {
        match news {
            news if !self.is_sidecar => self.say(news),
            News::Lost(ref why) => {
                self.sidecar_is_over(
                    &news,
                    Level::Error,
                    format_args!("leadership is lost: {why}"),
                );
            }
            News::SteppingDown(ref why) => {
                self.sidecar_is_over(
                    &news,
                    Level::Warn,
                    format_args!("giving leadership up: {why}"),
                );
            }
            News::Stopping(signal) => self.say(News::SteppingDown(guard::told_to_end(signal))),
            News::Emptied => {}
            news => self.say(news),
        }
    }

    fn turns(&mut self, next: Option<Boottime>) {
        if let Some(service) = self.service {
            service.turns(next);
        }
    }

    fn wants_surveys(&self) -> bool {
        self.service.is_some() || self.shared.waiting().is_wanted()
    }

    fn survey(&mut self, survey: &Survey, pause: Option<&str>) -> Option<Event> {
        self.shared.waiting().update(survey, pause, &self.candidate.id);
        if let Some(service) = self.service {
            service.survey(survey, pause, &self.candidate.id);
        }
        self.would_wait_for_itself(&survey.leader.as_ref()?.entry)
    }
}

impl Observer<'_> {
    /// Returns the event that ends this candidacy, if this process is part of the command of `leader`.
    pub(in crate::command) fn would_wait_for_itself(&self, leader: &Entry) -> Option<Event> {
        let leader = &leader.candidate;
        // In a divided election, another leader may end first, so the wait may end.
        let is_only = self.candidate.division.parts() <= 1;
        (is_only && is_our_ancestor(leader, self.candidate)).then(|| {
            Event::WaitsForUs(format!(
                "this elect run is part of the command of {}, which leads: it would wait for itself; \
                 give it another election with -e",
                leader.id
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Boottime {
        Boottime::from_boot(Duration::from_secs(1000 + second))
    }

    fn again(trouble: &mut Outage, now: Boottime, is_serious: bool, text: &str) -> Option<Level> {
        trouble.again(now, is_serious, text).map(|(level, _)| level)
    }

    #[test]
    fn an_outage_before_the_command_runs_is_logged_as_info() {
        let mut trouble = Outage::default();
        assert_eq!(again(&mut trouble, at(0), false, "no"), Some(Level::Info));
        assert_eq!(again(&mut trouble, at(1), false, "no"), None);
        assert_eq!(again(&mut trouble, at(2), false, "not"), Some(Level::Info));
        assert_eq!(trouble.over(), Level::Info);
        assert_eq!(again(&mut trouble, at(400), false, "no"), Some(Level::Info));
    }

    #[test]
    fn an_outage_that_lasts_is_a_warning_and_logged_once() {
        let mut trouble = Outage::default();
        assert_eq!(again(&mut trouble, at(0), false, "no"), Some(Level::Info));
        assert_eq!(again(&mut trouble, at(299), false, "no"), None);
        assert_eq!(again(&mut trouble, at(300), false, "no"), Some(Level::Warn));
        assert_eq!(again(&mut trouble, at(301), false, "no"), None);
        assert_eq!(trouble.over(), Level::Warn);
    }

    #[test]
    fn an_outage_that_may_end_leadership_is_a_warning_at_once() {
        let mut trouble = Outage::default();
        assert_eq!(again(&mut trouble, at(0), true, "no"), Some(Level::Warn));
        assert_eq!(again(&mut trouble, at(9), true, "no"), None);
        assert_eq!(trouble.over(), Level::Warn);
        assert_eq!(trouble.over(), Level::Info);
    }

    /// As of members that fail in different ways.
    #[test]
    fn texts_that_take_turns_are_told_once_each() {
        let mut trouble = Outage::default();
        let told = (0..600_u64).filter_map(|second| {
            let text = if second.is_multiple_of(2) { "refused" } else { "reset" };
            again(&mut trouble, at(second), false, text)
        });
        assert_eq!(told.collect::<Vec<_>>(), [Level::Info, Level::Info, Level::Warn, Level::Warn]);
    }
}
