//! A seat at the door, or in one slot.

use elect_api::{Boottime, Cell, Division, Error, ErrorKind, Seat, Standing, Ticket, awake};

use crate::election::orders::Orders;

pub(super) struct Standpoint {
    /// The number of the slot; `None` at the door.
    pub(super) part: Option<u16>,
    pub(super) seat: Box<dyn Seat>,
    /// There may be an entry.
    pub(super) is_in: bool,
    /// It was seen to lead, and was not given up since.
    pub(super) leads: bool,
}

impl Standpoint {
    pub(super) const fn new(part: Option<u16>, seat: Box<dyn Seat>) -> Self {
        Self { part, seat, is_in: false, leads: false }
    }

    /// As the seat has it. It is known here that it leads as soon as the seat knows.
    pub(super) async fn refresh(&mut self, now: Boottime) -> Result<Standing, Error> {
        self.is_in = true;
        let standing = self.seat.refresh(now).await?;
        self.leads = matches!(standing, Standing::Leading { .. });
        Ok(standing)
    }

    /// The same where we only want to win: what was won, and lost before anybody knew, is given up.
    pub(super) async fn compete(&mut self, now: Boottime) -> Result<Standing, Error> {
        let standing = self.refresh(now).await?;
        if !self.asked().is_divided(Division::Whole) {
            self.resign(None).await?;
            let what = "a slot of the election is divided itself: end whoever takes part in it by its own name";
            return Err(Error::new(ErrorKind::Unfit, what));
        }
        match standing {
            // Kept in a pause, and asked to be given up: nobody else would be told of that.
            Standing::Leading { token, .. } if !self.counts() && self.asked().ends(token) => {
                self.resign(None).await?;
                Ok(Standing::Waiting { ahead: 1, wake: awake() })
            }
            Standing::Evicted(_) | Standing::Gone(_) => {
                self.resign(None).await?;
                Ok(Standing::Waiting { ahead: 1, wake: awake() })
            }
            standing => Ok(standing),
        }
    }

    /// Whether it leads, and may: a slot that is paused for itself is kept, so that nobody leads in it who reads no
    /// orders, and waited for like one that is taken.
    pub(super) fn counts(&self) -> bool {
        self.leads && self.asked().pausing().is_none()
    }

    /// What is asked of the slot. What cannot be read asks nothing; whoever leads says so.
    fn asked(&self) -> Orders {
        Orders::read(self.seat.control().bytes.as_deref()).unwrap_or_default()
    }

    /// Gives up what there may be, with these last words if it leads.
    pub(super) async fn resign(&mut self, last: Option<(Cell<'_>, &[u8])>) -> Result<(), Error> {
        if !self.is_in {
            return Ok(());
        }
        self.seat.resign(last.filter(|_| self.leads)).await?;
        (self.is_in, self.leads) = (false, false);
        Ok(())
    }

    pub(super) fn ticket(&self) -> Option<(Option<u16>, Ticket)> {
        Some((self.part, self.seat.ticket()?))
    }
}
