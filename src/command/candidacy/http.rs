//! `--http`: from its address to the server.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use elect_api::{Candidate, Lease, Profile};

use super::surveyor::Surveyor;
use crate::config::{self, CampaignPlan, ListenAddress};
use crate::guard;
use crate::report::http::{Board, Clocks, Identity, Listener, Server};
use crate::report::wall_clock;

/// Listens, before anything else is done: who cannot be asked does not take part. After a new start we
/// listen already.
///
/// # Errors
/// When that address cannot be had.
pub(in crate::command) fn listen(
    address: &ListenAddress,
    socket: Option<OwnedFd>,
) -> anyhow::Result<Listener> {
    let listener = match socket {
        Some(socket) => Listener::adopt(socket.into()),
        None => Listener::bind(address),
    };
    listener.with_context(|| {
        format!(
            "cannot listen on {address} for --http; another program, or another elect, may have the port: \
             take another one, or 0 for any that is free"
        )
    })
}

/// What is shown of a candidate, and what shows it once [`Page::serve`] is called.
pub(in crate::command) struct Page {
    pub(in crate::command) board: Arc<Board>,
    listener: Listener,
}

impl Page {
    pub(in crate::command) fn new(
        listener: Listener,
        plan: &CampaignPlan,
        candidate: &Candidate,
        store: &Profile,
        grace: Option<Duration>,
    ) -> Self {
        let identity = Identity {
            election: plan.election.as_str().to_owned(),
            id: candidate.id.clone(),
            store: store.scheme,
            is_timed: store.lease != Lease::Unlimited,
            has_command: grace.is_none(),
            grace,
        };
        let board = Board::new(identity, Clocks { now: guard::now, wall: wall_clock });
        Self { board: Arc::new(board), listener }
    }

    /// Where it is shown.
    pub(in crate::command) const fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// What is left for a new start once [`Page::serve`] has taken this.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub(in crate::command) fn estate(&self) -> anyhow::Result<Estate> {
        let socket = self.listener.as_fd().try_clone_to_owned();
        let socket = socket.context("cannot keep the socket of --http")?;
        Ok(Estate { board: Arc::clone(&self.board), socket })
    }

    /// Begins to answer. The process has one more thread from here on.
    ///
    /// # Errors
    /// When a thread or a descriptor is refused, or the store cannot be opened once more.
    pub(in crate::command) fn serve(self, plan: &CampaignPlan) -> anyhow::Result<Server> {
        let store = config::connect(&plan.backend)?;
        let surveyor = Surveyor::new(store, plan.election.clone());
        let server = Server::start(self.listener, self.board, Box::new(surveyor));
        server.context("cannot start the HTTP server")
    }
}

/// The socket, which goes on listening, and what was counted so far.
pub(in crate::command) struct Estate {
    board: Arc<Board>,
    socket: OwnedFd,
}

impl Estate {
    pub(in crate::command) fn into_listener(self) -> (OwnedFd, String) {
        (self.socket, self.board.metrics().note())
    }
}
