//! The command of one shard, as its engine sees it.

use std::io;

use async_trait::async_trait;
use elect_api::{Holds, Ticket, Token};
use tokio::sync::mpsc;

use crate::command::run::guarded::Guarded;
use crate::election::driver::Tree;
use crate::election::machine::Event;
use crate::guard::{Guardian, Order};

/// What a shard is told.
#[derive(Clone, Debug)]
pub(super) enum Word {
    /// This signal came to elect.
    Signal(i32),
    /// We are not to hold it, for this reason.
    Release(String),
}

pub(super) struct Part {
    guarded: Guarded,
    words: mpsc::UnboundedReceiver<Word>,
    leads: bool,
}

impl Part {
    pub(super) const fn new(guardian: Guardian, words: mpsc::UnboundedReceiver<Word>) -> Self {
        Self { guarded: Guarded::new(guardian), words, leads: false }
    }

    pub(super) fn into_guardian(self) -> Guardian {
        self.guarded.into_guardian()
    }
}

#[async_trait]
impl Tree for Part {
    fn start(&mut self, token: Token, holds: &Holds<'_>) -> io::Result<()> {
        self.leads = true;
        self.guarded.guardian().start(token, holds)
    }

    fn obey(&mut self, order: Order) {
        self.guarded.guardian().obey(order);
    }

    fn keep(&mut self, ticket: Option<&Ticket>) {
        self.guarded.guardian().keep(ticket);
    }

    fn resigns(&mut self) {}

    fn sweep(&mut self) {
        self.guarded.sweep();
    }

    async fn next_event(&mut self) -> Event {
        loop {
            let event = tokio::select! {
                biased;
                // It has no terminal that would stop it.
                happened = self.guarded.next() => happened.event(),
                Some(word) = self.words.recv() => Some(match word {
                    Word::Signal(signal) => Event::Signal(signal),
                    Word::Release(why) if self.leads => Event::StepDown(why),
                    Word::Release(why) => Event::Withdraw(why),
                }),
            };
            if let Some(event) = event {
                return event;
            }
        }
    }
}
