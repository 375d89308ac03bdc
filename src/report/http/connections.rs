//! How many clients are served, and how fast.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::Boottime;
use nix::sys::resource::{Resource, getrlimit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// The most connections at a time.
const MOST: usize = 64;
/// The most of them that may read events, which can take for ever.
const MOST_STREAMS: usize = 16;

/// Who is connected. When there are too many, the one that came first has to go: whoever wants a page
/// has it within milliseconds, so who has been there for long is the one that can be missed.
pub(super) struct Connections {
    most: usize,
    room: Arc<Semaphore>,
    members: Mutex<BTreeMap<u64, Client>>,
}

/// Room for one connection, until it is dropped.
pub(super) type Permit = OwnedSemaphorePermit;

struct Client {
    task: AbortHandle,
    reads_events: bool,
}

impl Connections {
    /// With room for [`MOST`], or for a quarter of the descriptors that this process may have: the rest is
    /// for the store, and for the command's guardian.
    pub(super) fn new() -> Self {
        let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
        let quarter = usize::try_from(descriptors / 4).unwrap_or(MOST);
        Self::with_room_for(quarter.clamp(2, MOST))
    }

    fn with_room_for(most: usize) -> Self {
        Self { most, room: Arc::new(Semaphore::new(most)), members: Mutex::default() }
    }

    /// Room for one more, once whoever has to go for it has gone.
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

    /// This one has come; it has a place.
    pub(super) fn enter(&self, number: u64, task: AbortHandle) {
        self.members().insert(number, Client { task, reads_events: false });
    }

    /// This one reads events from here on.
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

    /// This one has gone, or has to.
    pub(super) fn leave(&self, number: u64) {
        dismiss(&mut self.members(), number);
    }

    /// Whether this one reads events.
    pub(super) fn is_reader(&self, number: u64) -> bool {
        self.members().get(&number).is_some_and(|member| member.reads_events)
    }

    /// Whether anybody reads events.
    pub(super) fn has_readers(&self) -> bool {
        self.members().values().any(|member| member.reads_events)
    }

    fn members(&self) -> MutexGuard<'_, BTreeMap<u64, Client>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The one that came first among those that read events, or among the others.
fn first(members: &BTreeMap<u64, Client>, reads_events: bool) -> Option<u64> {
    let mut alike = members.iter().filter(|(_, member)| member.reads_events == reads_events);
    alike.next().map(|(number, _)| *number)
}

fn dismiss(members: &mut BTreeMap<u64, Client>, number: u64) {
    if let Some(member) = members.remove(&number) {
        member.task.abort();
    }
}

/// The time that one turn takes on average: 500 a second.
const TURN: Duration = Duration::from_millis(2);
/// How far turns may run ahead of that: 100 at once.
const CREDIT: Duration = Duration::from_millis(200);

/// Spreads work over time, so that no crowd of clients takes the processor from the engine, which may
/// have to share a small quota with us.
pub(super) struct Pace {
    now: fn() -> Boottime,
    /// When all turns that were given are over.
    spent: Mutex<Boottime>,
}

impl Pace {
    pub(super) fn new(now: fn() -> Boottime) -> Self {
        Self { now, spent: Mutex::new(now() - CREDIT) }
    }

    /// Ends when it is our turn.
    ///
    /// # Cancellation
    /// The turn is spent.
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
        // Half of the room is for one reader: the next takes its place.
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
