//! What becomes of Leases, as the API server tells of it. All of it is a hint: whoever waits looks again in any case.
//!
//! One watch serves all who wait for the same Lease, one after another: each new look would begin another one, over a
//! connection of its own. It ends when nobody has waited for a while.

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

/// How long the API server tells before it has us ask again.
const SPAN: Duration = Duration::from_secs(300);
/// How long it may say nothing. Some API servers send a bookmark each minute, and others none.
const SILENCE: Duration = Duration::from_secs(100);
/// For a connection, and the first answer.
const LIMIT: Duration = Duration::from_secs(10);
/// How long a watch goes on that nobody waits for.
const KEPT: Duration = Duration::from_secs(60);
/// The longest pause before a watch is begun again that was well: its end may be a proxy's, which ends what is idle. What
/// happens meanwhile is told late.
const BREATH: Duration = Duration::from_millis(20);
/// How long one lasts at least that was well.
const WELL: Duration = Duration::from_secs(1);
/// The pause before a watch is begun again that failed; twice as long each time.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(16);

/// Which Leases are watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Selector {
    /// The one with this name.
    Name(String),
    /// Record and waiters of an election, by their label.
    Label(String),
}

impl Selector {
    /// As a part of a query.
    pub(crate) fn query(&self) -> String {
        match self {
            Self::Name(name) => format!("fieldSelector=metadata.name%3D{name}"),
            Self::Label(label) => {
                format!("labelSelector={}%3D{label}", ELECTION.replace('/', "%2F"))
            }
        }
    }
}

/// What has become of a Lease, by its name; `None` if it is gone.
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

/// What is known of a Lease that is watched.
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

    /// Shows what becomes of a Lease from a version on, until that is news. One that is not there has version 0.
    pub(crate) async fn wait(&self, name: &str, mut version: u64, is_news: IsNews<'_>) {
        loop {
            let mut seen = self.subscribe(name, version);
            // Who found none has seen what there was before: the watch is late, or the answer was wrong.
            let mut known = if version == 0 { seen.borrow().version } else { version };
            loop {
                let newest = seen.borrow_and_update().clone();
                if newest.version > known && (version > 0 || newest.lease.is_some()) {
                    if is_news(name, newest.lease.as_ref()) {
                        return;
                    }
                    (version, known) = (newest.version, newest.version);
                }
                // It ends when nobody seems to wait for it.
                if seen.changed().await.is_err() {
                    break;
                }
            }
        }
    }

    /// Shows what becomes of record and waiters from a version of all on, until that is news.
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

/// Follows a Lease as long as somebody waits for it.
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
            // Those who began it keep a receiver.
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

/// The longest pause before a watch is begun again; that of the next one that fails.
struct Pauses(Duration);

impl Pauses {
    fn next(&mut self, was_well: bool) -> Duration {
        let pause = if was_well { BREATH } else { self.0 };
        self.0 = if was_well { PAUSE } else { LONGEST_PAUSE.min(pause * 2) };
        pause
    }
}

/// One watch, begun again each time that it ends.
struct Follower {
    api: Arc<Api>,
    selector: Selector,
    /// The version from which the API server is to tell; 0 to begin with what there is.
    from: u64,
}

/// Why a watch has ended.
enum End {
    /// That was news.
    Told,
    /// The API server ended it, or has another one begun.
    Over,
    /// The API server does not know any more what came after the version from which it was to tell.
    TooOld,
}

impl Follower {
    /// Tells the name, the version and the state of each Lease that changes, until that was news.
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
                    if self.look(&mut tell).await {
                        return;
                    }
                    self.from = 0;
                }
            }
            // Not all at once, where an API server comes back.
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
            // Not all that looks like an API server knows selectors.
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

    /// Looks at a Lease whose changes were missed. Of several it is not known which have changed; that they are told anew
    /// will do.
    async fn look(&self, tell: &mut impl FnMut(&str, u64, Option<Value>) -> bool) -> bool {
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

    /// A proxy ends what is idle: between two watches hardly anything is told late.
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
