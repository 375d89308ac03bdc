//! The one loop: waits for whatever comes next, asks the [`Machine`], does what it says.

mod duty;
mod ports;
mod requests;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use elect_api::{
    Boottime, Candidate, Cell, Durability, ElectionName, Error, Note, Standing, Store, Survey,
    Ticket, Token, Validity, Wake, Written, stamp,
};
use tokio::sync::{Mutex, Semaphore};

use crate::guard::switches::is_off;
use crate::guard::{Ended, Order};

pub use duty::{Duty, OnDuty};
pub use ports::{Clock, Inbox, Observer, Tree, no_inbox};

use self::requests::{PendingCall, Raw, Said, SharedSeat};
use super::history::{History, Record};
use super::machine::{Command, Event, Machine, News, Verdict};
use super::once::{Done, Run, is_no_try};
use super::orders::{Orders, Request};
use super::{Answer, Call, Called, Ending, Reply};

/// One candidacy: who runs for what, where.
#[derive(Clone, Copy)]
pub struct Candidacy<'a> {
    /// The store.
    pub store: &'a dyn Store,
    /// The election.
    pub election: &'a ElectionName,
    /// Who runs.
    pub candidate: &'a Candidate,
    /// The length of lease to ask for.
    pub ttl: Duration,
    /// What is to be done once. As long as the machine's rules have it.
    pub once: Option<Once<'a>>,
    /// How many surveys are under way at once, where this process has many candidacies: each may be large.
    pub surveys: Option<&'a Semaphore>,
}

/// What is to be done once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Once<'a> {
    /// The key that it is known by.
    pub key: &'a str,
    /// How many runs of it there may be among all candidates; any number if `None`. As the machine's rules have it.
    pub attempts: Option<u32>,
}

impl Candidacy<'_> {
    /// Who takes part, once it is our turn to ask.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn survey(self) -> Result<Survey, Error> {
        in_turn(self.surveys, self.store.survey(self.election)).await
    }
}

/// Begins the work once it is its turn, which ends with it.
async fn in_turn<T>(turns: Option<&Semaphore>, work: impl Future<Output = T>) -> T {
    let _turn = match turns {
        Some(turns) => turns.acquire().await.ok(),
        None => None,
    };
    work.await
}

/// The last run of a leadership, as far as it has come.
#[derive(Debug, Default)]
struct Progress {
    /// With which token it was counted, or may have been.
    counted: Option<Token>,
    /// Whether it is recorded that what is to be done once is done.
    is_recorded: bool,
    /// With which token it was ordered, unless it is known that nothing came of that. A guardian that dies in the middle
    /// of it may have started something.
    ordered: Option<Token>,
    /// When it started, and what the wall clock showed then, in milliseconds since 1970.
    started: Option<(Boottime, u64)>,
    /// How it ended, and when.
    ended: Option<(Ended, Boottime)>,
}

impl Progress {
    fn follow(&mut self, now: Boottime, event: &Event) {
        match event {
            Event::Started => (self.started, self.ended) = (Some((now, stamp::display())), None),
            Event::Ended(ended) | Event::EndedByKey(ended) => self.ended = Some((*ended, now)),
            Event::NotStarted(_) => self.ordered = None,
            _ => {}
        }
    }

    /// How it ended, and how long it took, if it has.
    fn outcome(&self) -> Option<(Ended, Duration)> {
        let ((began, _), (ended, at)) = self.started.zip(self.ended)?;
        Some((ended, at.since(began)))
    }

    /// What is to be said of it, where it is to be done once: how it ended, or that it does not count.
    fn say(&self, candidate: &Candidate) -> Option<Said> {
        match (self.counted, self.outcome()) {
            (Some(token), _) if self.ordered.is_none() => Some(Said::Retracted(token)),
            (Some(token), Some((ended, _))) if is_no_try(ended) => Some(Said::Retracted(token)),
            (counted, Some((ended, took))) if counted.is_some() || self.is_recorded => {
                let (_, stamp) = self.started?;
                Some(Said::Ended(Run::begun(self.ordered?, candidate, stamp).ended(ended, took)))
            }
            _ => None,
        }
    }
}

