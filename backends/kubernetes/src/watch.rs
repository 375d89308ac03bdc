//! Watches Leases for changes, as the API server reports them. Each report is a hint: a waiter reads the Lease again in
//! any case.
//!
//! One watch serves all who wait for the same Lease, one after another. Otherwise each new wait would begin another
//! watch over another connection. A watch ends when no caller has waited for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Method;
use serde_json::Value;
use tokio::sync::watch::{self, Receiver, Sender};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::api::Api;
use crate::client::{Failure, now};
use crate::error::Verb;
use crate::lease::{self, ELECTION};

/// The time after which the API server ends a watch.
const SPAN: Duration = Duration::from_secs(300);
/// The longest silence of the API server. Some API servers send a bookmark each minute, and others none.
const SILENCE: Duration = Duration::from_secs(100);
/// The time limit for a connection and the first answer.
const LIMIT: Duration = Duration::from_secs(10);
/// The time that a watch goes on without a waiter.
const KEPT: Duration = Duration::from_secs(60);
/// The longest pause before a healthy watch is begun again: a proxy may have ended it because it was idle. Changes in
/// that pause are reported late.
const BREATH: Duration = Duration::from_millis(20);
/// The least duration of a healthy watch.
const WELL: Duration = Duration::from_secs(1);
/// The pause before a failed watch is begun again; twice as long each time.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(16);

/// The Leases of a watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Selector {
    /// The Lease with this name.
    Name(String),
    /// The record and the waiters of an election, by their label.
    Label(String),
}

impl Selector {
    /// The selector as a part of a query.
    pub(crate) fn query(&self) -> String {
        match self {
            Self::Name(name) => format!("fieldSelector=metadata.name%3D{name}"),
            Self::Label(label) => {
                format!("labelSelector={}%3D{label}", ELECTION.replace('/', "%2F"))
            }
        }
    }
}

/// Returns whether a change of a Lease is news. It gets the Lease's name and new state; `None` if it is gone.
pub(crate) type IsNews<'a> = &'a mut (dyn FnMut(&str, Option<&Value>) -> bool + Send);

/// All watches of single Leases. They end with the store.
pub(crate) struct Watches {
    api: Arc<Api>,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    seen: HashMap<Selector, Receiver<Seen>>,
    tasks: JoinSet<()>,
}

/// The last known state of a watched Lease.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The version of the newest change.
    version: u64,
    /// `None` if it is gone.
    lease: Option<Value>,
}

impl Watches {
    pub(crate) fn new(api: Arc<Api>) -> Self {
        Self { api, running: Mutex::default() }
    }

    /// Passes on each change of a Lease after a version, until one is news. A missing Lease has version 0.
    pub(crate) async fn wait(&self, name: &str, mut version: u64, is_news: IsNews<'_>) {
        loop {
            let mut seen = self.subscribe(name, version);
            // A caller that found no Lease ignores the change seen so far: the watch is late, or the answer was wrong.
            let mut known = if version == 0 { seen.borrow().version } else { version };
            loop {
                let newest = seen.borrow_and_update().clone();
                if newest.version > known && (version > 0 || newest.lease.is_some()) {
                    if is_news(name, newest.lease.as_ref()) {
                        return;
                    }
                    (version, known) = (newest.version, newest.version);
                }
                // The watch ends if it seems to have no waiter.
                if seen.changed().await.is_err() {
                    break;
                }
            }
        }
    }

    /// Passes on each change of the record and the waiters after the version of a list, until one is news.
    pub(crate) async fn wait_for_any(&self, label: &str, version: u64, is_news: IsNews<'_>) {
        let selector = Selector::Label(label.to_owned());
        let mut follower = Follower { api: Arc::clone(&self.api), selector, from: version };
        follower.follow(|name, _, lease| is_news(name, lease.as_ref())).await;
    }

    fn subscribe(&self, name: &str, version: u64) -> Receiver<Seen> {
        let selector = Selector::Name(name.to_owned());
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.tasks.try_join_next().is_some() {}
        running.seen.retain(|_, seen| seen.has_changed().is_ok());
        if let Some(seen) = running.seen.get(&selector) {
            return seen.clone();
        }
        let (sender, seen) = watch::channel(Seen::default());
        running.seen.insert(selector.clone(), seen.clone());
        let follower = Follower { api: Arc::clone(&self.api), selector, from: version };
        running.tasks.spawn(publish(follower, sender));
        seen
    }
}

/// Follows a Lease as long as a caller waits for it.
async fn publish(mut follower: Follower, seen: Sender<Seen>) {
    let tell = |_: &str, version, lease| {
        seen.send_if_modified(|seen| {
            let is_newer = version > seen.version;
            if is_newer {
                *seen = Seen { version, lease };
            }
            is_newer
        });
        false
    };
    let is_left = async {
        loop {
            sleep(KEPT).await;
            // The map of running watches keeps one receiver.
            if seen.receiver_count() <= 1 {
                return;
            }
        }
    };
    tokio::select! {
        () = follower.follow(tell) => {}
        () = is_left => {}
    }
}

