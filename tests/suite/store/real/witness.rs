//! A witness with its own way to the store, which notes how long an entry was there.

use std::future::pending;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};

use elect::config::{self, BackendUrl};
use elect_api::{ElectionName, Survey};
use elect_record::table::{Table, TableDocuments};
use elect_record::{Document, Documents as _, Name, Purpose};
use elect_testkit::oracle::Run;
use elect_testkit::servers::kubernetes::{Ask, ask};
use futures_util::future::Either;
use nix::unistd::gettid;

use super::cluster::{TOKEN, api_server};
use crate::prelude::*;

/// Between two looks at most: how long before its end an entry may have been seen last. The store tells of the end
/// itself, and that is looked at without a pause.
const PAUSE: Duration = Duration::from_millis(25);
const ATTEMPT: Duration = Duration::from_secs(1);
/// The one that all have in the table of faults.
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/elect/leases/job";

/// The times at which an entry was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sightings {
    /// The last instant at which it was surely there: when the request was sent that showed it.
    pub(crate) alive: Option<Boottime>,
    /// The first instant at which it was surely gone: when the answer came that did not show it any more.
    pub(crate) gone: Option<Boottime>,
}

impl Sightings {
    /// Asserts that a tree was dead before its entry was gone, and returns when the entry was last seen. If the witness
    /// looked too late, the end proves nothing about the tree.
    #[track_caller]
    pub(crate) fn prove_dead_in_time(&self, run: &Run) -> Boottime {
        let (alive, gone) = (self.alive.expect("it was seen"), self.gone.expect("it went"));
        let unseen = gone.since(alive);
        assert!(run.last < gone, "{run} outlived its entry, which was gone at {gone:?}");
        assert!(
            run.last <= alive,
            "{run}: no proof, as its entry was not seen for the {unseen:?} between {alive:?} and {gone:?}, when it went"
        );
        alive
    }
}