/// How long the wall clock is trusted to go on as it does, where a pause ends by it.
const WALL_CLOCK: Duration = Duration::from_secs(10);

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
    /// The orders that the machine knows, and the version of what was read last.
    orders: Orders,
    ordered: u64,
    /// What was read, while a pause in it is to end by itself, and when to look at our wall clock again.
    lapsing: Option<(Orders, Boottime)>,
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
        orders: Orders::default(),
        ordered: 0,
        lapsing: None,
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

impl<'a> Driver<'a> {
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
                self.call_ended(Ending::Abandoned);
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
                    News::Blocked(block) => block.is_lifted_by_people(),
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

    /// Sends what the call asks for. Without a seat nothing is asked of one.
    fn ask(&mut self, now: Boottime, call: &Call) -> Option<PendingCall<'a>> {
        let candidacy = self.candidacy;
        Some(match call {
            Call::Open => requests::open(candidacy),
            Call::Settle => requests::settle(candidacy),
            Call::Announce => requests::announce(candidacy),
            Call::Compare => requests::compare(candidacy),
            // What people see has a way of its own.
            Call::Survey => return None,
            Call::Refresh => {
                if !is_off!(TicketFirst) {
                    self.hand_over_ticket();
                }
                requests::refresh(self.seat.clone()?, now)
            }
            Call::Recall => requests::read(self.seat.clone()?, now, Cell::Once),
            Call::ReadHistory => requests::read(self.seat.clone()?, now, Cell::History),
            Call::Record => {
                let note = self.done.clone().with(candidacy.once?.key);
                requests::write(self.seat.clone()?, now, (Cell::Once, Durability::Usual), note)
            }
            Call::Attempt(token) => {
                self.run.counted = Some(*token);
                let run = Run::begun(*token, candidacy.candidate, stamp::display());
                requests::attempt(candidacy, self.seat.clone()?, now, run)?
            }
            Call::WriteHistory => {
                let note = self.history.note_with(self.began.as_ref()?);
                requests::write(self.seat.clone()?, now, (Cell::History, Durability::Usual), note)
            }
            Call::BeginHistory(token) => {
                let begun = self.begin(*token);
                let note = self.history.note_with(&begun);
                // A winner that holds back for a leader that was cut short goes by it.
                requests::write(self.seat.clone()?, now, (Cell::History, Durability::Lasting), note)
            }
            Call::Resign(words) => {
                self.wake = None;
                self.tree.resigns();
                let ended = self.began.take().zip(words.as_ref());
                let run = std::mem::take(&mut self.run);
                let ended = ended.map(|(begun, words)| begun.ended(words, run.outcome()));
                let note = ended.map(|ended| self.history.note_with(&ended));
                let said =
                    candidacy.once.and_then(|once| Some((once.key, run.say(candidacy.candidate)?)));
                requests::resign(self.seat.clone()?, now, note, said)
            }
        })
    }

    /// Tells the observer of the call that was under way. Returns which it was.
    fn call_ended(&mut self, ending: Ending) -> Option<Call> {
        let (call, sent) = self.sent.take()?;
        let called = Called { call, took: self.clock.now().since(sent), ending };
        self.observer.called(&called);
        Some(called.call)
    }

    fn look(&mut self, now: Boottime) {
        self.has_looked = true;
        self.looked = now;
        self.look = Some(Box::pin((*self.candidacy).survey()));
    }

    /// Tells the observer of the survey that was under way.
    fn looked(&mut self, survey: &Result<Survey, Error>) {
        let ending =
            survey.as_ref().map_or_else(|error| Ending::Failed(error.kind()), |_| Ending::Answered);
        let took = self.clock.now().since(self.looked);
        self.observer.called(&Called { call: Call::Survey, took, ending });
    }

    /// The refresh to come may make an entry, and we may die in the middle of it.
    fn hand_over_ticket(&mut self) {
        let Some(seat) = &self.seat else { return };
        // No request is under way: the next one is about to be made.
        let ticket = seat.try_lock().ok().and_then(|seat| seat.ticket());
        if let Some(ticket) = ticket.filter(|ticket| self.ticket.as_ref() != Some(ticket)) {
            self.tree.keep(Some(&ticket));
            self.ticket = Some(ticket);
        }
    }

    fn start(&mut self, token: Token) -> io::Result<()> {
        self.look = None;
        self.noted = None;
        (self.watch, self.others) = (None, None);
        let Some(seat) = self.seat.clone() else { return Ok(()) };
        // No request is under way: the win was its reply.
        let seat = seat.try_lock().map_err(io::Error::other)?;
        self.run.ordered = Some(token);
        self.tree.start(token, &seat.holds())?;
        drop(seat);
        self.begin(token);
        Ok(())
    }

    /// Our leadership with this token, which begins now unless it has.
    fn begin(&mut self, token: Token) -> Record {
        let known = self.began.take().filter(|begun| begun.token() == token);
        let id = &self.candidacy.candidate.id;
        let key = self.candidacy.once.map(|once| once.key);
        let begun = known.unwrap_or_else(|| Record::begun(token, id, stamp::display()).of(key));
        self.began.insert(begun).clone()
    }

    async fn next(&mut self, tick: Option<Boottime>) -> Event {
        loop {
            let lapse = self.lapsing.as_ref().map(|&(_, at)| at);
            let due = lapse.into_iter().chain(tick).min();
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
                    let call = self.call_ended(requests::ending(&answer));
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
                    if let Some(orders) = self.lapsed() {
                        return Event::Ordered(orders);
                    }
                }
            }
        }
    }

    /// What is left of what came for the engine.
    fn received(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Signal(signal) => self.tree.signaled(signal).map(Event::Signal),
            event => Some(event),
        }
    }

    /// As the store says, unless a test wants the mistake of counting from the reply.
    fn anchored(&self, validity: Validity) -> Validity {
        match validity {
            Validity::Window { window, .. } if is_off!(Anchor) => {
                Validity::Window { anchor: self.clock.now(), window }
            }
            validity => validity,
        }
    }

    fn surveyed(&mut self, survey: Survey) -> Option<Event> {
        self.observer.survey(&self.orders.obeyed(survey), self.orders.pause().as_deref())
    }

    /// What people ask of the election, if that is not what it was.
    fn new_orders(&mut self) -> Option<Orders> {
        let seat = self.seat.as_ref()?;
        // No request is under way: the answer to it is here.
        let seat = seat.try_lock().ok()?;
        let kept = seat.control();
        if std::mem::replace(&mut self.ordered, kept.version) == kept.version {
            return None;
        }
        let read = Orders::read(kept.bytes.as_deref()).unwrap_or_else(|error| {
            self.observer.news(News::OrdersUnread(error));
            Orders::default()
        });
        drop(seat);
        self.judge(read);
        Some(self.orders.clone())
    }

    /// Goes by what of these orders counts at present. Where a pause in them ends by itself our wall clock says when, and
    /// somebody may set it meanwhile.
    fn judge(&mut self, read: Orders) {
        let Some(end) = read.pausing().and_then(Request::end) else {
            (self.orders, self.lapsing) = (read, None);
            return;
        };
        let wall = stamp::display();
        self.orders = read.clone().as_of(wall);
        let left = Duration::from_millis(end.saturating_sub(wall)).min(WALL_CLOCK);
        self.lapsing = (!left.is_zero()).then(|| (read, self.clock.now() + left));
    }

    /// What people ask from now on, if a pause has ended by itself. Whoever waits looks at once.
    fn lapsed(&mut self) -> Option<Orders> {
        let (read, _) = self.lapsing.take_if(|(_, at)| *at <= self.clock.now())?;
        self.judge(read);
        if self.orders.pausing().is_some() {
            return None;
        }
        if self.has_looked && self.observer.wants_surveys() {
            self.look(self.clock.now());
        }
        self.pending.push_back(Event::Woken);
        Some(self.orders.clone())
    }

    /// Whether it is done already, as this note says.
    fn recalled(&mut self, note: Note) -> Result<bool, Error> {
        self.done = Done::read(note.bytes.as_deref())?;
        self.noted = Some(note.wake);
        Ok(self.candidacy.once.is_some_and(|once| self.done.has(once.key)))
    }

    /// Whether whoever led last has ended well, as this note says. A power cut may have left anything.
    fn history_read(&mut self, note: &Note) -> bool {
        let known = History::read(note.bytes.as_deref()).ok();
        let has_ended_well = known.as_ref().is_some_and(History::has_ended_well);
        self.history = known.unwrap_or_default();
        has_ended_well
    }

    /// What the machine is told of an answer.
    fn answered(&mut self, call: Option<&Call>, answer: Result<Raw, Error>) -> Event {
        Event::Replied(match answer {
            Err(error) => Err(error),
            Ok(Raw::Plain(reply)) => {
                self.run.is_recorded |=
                    call == Some(&Call::Record) && matches!(reply, Reply::Written(Written::Yes(_)));
                Ok(reply)
            }
            Ok(Raw::Seat(seat)) => {
                self.seat = Some(Arc::new(Mutex::new(seat)));
                Ok(Reply::Opened)
            }
            Ok(Raw::Note(note)) if call == Some(&Call::ReadHistory) => {
                Ok(Reply::EndedWell(self.history_read(&note)))
            }
            Ok(Raw::Note(note)) => self.recalled(note).map(Reply::Done),
            Ok(Raw::Standing(standing)) => return self.refreshed(standing),
        })
    }

    fn refreshed(&mut self, standing: Standing) -> Event {
        self.wake = None;
        if is_off!(TicketFirst) {
            self.hand_over_ticket();
        }
        let waits = matches!(standing, Standing::Waiting { .. });
        let answer = match standing {
            Standing::Leading { token, validity, wake } => {
                self.wake = Some(wake);
                Answer::Leading { token, validity: self.anchored(validity) }
            }
            Standing::Waiting { ahead, wake } => {
                self.wake = Some(wake);
                Answer::Waiting { ahead }
            }
            Standing::Evicted(why) => Answer::Evicted(why),
            Standing::Gone(why) => Answer::Gone(why),
        };
        let answer = Event::Replied(Ok(Reply::Standing(answer)));
        let Some(orders) = self.new_orders() else { return answer };
        // Who leads may be seen otherwise now.
        if waits && self.has_looked && self.observer.wants_surveys() {
            self.look(self.clock.now());
        }
        self.pending.push_back(answer);
        Event::Ordered(orders)
    }
}

/// The output of the future in `slot`; never, if there is none.
async fn ready<F: Future + Unpin>(slot: &mut Option<F>) -> F::Output {
    match slot {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn no_more_work_goes_on_at_once_than_has_a_turn() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || async {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            yield_now().await;
            now.fetch_sub(1, Ordering::Relaxed);
        };
        let turns = Semaphore::new(2);
        join_all((0..8).map(|_| in_turn(Some(&turns), work()))).await;
        assert_eq!(most.swap(0, Ordering::Relaxed), 2);
        join_all((0..8).map(|_| in_turn(None, work()))).await;
        assert_eq!(most.into_inner(), 8, "nobody else has to wait");
        // Whoever gives up its turn, or its wait for one, keeps nobody else from it.
        let held = in_turn(Some(&turns), std::future::pending::<()>());
        tokio::select! {
            biased;
            () = held => {}
            () = yield_now() => {}
        }
        assert_eq!(turns.available_permits(), 2);
    }
}
