//! The candidacy that makes us a member, for which nothing runs, and what whoever leads in it does: it coordinates.

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
use crate::command::run::tree::{Guarded, Happened};
use crate::election::control::Control;
use crate::election::driver::{self, Duty};
use crate::election::machine::{Event, News};
use crate::election::spread::{Member, Spread};
use crate::election::{CallEnd, Reply};
use crate::guard::Deadlines;
use crate::report::{Complaints, Level, Log};

/// What a member knows of the roster.
#[derive(Clone, Debug, Default)]
pub(super) struct RosterState {
    /// What is asked, and who is to hold which shards; `None` before the store has said so.
    pub(super) control: Option<Control>,
    /// The token with which we coordinate, if we do.
    pub(super) leads: Option<Token>,
}

/// A member's part in the roster, which it ends as soon as it is asked to. Its guardian, which starts nothing, gives our
/// entry up if we crash.
pub(super) struct Roster<'a> {
    pub(super) guarded: Guarded,
    pub(super) known: &'a watch::Sender<RosterState>,
}

#[async_trait]
impl Duty for Roster<'_> {
    fn begins(&mut self, token: Token) {
        self.known.send_modify(|known| known.leads = Some(token));
    }

    /// Whoever coordinates without leading any more gives advice, and no more.
    fn renewed(&mut self, _: Deadlines) {}

    fn ends(&mut self, _: Boottime, _: bool) {
        self.known.send_modify(|known| known.leads = None);
    }

    fn keep(&mut self, ticket: Option<&Ticket>) {
        self.guarded.guardian().keep(ticket);
    }

    async fn next_event(&mut self) -> Event {
        while !matches!(self.guarded.next().await, Happened::Died) {}
        Event::GuardianDied
    }
}

/// Passes on what a member needs to know, and to people what is not only the roster's.
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

    /// What it hears is the roster's: no command of a member runs for that.
    fn happened(&mut self, event: &Event) {
        match event {
            Event::ControlRead(control) => {
                self.known.send_modify(|known| known.control = Some(control.clone()));
            }
            // Nothing was ever asked, if it did not come before.
            Event::Replied(Ok(Reply::Standing(_))) if self.known.borrow().control.is_none() => {
                self.known.send_modify(|known| known.control = Some(Control::default()));
            }
            _ => {}
        }
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.inner.renewed(deadlines);
    }

    fn called(&mut self, called: &CallEnd) {
        self.inner.called(called);
    }

    fn turns(&mut self, next: Option<Boottime>) {
        self.inner.turns(next);
    }

    fn wants_surveys(&self) -> bool {
        false
    }

    /// Whoever has the only shard may lead the members or wait among them.
    fn survey(&mut self, survey: &Survey, _: Option<&str>) -> Option<Event> {
        survey.entries().find_map(|entry| self.inner.would_wait_for_itself(entry))
    }
}

/// After how long at most it looks again, as wakes are hints.
const AGAIN: Duration = Duration::from_secs(5);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a store may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The member that leads the roster: it gives shards to those who are there.
pub(super) struct Coordinator<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) election: &'a ElectionName,
    pub(super) shards: u16,
    pub(super) log: &'a Log,
}

impl Coordinator<'_> {
    /// Coordinates whenever we lead the roster.
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
                    // A store may answer all else and refuse this: then nobody takes over what nobody leads.
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

    /// Looks once who is there, and gives out what is to be given out by now. What ends when it is worth looking
    /// again.
    async fn step(&self) -> Result<Wake, Error> {
        // First, so that nothing is missed.
        let changed = self.store.changed(self.election).await?;
        let survey = self.store.survey(self.election).await?;
        let kept = self.store.read(self.election, Cell::Control).await?;
        let control = Control::read(kept.bytes.as_deref())?;
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
        // Also where another was faster.
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

/// Who takes part in shards as we do, first come, first served. Nobody else runs anything for one: no program that is
/// no elect, and nobody who is about to be refused.
fn members<'a>(control: &Control, survey: &'a Survey, ours: Division) -> Vec<Member<'a>> {
    let candidates = survey.entries().map(|entry| &entry.candidate);
    let member = |candidate: &'a elect_api::Candidate| Member {
        id: &candidate.id,
        is_wanted: control.priority_of(&candidate.id, candidate.priority) > 0,
    };
    candidates.filter(|candidate| candidate.division == ours).map(member).collect()
}
