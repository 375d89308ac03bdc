//! An election of several slots. Each slot is an election of its own, and candidates reach the slots through a queue,
//! the door.
//!
//! ```text
//!   door: NAME                                 slots: NAME:0 .. NAME:N-1
//!   ┌───┬───┬───┐   the head, and only it,    ┌──────────────┐
//!   │ d │ c │ b │ ─────────────────────────>  │ a leads   b  │  0
//!   └───┴───┴───┘   waits in all of them      │ e leads   b  │  1
//!    each watches the one before it           └──────────────┘
//! ```
//!
//! All candidates come through the door, which is the election itself, and a queue. A candidate that waits there costs
//! as much as in any election. The head of the queue waits in every slot. So the earliest candidate takes a free slot
//! at once, and no other is woken. Once it leads in a slot, it leaves the others and then the door, beside its work as
//! a leader. So it starts at once, and the next candidate becomes the head.
//!
//! Each slot keeps the promise of any election. The door only decides the order. A head that was lost, or frozen until
//! its lease has ended, may still wait in slots when there is a new head. The only effect is that it may win a slot
//! before the new head.
//!
//! To the engine this is one seat of one store. A leader's token, validity and cells are those of its slot. Requests to
//! the election count in every slot, and requests to a slot count in that slot.

mod part_seat;
mod seat;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Candidate, Cell, Clock, Division, ElectionName, Error, ErrorKind, Examination, If, Keys,
    Profile, Removal, Scope, Seat, Store, Survey, Versioned, Wake, Written,
};
use futures_util::future::try_join_all;
use tokio::sync::Notify;

use self::part_seat::Aside;
use super::ready;

pub use part_seat::redeem;

/// A store in which one election has slots, for one candidate. All other elections are those of the inner store.
pub struct Slots {
    store: Arc<dyn Store>,
    whole: ElectionName,
    parts: Arc<[ElectionName]>,
    slot: Slot,
    is_in_haste: bool,
}

/// The slot in which a candidate leads.
#[derive(Clone, Debug)]
pub struct Slot(Arc<AtomicU32>);

/// The number that stands for no slot.
const NONE: u32 = u32::MAX;

impl Slot {
    fn none() -> Self {
        Self(Arc::new(AtomicU32::new(NONE)))
    }

    /// The number of the slot, from 0. After a leadership it is that of the last slot. `None` for a candidate that has
    /// never led.
    pub fn number(&self) -> Option<u16> {
        u16::try_from(self.0.load(Ordering::Relaxed)).ok()
    }

    /// The election of the slot. `None` for a candidate that has never led.
    pub fn of(&self, whole: &ElectionName) -> Option<ElectionName> {
        Division::part(whole, self.number()?).ok()
    }

    fn set(&self, number: u16) {
        self.0.store(number.into(), Ordering::Relaxed);
    }
}

impl Slots {
    /// Returns a store with `number` slots in its election `whole`.
    ///
    /// A candidate in haste does not want to wait for a taken slot. The seat tells it that none is ahead as long as it
    /// may get a free one.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if the name leaves no room for the numbers.
    pub fn new(
        store: Box<dyn Store>,
        whole: &ElectionName,
        number: u16,
        is_in_haste: bool,
    ) -> Result<Self, Error> {
        let parts = (0..number).map(|number| Division::part(whole, number));
        let parts: Result<Arc<[_]>, _> = parts.collect();
        let parts = parts.map_err(|error| {
            let what = format!("the name {whole} is too long for an election of {number} slots");
            Error::new(ErrorKind::Unfit, what).because(error)
        })?;
        Ok(Self {
            store: store.into(),
            whole: whole.clone(),
            parts,
            slot: Slot::none(),
            is_in_haste,
        })
    }

    /// Returns the slot in which the candidate leads that has opened a seat here.
    pub fn slot(&self) -> Slot {
        self.slot.clone()
    }
}

/// Surveys the door and all slots.
async fn survey(
    store: &dyn Store,
    whole: &ElectionName,
    parts: &[ElectionName],
) -> Result<(Survey, Vec<Survey>), Error> {
    // The door comes first: a candidate that moves enters the slot before it leaves the door.
    let door = store.survey(whole).await?;
    let parts = try_join_all(parts.iter().map(|part| store.survey(part))).await?;
    Ok((door, parts))
}

#[async_trait]
impl Store for Slots {
    fn profile(&self) -> Profile {
        self.store.profile()
    }

