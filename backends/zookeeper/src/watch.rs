use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use elect_api::Wake;
use tokio::sync::watch;
use zookeeper_client::OneshotWatcher;

use crate::client::Client;
use crate::task::{Task, lock};

/// A watch that the server keeps on a node. When it is dropped, the server drops it too.
pub(crate) struct NodeWatch {
    node: String,
    ear: Arc<Mutex<Ear>>,
    fired: watch::Receiver<bool>,
    listener: Task<()>,
}

/// The notification of the watch. The watch's owner may ask before the listener task has run, after an answer that came
/// later than the notification. So the owner polls it too.
struct Ear {
    word: Pin<Box<dyn Future<Output = ()> + Send>>,
    listener: Waker,
    has_heard: bool,
}

impl Ear {
    fn hears(&mut self) -> bool {
        let mut context = Context::from_waker(&self.listener);
        self.has_heard = self.has_heard || self.word.as_mut().poll(&mut context).is_ready();
        self.has_heard
    }
}

impl NodeWatch {
    /// Makes a watch of this client.
    pub(crate) fn new(client: &Client, node: String, watcher: OneshotWatcher) -> Self {
        let word = Box::pin(async move { drop(watcher.changed().await) });
        let ear = Ear { word, listener: Waker::noop().clone(), has_heard: false };
        let ear = Arc::new(Mutex::new(ear));
        let (fire, fired) = watch::channel(false);
        let listens = Arc::clone(&ear);
        let listener = client.start(async move {
            poll_fn(|context| {
                let mut ear = lock(&listens);
                ear.listener.clone_from(context.waker());
                if ear.hears() { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            // There may be no receiver any more.
            let _ = fire.send(true);
        });
        Self { node, ear, fired, listener }
    }

    /// Returns whether it is on this node, and nothing has happened there yet.
    pub(crate) fn is_armed_on(&self, node: &str) -> bool {
        self.node == node && self.is_armed()
    }

    /// Returns whether no event was reported before the server's last answer.
    pub(crate) fn is_armed(&self) -> bool {
        !*self.fired.borrow()
            && self.fired.has_changed().is_ok()
            && !self.listener.has_fallen()
            && !lock(&self.ear).hears()
    }

    /// Returns a wake that ends when something has happened, or when the watch ends.
    pub(crate) fn wake(&self) -> Wake {
        let (mut fired, falls) = (self.fired.clone(), self.listener.falls());
        Box::pin(async move {
            tokio::select! {
                _ = fired.wait_for(|fired| *fired) => {}
                () = falls => {}
            }
        })
    }
}
