//! The seat of a candidate for slots, which is made of one seat at the door and one in each slot.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Boottime, Candidate, Cell, Doubt, Durability, ElectionName, Error, ErrorKind, Holds, Refreshed,
    Seat, Standing, Store, Ticket, Versioned, Wake, WatchedCell, Written, awake, first_of,
};
use futures_util::future::{BoxFuture, join_all};

use super::part_seat::{Leaving, PartSeat, join_tickets};
use super::{ControlWatcher, Slot, survey};
use crate::election::control;

/// The candidate, and where it takes part.
pub(super) struct Participant {
    pub(super) store: Arc<dyn Store>,
    pub(super) whole: ElectionName,
    pub(super) parts: Arc<[ElectionName]>,
    pub(super) candidate: Candidate,
    pub(super) ttl: Duration,
    pub(super) slot: Slot,
    pub(super) is_in_haste: bool,
}

impl Participant {
    async fn open(&self, election: &ElectionName) -> Result<Box<dyn Seat>, Error> {
        self.store.open(election, &self.candidate, self.ttl).await
    }

    /// Opens a seat in every slot, without an entry.
    async fn open_parts(&self) -> Result<Vec<PartSeat>, Error> {
        let seats = join_all(self.parts.iter().map(|part| self.open(part))).await;
        let part_seats = (0..).zip(seats).map(|(part, seat)| Ok(PartSeat::new(Some(part), seat?)));
        part_seats.collect()
    }

    /// Returns whether there is a slot that a candidate may still get. Either it has no leader, or its leader has not
    /// left the door yet and may be about to leave that slot for another.
    async fn has_free_slot(&self) -> Result<bool, Error> {
        let (door, parts) = survey(&*self.store, &self.whole, &self.parts).await?;
        let is_at_the_door = |id: &str| door.entries().any(|entry| entry.candidate.id == id);
        Ok(parts.iter().any(|part| {
            part.leader.as_ref().is_none_or(|leader| is_at_the_door(&leader.entry.candidate.id))
        }))
    }
}

pub(super) struct SlotsSeat {
    entrant: Participant,
    /// The seat at the door. `None` while the candidate leads.
    door: Option<PartSeat>,
    /// The seats in the slots. Empty before the candidate is the head, and once it leads.
    parts: Vec<PartSeat>,
    /// The seat in the slot where the candidate leads.
    leading: Option<PartSeat>,
    leaving: Leaving,
    control_watcher: ControlWatcher,
    /// The control cell of the whole election, as last known.
    asked: Versioned,
    /// The control cell as this candidate has to obey it.
    control: Versioned,
}

/// The candidates that keep this one from leading.
struct Predecessors {
    wakes: Vec<Wake>,
    /// Whether the holder of each slot is known to be alive.
    are_known: bool,
}

impl Default for Predecessors {
    fn default() -> Self {
        Self { wakes: Vec::new(), are_known: true }
    }
}

impl Predecessors {
    fn beside(wake: Wake) -> Self {
        Self { wakes: vec![wake], ..Self::default() }
    }
}

impl SlotsSeat {
    pub(super) fn new(entrant: Participant, door: Box<dyn Seat>) -> Self {
        Self {
            entrant,
            door: Some(PartSeat::new(None, door)),
            parts: Vec::new(),
            leading: None,
            leaving: Leaving::default(),
            control_watcher: ControlWatcher::default(),
            asked: Versioned::default(),
            control: Versioned::default(),
        }
    }

    async fn step(&mut self, now: Boottime) -> Result<Standing, Error> {
        // A call that was dropped may have won.
        if let Some(won) = self.parts.iter().position(PartSeat::counts) {
            self.lead_in(won);
        }
        if self.leading.is_some() {
            return self.prove(now).await;
        }
        if !self.parts.is_empty() && self.parts.iter().all(|seat| seat.is_in) {
            return self.compete(now).await;
        }
        let Some(door) = &mut self.door else {
            self.leaving.finish(None).await?;
            let door = self.entrant.open(&self.entrant.whole).await?;
            self.door = Some(PartSeat::new(None, door));
            return Ok(Standing::Waiting { ahead: 0, alive: true, wake: awake() });
        };
        let standing = door.refresh(now).await?;
        self.asked = door.control.clone();
        match standing {
            Standing::Leading { wake, .. } => self.enter(now, wake).await,
            other => self.is_no_head(other).await,
        }
    }

