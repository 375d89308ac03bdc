use elect_api::Wake;
use etcd_client::{Client, EventType, WatchFilterType, WatchOptions};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::queue::Rival;

/// A look-out for the end of the one before us, over one connection. All wakes of a seat share it.
pub(crate) struct Watch {
    rival: Rival,
    generation: u64,
    rung: watch::Receiver<bool>,
    task: AbortHandle,
}

impl Watch {
    /// Looks out from `revision` on, in which the rival was there.
    ///
    /// A look-out that breaks off after it stood wakes once if it is `loud`: one that takes the place of
    /// another that broke off is not, or the two would keep each other busy.
    pub(crate) fn start(
        client: Client,
        generation: u64,
        rival: Rival,
        revision: i64,
        loud: bool,
    ) -> Self {
        let (bell, rung) = watch::channel(false);
        let key = rival.key.clone();
        let task = tokio::spawn(async move {
            match listen(client, key, revision + 1).await {
                End::Gone => bell.send_replace(true),
                End::BrokeOff if loud => bell.send_replace(true),
                End::BrokeOff | End::NeverStood => false,
            };
        });
        Self { rival, generation, rung, task: task.abort_handle() }
    }

    /// Whether it still looks out for this rival, over this connection.
    pub(crate) fn is_on(&self, rival: &Rival, generation: u64) -> bool {
        self.rival == *rival && self.generation == generation && !self.task.is_finished()
    }

    /// Whether it has ended, though the rival has not.
    pub(crate) fn broke_off(&self, rival: &Rival) -> bool {
        self.rival == *rival && self.task.is_finished()
    }

    /// Ends when the rival has gone, or when asking again is wise for another reason.
    pub(crate) fn wake(&self) -> Wake {
        let mut rung = self.rung.clone();
        Box::pin(async move {
            if rung.wait_for(|rung| *rung).await.is_err() {
                // Replaced, or broken off in silence: the next refresh comes anyway.
                std::future::pending::<()>().await;
            }
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

enum End {
    Gone,
    BrokeOff,
    NeverStood,
}

async fn listen(mut client: Client, key: String, from: i64) -> End {
    let options =
        WatchOptions::new().with_start_revision(from).with_filters([WatchFilterType::NoPut]);
    let Ok(mut stream) = client.watch(key, Some(options)).await else { return End::NeverStood };
    let mut stood = false;
    while let Ok(Some(reply)) = stream.message().await {
        if reply.events().iter().any(|event| event.event_type() == EventType::Delete) {
            return End::Gone;
        }
        if reply.canceled() {
            break;
        }
        stood |= reply.created();
    }
    if stood { End::BrokeOff } else { End::NeverStood }
}
