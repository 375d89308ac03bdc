//! Watches: what each client waits for, and the events that it gets.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Sleep;

use super::objects::Kind;
use super::request::Selector;
use super::status::status;
use super::store::Change;

/// The objects and versions that a watch is about.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) kind: Kind,
    /// The namespace. Empty means all.
    pub(super) namespace: String,
    pub(super) selector: Selector,
    /// The version up to which the client knows all changes.
    pub(super) since: u64,
    pub(super) bookmarks: bool,
}

impl Scope {
    fn fits(&self, object: Option<&Arc<Value>>) -> bool {
        object.is_some_and(|object| self.selector.fits(object))
    }

    /// Returns the event that a change is for this watch, if any.
    pub(super) fn event(&self, change: &Change) -> Option<Bytes> {
        let key = &change.key;
        let is_here = key.kind == self.kind
            && (self.namespace.is_empty() || key.namespace == self.namespace)
            && change.version > self.since;
        if !is_here {
            return None;
        }
        let (before, after) = (change.before.as_ref(), change.after.as_ref());
        match (self.fits(before), self.fits(after)) {
            (false, true) => Some(line("ADDED", after?)),
            (true, true) => Some(line("MODIFIED", after?)),
            (true, false) => {
                // The object as it was last, with the version of its deletion.
                let mut object = Value::clone(before?);
                object["metadata"]["resourceVersion"] = change.version.to_string().into();
                Some(line("DELETED", &object))
            }
            (false, false) => None,
        }
    }
}

/// Returns an event as one line.
pub(super) fn line(event: &str, object: &Value) -> Bytes {
    let mut line = json!({"type": event, "object": object}).to_string();
    line.push('\n');
    line.into()
}

/// Returns the error that ends a watch whose version is too old.
pub(super) fn too_old(message: &str) -> Bytes {
    line("ERROR", &status(410, "Expired", message, None))
}

#[derive(Debug)]
struct Watcher {
    number: u64,
    scope: Scope,
    sender: UnboundedSender<Bytes>,
    is_silent: Arc<AtomicBool>,
}

impl Watcher {
    fn send(&self, line: Bytes) {
        if !self.is_silent.load(Relaxed) {
            let _ = self.sender.send(line);
        }
    }
}

/// All open watches.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    /// The watches by the one name that each may report, or `None` for any name. A write so need not go
    /// through thousands of them.
    open: BTreeMap<Option<String>, Vec<Watcher>>,
    last: u64,
    /// Whether new watches are silent from their start.
    silence: bool,
    gone: Gone,
}

/// The watches whose clients have gone: the name that each may report, and its number.
type Gone = Arc<Mutex<Vec<(Option<String>, u64)>>>;

impl Watchers {
    /// Adds a watch that begins with these lines. It ends after the time limit, or at once if it is `over`.
    pub(super) fn add(
        &mut self,
        scope: Scope,
        begin: impl IntoIterator<Item = Bytes>,
        limit: Duration,
        over: bool,
    ) -> Watch {
        self.sweep();
        self.last += 1;
        let (sender, receiver) = unbounded_channel();
        let name = scope.selector.name().map(ToOwned::to_owned);
        let is_silent = Arc::new(AtomicBool::new(self.silence));
        let watcher = Watcher { number: self.last, scope, sender, is_silent };
        begin.into_iter().for_each(|line| watcher.send(line));
        let watch = Watch {
            receiver,
            limit: Box::pin(tokio::time::sleep(limit)),
            is_silent: Arc::clone(&watcher.is_silent),
            name: name.clone(),
            number: self.last,
            gone: Arc::clone(&self.gone),
        };
        if !over {
            self.open.entry(name).or_default().push(watcher);
        }
        watch
    }

    fn all(&self) -> impl Iterator<Item = &Watcher> {
        self.open.values().flatten()
    }

    fn sweep(&mut self) {
        let gone = std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner));
        for (name, number) in gone {
            let Some(watchers) = self.open.get_mut(&name) else { continue };
            watchers.retain(|watcher| watcher.number != number);
            if watchers.is_empty() {
                self.open.remove(&name);
            }
        }
    }

    pub(super) fn count(&mut self) -> usize {
        self.sweep();
        self.all().count()
    }

    pub(super) fn tell(&self, change: &Change) {
        let of = |name| self.open.get(&name).into_iter().flatten();
        for watcher in of(Some(change.key.name.clone())).chain(of(None)) {
            if let Some(line) = watcher.scope.event(change) {
                watcher.send(line);
            }
        }
    }

    /// Sends a bookmark with this version to all watches that want them.
    pub(super) fn bookmark(&self, version: u64) {
        for watcher in self.all().filter(|watcher| watcher.scope.bookmarks) {
            watcher.send(line("BOOKMARK", &watcher.scope.kind.empty(version)));
        }
    }

    /// Silences all open watches for good, and new ones while this lasts. They stay open.
    pub(super) fn silence(&mut self, silence: bool) {
        self.silence = silence;
        if silence {
            self.all().for_each(|watcher| watcher.is_silent.store(true, Relaxed));
        }
    }

    /// Ends all watches that are not silent, after a last line.
    pub(super) fn end(&mut self, words: Option<&Bytes>) {
        for watcher in self.all() {
            if let Some(words) = words {
                watcher.send(words.clone());
            }
        }
        self.open.retain(|_, watchers| {
            watchers.retain(|watcher| watcher.is_silent.load(Relaxed));
            !watchers.is_empty()
        });
    }
}

/// The client's end of a watch.
#[derive(Debug)]
pub(super) struct Watch {
    receiver: UnboundedReceiver<Bytes>,
    limit: Pin<Box<Sleep>>,
    is_silent: Arc<AtomicBool>,
    name: Option<String>,
    number: u64,
    gone: Gone,
}

impl Watch {
    /// Returns the next lines, or `None` at the end.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Poll::Ready(next) = self.receiver.poll_recv(context) {
            return Poll::Ready(next);
        }
        match self.limit.as_mut().poll(context) {
            Poll::Ready(()) if !self.is_silent.load(Relaxed) => Poll::Ready(None),
            _ => Poll::Pending,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let gone = (self.name.take(), self.number);
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).push(gone);
    }
}
