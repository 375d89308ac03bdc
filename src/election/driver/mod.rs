//! The one loop of the engine: it waits for the next event, passes it to the [`Machine`], and executes the commands
//! that the machine returns.

mod duty;
mod ports;
mod requests;
mod run;

use std::collections::VecDeque;
use std::io;

use elect_api::{Boottime, Error, Survey, Ticket, Token, Wake};

use crate::guard::Order;

pub use duty::{Duty, OnDuty};
pub use ports::{Candidacy, Clock, Inbox, Observer, Once, Tree, no_inbox};

use self::requests::{PendingCall, SharedSeat};
use self::run::Progress;
use super::control::{Control, InForce};
use super::history::{History, LeadershipRecord};
use super::machine::{Command, Event, Machine, News, Verdict};
use super::once::Done;
use super::{Call, CallEnd, CallOutcome, ready};

type PendingSurvey<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Survey, Error>> + Send + 'a>>;
type PendingWake<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Wake, Error>> + Send + 'a>>;
struct Driver<'a> {
    candidacy: &'a Candidacy<'a>,
    clock: &'a (dyn Clock + Sync),
    tree: &'a mut dyn Tree,
    inbox: &'a mut Inbox,
    observer: &'a mut dyn Observer,
    seat: Option<SharedSeat>,
    request: Option<PendingCall<'a>>,
    /// The call that the request makes, and when it was sent.
    sent: Option<(Call, Boottime)>,
    survey: Option<PendingSurvey<'a>>,
    /// The time at which the pending survey was sent.
    survey_sent: Boottime,
    has_surveyed: bool,
    wake: Option<Wake>,
    /// The `--once` keys that are done, as last read, and a wake that ends when there may be more.
    done: Done,
    noted: Option<Wake>,
    /// The watch over the election while it is being set up, and the wake of the one that is set up.
    watch: Option<PendingWake<'a>>,
    others: Option<Wake>,
    /// The history as last read, and the record of this candidate's own leadership.
    history: History,
    began: Option<LeadershipRecord>,
    /// The run of this leadership. If there were several, the last one.
    run: Progress,
    /// The requests of the control cell that the machine knows.
    in_force: InForce,
    /// The ticket that the guardian has.
    ticket: Option<Ticket>,
    /// The events that a command caused at once.
    pending: VecDeque<Event>,
}

/// Runs `machine` until it has a verdict.
///
/// # Cancellation
/// Dropping the future leaves the entry in the store, the tree to the guardian, and unread events in the inbox.
pub async fn drive(
    candidacy: &Candidacy<'_>,
    mut machine: Machine,
    clock: &(dyn Clock + Sync),
    tree: &mut dyn Tree,
    inbox: &mut Inbox,
    observer: &mut dyn Observer,
) -> Verdict {
    let mut driver = Driver {
        candidacy,
        clock,
        tree,
        inbox,
        observer,
        seat: None,
        request: None,
        sent: None,
        survey: None,
        survey_sent: clock.now(),
        has_surveyed: false,
        wake: None,
        done: Done::default(),
        noted: None,
        watch: None,
        others: None,
        history: History::default(),
        began: None,
        run: Progress::default(),
        in_force: InForce::default(),
        ticket: None,
        pending: VecDeque::new(),
    };
    let mut event = Event::Tick;
    loop {
        driver.observer.happened(&event);
        let now = driver.clock.now();
        driver.run.follow(now, &event);
        if machine.counts_time() {
            machine.clock_runs_at(driver.clock.rate());
        }
        for command in machine.step(now, event) {
            if let Command::Finish(verdict) = command {
                driver.observer.turns(None);
                return verdict;
            }
            driver.execute(now, command);
        }
        event = if let Some(event) = driver.pending.pop_front() {
            event
        } else {
            let next = machine.next_tick();
            driver.observer.turns(next);
            driver.next(next).await
        };
    }
}

