//! A seat reads and writes the cells of leaders.

use elect_api::{Boottime, Cell, Error, ErrorKind, WatchedCell, Written};

use super::{State, ZkSeat};

impl ZkSeat {
    /// Reads a cell. The end of a leader's session is not reported here, but by the next refresh.
    pub(super) async fn read_cell(
        &mut self,
        now: Boottime,
        cell: Cell<'_>,
    ) -> Result<WatchedCell, Error> {
        if matches!(self.state, State::Out | State::Waiting(_)) && self.link.take_end().is_some() {
            self.lose_place();
        }
        let client = match self.link.session(now).await?.client() {
            Ok(client) => client,
            Err(why) => return Err(Error::new(ErrorKind::Unreachable, why)),
        };
        let cell = self.cells.read(&client, cell).await?;
        self.acknowledged(now);
        Ok(cell)
    }

    pub(super) async fn write_down(
        &mut self,
        now: Boottime,
        cell: Cell<'_>,
        bytes: &[u8],
    ) -> Result<Written, Error> {
        let path = match &self.state {
            State::Leading(place, _) => self.directory.path_of(&place.node),
            State::Gone(why) => return Ok(Written::Gone(why.clone())),
            State::Out | State::Waiting(_) => return Ok(Written::Gone("we do not lead".into())),
        };
        match self.link.session(now).await?.client() {
            Ok(client) => self.cells.write(&client, &path, cell, bytes).await,
            Err(why) => Ok(Written::Gone(why)),
        }
    }

    /// Withdraws as [`Self::withdraw`] does, and writes a cell in the same step. Returns whether that is done. It is
    /// not if the candidate does not lead, or may have further nodes.
    pub(super) async fn withdraw_with(
        &mut self,
        cell: Cell<'_>,
        bytes: &[u8],
    ) -> Result<bool, Error> {
        let State::Leading(place, _) = &self.state else { return Ok(false) };
        if !self.strays.is_empty() {
            return Ok(false);
        }
        let node = self.directory.path_of(&place.node);
        let client = self.link.any_client().await?;
        self.cells.write_removing(&client, &node, cell, bytes).await?;
        drop(client);
        self.is_out();
        self.link.part();
        Ok(true)
    }
}
