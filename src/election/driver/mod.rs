//! The one loop: waits for whatever comes next, asks the [`Machine`], does what it says.

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
use super::history::{History, Record};
use super::machine::{Command, Event, Machine, News, Verdict};
use super::once::Done;
use super::{Call, CallEnd, CallOutcome, ready};

type Look<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Survey, Error>> + Send + 'a>>;
type Watch<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Wake, Error>> + Send + 'a>>;
struct Driver<'a> {
    candidacy: &'a Candidacy<'a>,
    clock: &'a (dyn Clock + Sync),
    tree: &'a mut dyn Tree,
    inbox: &'a mut Inbox,
    observer: &'a mut dyn Observer,
    seat: Option<SharedSeat>,
    request: Option<PendingCall<'a>>,
    /// What the request is for, and when it was sent.
    sent: Option<(Call, Boottime)>,
    look: Option<Look<'a>>,
    /// When that was sent.
    looked: Boottime,
    has_looked: bool,
    wake: Option<Wake>,
    /// What is known to be done, as last read, and what ends when there may be more.
    done: Done,
    noted: Option<Wake>,
    /// A look-out over the election that is being set up, and the one that is.
    watch: Option<Watch<'a>>,
    others: Option<Wake>,
    /// What is known of those who led before, as last read, and since when we lead.
    history: History,
    began: Option<Record>,
    /// The run of this leadership: the last one, if there were several.
    run: Progress,
    /// What the machine knows of the control cell.
    in_force: InForce,
    /// The ticket that the guardian has.
    ticket: Option<Ticket>,
    /// What came of a command at once.
    pending: VecDeque<Event>,
}

/// Runs `machine` to its verdict.
///
/// # Cancellation
/// Dropping the future leaves the entry in the store, the tree to the guardian, and in the inbox what was not read.
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
        look: None,
        looked: clock.now(),
        has_looked: false,
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
            Command::LookOut => {
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
                // If the guardian is gone, that is the news to come.
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
                if is_of_place && (!self.has_looked || self.observer.wants_surveys()) {
                    self.look(now);
                }
                self.observer.news(news);
            }
            Command::Finish(_) => {}
        }
    }

    fn look(&mut self, now: Boottime) {
        self.has_looked = true;
        self.looked = now;
        self.look = Some(Box::pin((*self.candidacy).survey()));
    }

    /// Tells the observer of the survey that was under way.
    fn looked(&mut self, survey: &Result<Survey, Error>) {
        let outcome = survey
            .as_ref()
            .map_or_else(|error| CallOutcome::Failed(error.kind()), |_| CallOutcome::Answered);
        let took = self.clock.now().since(self.looked);
        self.observer.called(&CallEnd { call: Call::Survey, took, outcome });
    }

    fn start(&mut self, token: Token) -> io::Result<()> {
        self.look = None;
        self.noted = None;
        (self.watch, self.others) = (None, None);
        let Some(seat) = self.seat.clone() else { return Ok(()) };
        // No request is under way: the win was its reply.
        let seat = seat.try_lock().map_err(io::Error::other)?;
        self.run.ordered = Some((token, self.clock.now()));
        self.tree.start(token, &seat.holds())?;
        drop(seat);
        self.begin(token);
        Ok(())
    }

    async fn next(&mut self, tick: Option<Boottime>) -> Event {
        loop {
            let due = self.in_force.next_look().into_iter().chain(tick).min();
            tokio::select! {
                biased;
                // What has come before a win counts before it: nothing is started that is asked to end already.
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
                    // Without one the machine looks again by time, and tries again.
                    if let Ok(watch) = watch {
                        self.others = Some(watch);
                        // What changed before it was set up is seen by looking again.
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
                survey = ready(&mut self.look) => {
                    self.look = None;
                    self.looked(&survey);
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

    /// Tells the observer of the call that was under way. Returns which it was.
    fn call_ended(&mut self, outcome: CallOutcome) -> Option<Call> {
        let (call, sent) = self.sent.take()?;
        let called = CallEnd { call, took: self.clock.now().since(sent), outcome };
        self.observer.called(&called);
        Some(called.call)
    }

    /// What is left of what came for the engine.
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

    /// What people ask from now on, if a pause has ended by itself. Whoever waits looks at once.
    fn lapsed(&mut self) -> Option<Control> {
        let control = self.in_force.lapsed(self.clock.now())?;
        if self.has_looked && self.observer.wants_surveys() {
            self.look(self.clock.now());
        }
        self.pending.push_back(Event::Woken);
        Some(control)
    }
}
