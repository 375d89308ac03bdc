//! A tree whose leadership is posted in the file of `--lease-file`.

use std::io;

use async_trait::async_trait;
use elect_api::{Boottime, Holds, Ticket, Token};

use crate::command::candidacy::Poster;
use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::guard::{Deadlines, LeaseFile};

/// Passes everything on, and posts until when the tree may live.
pub(super) struct Posted<T> {
    tree: T,
    poster: Poster,
    hard: Option<Boottime>,
    kill_at: Option<Boottime>,
}

impl<T> Posted<T> {
    pub(super) const fn new(tree: T, poster: Poster) -> Self {
        Self { tree, poster, hard: None, kill_at: None }
    }

    pub(super) fn into_inner(self) -> T {
        self.tree
    }

    fn until(&self) -> Option<Boottime> {
        [self.hard, self.kill_at].into_iter().flatten().min()
    }

    fn limit(&mut self, kill_at: Option<Boottime>) {
        self.kill_at = [self.kill_at, kill_at].into_iter().flatten().min();
        let until = self.until();
        self.poster.post(|file| file.limit(until));
    }
}

#[async_trait]
impl<T: Tree> Tree for Posted<T> {
    fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()> {
        self.tree.start(token, holds)?;
        let until = self.until();
        self.poster.post(|file| file.begin(token, until));
        Ok(())
    }

    fn keep(&mut self, ticket: &Ticket) {
        self.tree.keep(ticket);
    }

    fn withhold(&mut self) {
        self.tree.withhold();
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.tree.renewed(deadlines);
        self.hard = Some(deadlines.hard);
        self.limit(None);
    }

    fn stop(&mut self, kill_at: Boottime) {
        self.tree.stop(kill_at);
        self.limit(Some(kill_at));
    }

    fn signal(&mut self, signal: i32, resume: bool, kill_at: Option<Boottime>) {
        self.tree.signal(signal, resume, kill_at);
        self.limit(kill_at);
    }

    fn kill(&mut self) {
        self.tree.kill();
        self.poster.post(LeaseFile::end);
    }

    fn sweep(&mut self) {
        self.tree.sweep();
    }

    async fn next_event(&mut self) -> Event {
        let event = self.tree.next_event().await;
        if matches!(
            event,
            Event::Ended(_)
                | Event::EndedByKey(_)
                | Event::NotStarted(_)
                | Event::Empty
                | Event::GuardianDied
        ) {
            self.poster.post(LeaseFile::end);
        }
        event
    }
}