/// Looks at an election until it is dropped.
pub(crate) struct Witness {
    seen: Arc<Mutex<Sightings>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Witness {
    /// Watches the leader whose id begins with `id`. `around` calls what it is given, perhaps elsewhere.
    pub(crate) fn of(
        url: &str,
        id: &'static str,
        around: impl FnOnce(&mut (dyn FnMut() + Send)) + Send + 'static,
    ) -> Self {
        let (seen, over) = (Arc::<Mutex<Sightings>>::default(), Arc::<AtomicBool>::default());
        let thread = thread::spawn({
            let (seen, over, url) = (Arc::clone(&seen), Arc::clone(&over), url.to_owned());
            move || around(&mut || watch(&url, id, &seen, &over))
        });
        Self { seen, over, thread: Some(thread) }
    }

    /// Returns the sightings so far.
    pub(crate) fn sightings(&self) -> Sightings {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the entry was seen.
    #[track_caller]
    pub(crate) fn wait_for_entry(&self) {
        eventually("an entry", || self.sightings().alive);
    }

    /// Waits until the entry is gone.
    #[track_caller]
    pub(crate) fn wait_for_end(&self) -> Sightings {
        eventually("the end of an entry", || self.sightings().gone);
        self.sightings()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Makes this thread run before others: a witness that waits for a processor looks late, and proves nothing. Only root
/// may do so. Another user's witness looks as soon as other threads let it.
fn go_first() {
    let mut renice = Command::new("renice");
    renice.args(["-n", "-20", "-p", &gettid().to_string()]);
    renice.stdout(Stdio::null()).stderr(Stdio::null());
    renice.status().expect("renice runs: apt-get install util-linux");
}

fn watch(url: &str, id: &str, seen: &Mutex<Sightings>, over: &AtomicBool) {
    go_first();
    if let Some(server) = api_server(url) {
        return watch_lease(server, id, seen, over);
    }
    if url.starts_with(elect_postgresql::SCHEME) {
        return watch_rows(elect_postgresql::table(url).expect("a good URL"), id, seen, over);
    }
    if url.starts_with(elect_mariadb::SCHEME) {
        return watch_rows(elect_mariadb::table(url).expect("a good URL"), id, seen, over);
    }
    if url.starts_with(elect_consul::SCHEME) {
        return watch_rows(elect_consul::table(url).expect("a good URL"), id, seen, over);
    }
    if url.starts_with(elect_dynamodb::SCHEME) {
        return watch_rows(elect_dynamodb::table(url).expect("a good URL"), id, seen, over);
    }
    if url.starts_with(elect_redis::SCHEME) {
        return watch_rows(elect_redis::table(url).expect("a good URL"), id, seen, over);
    }
    if url.starts_with(&format!("{}:", elect_objects::SCHEME)) {
        return watch_rows(elect_objects::table(url).expect("a good URL"), id, seen, over);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(url) = url.parse::<BackendUrl>();
    let election: ElectionName = "job".parse().expect("a good name");
    runtime.expect("a runtime").block_on(async {
        let store = config::connect(&url).expect("a good URL");
        let mut wake = None;
        while !over.load(Ordering::Relaxed) {
            if wake.is_none() {
                let changed = tokio::time::timeout(ATTEMPT, store.changed(&election)).await;
                wake = changed.ok().and_then(Result::ok);
            }
            let sent = now();
            let look = tokio::time::timeout(ATTEMPT, store.survey(&election)).await;
            if let Ok(Ok(survey)) = look {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if is_led_by(&survey, id) {
                    seen.alive = Some(sent);
                } else if seen.alive.is_some() && seen.gone.is_none() {
                    seen.gone = Some(now());
                }
            }
            let change = wake.as_mut().map_or_else(|| Either::Left(pending()), Either::Right);
            if tokio::time::timeout(PAUSE, change).await.is_ok() {
                wake = None;
            }
        }
    });
}

/// A Lease stays as its holder left it.
fn watch_lease(server: SocketAddr, id: &str, seen: &Mutex<Sightings>, over: &AtomicBool) {
    let get = Ask { path: LEASE, token: Some(TOKEN), patience: ATTEMPT, ..Ask::default() };
    let (mut lease, mut last) = (Unended::default(), Value::Null);
    while !over.load(Ordering::Relaxed) {
        let sent = now();
        if let Ok((200 | 404, mut found)) = ask(server, &get) {
            let spec = found["spec"].take();
            let ttl = spec["leaseDurationSeconds"].as_u64().map(Duration::from_secs);
            let holder = spec["holderIdentity"].as_str();
            let holder = holder.filter(|holder| holder.starts_with(id)).and(ttl);
            lease.look(sent, spec != last, holder, seen);
            last = spec;
        }
        sleep(PAUSE);
    }
}

/// So does a row.
fn watch_rows(table: impl Table, id: &str, seen: &Mutex<Sightings>, over: &AtomicBool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let election: ElectionName = "job".parse().expect("a good name");
    runtime.expect("a runtime").block_on(async {
        let rows = TableDocuments::new(table);
        let (mut lease, mut last) = (Unended::default(), None);
        while !over.load(Ordering::Relaxed) {
            let sent = now();
            let look = rows.read(&election, Name::Record, Purpose::Survey);
            if let Ok(Ok(found)) = tokio::time::timeout(ATTEMPT, look).await {
                let holder = match found.map(|found| found.document) {
                    Some(Document::Record(record)) => record.holder,
                    _ => None,
                };
                let its = holder.as_ref().filter(|it| it.candidate.id.starts_with(id));
                let ttl = its.map(|it| Duration::from_millis(it.ttl));
                let mark = holder.map(|it| (it.nonce, it.beat));
                lease.look(sent, mark != last, ttl, seen);
                last = mark;
            }
            tokio::time::sleep(PAUSE).await;
        }
    });
}

/// A lease that no store ends. For a waiter it is over when it was not renewed for its duration. So the entry is surely
/// there for that long after the last look that does not show its newest renewal.
#[derive(Default)]
struct Unended {
    last_look: Option<Boottime>,
    renewed: Option<Boottime>,
}

impl Unended {
    /// Notes a look that was sent then, whether it shows a renewal, and the duration of the lease while it is there.
    fn look(
        &mut self,
        sent: Boottime,
        is_renewed: bool,
        duration: Option<Duration>,
        seen: &Mutex<Sightings>,
    ) {
        if is_renewed {
            self.renewed = self.last_look;
        }
        self.last_look = Some(sent);
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        match (duration, self.renewed) {
            (Some(duration), Some(renewed)) => seen.alive = Some(sent.min(renewed + duration)),
            (None, _) if seen.alive.is_some() && seen.gone.is_none() => seen.gone = Some(now()),
            _ => {}
        }
    }
}

fn is_led_by(survey: &Survey, id: &str) -> bool {
    survey.leader.as_ref().is_some_and(|leader| leader.entry.candidate.id.starts_with(id))
}