    /// Enters one slot after the other, ever more at once, until the head leads in one.
    async fn enter(&mut self, now: Boottime, wake: Wake) -> Result<Standing, Error> {
        if self.parts.is_empty() {
            self.parts = self.entrant.open_parts().await?;
            // No entry is made before its ticket is known.
            if self.parts.iter().any(|seat| seat.seat.ticket().is_some()) {
                return Ok(Standing::Waiting { ahead: 0, alive: true, wake: awake() });
            }
        }
        let mut others = Predecessors::beside(wake);
        let (mut first, mut width) = (0, 1);
        while first < self.parts.len() {
            let some = self.parts.iter_mut().skip(first).take(width);
            let outcomes = join_all(some.map(|seat| seat.compete(now))).await;
            if let Some(leading) = self.sort_out(first, outcomes, &mut others)? {
                return Ok(leading);
            }
            first += width;
            width *= 2;
        }
        Ok(self.waiting(1, others))
    }

    /// Refreshes the seat of the head at the door and in every slot.
    async fn compete(&mut self, now: Boottime) -> Result<Standing, Error> {
        let door = self.door.as_mut().map(|door| Box::pin(door.refresh(now)) as BoxFuture<'_, _>);
        let parts =
            self.parts.iter_mut().map(|seat| Box::pin(seat.compete(now)) as BoxFuture<'_, _>);
        let has_door = door.is_some();
        let mut outcomes = join_all(door.into_iter().chain(parts)).await;
        let at_the_door = if has_door { outcomes.remove(0) } else { Ok(lost()) };
        if let (Some(door), Ok(_)) = (&self.door, &at_the_door) {
            self.asked = door.control.clone();
        }
        let mut others = Predecessors::default();
        if let Some(leading) = self.sort_out(0, outcomes, &mut others)? {
            return Ok(leading);
        }
        match at_the_door? {
            Standing::Leading { wake, .. } => {
                others.wakes.push(wake);
                Ok(self.waiting(1, others))
            }
            other => self.is_no_head(other).await,
        }
    }

    /// Evaluates the answers of the slots from `first` on. The candidate leads in the lowest slot that it has won.
    /// Errors of other slots do not hide that.
    fn sort_out(
        &mut self,
        first: usize,
        outcomes: Vec<Result<Standing, Error>>,
        others: &mut Predecessors,
    ) -> Result<Option<Standing>, Error> {
        let mut failure = None;
        for (number, outcome) in (first..).zip(outcomes) {
            match outcome {
                Ok(Standing::Leading { token, validity, wake })
                    if self.parts.get(number).is_some_and(PartSeat::counts) =>
                {
                    self.lead_in(number);
                    let wake = self.beside(wake);
                    return Ok(Some(Standing::Leading { token, validity, wake }));
                }
                Ok(Standing::Waiting { alive, wake, .. }) => {
                    others.are_known &= alive;
                    others.wakes.push(wake);
                }
                Ok(Standing::Leading { wake, .. }) => others.wakes.push(wake),
                Ok(Standing::Evicted(_) | Standing::Gone(_)) => others.wakes.push(awake()),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(None), Err)
    }

    /// Makes the candidate lead in this slot. All other seats are given up in the background.
    fn lead_in(&mut self, number: usize) {
        let won = self.parts.remove(number);
        if let Some(part) = won.part {
            self.entrant.slot.set(part);
        }
        self.leading = Some(won);
        let others = self.take_entered();
        self.leaving.begin(others);
        self.refresh_control();
    }

    /// Takes all seats with an entry, except the one that leads.
    fn take_entered(&mut self) -> Vec<PartSeat> {
        let seats = self.parts.drain(..).chain(self.door.take()).filter(|seat| seat.is_in);
        seats.map(|seat| PartSeat { leads: false, ..seat }).collect()
    }

    fn refresh_control(&mut self) {
        let Participant { store, whole, .. } = &self.entrant;
        if let Some(asked) = self.control_watcher.take_found(store, whole, self.asked.version) {
            self.asked = asked;
        }
    }

    async fn prove(&mut self, now: Boottime) -> Result<Standing, Error> {
        self.refresh_control();
        self.leaving.begin([]);
        let Some(leading) = &mut self.leading else { return Ok(lost()) };
        match leading.refresh(now).await? {
            Standing::Leading { token, validity, wake } => {
                let wake = self.beside(wake);
                Ok(Standing::Leading { token, validity, wake })
            }
            Standing::Waiting { ahead, alive, .. } => {
                // The candidate has not led, after all.
                self.control_watcher.end();
                let seat = self.leading.take();
                self.leaving.begin(seat);
                Ok(Standing::Waiting { ahead, alive, wake: awake() })
            }
            over => Ok(over),
        }
    }

    /// Handles an answer at the door that shows another head. The entries in the slots are given up.
    async fn is_no_head(&mut self, standing: Standing) -> Result<Standing, Error> {
        let seats: Vec<_> = self.parts.drain(..).filter(|seat| seat.is_in).collect();
        self.leaving.begin(seats);
        let Standing::Waiting { ahead, alive, wake } = standing else {
            if let Some(door) = &mut self.door {
                door.resign(None).await?;
            }
            return Ok(Standing::Waiting { ahead: 0, alive: true, wake: awake() });
        };
        let is_next =
            ahead == 0 || self.entrant.is_in_haste && self.entrant.has_free_slot().await?;
        let others = Predecessors { are_known: alive, ..Predecessors::beside(wake) };
        // A leader has to go as well as all those ahead at the door.
        Ok(self.waiting(if is_next { 0 } else { ahead + 1 }, others))
    }

    fn waiting(&self, ahead: usize, others: Predecessors) -> Standing {
        let Predecessors { mut wakes, are_known: alive } = others;
        wakes.push(self.leaving.wake());
        Standing::Waiting { ahead, alive, wake: first_of(wakes) }
    }

    /// Returns the wake of a leader. The background tasks run beside it.
    fn beside(&self, wake: Wake) -> Wake {
        first_of(vec![wake, self.control_watcher.wake(), self.leaving.wake()])
    }

    /// Brings the requests that the candidate has to obey up to date.
    fn heed(&mut self) {
        let of_slot = self.leading.as_ref().map(|leading| &leading.control);
        let bytes = control::in_slot(&self.asked, of_slot);
        if bytes != self.control.bytes {
            self.control = Versioned { bytes, version: self.control.version + 1 };
        }
    }

    async fn give_up(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        self.control_watcher.end();
        let others = self.take_entered();
        self.leaving.add(self.leading.take().into_iter().chain(others));
        self.leaving.finish(last).await
    }

    fn noting(&mut self) -> Result<&mut Box<dyn Seat>, Error> {
        let seat = self.leading.as_mut().or(self.door.as_mut());
        seat.map(|seat| &mut seat.seat).ok_or_else(|| {
            Error::new(ErrorKind::Unreachable, "this seat has no place: trying again helps")
        })
    }
}

/// Awaits a call, and polls `other` meanwhile.
async fn beside<T>(mut other: Wake, call: impl Future<Output = T>) -> T {
    let mut call = pin!(call);
    poll_fn(|context| {
        let _ = other.as_mut().poll(context);
        call.as_mut().poll(context)
    })
    .await
}

/// The standing of a seat without an entry.
fn lost() -> Standing {
    Standing::Gone("our entry is gone".to_owned())
}

#[async_trait]
impl Seat for SlotsSeat {
    async fn refresh(&mut self, now: Boottime) -> Result<Refreshed, Error> {
        // A wake is only a hint. If no one polls it, the call itself drives the resignations.
        let leaving = self.leaving.wake();
        let standing = beside(leaving, self.step(now)).await;
        self.heed();
        Ok(standing?.with(&self.control))
    }

    async fn resign(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        self.give_up(last).await
    }

    async fn read(&mut self, now: Boottime, cell: Cell<'_>) -> Result<WatchedCell, Error> {
        self.noting()?.read(now, cell).await
    }

    async fn write(
        &mut self,
        now: Boottime,
        cell: Cell<'_>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<Written, Error> {
        self.noting()?.write(now, cell, bytes, durability).await
    }

    fn ticket(&self) -> Option<Ticket> {
        let seats = self.leading.iter().chain(&self.door).chain(&self.parts);
        join_tickets(seats.filter_map(PartSeat::ticket).chain(self.leaving.tickets()))
    }

    fn doubt(&self) -> Option<Doubt> {
        // A store that may have lost a record may have lost those of all slots.
        self.parts.first().or(self.door.as_ref())?.seat.doubt()
    }

    fn holds(&self) -> Holds<'_> {
        self.leading.as_ref().map(|leading| leading.seat.holds()).unwrap_or_default()
    }
}
