//! The member that leads the roster: it gives shards to those who are there.

use std::convert::Infallible;
use std::time::Duration;

use elect_api::{Cell, Division, ElectionName, Error, If, Store, Survey, Wake, first_of, never};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::roster::Known;
use crate::election::orders::Orders;
use crate::election::spread::{Member, Spread};
use crate::report::Log;

/// After how long at most it looks again, as wakes are hints.
const AGAIN: Duration = Duration::from_secs(5);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a store may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Coordinator<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) election: &'a ElectionName,
    pub(super) shards: u16,
    pub(super) log: &'a Log,
}

impl Coordinator<'_> {
    /// Coordinates whenever we lead the roster.
    pub(super) async fn work(&self, mut known: watch::Receiver<Known>) -> Infallible {
        let mut told = None;
        loop {
            if known.wait_for(|known| known.leads.is_some()).await.is_err() {
                return std::future::pending().await;
            }
            let until = match timeout(PATIENCE, self.step()).await {
                Ok(Ok(wake)) => {
                    told = None;
                    wake
                }
                Ok(Err(error)) => {
                    // A store may answer all else and refuse this: then nobody takes over what nobody leads.
                    let text = format!("{:#}", anyhow::Error::from(error));
                    if told.as_ref() != Some(&text) {
                        self.log.warn(format_args!("no shards are given out for now: {text}"));
                        told = Some(text);
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
        let orders = Orders::read(kept.bytes.as_deref())?;
        let mut arrives = never();
        let mut spread = orders.spread().clone();
        if let Some((shard, holder)) = spread.moving() {
            let part = part(self.election, shard)?;
            arrives = self.store.changed(&part).await?;
            let leader = self.store.survey(&part).await?.leader;
            if leader.is_some_and(|leader| leader.entry.candidate.id == holder) {
                spread = spread.arrived();
            }
        }
        let spread =
            spread.next(self.shards, &members(&orders, &survey, Division::Shards(self.shards)));
        if spread == *orders.spread() {
            return Ok(first_of(vec![changed, arrives]));
        }
        self.tell(orders.spread(), &spread);
        let text = orders.spreading(spread).to_bytes();
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
fn members<'a>(orders: &Orders, survey: &'a Survey, ours: Division) -> Vec<Member<'a>> {
    let candidates = survey.entries().map(|entry| &entry.candidate);
    let member = |candidate: &'a elect_api::Candidate| Member {
        id: &candidate.id,
        is_wanted: orders.priority_of(&candidate.id, candidate.priority) > 0,
    };
    candidates.filter(|candidate| candidate.division == ours).map(member).collect()
}
