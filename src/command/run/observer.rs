//! What people get to see of a candidacy, and the one thing that only they, and not the engine,
//! would notice: that we wait for ourselves.

use std::sync::{Mutex, MutexGuard, PoisonError};

use elect_api::{Boottime, Candidate, Survey, Token};

use super::{REDRAW, kin};
use crate::election::driver;
use crate::election::machine::{Event, News};
use crate::guard;
use crate::report::{Log, Waiting, wall_clock};

/// What the candidacy and the line that shows it have in common.
pub(super) struct Shared {
    waiting: Mutex<Waiting>,
    token: Mutex<Option<Token>>,
}

impl Shared {
    pub(super) fn new(log: &Log, now: Boottime) -> Self {
        Self { waiting: Mutex::new(Waiting::new(log, now)), token: Mutex::default() }
    }

    /// Draws the line again and again while there is one. Never ends.
    pub(super) async fn keep_drawing(&self) {
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

    pub(super) fn clear(&self) {
        self.waiting().clear();
    }

    /// The token of the last leadership, if there was one.
    pub(super) fn token(&self) -> Option<Token> {
        *lock(&self.token)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Observer<'a> {
    log: &'a Log,
    shared: &'a Shared,
    candidate: &'a Candidate,
}

impl<'a> Observer<'a> {
    pub(super) const fn new(log: &'a Log, shared: &'a Shared, candidate: &'a Candidate) -> Self {
        Self { log, shared, candidate }
    }
}

impl driver::Observer for Observer<'_> {
    fn news(&mut self, news: News) {
        match news {
            News::Waiting { ahead } => self.log.debug(format_args!("waiting, {ahead} ahead")),
            News::Leading(token) => {
                *lock(&self.shared.token) = Some(token);
                self.shared.clear();
                self.log.info(format_args!("leading, token {token}"));
            }
            News::Trouble(error, pause) => {
                let pause = humantime::format_duration(std::time::Duration::from_millis(
                    u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
                ));
                self.log.warn(format_args!(
                    "{:#}; trying again in {pause}",
                    anyhow::Error::from(error)
                ));
            }
            News::Lost(why) => {
                self.log.warn(format_args!("leadership is lost, stopping the command: {why}"));
            }
            News::SteppingDown(why) => self.log.info(format_args!("asked to step down: {why}")),
            News::Holding(left) => {
                let left =
                    humantime::format_duration(std::time::Duration::from_secs(left.as_secs()));
                self.log.info(format_args!("the command has ended; keeping the lease for {left}"));
            }
            News::EntryLeft(error) => {
                let error = anyhow::Error::from(error);
                self.log.warn(format_args!(
                    "our entry stays in the store until it ends by itself: {error:#}"
                ));
            }
        }
    }

    fn survey(&mut self, survey: &Survey) -> Option<Event> {
        self.shared.waiting().update(survey, &self.candidate.id);
        let leader =
            survey.leader.as_ref().filter(|leader| kin::is_our_ancestor(leader, self.candidate))?;
        Some(Event::WaitsForUs(format!(
            "this elect run is part of the command of {}, which leads: it would wait for itself; \
             give it another election with -e",
            leader.entry.candidate.id
        )))
    }
}
