//! The candidacy in the roster, which makes this process a member and runs no command, and the work of the roster's
//! leader: it coordinates.

use std::convert::Infallible;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Boottime, Cell, Division, ElectionName, Error, If, Store, Survey, Ticket, Token, Wake,
    first_of, never,
};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::command::candidacy::Observer;
use crate::election::Reply;
use crate::election::control::Control;
use crate::election::driver::{self, Duty};
use crate::election::machine::{Event, News};
use crate::election::spread::{Member, Spread};
use crate::guard::{Deadlines, Guardian, Happened};
use crate::report::{Complaints, Level, Log};

/// The state of the roster as a member knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct RosterState {
    /// The orders to the election, and which member shall hold which shards. `None` until the store has told them.
    pub(super) control: Option<Control>,
    /// The token with which this member coordinates, if it does.
    pub(super) leads: Option<Token>,
}

/// The duty of a member in the roster. It ends as soon as it is asked to. Its guardian starts no command, and gives up
/// the entry if elect crashes.
pub(super) struct Roster<'a> {
    pub(super) guardian: Guardian,
    pub(super) known: &'a watch::Sender<RosterState>,
}

#[async_trait]
impl Duty for Roster<'_> {
    fn begins(&mut self, token: Token) {
        self.known.send_modify(|known| known.leads = Some(token));
    }

    /// A renewal changes nothing here: a coordinator that leads no more can only give advice.
    fn renewed(&mut self, _: Deadlines) {}

    fn ends(&mut self, _: Boottime, _: bool) {
        self.known.send_modify(|known| known.leads = None);
    }

    fn keep(&mut self, ticket: Option<&Ticket>) {
        self.guardian.keep(ticket);
    }

    async fn next_event(&mut self) -> Event {
        while !matches!(self.guardian.next().await, Happened::Died) {}
        Event::GuardianDied
    }
}

/// Passes on to the member what it needs to know, and to people the news that concern more than the roster.
pub(super) struct RosterObserver<'a> {
    pub(super) inner: Observer<'a>,
    pub(super) known: &'a watch::Sender<RosterState>,
}

impl driver::Observer for RosterObserver<'_> {
    fn news(&mut self, news: News) {
        match news {
            News::Waiting { .. }
            | News::Leading(_)
            | News::SteppingDown(_)
            | News::Leaving { .. }
            | News::Emptied => {}
            news => self.inner.news(news),
        }
    }

    /// Reads the control cell. The inner observer gets no events, renewals and calls, as it serves no pages.
    fn happened(&mut self, event: &Event) {
        match event {
            Event::ControlRead(control) => {
                self.known.send_modify(|known| known.control = Some(control.clone()));
            }
            // The content of a control cell arrives before the first standing. So there is no control cell, and there
            // are no orders.
            Event::Replied(Ok(Reply::Standing(_))) if self.known.borrow().control.is_none() => {
                self.known.send_modify(|known| known.control = Some(Control::default()));
            }
            _ => {}
        }
    }

    fn turns(&mut self, next: Option<Boottime>) {
        self.inner.turns(next);
    }

    /// Any candidate in the roster can be the one whose command this process is part of: the holder of a shard may lead
    /// the roster or wait in it.
    fn survey(&mut self, survey: &Survey, _: Option<&str>) -> Option<Event> {
        survey.entries().find_map(|entry| self.inner.would_wait_for_itself(entry))
    }
}

/// The longest time between two looks at the roster, as wakes are only hints.
const AGAIN: Duration = Duration::from_secs(5);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest time that the store may take for one step.
const PATIENCE: Duration = Duration::from_secs(5);

/// The leader of the roster, which assigns shards to the members.
pub(super) struct Coordinator<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) election: &'a ElectionName,
    pub(super) shards: u16,
    pub(super) log: &'a Log,
}

