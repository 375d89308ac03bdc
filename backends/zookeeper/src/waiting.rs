use elect_api::{Error, Standing, awake};

use crate::client::Client;
use crate::directory::{Directory, OwnNode};
use crate::error::{Action, fault};
use crate::watch::NodeWatch;

/// Up to this many ahead of us we count them at every refresh; beyond it only now and then.
const EXACT: usize = 100;

/// A place in the queue, and what wakes us.
pub(crate) struct Waiting {
    pub(crate) place: OwnNode,
    watch: Option<NodeWatch>,
    /// How many were before us when we last counted.
    pub(crate) ahead: usize,
}

impl Waiting {
    /// One that nobody has looked around from yet.
    pub(crate) const fn at(place: OwnNode) -> Self {
        Self { place, watch: None, ahead: 0 }
    }

    /// Whether there are so many before us that it is enough to see that we are still there.
    pub(crate) fn is_far_back(&self) -> bool {
        self.ahead > EXACT && self.watch.as_ref().is_some_and(NodeWatch::is_armed)
    }

    /// What was last found out.
    pub(crate) fn standing(&self) -> Standing {
        let wake = self.watch.as_ref().map_or_else(awake, NodeWatch::wake);
        Standing::Waiting { ahead: self.ahead, alive: true, wake }
    }

    /// Sleeps on the node before ours, and on no other.
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
            // If it has gone meanwhile, its successor asks again at once.
            self.watch = stat.map(|_| NodeWatch::new(client, predecessor, watcher));
        }
        Ok(self.standing())
    }
}
