//! A seat reads and writes notes.

use elect_api::{Boottime, Error, ErrorKind, Note, NoteName, Noted};

use super::{State, ZkSeat};
use crate::note::Written;

impl ZkSeat {
    /// The end of a session in which we lead is not told of: that is for the next refresh.
    pub(super) async fn look_up(&mut self, now: Boottime, name: NoteName) -> Result<Note, Error> {
        if matches!(self.state, State::Out | State::Waiting(_)) && self.link.take_end().is_some() {
            self.lose_place();
        }
        let client = match self.link.session(now).await?.client() {
            Ok(client) => client,
            Err(why) => return Err(Error::new(ErrorKind::Unreachable, why)),
        };
        let note = self.notes.read(&client, name).await?;
        self.acknowledged(now);
        Ok(note)
    }

    pub(super) async fn write_down(
        &mut self,
        now: Boottime,
        name: NoteName,
        text: &[u8],
    ) -> Result<Noted, Error> {
        let path = match &self.state {
            State::Leading(place, _) => self.directory.path_of(&place.node),
            State::Gone(why) => return Ok(Noted::Gone(why.clone())),
            State::Out | State::Waiting(_) => return Ok(Noted::Gone("we do not lead".into())),
        };
        let client = match self.link.session(now).await?.client() {
            Ok(client) => client,
            Err(why) => return Ok(Noted::Gone(why)),
        };
        Ok(match self.notes.write(&client, &path, name, text).await? {
            Written::Yes => Noted::Written,
            Written::Missing => Noted::Gone(format!("{path} was removed")),
        })
    }

    /// As [`Self::withdraw`] in one step with the writing of a note. Whether it is done: it is not if there is
    /// nothing to give up, or more than an entry that leads.
    pub(super) async fn withdraw_with(
        &mut self,
        name: NoteName,
        text: &[u8],
    ) -> Result<bool, Error> {
        let State::Leading(place, _) = &self.state else { return Ok(false) };
        if !self.strays.is_empty() {
            return Ok(false);
        }
        let node = self.directory.path_of(&place.node);
        let client = self.link.any_client().await?;
        self.notes.write_removing(&client, &node, name, text).await?;
        drop(client);
        self.is_out();
        self.link.part();
        Ok(true)
    }
}