/// The longest pause before the next failed watch is begun again.
struct Pauses(Duration);

impl Pauses {
    fn next(&mut self, was_well: bool) -> Duration {
        let pause = if was_well { BREATH } else { self.0 };
        self.0 = if was_well { PAUSE } else { LONGEST_PAUSE.min(pause * 2) };
        pause
    }
}

/// A watch that is begun again each time it ends.
struct Follower {
    api: Arc<Api>,
    selector: Selector,
    /// The version after which the API server reports changes; 0 to begin with the present state.
    from: u64,
}

/// The reason why a watch has ended.
enum End {
    /// A change was news.
    Told,
    /// The API server ended it, or wants another watch.
    Over,
    /// The API server no longer knows the changes after the version that the watch asked for.
    TooOld,
}

impl Follower {
    /// Passes on the name, version and state of each Lease that changes, until that is news.
    async fn follow(&mut self, mut tell: impl FnMut(&str, u64, Option<Value>) -> bool) {
        let mut pauses = Pauses(PAUSE);
        loop {
            let began = now();
            let mut is_open = false;
            let end = self.listen(&mut is_open, &mut tell).await;
            let was_well = is_open && now() - began >= WELL;
            match end {
                Ok(End::Told) => return,
                Ok(End::Over) | Err(_) => {}
                Ok(End::TooOld) => {
                    if self.read_missed(&mut tell).await {
                        return;
                    }
                    self.from = 0;
                }
            }
            // A random pause, so that clients do not all return at once when an API server comes back.
            let pause = pauses.next(was_well);
            sleep(pause.mul_f32(fastrand::f32().max(0.1))).await;
        }
    }

    async fn listen(
        &mut self,
        is_open: &mut bool,
        tell: &mut impl FnMut(&str, u64, Option<Value>) -> bool,
    ) -> Result<End, Failure> {
        let since = match self.from {
            0 => String::new(),
            from => format!("&resourceVersion={from}"),
        };
        let (selector, span) = (self.selector.query(), SPAN.as_secs());
        let query =
            format!("watch=1&allowWatchBookmarks=true&timeoutSeconds={span}&{selector}{since}");
        let mut watch = self.api.client.watch(&self.api.path("", &query), LIMIT).await?;
        *is_open = true;
        while let Some(mut event) = watch.next(SILENCE).await? {
            let lease = event.get_mut("object").map(Value::take).unwrap_or_default();
            let kind = event["type"].as_str().unwrap_or_default();
            if kind == "ERROR" {
                let is_old = lease["code"].as_u64() == Some(410);
                return Ok(if is_old { End::TooOld } else { End::Over });
            }
            let Ok(version) = lease::version(&lease) else { continue };
            self.from = version;
            let name = lease::name(&lease).to_owned();
            // Not every server that resembles an API server supports selectors.
            if matches!(&self.selector, Selector::Name(own) if *own != name && kind != "BOOKMARK") {
                continue;
            }
            let is_news = match kind {
                "ADDED" | "MODIFIED" => tell(&name, version, Some(lease)),
                "DELETED" => tell(&name, version, None),
                _ => false,
            };
            if is_news {
                return Ok(End::Told);
            }
        }
        Ok(End::Over)
    }

    /// Reads a Lease whose changes were missed. Of several Leases it is unknown which have changed. The next watch
    /// reports all of them anew.
    async fn read_missed(&self, tell: &mut impl FnMut(&str, u64, Option<Value>) -> bool) -> bool {
        let Selector::Name(name) = &self.selector else { return false };
        match self.api.ask(Verb::Get, Method::GET, name, "", None).await {
            Ok(Ok(found)) => {
                lease::version(&found).is_ok_and(|version| tell(name, version, Some(found)))
            }
            Ok(Err(_)) => tell(name, self.from.saturating_add(1), None),
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proxy ends idle watches. Between two watches changes are reported late by hardly any time.
    #[test]
    fn a_watch_that_was_well_is_begun_again_at_once_and_another_ever_later() {
        let mut pauses = Pauses(PAUSE);
        let millis = |pause: Duration| pause.as_millis();
        let failing = [1_000, 2_000, 4_000, 8_000, 16_000, 16_000];
        assert_eq!([false; 6].map(|well| millis(pauses.next(well))), failing);
        assert_eq!([true; 3].map(|well| millis(pauses.next(well))), [20; 3]);
        assert_eq!([false; 6].map(|well| millis(pauses.next(well))), failing);
    }
}