impl Driver<'_> {
    fn execute(&mut self, now: Boottime, command: Command) {
        match command {
            Command::Ask(call) => {
                self.request = self.ask(now, &call);
                self.sent = Some((call, now));
            }
            Command::WatchElection => {
                if self.watch.is_none() && self.others.is_none() {
                    let Candidacy { store, election, .. } = *self.candidacy;
                    self.watch = Some(store.changed(election));
                }
            }
            Command::Abandon => {
                self.request = None;
                self.call_ended(CallOutcome::Abandoned);
            }
            Command::Start(token) => {
                // If the guardian is gone, an event will report that.
                if let Err(error) = self.start(token)
                    && !matches!(
                        error.kind(),
                        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                    )
                {
                    self.pending
                        .push_back(Event::NotStarted(error.raw_os_error().unwrap_or(libc::EIO)));
                    self.pending.push_back(Event::Empty);
                }
            }
            Command::Order(order, stopped_by) => {
                self.tree.obey(order, stopped_by);
                if let Order::Renewed(deadlines) = order {
                    self.observer.renewed(deadlines);
                }
            }
            Command::Sweep => self.tree.sweep(),
            Command::Tell(news) => {
                let is_of_place = match &news {
                    News::Waiting { .. } => true,
                    News::Blocked(block) => block.is_open_ended(),
                    _ => false,
                };
                if is_of_place && (!self.has_surveyed || self.observer.wants_surveys()) {
                    self.start_survey(now);
                }
                self.observer.news(news);
            }
            Command::Finish(_) => {}
        }
    }

    fn start_survey(&mut self, now: Boottime) {
        self.has_surveyed = true;
        self.survey_sent = now;
        self.survey = Some(Box::pin((*self.candidacy).survey()));
    }

    /// Tells the observer that the pending survey has ended.
    fn survey_ended(&mut self, survey: &Result<Survey, Error>) {
        let outcome = survey
            .as_ref()
            .map_or_else(|error| CallOutcome::Failed(error.kind()), |_| CallOutcome::Answered);
        let took = self.clock.now().since(self.survey_sent);
        self.observer.called(&CallEnd { call: Call::Survey, took, outcome });
    }

    fn start(&mut self, token: Token) -> io::Result<()> {
        self.survey = None;
        self.noted = None;
        (self.watch, self.others) = (None, None);
        let Some(seat) = self.seat.clone() else { return Ok(()) };
        // No request is pending: the win was its reply.
        let seat = seat.try_lock().map_err(io::Error::other)?;
        self.run.ordered = Some((token, self.clock.now()));
        self.tree.start(token, &seat.holds())?;
        drop(seat);
        self.begin(token);
        Ok(())
    }

    async fn next(&mut self, tick: Option<Boottime>) -> Event {
        loop {
            let due = self.in_force.next_check().into_iter().chain(tick).min();
            tokio::select! {
                biased;
                // The inbox comes first, so that a request to end that came before a win prevents the start.
                Some(event) = self.inbox.recv() => {
                    if let Some(event) = self.received(event) {
                        return event;
                    }
                }
                answer = ready(&mut self.request) => {
                    self.request = None;
                    let call = self.call_ended(requests::outcome(&answer));
                    return self.answered(call.as_ref(), answer);
                }
                event = self.tree.next_event() => return event,
                () = ready(&mut self.wake) => {
                    self.wake = None;
                    return Event::Woken;
                }
                watch = ready(&mut self.watch) => {
                    self.watch = None;
                    // Without a watch, the machine asks again by time, and tries again to set one up.
                    if let Ok(watch) = watch {
                        self.others = Some(watch);
                        // A new answer shows what changed before the watch was set up.
                        return Event::Woken;
                    }
                }
                () = ready(&mut self.others) => {
                    self.others = None;
                    return Event::Woken;
                }
                () = ready(&mut self.noted) => {
                    self.noted = None;
                    return Event::Noted;
                }
                survey = ready(&mut self.survey) => {
                    self.survey = None;
                    self.survey_ended(&survey);
                    if let Some(event) = survey.ok().and_then(|survey| self.surveyed(survey)) {
                        return event;
                    }
                }
                () = self.clock.until(due) => {
                    if tick.is_some_and(|tick| tick <= self.clock.now()) {
                        return Event::Tick;
                    }
                    if let Some(control) = self.lapsed() {
                        return Event::ControlRead(control);
                    }
                }
            }
        }
    }

    /// Tells the observer that the pending call has ended, and returns the call.
    fn call_ended(&mut self, outcome: CallOutcome) -> Option<Call> {
        let (call, sent) = self.sent.take()?;
        let called = CallEnd { call, took: self.clock.now().since(sent), outcome };
        self.observer.called(&called);
        Some(called.call)
    }

    /// Handles signals that are for the tree. Returns the event if it is for the engine.
    fn received(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Signal(signal @ (libc::SIGCHLD | libc::SIGTSTP | libc::SIGCONT)) => {
                self.tree.signaled(signal).map(Event::Signal)
            }
            event => Some(event),
        }
    }

    fn surveyed(&mut self, survey: Survey) -> Option<Event> {
        let control = self.in_force.control();
        self.observer.survey(&control.obeyed(survey), control.pause().as_deref())
    }

    /// Returns the requests that count from now on, if a pause has ended by itself. A waiting candidate then asks at
    /// once.
    fn lapsed(&mut self) -> Option<Control> {
        let control = self.in_force.lapsed(self.clock.now())?;
        if self.has_surveyed && self.observer.wants_surveys() {
            self.start_survey(self.clock.now());
        }
        self.pending.push_back(Event::Woken);
        Some(control)
    }
}
