use std::fmt;

use std::sync::Arc;

use elect_api::{ElectionName, Error, ErrorKind, Token};
use zookeeper_client::{CreateMode, Error as Zk, Stat};

use crate::client::Client;
use crate::error::{Action, fault};
use crate::guid::Guid;
use crate::queue::Queue;
use crate::settings::Settings;

/// The node whose children are the candidates of one election. Each call is one request, unless its doc states several.
#[derive(Clone)]
pub(crate) struct Directory {
    settings: Arc<Settings>,
    path: String,
}

/// An existing entry of this candidate.
#[derive(Clone, Debug)]
pub(crate) struct OwnNode {
    /// The name of its node.
    pub(crate) node: String,
    /// The transaction that made it: the fencing token.
    pub(crate) czxid: i64,
}

impl Directory {
    pub(crate) fn new(settings: Arc<Settings>, election: &ElectionName) -> Self {
        let path = settings.path_of(election);
        Self { settings, path }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The settings, for tasks that run beside other calls.
    pub(crate) fn settings_too(&self) -> Arc<Settings> {
        Arc::clone(&self.settings)
    }

    pub(crate) fn path_of(&self, node: &str) -> String {
        format!("{}/{node}", self.path)
    }

    /// Returns the candidates as the ensemble has them, also from a server that lags behind. `None` if the election was
    /// never entered. Two requests, sent at once.
    pub(crate) async fn queue(&self, client: &Client) -> Result<Option<Queue>, Error> {
        let (sync, list) = (client.sync(&self.path), client.list_children(&self.path));
        sync.await.map_err(|error| fault(Action::List, &self.path, error))?;
        match list.await {
            Ok(children) => Ok(Some(Queue::of(children, self.settings.layout))),
            Err(Zk::NoNode) => Ok(None),
            Err(error) => Err(fault(Action::List, &self.path, error)),
        }
    }

    /// Adds the user's name to an error about rights.
    pub(crate) fn explain(&self, error: Error) -> Error {
        self.settings.explain(error)
    }

    /// Refuses an election that other candidates keep in another layout.
    pub(crate) fn check(&self, queue: &Queue) -> Result<(), Error> {
        queue.check(&self.path, self.settings.layout)
    }

    /// Returns the error for more entries than elect reads.
    pub(crate) fn overfull(&self, most: fmt::Arguments<'_>) -> Error {
        let what = format!("the entries in {} are more than {most}", self.path);
        Error::new(ErrorKind::Unreachable, what)
    }

    /// Makes the node, and the nodes above it.
    pub(crate) async fn make(&self, client: &Client) -> Result<(), Error> {
        make(client, &self.settings, &self.path).await
    }

    /// The prefix of the names of an entry's nodes.
    pub(crate) fn prefix(&self, guid: Guid) -> String {
        self.settings.layout.prefix(guid)
    }

    /// Makes the entry.
    pub(crate) async fn enter(
        &self,
        client: &Client,
        guid: Guid,
        data: &[u8],
    ) -> Result<OwnNode, Error> {
        let path = self.path_of(&self.prefix(guid));
        let mode = CreateMode::EphemeralSequential;
        let options = self.settings.options(client, mode, &path).await;
        match client.create(&path, data, options).await {
            Ok((stat, sequence)) => {
                let node = format!("{}{sequence}", self.prefix(guid));
                Ok(OwnNode { node, czxid: stat.czxid })
            }
            Err(Zk::NoNode) => {
                let what = format!("{} was removed meanwhile: trying again helps", self.path);
                Err(Error::new(ErrorKind::Unreachable, what))
            }
            Err(error) => Err(fault(Action::Create, &path, error)),
        }
    }

    /// Returns the state of a node; `None` if it does not exist.
    pub(crate) async fn stat(&self, client: &Client, node: &str) -> Result<Option<Stat>, Error> {
        let path = self.path_of(node);
        let look = client.check_stat(&path).await;
        look.map_err(|error| fault(Action::Read, &path, error))
    }

    /// Does as [`Directory::stat`] does, with the state of the ensemble. Two requests, sent at once.
    pub(crate) async fn stat_now(
        &self,
        client: &Client,
        node: &str,
    ) -> Result<Option<Stat>, Error> {
        let sync = client.sync(&self.path);
        let look = self.stat(client, node);
        let (synced, stat) = tokio::join!(biased; sync, look);
        synced.map_err(|error| fault(Action::Read, &self.path, error))?;
        stat
    }

    /// Returns the node of the first entry, if the transaction `token` made it. A name is given once only, as long as
    /// the election is not removed and made anew.
    pub(crate) async fn led_by(
        &self,
        client: &Client,
        token: Token,
    ) -> Result<Option<String>, Error> {
        let Some(queue) = self.queue(client).await? else { return Ok(None) };
        // Candidates of another layout have another order, and so another leader.
        self.check(&queue)?;
        let Some(first) = queue.names().next() else { return Ok(None) };
        let stat = self.stat(client, first).await?;
        let is_it = stat.is_some_and(|stat| stat.czxid.cast_unsigned() == token.get());
        Ok(is_it.then(|| first.to_owned()))
    }

    /// Removes nodes that may be gone already. One request for each.
    pub(crate) async fn remove(&self, client: &Client, nodes: &[String]) -> Result<(), Error> {
        for node in nodes {
            let path = self.path_of(node);
            match client.delete(&path).await {
                Ok(()) | Err(Zk::NoNode) => {}
                Err(error) => return Err(fault(Action::Delete, &path, error)),
            }
        }
        Ok(())
    }

    /// Finds the nodes of these entries, whether this process made them or not, and removes them. Several requests.
    pub(crate) async fn remove_all(&self, client: &Client, guids: &[Guid]) -> Result<(), Error> {
        let Some(queue) = self.queue(client).await? else { return Ok(()) };
        for guid in guids {
            self.remove(client, &queue.beginning(&self.prefix(*guid))).await?;
        }
        Ok(())
    }
}

/// Makes the nodes above a node.
pub(crate) async fn make_above(
    client: &Client,
    settings: &Settings,
    path: &str,
) -> Result<(), Error> {
    match path.rsplit_once('/') {
        Some((above, _)) => make(client, settings, above).await,
        None => Ok(()),
    }
}

/// Makes a node, and the nodes above it, as containers: ZooKeeper removes them some time after their last child. One
/// request for each missing node, and one more.
pub(crate) async fn make(client: &Client, settings: &Settings, path: &str) -> Result<(), Error> {
    let mut missing = vec![path];
    while let Some(path) = missing.last().copied() {
        let options = settings.options(client, CreateMode::Container, path).await;
        match client.create(path, b"", options).await {
            Ok(_) | Err(Zk::NodeExists) => drop(missing.pop()),
            Err(Zk::NoNode) => match path.rfind('/') {
                Some(at) if at > 0 => missing.push(&path[..at]),
                _ => return Err(fault(Action::Create, path, Zk::NoNode)),
            },
            Err(error) => return Err(fault(Action::Create, path, error)),
        }
    }
    Ok(())
}
