//! One candidacy of a campaign, and what the program hears of it.

use std::sync::Arc;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, ErrorKind, Store, Ticket, Token};
use tokio::sync::{oneshot, watch};

use super::Error;
use super::engine::Engine;
use super::leadership::Told;
use crate::election::driver::{self, Candidacy, Clock as _, Duty, OnDuty};
use crate::election::machine::{Event, LetIn, Machine, News, Rules, Settles, Verdict, Wait};
use crate::election::timing::Timing;
use crate::guard::{self, Deadlines};

/// One candidacy with all that it needs.
pub(super) struct Candidature {
    pub(super) store: Arc<dyn Store>,
    pub(super) election: ElectionName,
    pub(super) candidate: Candidate,
    pub(super) timing: Timing,
    pub(super) wait: Wait,
    /// Whether the campaign has led before.
    pub(super) let_in: LetIn,
}

impl Candidature {
    /// Takes part until the candidacy ends. Returns an error if it failed, or if it could not remove its entry.
    pub(super) async fn take_part(
        self,
        engine: Arc<Engine>,
        work: Work,
        told: Arc<watch::Sender<Told>>,
    ) -> Result<(), Error> {
        let candidacy = Candidacy {
            store: &*self.store,
            election: &self.election,
            candidate: &self.candidate,
            once: None,
            surveys: None,
        };
        let mut observer = LibraryObserver::new(told);
        let mut work = OnDuty::new(work, &*engine, Some(self.timing.kill_grace));
        let machine = Machine::new(self.rules(), self.timing, engine.now(), fastrand::u64(..));
        let verdict = driver::drive(
            &candidacy,
            machine,
            &*engine,
            &mut work,
            &mut driver::no_inbox(),
            &mut observer,
        )
        .await;
        match verdict {
            // The store admitted the campaign when it led, so the refusal may pass.
            Verdict::StoreFailed { error, .. }
                if self.let_in == LetIn::Before && error.may_pass() =>
            {
                Err(Error::of_store(error.with_kind(ErrorKind::Unreachable)))
            }
            Verdict::StoreFailed { error, .. } => Err(Error::of_store(error)),
            Verdict::Unreached => {
                let location = self.store.profile().location;
                Err(Error::Unreached(format!("{location} did not answer in time")))
            }
            Verdict::Failed(why) => Err(Error::Failed(why)),
            _ => observer.left.map_or(Ok(()), |error| Err(Error::of_store(error))),
        }
    }

    fn rules(&self) -> Rules {
        Rules {
            wait: self.wait,
            let_in: self.let_in,
            division: self.candidate.division,
            settles: Settles::of(self.candidate.division, &self.election),
            ..Rules::of(&self.candidate.id, self.candidate.priority)
        }
    }
}

/// Tells the program why leadership ends, and keeps the error that it gets at the end.
pub(super) struct LibraryObserver {
    told: Arc<watch::Sender<Told>>,
    /// The reason why the entry could not be removed.
    pub(super) left: Option<elect_api::Error>,
}

impl LibraryObserver {
    pub(super) const fn new(told: Arc<watch::Sender<Told>>) -> Self {
        Self { told, left: None }
    }
}

impl driver::Observer for LibraryObserver {
    fn news(&mut self, news: News) {
        match news {
            News::Lost(why) | News::SteppingDown(why) => {
                self.told.send_modify(|told| _ = told.why.get_or_insert(why));
            }
            News::EntryLeft(error) => self.left = Some(error),
            _ => {}
        }
    }
}

/// The work of a program as the leader. It is over when the program drops its end of `released`, or at the deadline
/// that it was told.
pub(super) struct Work {
    told: Arc<watch::Sender<Told>>,
    /// Sends the token to the program that waits for the win.
    won: Option<oneshot::Sender<Token>>,
    /// Ends when the program gives leadership up. `None` after that.
    released: Option<oneshot::Receiver<()>>,
}

impl Work {
    pub(super) const fn new(
        told: Arc<watch::Sender<Told>>,
        won: oneshot::Sender<Token>,
        released: oneshot::Receiver<()>,
    ) -> Self {
        Self { told, won: Some(won), released: Some(released) }
    }
}

#[async_trait]
impl Duty for Work {
    fn begins(&mut self, token: Token) {
        if let Some(won) = self.won.take() {
            // A program that no longer waits has dropped the sender of `released` as well.
            let _ = won.send(token);
        }
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.told.send_modify(|told| told.proven = Some(deadlines.hard));
    }

    fn ends(&mut self, at: Boottime, _: bool) {
        self.told.send_modify(|told| told.ends = Some(told.ends.map_or(at, |ends| ends.min(at))));
    }

    /// A crash leaves the entry, as no guardian could remove it.
    fn keep(&mut self, _: Option<&Ticket>) {}

    async fn next_event(&mut self) -> Event {
        match &mut self.released {
            Some(released) => _ = released.await,
            None => std::future::pending().await,
        }
        self.released = None;
        Event::Withdraw("its program has resigned".to_owned())
    }
}

/// However the candidacy ended, its validity ends with it.
impl Drop for Work {
    fn drop(&mut self) {
        self.ends(guard::now(), false);
        self.told.send_modify(|told| {
            told.why.get_or_insert_with(|| "it is over".to_owned());
        });
    }
}
