//! A seat makes its entry, or finds the one that an earlier call made.

use elect_api::{Boottime, Error, ErrorKind, Standing};

use super::{State, ZkSeat, watch_own_node};
use crate::client::Client;
use crate::directory::OwnNode;
use crate::queue::{Position, Queue};
use crate::waiting::Waiting;
use crate::{entry, identity};

impl ZkSeat {
    pub(super) async fn enter(
        &mut self,
        client: &Client,
        now: Boottime,
        owner: i64,
        queue: Option<Queue>,
    ) -> Result<Standing, Error> {
        let found = match &queue {
            Some(queue) if self.is_in_flight => self.find(client, owner, queue).await?,
            _ => None,
        };
        let may_win = found.is_none() && queue.as_ref().is_none_or(|queue| queue.len() == 0);
        let place = match found {
            Some(place) => {
                self.acknowledged(now);
                place
            }
            None => self.make(client, now, queue.is_none()).await?,
        };
        self.is_in_flight = false;
        self.state = State::Waiting(Waiting::at(place.clone()));
        if may_win {
            return self.take_the_lead(client, now, place).await;
        }
        let queue = self.queue(client, now).await?;
        self.advance(client, now, queue).await
    }

    /// Makes the entry. This is a quorum write, and so as good as a proof.
    async fn make(
        &mut self,
        client: &Client,
        now: Boottime,
        is_first_ever: bool,
    ) -> Result<OwnNode, Error> {
        if identity::is_open(self.directory.settings()) {
            identity::found(client, self.directory.settings()).await?;
        }
        if is_first_ever {
            self.directory.make(client).await?;
        }
        self.is_in_flight = true;
        let data = entry::write(&self.candidate, self.arrived);
        let settings = self.directory.settings();
        let newest = settings.newest_transaction();
        match self.directory.enter(client, self.guid, &data).await {
            Ok(place) => {
                if let Some(session) = self.link.established() {
                    session.confirmed(now);
                }
                if let Err(error) = settings.admit_transaction(place.czxid, newest) {
                    self.directory.remove(client, &[place.node]).await?;
                    self.is_in_flight = false;
                    return Err(error);
                }
                Ok(place)
            }
            Err(error) => {
                self.is_in_flight = error.kind() == ErrorKind::Ambiguous;
                Err(error)
            }
        }
    }

    /// Wins if no candidate was before this entry. The quorum has made the entry in this very call, which is as good as
    /// any proof. A candidate before it appears in the listing that follows.
    async fn take_the_lead(
        &mut self,
        client: &Client,
        now: Boottime,
        place: OwnNode,
    ) -> Result<Standing, Error> {
        let path = self.directory.path_of(&place.node);
        let look = watch_own_node(client, &path, &place);
        let (queue, watch) = tokio::join!(biased; self.queue(client, now), look);
        let queue = queue?;
        if let Some(listed) = &queue
            && matches!(listed.position(&place.node), Position::First)
        {
            self.directory.check(listed)?;
            self.state = State::Leading(place.clone(), watch);
            return Ok(self.leading(now, &place));
        }
        self.advance(client, now, queue).await
    }

    /// Returns the node that an earlier request made after all. Only a node of the present session stays as long as
    /// this seat wants. Any other node is removed.
    async fn find(
        &self,
        client: &Client,
        owner: i64,
        queue: &Queue,
    ) -> Result<Option<OwnNode>, Error> {
        let mut found = None;
        for node in queue.beginning(&self.directory.prefix(self.guid)) {
            match self.directory.stat(client, &node).await? {
                Some(stat) if stat.ephemeral_owner == owner && found.is_none() => {
                    found = Some(OwnNode { node, czxid: stat.czxid });
                }
                Some(_) => self.directory.remove(client, &[node]).await?,
                None => {}
            }
        }
        Ok(found)
    }
}
