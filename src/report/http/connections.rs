//! This file limits how many HTTP clients are served at once, and how fast.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::Boottime;
use nix::sys::resource::{Resource, getrlimit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// The most connections at a time.
const MOST: usize = 64;
/// The most of them that may read events, which can go on without end.
const MOST_STREAMS: usize = 16;

/// The open connections. When there are too many, the oldest is closed. An ordinary page takes milliseconds, so an old
/// connection is the one that can be spared.
pub(super) struct Connections {
    most: usize,
    room: Arc<Semaphore>,
    members: Mutex<BTreeMap<u64, Client>>,
}

/// A permit for one connection, held until it is dropped.
pub(super) type Permit = OwnedSemaphorePermit;

struct Client {
    task: AbortHandle,
    reads_events: bool,
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
        Self { most, room: Arc::new(Semaphore::new(most)), members: Mutex::default() }
    }

    /// Waits for a permit for one more connection. If there is no room, closes the oldest connection first, and spares
    /// readers of events as long as it can.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(super) async fn place(&self) -> Option<Permit> {
        if self.room.available_permits() == 0 {
            let mut members = self.members();
            let first = |streams| first(&members, streams);
            if let Some(number) = first(false).or_else(|| first(true)) {
                dismiss(&mut members, number);
            }
        }
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    /// Records a connection that has a permit.
    pub(super) fn enter(&self, number: u64, task: AbortHandle) {
        self.members().insert(number, Client { task, reads_events: false });
    }

    /// Marks a connection as a reader of events. If there are too many readers, closes the oldest of them.
    pub(super) fn reads_events(&self, number: u64) {
        let mut members = self.members();
        let streams = members.values().filter(|member| member.reads_events).count();
        if streams >= MOST_STREAMS.min(self.most / 2)
            && let Some(number) = first(&members, true)
        {
            dismiss(&mut members, number);
        }
        if let Some(member) = members.get_mut(&number) {
            member.reads_events = true;
        }
    }

    /// Removes a connection, and aborts its task.
    pub(super) fn leave(&self, number: u64) {
        dismiss(&mut self.members(), number);
    }

    /// Returns whether this connection reads events.
    pub(super) fn is_reader(&self, number: u64) -> bool {
        self.members().get(&number).is_some_and(|member| member.reads_events)
    }

    /// Returns whether any connection reads events.
    pub(super) fn has_readers(&self) -> bool {
        self.members().values().any(|member| member.reads_events)
    }

    fn members(&self) -> MutexGuard<'_, BTreeMap<u64, Client>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the oldest of the connections that read events, or of the others.
fn first(members: &BTreeMap<u64, Client>, reads_events: bool) -> Option<u64> {
    let mut alike = members.iter().filter(|(_, member)| member.reads_events == reads_events);
    alike.next().map(|(number, _)| *number)
}

fn dismiss(members: &mut BTreeMap<u64, Client>, number: u64) {
    if let Some(member) = members.remove(&number) {
        member.task.abort();
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

    fn numbers(connections: &Connections) -> Vec<u64> {
        connections.members().keys().copied().collect()
    }

    fn enter(connections: &Arc<Connections>, number: u64, place: Option<Permit>) {
        let task = tokio::spawn(async move {
            let _place = place;
            std::future::pending::<()>().await;
        });
        connections.enter(number, task.abort_handle());
    }

    #[tokio::test]
    async fn the_first_to_come_is_the_first_to_go_and_readers_of_events_last() {
        let connections = Arc::new(Connections::with_room_for(3));
        for number in 0..4 {
            let place = connections.place().await;
            enter(&connections, number, place);
            if number == 0 {
                connections.reads_events(0);
            }
        }
        assert_eq!(numbers(&connections), [0, 2, 3]);
        assert_eq!(connections.room.available_permits(), 0);
        // Half of the room is for one reader, so the next reader takes its place.
        connections.reads_events(3);
        assert_eq!(numbers(&connections), [2, 3]);
        assert!(connections.has_readers() && connections.is_reader(3));
        connections.leave(3);
        assert!(!connections.has_readers());
    }
}

#[cfg(test)]
mod pace_tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_what_goes_on_is_spread() {
        let pace = Pace::new(|| Boottime::from_boot(Duration::from_secs(100)));
        let waits: Vec<Duration> = (0..600).map(|_| pace.take()).collect();
        assert_eq!(waits.iter().filter(|wait| wait.is_zero()).count(), 100);
        assert_eq!(waits[599], Duration::from_secs(1));
    }
}