impl Coordinator<'_> {
    /// Coordinates whenever this member leads the roster.
    pub(super) async fn work(&self, mut known: watch::Receiver<RosterState>) -> Infallible {
        let mut told = Complaints::none();
        loop {
            if known.wait_for(|known| known.leads.is_some()).await.is_err() {
                return std::future::pending().await;
            }
            let until = match timeout(PATIENCE, self.step()).await {
                Ok(Ok(wake)) => {
                    told.end();
                    wake
                }
                Ok(Err(error)) => {
                    // A store may grant everything but this write. Then no member takes over the shards that have lost
                    // their leader.
                    let text = format!("{:#}", anyhow::Error::from(error));
                    if let Some(more) = told.tell(Level::Warn, &text) {
                        self.log
                            .warn(format_args!("no shards are given out for now: {text}{more}"));
                    }
                    Box::pin(sleep(PAUSE))
                }
                Err(_) => Box::pin(sleep(PAUSE)),
            };
            let _ = timeout(AGAIN, until).await;
        }
    }

    /// Reads the members once, and writes the next assignment of shards. Returns the wake after which another step
    /// is useful.
    async fn step(&self) -> Result<Wake, Error> {
        // The wake is asked for first, so that no later change is missed.
        let changed = self.store.changed(self.election).await?;
        // The members are read after the assignment. If another coordinator knew of later ones, it has written since,
        // and the write below is refused.
        let kept = self.store.read(self.election, Cell::Control).await?;
        let control = Control::read(kept.bytes.as_deref())?;
        let survey = self.store.survey(self.election).await?;
        let mut arrives = never();
        let mut spread = control.spread().clone();
        if let Some((shard, holder)) = spread.moving() {
            let part = part(self.election, shard)?;
            arrives = self.store.changed(&part).await?;
            let leader = self.store.survey(&part).await?.leader;
            if leader.is_some_and(|leader| leader.entry.candidate.id == holder) {
                spread = spread.arrived();
            }
        }
        let spread =
            spread.next(self.shards, &members(&control, &survey, Division::Shards(self.shards)));
        if spread == *control.spread() {
            return Ok(first_of(vec![changed, arrives]));
        }
        self.tell(control.spread(), &spread);
        let text = control.spreading(spread).to_bytes();
        let unchanged = If::Version(kept.version);
        self.store.write(self.election, Cell::Control, &text, unchanged).await?;
        // The next look comes at once, also if another coordinator's write came first.
        Ok(elect_api::awake())
    }

    fn tell(&self, before: &Spread, after: &Spread) {
        match after.moving().filter(|_| before.moving() != after.moving()) {
            Some((shard, to)) => self.log.debug(format_args!("shard {shard} moves to {to}")),
            None => {
                for (id, count) in after.counts() {
                    self.log.debug(format_args!("{id} is to hold {count} of the shards"));
                }
            }
        }
    }
}

fn part(election: &ElectionName, shard: u16) -> Result<ElectionName, Error> {
    let unfit = |error| Error::new(elect_api::ErrorKind::Unfit, "no such shard").because(error);
    Division::part(election, shard).map_err(unfit)
}

/// Returns the members, in the order of their arrival: the candidates with the same division. Foreign programs run no
/// command for a shard, nor do candidates with another division, which are about to be refused.
fn members<'a>(control: &Control, survey: &'a Survey, ours: Division) -> Vec<Member<'a>> {
    let candidates = survey.entries().map(|entry| &entry.candidate);
    let member = |candidate: &'a elect_api::Candidate| Member {
        id: &candidate.id,
        is_wanted: control.priority_of(&candidate.id, candidate.priority) > 0,
    };
    candidates.filter(|candidate| candidate.division == ours).map(member).collect()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::time::UNIX_EPOCH;

    use elect_api::{Candidate, Seat};
    use elect_testkit::sim::{Clock, Effect, Kind, ManualClock, Op, Options, Rule, Sim};
    use elect_testkit::{election, poll_n_eagerly, run};

    use super::*;
    use crate::config::{LogFormat, Verbosity};

    const TTL: Duration = Duration::from_secs(12);
    const SHARDS: u16 = 6;

    async fn join(store: &dyn Store, id: &str, now: Boottime) -> Box<dyn Seat> {
        let division = Division::Shards(SHARDS);
        let candidate = Candidate { host: "h".to_owned(), division, ..Candidate::foreign(id) };
        let mut seat = store.open(&election(), &candidate, TTL).await.expect("a seat");
        seat.refresh(now).await.expect("a standing");
        seat
    }

    async fn spread(store: &dyn Store) -> Spread {
        let kept = store.read(&election(), Cell::Control).await.expect("a cell");
        Control::read(kept.bytes.as_deref()).expect("a cell of ours").spread().clone()
    }

    /// The members that an old coordinator saw give no shard to a member that has left since.
    #[test]
    fn no_shard_moves_to_a_member_whose_departure_another_coordinator_knew_of() {
        for held in [Op::Survey, Op::Control] {
            run("two coordinators", async {
                let clock = Arc::new(ManualClock::default());
                let sim = Sim::new(Options::new(Kind::Queue), Arc::clone(&clock) as Arc<_>);
                let store = sim.connect();
                let log = Log::new(Verbosity::Quiet, LogFormat::Text, || UNIX_EPOCH);
                let election = election();
                let coordinator =
                    Coordinator { store: &*store, election: &election, shards: SHARDS, log: &log };
                let mut seats = Vec::new();
                for id in ["a", "b", "c"] {
                    seats.push(join(&*store, id, clock.now()).await);
                }
                drop(coordinator.step().await.expect("a step"));
                assert_eq!(spread(&*store).await.counts().count(), 3);

                let hold = sim.controls().add(Rule::new(Effect::Hold).op(held).times(1));
                let mut late = pin!(coordinator.step());
                assert!(poll_n_eagerly(50, &mut late).await.is_none(), "{held:?}");
                assert_eq!(sim.controls().hits(hold), 1, "{held:?}");
                seats.remove(0).resign(None).await.expect("an answer");
                drop(coordinator.step().await.expect("a step"));
                let even = spread(&*store).await;
                assert_eq!(even.counts().collect::<Vec<_>>(), [("b", 3), ("c", 3)]);
                sim.controls().lift(hold);
                drop(late.await);
                assert_eq!(spread(&*store).await, even, "{held:?}");
            });
        }
    }
}
