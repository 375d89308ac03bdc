use elect_api::{Error, ErrorKind, Ordered, Orders, Wake, never};
use zookeeper_client::{CreateMode, Error as Zk, SessionId, Stat};

use crate::client::Client;
use crate::directory::make_above;
use crate::fault::{Action, fault, loses_connection};
use crate::settings::Settings;
use crate::sheet::{self, Sheet};
use crate::watch::Watch;

/// The orders of an election, as a seat has them.
pub(crate) struct Followed {
    path: String,
    orders: Orders,
    /// On what was read last, and in which session.
    watch: Option<(SessionId, Watch)>,
}

impl Followed {
    pub(crate) const fn new(path: String) -> Self {
        Self { path, orders: Orders { text: None, version: 0 }, watch: None }
    }

    /// As they were found last.
    pub(crate) const fn orders(&self) -> &Orders {
        &self.orders
    }

    /// Ends when there are others.
    pub(crate) fn wake(&self) -> Wake {
        self.watch.as_ref().map_or_else(never, |(_, watch)| watch.wake())
    }

    /// Takes a step whose first request makes a server catch up with the ensemble, and finds out what the
    /// orders are by then. As long as the server has not told of a change they are read no more: it tells
    /// before it answers what came later. Where they have to be read, that is asked for behind the step, and
    /// no answer is waited for in between.
    pub(crate) async fn along<T>(
        &mut self,
        client: &Client,
        step: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let look = async {
            if self.is_current(client) {
                return None;
            }
            Some(sheet::look(client, &self.path).await)
        };
        // The step is polled first, and so sent first.
        let (outcome, look) = tokio::join!(biased; step, look);
        let outcome = outcome?;
        let found = match look {
            None if self.is_current(client) => return Ok(outcome),
            // It went down with a connection that the step outlived.
            Some(Err(error)) if !loses_connection(&error) => Err(error),
            Some(Ok(sheet)) if sheet.watch.is_armed() => Ok(sheet),
            _ => sheet::look(client, &self.path).await,
        };
        self.take(client, found)?;
        Ok(outcome)
    }

    fn is_current(&self, client: &Client) -> bool {
        let watch = self.watch.as_ref();
        watch.is_some_and(|(session, watch)| *session == client.session_id() && watch.is_armed())
    }

    fn take(&mut self, client: &Client, found: Result<Sheet, Zk>) -> Result<(), Error> {
        self.watch = None;
        match found {
            Ok(Sheet { content, watch }) => {
                self.orders = of(content);
                self.watch = Some((client.session_id(), watch));
                Ok(())
            }
            // Whoever wrote them keeps them from us, and so does not ask us.
            Err(Zk::NoAuth) => Ok(()),
            Err(error) => Err(fault(Action::Read, &self.path, error)),
        }
    }
}

fn of(content: Option<(Vec<u8>, Stat)>) -> Orders {
    content.map_or_else(Orders::default, |(text, stat)| Orders {
        text: Some(text),
        version: version_of(&stat),
    })
}

/// The transaction that wrote it: unlike the number that a node counts its own writes with it goes on rising
/// when the node is made anew.
const fn version_of(stat: &Stat) -> u64 {
    stat.mzxid.cast_unsigned()
}

/// What there is.
pub(crate) async fn read(client: &Client, path: &str) -> Result<Orders, Error> {
    sheet::peek(client, path).await.map(of)
}

/// Writes them in place of those of this version.
pub(crate) async fn write(
    client: &Client,
    settings: &Settings,
    path: &str,
    text: &[u8],
    version: u64,
) -> Result<Ordered, Error> {
    let present = sheet::peek(client, path).await?.map(|(_, stat)| stat);
    if present.as_ref().map_or(0, version_of) != version {
        return Ok(Ordered::Overtaken);
    }
    let failed = |error| fault(Action::Write, path, error);
    let written = if let Some(stat) = present {
        client.set_data(path, text, stat.version).await
    } else {
        make_above(client, settings, path).await?;
        let options = CreateMode::Persistent.with_acls(settings.acls());
        let created = client.create(path, text, options).await;
        created.map(|(stat, _)| stat)
    };
    match written {
        Ok(stat) => Ok(Ordered::Written(version_of(&stat))),
        Err(Zk::BadVersion | Zk::NodeExists) => Ok(Ordered::Overtaken),
        // Forgotten as we wrote them.
        Err(error @ Zk::NoNode) => Err(failed(error).with_kind(ErrorKind::Unreachable)),
        Err(error) => Err(failed(error)),
    }
}
