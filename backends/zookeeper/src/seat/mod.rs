mod cells;
mod entering;
mod proof;

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Boottime, Candidate, Cell, Durability, ElectionName, Error, ErrorKind, Refreshed, Seat,
    Standing, Ticket, Token, Validity, WatchedCell, Written, awake, never,
};

use self::proof::{Proof, prove};
use crate::cells::Cells;
use crate::client::Client;
use crate::directory::{Directory, OwnNode};
use crate::followed::Followed;
use crate::guid::Guid;
use crate::identity;
use crate::link::SessionSeat;
use crate::queue::{Position, Queue};
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::waiting::Waiting;
use crate::watch::NodeWatch;

/// One candidate's place in one election.
pub(crate) struct ZkSeat {
    directory: Directory,
    candidate: Candidate,
    link: SessionSeat,
    cells: Cells,
    followed: Followed,
    /// The GUID of the present or the next entry.
    guid: Guid,
    /// A request for a node with this GUID was sent, and its outcome is unknown.
    is_in_flight: bool,
    /// The GUIDs of entries that the seat has given up, though the server may still have them.
    strays: Vec<Guid>,
    /// The number of the candidate's first arrival, once that place is lost or given up.
    arrived: Option<u64>,
    state: State,
}

enum State {
    /// Not in the election, as far as the seat knows.
    Out,
    /// In the queue.
    Waiting(Waiting),
    /// Has won, and has not resigned since. The watch is on the candidate's own node.
    Leading(OwnNode, Option<NodeWatch>),
    /// Has led, and lost it.
    Gone(String),
}

impl ZkSeat {
    pub(crate) fn new(
        settings: &Arc<Settings>,
        sessions: Arc<Sessions>,
        election: &ElectionName,
        candidate: Candidate,
        ttl: Duration,
    ) -> Self {
        Self {
            directory: Directory::new(Arc::clone(settings), election),
            candidate,
            cells: Cells::new(Arc::clone(settings), election.clone()),
            followed: Followed::new(settings.path_of_cell(election, Cell::Control)),
            link: SessionSeat::new(sessions, ttl),
            guid: Guid::fresh(),
            is_in_flight: false,
            strays: Vec::new(),
            arrived: None,
            state: State::Out,
        }
    }

    /// Starts over after the loss of the entry or its session: the next entry has another GUID, which the engine has
    /// not seen yet.
    fn start_over(&mut self) {
        let may_be_left = self.is_in_flight || !matches!(self.state, State::Out);
        let old = mem::replace(&mut self.guid, Guid::fresh());
        if may_be_left {
            self.strays.push(old);
        }
        self.is_in_flight = false;
        self.vacate();
    }

    /// Gives up the place, and remembers its time of arrival.
    fn vacate(&mut self) {
        if let State::Waiting(Waiting { place, .. }) | State::Leading(place, _) =
            mem::replace(&mut self.state, State::Out)
        {
            self.arrived.get_or_insert(place.czxid.cast_unsigned());
        }
    }

    /// Gives up the place of a waiter whose session has ended. Returns whether there was, or may have been, one.
    fn lose_place(&mut self) -> bool {
        let has_place = self.is_in_flight || matches!(self.state, State::Waiting(_));
        if has_place {
            self.start_over();
        }
        has_place
    }

    fn lost(&mut self, why: &str) -> Standing {
        let why = format!("{}: {why}", self.directory.path_of(&self.node()));
        self.state = State::Gone(why.clone());
        Standing::Gone(why)
    }

    fn node(&self) -> String {
        match &self.state {
            State::Waiting(Waiting { place, .. }) | State::Leading(place, _) => place.node.clone(),
            State::Out | State::Gone(_) => self.directory.prefix(self.guid),
        }
    }

    async fn renew(&mut self, now: Boottime, place: OwnNode) -> Result<Standing, Error> {
        let client = match self.link.session(now).await?.client() {
            Ok(client) => client,
            Err(why) => return Ok(self.lost(&why)),
        };
        self.enrol(&client, now);
        if let Some(why) = self.link.shortening() {
            return Ok(self.lost(&why));
        }
        match self.prove_and_watch(&client, now, &place).await? {
            Proof::Held => Ok(self.leading(now, &place)),
            Proof::Missing => Ok(self.lost("our node was removed")),
            Proof::SessionEnded(why) => Ok(self.lost(&why)),
        }
    }

    /// Registers this seat's entries in the session. If the seat makes no call for the length of the session, the other
    /// seats remove them.
    fn enrol(&self, client: &Client, now: Boottime) {
        let guids = self.strays.iter().copied().chain([self.guid]).collect();
        self.link.enrol(client, now, &self.directory, guids);
    }

