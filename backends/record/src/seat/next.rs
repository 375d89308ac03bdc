//! The next waiter. Only the leader, or the last one, is before it, so it needs no list. A list would take longer
//! the more waiters are behind. It reads the record, and sees by its own renewal that its waiter still exists.
//!
//! It still lists once in a lease, because a candidate that lost its entry may be back at an earlier place.

use elect_api::{Boottime, Cell, Error, Standing};

use super::{RecordSeat, State};
use crate::documents::Purpose;
use crate::line::Position;

impl RecordSeat {
    /// The answer of the next waiter without a list; `None` if a list is needed.
    pub(super) async fn stand_next(&mut self, now: Boottime) -> Result<Option<Standing>, Error> {
        let fresh = self.next.filter(|(listed, _)| now.since(*listed) < self.ttl);
        let Some((_, before)) = fresh.filter(|_| matches!(self.state, State::Out)) else {
            return Ok(None);
        };
        let known = self.election.record(Purpose::Poll).await?;
        let (is_waiting, counts) = (known.record.counts(self.nonce), |it| known.record.counts(it));
        if !is_waiting || before.is_some_and(counts) {
            return Ok(None);
        }
        self.control = known.record.cell(Cell::Control);
        let position = Position { is_listed: true, ..Position::default() };
        if self.is_vacant(now, &known) {
            // A candidate whose waiter is gone was taken for dead, or was given up. The waiter is read after the
            // record, because a candidate that gives an entry up for another one writes the record last.
            let is_there = self.has_its_waiter().await?;
            return if is_there {
                self.take(now, known, &position).await.map(Some)
            } else {
                Ok(None)
            };
        }
        let is_there = self.renew_waiter(now).await?;
        Ok(is_there.then(|| self.wait(now, &known, &position)))
    }
}
