//! This file limits how many HTTP clients are served at once, and how fast.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use elect_api::Boottime;
use nix::sys::resource::{Resource, getrlimit};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The most connections at a time.
const MOST: usize = 64;
/// The most of them that may read events, which can go on without end.
const MOST_STREAMS: usize = 16;

/// The room for connections, and for those among them that read events. A further client takes the place of the oldest
/// that reads no events. An ordinary page takes milliseconds, and a probe of the service must not wait for slow
/// clients.
pub(super) struct Connections {
    room: Arc<Semaphore>,
    /// The clients, the oldest first.
    clients: Mutex<VecDeque<Weak<Client>>>,
    streams: Arc<Semaphore>,
    most_streams: usize,
}

/// A permit for one connection, held until it is dropped.
pub(super) type Permit = OwnedSemaphorePermit;

/// One connection as the pages see it.
#[derive(Default)]
pub(super) struct Client {
    events: OnceLock<Permit>,
    /// Ends the connection of a client that does not read, or whose place another client gets.
    pub(super) hang_up: Notify,
}

impl Client {
    /// Returns whether this client reads events.
    pub(super) fn is_reader(&self) -> bool {
        self.events.get().is_some()
    }
}

impl Connections {
    /// Allows [`MOST`] connections, or a quarter of the descriptors that this process may have if that is less. The
    /// rest of the descriptors is for the store, and for the command's guardian.
    pub(super) fn new() -> Self {
        let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
        let quarter = usize::try_from(descriptors / 4).unwrap_or(MOST);
        Self::with_room_for(quarter.clamp(2, MOST))
    }

    fn with_room_for(most: usize) -> Self {
        let most_streams = MOST_STREAMS.min(most / 2);
        let (room, streams) = (Semaphore::new(most), Semaphore::new(most_streams));
        let (room, streams) = (Arc::new(room), Arc::new(streams));
        Self { room, clients: Mutex::default(), streams, most_streams }
    }

    /// Waits for room for one more connection. If there is none, hangs up on the oldest client that reads no events.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(super) async fn place(&self) -> Option<Permit> {
        if self.room.available_permits() == 0 {
            let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
            let mut clients = clients.iter().filter_map(Weak::upgrade);
            if let Some(oldest) = clients.find(|client| !client.is_reader()) {
                oldest.hang_up.notify_one();
            }
        }
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    /// Returns a new client, the youngest.
    pub(super) fn enter(&self) -> Arc<Client> {
        let client = Arc::new(Client::default());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|client| client.strong_count() > 0);
        clients.push_back(Arc::downgrade(&client));
        client
    }

    /// Makes the client a reader of events. Returns whether there was room for one more.
    pub(super) fn reads_events(&self, client: &Client) -> bool {
        let permit = Arc::clone(&self.streams).try_acquire_owned();
        permit.map(|permit| client.events.set(permit)).is_ok() || client.is_reader()
    }

    /// Returns whether any connection reads events.
    pub(super) fn has_readers(&self) -> bool {
        self.streams.available_permits() < self.most_streams
    }
}

/// The average time for one turn: 500 turns a second.
const TURN: Duration = Duration::from_millis(2);
/// The burst that is allowed beyond that rate: 100 turns at once.
const CREDIT: Duration = Duration::from_millis(200);

/// A rate limit for the server's work. With it, a crowd of clients cannot take the processor from the engine, which may
/// share a small quota with this server.
pub(super) struct Pace {
    now: fn() -> Boottime,
    /// The time up to which turns are used up.
    spent: Mutex<Boottime>,
}

impl Pace {
    pub(super) fn new(now: fn() -> Boottime) -> Self {
        Self { now, spent: Mutex::new(now() - CREDIT) }
    }

    /// Waits until the next turn.
    ///
    /// # Cancellation
    /// The turn counts as used.
    pub(super) async fn turn(&self) {
        let wait = self.take();
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    fn take(&self) -> Duration {
        let now = (self.now)();
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        *spent = (*spent).max(now - CREDIT) + TURN;
        spent.since(now)
    }
}

#[cfg(test)]
mod connections_tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_page_makes_room_and_further_readers_of_events_are_refused() {
        let connections = Connections::with_room_for(3);
        let [one, two, three] = [(); 3].map(|()| connections.enter());
        // Half of the room is for one reader.
        assert!(connections.reads_events(&one) && !connections.reads_events(&two));
        let permits = [(); 3].map(|()| Arc::clone(&connections.room).try_acquire_owned().unwrap());
        let mut waits = Box::pin(connections.place());
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert!(futures_util::poll!(Box::pin(two.hang_up.notified())).is_ready());
        for spared in [&one, &three] {
            assert!(futures_util::poll!(Box::pin(spared.hang_up.notified())).is_pending());
        }
        drop(permits);
        assert!(waits.await.is_some());
        assert!(one.is_reader() && !two.is_reader() && connections.has_readers());
        drop(one);
        assert!(!connections.has_readers() && connections.reads_events(&two));
    }
}

#[cfg(test)]
mod pace_tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_a_lasting_stream_is_spread() {
        let pace = Pace::new(|| Boottime::from_boot(Duration::from_secs(100)));
        let waits: Vec<Duration> = (0..600).map(|_| pace.take()).collect();
        assert_eq!(waits.iter().filter(|wait| wait.is_zero()).count(), 100);
        assert_eq!(waits[599], Duration::from_secs(1));
    }
}