    /// Proves that the candidate's node is there, and watches for its end. The watch is a hint: without it the next
    /// proof finds out.
    async fn prove_and_watch(
        &mut self,
        client: &Client,
        now: Boottime,
        place: &OwnNode,
    ) -> Result<Proof, Error> {
        let armed = match &mut self.state {
            State::Leading(_, watch) => watch.take().filter(NodeWatch::is_armed),
            _ => None,
        };
        let path = self.directory.path_of(&place.node);
        let look = async {
            match armed {
                Some(watch) => Some(watch),
                None => watch_own_node(client, &path, place).await,
            }
        };
        let link = &mut self.link;
        let step = async {
            let (proof, watch) = tokio::join!(biased; prove(client, link, now, &path), look);
            Ok((proof?, watch))
        };
        let (proof, watch) = self.followed.along(client, step).await?;
        if matches!(proof, Proof::Held) {
            self.state = State::Leading(place.clone(), watch);
        }
        Ok(proof)
    }

    fn leading(&mut self, now: Boottime, place: &OwnNode) -> Standing {
        let Some(session) = self.link.established() else {
            return self.lost("the session was closed");
        };
        let validity = Validity::Window { anchor: session.proven(now), window: session.window() };
        // Transaction numbers begin at 0 and never fall.
        let token = Token::new(place.czxid.cast_unsigned());
        let wake = match &self.state {
            State::Leading(_, Some(watch)) => watch.wake(),
            _ => never(),
        };
        Standing::Leading { token, validity, wake }
    }

    /// Records that a request of the refresh that began at `now` was answered.
    fn acknowledged(&mut self, now: Boottime) {
        if let Some(session) = self.link.established() {
            session.acknowledged(now);
        }
    }

    /// Takes part. `may_enter` is false if the engine has not seen the present ticket.
    async fn campaign(&mut self, now: Boottime, may_enter: bool) -> Result<Standing, Error> {
        let session = self.link.session(now).await?;
        let Ok(client) = session.client() else { return Ok(self.wait_again(0)) };
        let owner = session.id();
        self.enrol(&client, now);
        if let State::Waiting(waiting) = &self.state
            && waiting.is_far_back()
        {
            let look = self.directory.stat_now(&client, &waiting.place.node);
            if self.followed.along(&client, look).await?.is_some() {
                let standing = waiting.standing();
                self.acknowledged(now);
                return Ok(standing);
            }
        }
        let queue = if identity::is_open(self.directory.settings()) {
            let settings = self.directory.settings_too();
            let (learned, queue) =
                tokio::join!(biased; identity::learn(&client, &settings), self.queue(&client, now));
            if let Err(error) = learned {
                // The session leads to another store.
                drop(client);
                self.link.abandon().await;
                return Err(error.with_kind(ErrorKind::Unreachable));
            }
            queue?
        } else {
            self.queue(&client, now).await?
        };
        if self.is_next() && self.link.shortening().is_some() {
            // The next session has the timeout that servers grant now.
            drop(client);
            self.start_over();
            self.link.abandon().await;
            return Ok(self.wait_again(queue.as_ref().map_or(0, Queue::len)));
        }
        if let Some(ahead) = self.sweep(&client, queue.as_ref()).await? {
            return Ok(self.wait_again(ahead));
        }
        if let Some(queue) = &queue {
            self.directory.check(queue)?;
        }
        if matches!(self.state, State::Out) {
            if !may_enter {
                return Ok(self.wait_again(queue.as_ref().map_or(0, Queue::len)));
            }
            return self.enter(&client, now, owner, queue).await;
        }
        self.advance(&client, now, queue).await
    }

    /// Returns whether this candidate leads when the one before it goes.
    const fn is_next(&self) -> bool {
        matches!(&self.state, State::Waiting(waiting) if waiting.ahead <= 1)
    }

    async fn queue(&mut self, client: &Client, now: Boottime) -> Result<Option<Queue>, Error> {
        let queue = self.followed.along(client, self.directory.queue(client)).await?;
        self.acknowledged(now);
        Ok(queue)
    }

    /// Removes this seat's entries that appeared late. Returns the number of candidates if there were any such entries:
    /// then the queue must be read anew.
    async fn sweep(
        &mut self,
        client: &Client,
        queue: Option<&Queue>,
    ) -> Result<Option<usize>, Error> {
        let Some(queue) = queue else { return Ok(None) };
        let prefixes = self.strays.iter().map(|guid| self.directory.prefix(*guid));
        let late: Vec<String> = prefixes.flat_map(|prefix| queue.beginning(&prefix)).collect();
        self.directory.remove(client, &late).await?;
        Ok((!late.is_empty()).then_some(queue.len() - late.len()))
    }

