use elect_api::{Error, Standing, awake};

use crate::client::Client;
use crate::directory::{Directory, OwnNode};
use crate::error::{Action, fault};
use crate::watch::NodeWatch;

/// Up to this many candidates ahead are counted at every refresh; more only now and then.
const EXACT: usize = 100;

/// A place in the queue, and the watch on the node before it.
pub(crate) struct Waiting {
    pub(crate) place: OwnNode,
    watch: Option<NodeWatch>,
    /// The number of candidates ahead, as last counted.
    pub(crate) ahead: usize,
}

impl Waiting {
    /// A new place, from which the queue has not been read yet.
    pub(crate) const fn at(place: OwnNode) -> Self {
        Self { place, watch: None, ahead: 0 }
    }

    /// Returns whether so many candidates are ahead that a refresh only needs to see the own node.
    pub(crate) fn is_far_back(&self) -> bool {
        self.ahead > EXACT && self.watch.as_ref().is_some_and(NodeWatch::is_armed)
    }

    /// Returns the standing that was found last.
    pub(crate) fn standing(&self) -> Standing {
        let wake = self.watch.as_ref().map_or_else(awake, NodeWatch::wake);
        Standing::Waiting { ahead: self.ahead, alive: true, wake }
    }

    /// Watches the node before this one, and no other.
    pub(crate) async fn watch(
        &mut self,
        client: &Client,
        directory: &Directory,
        predecessor: String,
    ) -> Result<Standing, Error> {
        if self.watch.as_ref().is_none_or(|watch| !watch.is_armed_on(&predecessor)) {
            let path = directory.path_of(&predecessor);
            let look = client.check_and_watch_stat(&path).await;
            let (stat, watcher) = look.map_err(|error| fault(Action::Read, &path, error))?;
            // If it is gone already, the wake is at once, and the next refresh asks again.
            self.watch = stat.map(|_| NodeWatch::new(client, predecessor, watcher));
        }
        Ok(self.standing())
    }
}
