//! The next one. As nobody is before it but who leads, or has led, it makes no list, which takes the longer the more are
//! behind it: it reads the record, and sees by its renewal that its own waiter is there.
//!
//! Once in a lease it lists all the same: who lost its entry may have come back to an earlier place.

use elect_api::{Boottime, Cell, Error, Standing};

use super::{RecordSeat, State};
use crate::documents::Purpose;
use crate::line::Position;

impl RecordSeat {
    /// What the next one finds without a list; `None` if there is to be one.
    pub(super) async fn stand_next(&mut self, now: Boottime) -> Result<Option<Standing>, Error> {
        let fresh = self.next.filter(|(listed, _)| now.since(*listed) < self.ttl);
        let Some((_, before)) = fresh.filter(|_| matches!(self.state, State::Out)) else {
            return Ok(None);
        };
        let known = self.election.record(Purpose::Look).await?;
        let (is_waiting, counts) = (known.record.counts(self.nonce), |it| known.record.counts(it));
        if !is_waiting || before.is_some_and(counts) {
            return Ok(None);
        }
        self.control = known.record.cell(Cell::Control);
        let position = Position { is_listed: true, ..Position::default() };
        if self.is_vacant(now, &known) {
            // Whose waiter is gone was taken for dead, or given up. It is looked at after the record: who gives an entry up
            // for another writes to the record last.
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
