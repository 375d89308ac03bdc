use std::sync::Arc;

use async_trait::async_trait;
use elect_api::{Boottime, Ticket, Token};
use tokio::sync::{oneshot, watch};

use super::leadership::Told;
use crate::election::driver::Duty;
use crate::election::machine::Event;
use crate::guard::{self, Deadlines};

/// What a program does as the leader. It is over when the program says so, by dropping its end of `released`, or at the
/// deadline that it was told.
pub(super) struct Work {
    told: Arc<watch::Sender<Told>>,
    /// For whoever waits for the win.
    won: Option<oneshot::Sender<Token>>,
    /// `None` once it has come.
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
            // Whoever does not wait any more has let go of `released` as well.
            let _ = won.send(token);
        }
    }

    fn renewed(&mut self, deadlines: Deadlines) {
        self.told.send_modify(|told| told.proven = Some(deadlines.hard));
    }

    fn ends(&mut self, at: Boottime, _: bool) {
        self.told.send_modify(|told| told.ends = Some(told.ends.map_or(at, |ends| ends.min(at))));
    }

    /// There is nobody to give the entry up if we crash.
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

/// Whatever ended the candidacy: it says nothing good any more.
impl Drop for Work {
    fn drop(&mut self) {
        self.ends(guard::now(), false);
        self.told.send_modify(|told| {
            told.why.get_or_insert_with(|| "it is over".to_owned());
        });
    }
}
