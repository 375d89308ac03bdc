use elect_api::{Error, Wake, awake, first_of};
use zookeeper_client::{Error as Zk, OneshotWatcher, StateWatcher};

use crate::client::Client;
use crate::error::{Action, fault};
use crate::observer::Observer;

/// Watches the candidates below `queue` and these cells, whether they exist or not. The wake ends with the first
/// change, and also when the connection is lost or comes back.
pub(crate) async fn changed(
    observer: &Observer,
    queue: &str,
    cells: &[String],
) -> Result<Wake, Error> {
    let mut states = observer.state_watcher();
    // Forgets earlier changes of the state: only later ones count.
    states.state();
    let mut wakes: Vec<Wake> = vec![interruption(states), Box::pin(observer.falls())];
    match children(observer, queue).await {
        Ok(Some(watcher)) => wakes.push(wake(watcher)),
        Ok(None) => return Ok(awake()),
        Err(error) => return Err(fault(Action::List, queue, error)),
    }
    for cell in cells {
        match observer.wake_of(cell).await {
            Ok(wake) => wakes.push(wake),
            // A user who may read an election may lack the right to read its cells.
            Err(Zk::NoAuth) => {}
            Err(error) => return Err(fault(Action::Read, cell, error)),
        }
    }
    Ok(first_of(wakes))
}

/// Returns a watch for children that come or go, or for the creation of the node. `None` if the node was created
/// between the two requests.
async fn children(client: &Client, path: &str) -> Result<Option<OneshotWatcher>, Zk> {
    match client.list_and_watch_children(path).await {
        Ok((_, watcher)) => Ok(Some(watcher)),
        Err(Zk::NoNode) => {
            let (stat, watcher) = client.check_and_watch_stat(path).await?;
            Ok(stat.is_none().then_some(watcher))
        }
        Err(error) => Err(error),
    }
}

fn wake(watcher: OneshotWatcher) -> Wake {
    Box::pin(async move {
        watcher.changed().await;
    })
}

fn interruption(mut states: StateWatcher) -> Wake {
    Box::pin(async move {
        states.changed().await;
    })
}