    async fn open(
        &self,
        election: &ElectionName,
        candidate: &Candidate,
        ttl: Duration,
    ) -> Result<Box<dyn Seat>, Error> {
        let door = self.store.open(election, candidate, ttl).await?;
        if *election != self.whole {
            return Ok(door);
        }
        let entrant = seat::Participant {
            store: Arc::clone(&self.store),
            whole: self.whole.clone(),
            parts: Arc::clone(&self.parts),
            candidate: candidate.clone(),
            ttl,
            slot: self.slot.clone(),
            is_in_haste: self.is_in_haste,
        };
        Ok(Box::new(seat::SlotsSeat::new(entrant, door)))
    }

    async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
        if *election != self.whole {
            return self.store.survey(election).await;
        }
        let (door, parts) = survey(&*self.store, &self.whole, &self.parts).await?;
        let mut leaders: Vec<_> = parts.into_iter().filter_map(|part| part.leader).collect();
        let leads = |id: &str| leaders.iter().any(|leader| leader.entry.candidate.id == id);
        let waiting = door.entries().filter(|entry| !leads(&entry.candidate.id)).cloned().collect();
        Ok(Survey { leader: leaders.pop(), waiting })
    }

    async fn remove(&self, election: &ElectionName, what: Removal<'_>) -> Result<(), Error> {
        match what {
            Removal::Crashed(ticket) => redeem(&*self.store, election, ticket).await,
            what => self.store.remove(election, what).await,
        }
    }

    async fn changed(&self, election: &ElectionName) -> Result<Wake, Error> {
        self.store.changed(election).await
    }

    async fn read(&self, election: &ElectionName, cell: Cell<'_>) -> Result<Versioned, Error> {
        self.store.read(election, cell).await
    }

    async fn write(
        &self,
        election: &ElectionName,
        cell: Cell<'_>,
        bytes: &[u8],
        condition: If,
    ) -> Result<Written, Error> {
        self.store.write(election, cell, bytes, condition).await
    }

    async fn list(&self, scope: Scope) -> Result<Vec<ElectionName>, Error> {
        self.store.list(scope).await
    }

    async fn keys(&self, election: &ElectionName) -> Result<Keys, Error> {
        self.store.keys(election).await
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        self.store.examine(clock).await
    }
}

/// Follows the requests to the whole election for a leader in a slot, which has left the door.
///
/// It watches the control cell, and reads it when the store hints at a change and when it is told to.
#[derive(Default)]
pub(super) struct ControlWatcher {
    shared: Arc<Shared>,
    aside: Aside,
}

#[derive(Default)]
struct Shared {
    found: Mutex<Option<Versioned>>,
    /// Whether a request is pending.
    is_asking: AtomicBool,
    again: Notify,
}

impl ControlWatcher {
    /// Returns the cell that was found since the last call, if its version is not `known`. Meanwhile the cell is read
    /// again.
    pub(super) fn take_found(
        &self,
        store: &Arc<dyn Store>,
        election: &ElectionName,
        known: u64,
    ) -> Option<Versioned> {
        let found = self.shared.found.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_stuck = self.shared.is_asking.load(Ordering::Relaxed);
        if self.aside.goes_on() && !is_stuck && found.is_none() {
            self.shared.again.notify_one();
            return None;
        }
        let version = found.as_ref().map_or(known, |found| found.version);
        let task = follow(Arc::clone(store), election.clone(), Arc::clone(&self.shared), version);
        self.aside.begin(task);
        found
    }

    /// Stops watching.
    pub(super) fn end(&self) {
        self.aside.end();
        *self.shared.found.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns a wake that ends when the cell changes.
    pub(super) fn wake(&self) -> Wake {
        self.aside.wake()
    }
}

/// Ends when the cell has another version than `known`.
async fn follow(store: Arc<dyn Store>, election: ElectionName, shared: Arc<Shared>, known: u64) {
    let mut change: Option<Wake> = None;
    loop {
        shared.is_asking.store(true, Ordering::Relaxed);
        // The watch is set up before the read, so that no change is missed.
        if change.is_none() {
            change = store.changed(&election).await.ok();
        }
        let asked = store.read(&election, Cell::Control).await;
        shared.is_asking.store(false, Ordering::Relaxed);
        if let Some(asked) = asked.ok().filter(|asked| asked.version != known) {
            *shared.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
            return;
        }
        tokio::select! {
            () = ready(&mut change) => change = None,
            () = shared.again.notified() => {}
        }
    }
}