    fn wait_again(&self, ahead: usize) -> Standing {
        let ahead = match &self.state {
            State::Waiting(waiting) => waiting.ahead,
            _ => ahead,
        };
        Standing::Waiting { ahead, alive: true, wake: awake() }
    }

    /// Waits for the nearest candidate before this one, or wins if there is none.
    async fn advance(
        &mut self,
        client: &Client,
        now: Boottime,
        queue: Option<Queue>,
    ) -> Result<Standing, Error> {
        let State::Waiting(waiting) = &mut self.state else { return Ok(self.wait_again(0)) };
        let position = match &queue {
            Some(queue) => {
                self.directory.check(queue)?;
                queue.position(&waiting.place.node)
            }
            None => Position::Missing,
        };
        match position {
            Position::Behind { ahead, predecessor } => {
                waiting.ahead = ahead;
                waiting.watch(client, &self.directory, predecessor).await
            }
            Position::First => {
                let place = waiting.place.clone();
                match self.prove_and_watch(client, now, &place).await? {
                    Proof::Held => Ok(self.leading(now, &place)),
                    Proof::Missing | Proof::SessionEnded(_) => {
                        self.start_over();
                        Ok(self.wait_again(0))
                    }
                }
            }
            Position::Missing => {
                self.start_over();
                Ok(self.wait_again(queue.as_ref().map_or(0, Queue::len)))
            }
        }
    }

    /// Removes all nodes that this seat may have.
    async fn leave(&mut self, client: &Client) -> Result<(), Error> {
        if let State::Waiting(Waiting { place, .. }) | State::Leading(place, _) = &self.state
            && self.strays.is_empty()
        {
            let node = place.node.clone();
            return self.directory.remove(client, &[node]).await;
        }
        let mut guids = self.strays.clone();
        guids.push(self.guid);
        self.directory.remove_all(client, &guids).await
    }
}

/// Watches for the end of the candidate's own node.
async fn watch_own_node(client: &Client, path: &str, place: &OwnNode) -> Option<NodeWatch> {
    match client.check_and_watch_stat(path).await {
        Ok((Some(_), watcher)) => Some(NodeWatch::new(client, place.node.clone(), watcher)),
        _ => None,
    }
}

#[async_trait]
impl Seat for ZkSeat {
    async fn refresh(&mut self, now: Boottime) -> Result<Refreshed, Error> {
        let standing = self.step(now).await.map_err(|error| self.directory.explain(error))?;
        Ok(standing.or_woken_by(self.followed.wake()).with(self.followed.control()))
    }

    async fn resign(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        if let Some((cell, bytes)) = last {
            match self.withdraw_with(cell, bytes).await {
                Err(error) if error.kind() == ErrorKind::Ambiguous => {
                    return Err(self.directory.explain(error));
                }
                Ok(true) => return Ok(()),
                Ok(false) | Err(_) => {}
            }
        }
        self.withdraw().await.map_err(|error| self.directory.explain(error))
    }

    async fn read(&mut self, now: Boottime, cell: Cell<'_>) -> Result<WatchedCell, Error> {
        let cell = self.read_cell(now, cell).await;
        cell.map_err(|error| self.directory.explain(error))
    }

    async fn write(
        &mut self,
        now: Boottime,
        cell: Cell<'_>,
        bytes: &[u8],
        _durability: Durability,
    ) -> Result<Written, Error> {
        let written = self.write_down(now, cell, bytes).await;
        written.map_err(|error| self.directory.explain(error))
    }

    fn ticket(&self) -> Option<Ticket> {
        self.guid.ticket()
    }
}

impl ZkSeat {
    async fn step(&mut self, now: Boottime) -> Result<Standing, Error> {
        if let State::Gone(why) = &self.state {
            return Ok(Standing::Gone(why.clone()));
        }
        let end = self.link.take_end();
        if let State::Leading(place, _) = &self.state {
            let place = place.clone();
            return match end {
                Some(why) => Ok(self.lost(&why)),
                None => self.renew(now, place).await,
            };
        }
        let starts_over = end.is_some() && self.lose_place();
        self.campaign(now, !starts_over).await
    }

    async fn withdraw(&mut self) -> Result<(), Error> {
        let is_clean =
            !self.is_in_flight && self.strays.is_empty() && matches!(self.state, State::Out);
        if !is_clean {
            let client = self.link.any_client().await?;
            self.leave(&client).await?;
            self.is_out();
        }
        self.link.leave().await;
        Ok(())
    }

    /// Records that this seat has no node left.
    fn is_out(&mut self) {
        self.guid = Guid::fresh();
        self.is_in_flight = false;
        self.strays.clear();
        self.vacate();
    }
}
