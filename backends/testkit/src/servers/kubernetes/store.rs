//! The objects with their versions and changes: in etcd, and in the server's cache of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::access::Rule;
use super::objects::Kind;
use super::watch::Watchers;

/// The version before the first write. A new real server has about two hundred.
const FIRST: u64 = 100;

/// The key of an object. Namespaces have no namespace themselves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Key {
    pub(super) kind: Kind,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// One write.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) version: u64,
    pub(super) key: Key,
    pub(super) before: Option<Arc<Value>>,
    pub(super) after: Option<Arc<Value>>,
}

/// One line of the journal, from which a killed server restores its state.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum JournalLine {
    Write { version: u64, key: Key, after: Option<Value> },
    User { name: String, token: String, rules: Vec<Rule> },
    Expire { token: String },
    Compact { version: u64 },
}

pub(super) type Objects = BTreeMap<Key, Arc<Value>>;

/// All objects.
#[derive(Debug)]
pub(super) struct Store {
    journal: File,
    objects: Objects,
    version: u64,
    /// All writes, the newest last.
    log: Vec<Change>,
    /// The least version that can still be read.
    compacted: u64,
    cache: Cache,
    pub(super) watchers: Watchers,
}

/// The server's cache of its store.
#[derive(Debug)]
struct Cache {
    objects: Objects,
    version: u64,
    /// How much of the log it has taken in.
    seen: usize,
    /// The least version after which all changes are known.
    floor: u64,
    lags: bool,
}

impl Store {
    /// Restores the store from a journal, and appends all writes to it. Returns the entries for other parts of the
    /// server.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Vec<JournalLine>)> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        let journal = File::options().create(true).append(true).open(path)?;
        let cache =
            Cache { objects: Objects::new(), version: FIRST, seen: 0, floor: 0, lags: false };
        let mut store = Self {
            journal,
            objects: Objects::new(),
            version: FIRST,
            log: Vec::new(),
            compacted: 0,
            cache,
            watchers: Watchers::default(),
        };
        let mut others = Vec::new();
        // A server that was killed as it wrote has left half a line.
        for entry in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match entry {
                JournalLine::Write { version, key, after } => store.apply(version, &key, after),
                JournalLine::Compact { version } => store.compacted = version,
                other => others.push(other),
            }
        }
        // After a restart the cache has the present objects and no earlier changes.
        store.feed();
        store.cache.floor = if text.is_empty() { 0 } else { store.version };
        Ok((store, others))
    }

    /// Writes an entry to the journal. It is in the file when this returns.
    pub(super) fn note(&mut self, entry: &JournalLine) {
        let mut line = serde_json::to_vec(entry).unwrap_or_default();
        line.push(b'\n');
        if let Err(error) = self.journal.write_all(&line) {
            eprintln!("cannot write the journal: {error}");
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.objects.get(key).cloned()
    }

    pub(super) fn objects(&self) -> &Objects {
        &self.objects
    }

    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn cached(&self) -> &Objects {
        &self.cache.objects
    }

    pub(super) const fn cached_version(&self) -> u64 {
        self.cache.version
    }

    /// Returns the least version after which all changes are known.
    pub(super) const fn floor(&self) -> u64 {
        self.cache.floor
    }

    /// Writes an object, or deletes it if `after` is `None`. Returns the object as it is then.
    pub(super) fn write(&mut self, key: &Key, mut after: Option<Value>) -> Option<Arc<Value>> {
        let version = self.version + 1;
        if let Some(object) = &mut after {
            object["metadata"]["resourceVersion"] = version.to_string().into();
        }
        self.note(&JournalLine::Write { version, key: key.clone(), after: after.clone() });
        self.apply(version, key, after);
        if !self.cache.lags {
            self.feed();
        }
        self.get(key)
    }

    fn apply(&mut self, version: u64, key: &Key, after: Option<Value>) {
        self.version = version;
        let after = after.map(Arc::new);
        let before = match &after {
            Some(object) => self.objects.insert(key.clone(), Arc::clone(object)),
            None => self.objects.remove(key),
        };
        let key = key.clone();
        self.log.push(Change { version, key, before, after });
    }

    /// Brings the cache up to date, and sends the changes to the watches.
    fn feed(&mut self) {
        for change in &self.log[self.cache.seen..] {
            match &change.after {
                Some(object) => {
                    _ = self.cache.objects.insert(change.key.clone(), Arc::clone(object));
                }
                None => _ = self.cache.objects.remove(&change.key),
            }
            self.cache.version = change.version;
            self.watchers.tell(change);
        }
        self.cache.seen = self.log.len();
    }

    /// Sets whether the cache gets no news.
    pub(super) fn lag(&mut self, lags: bool) {
        self.cache.lags = lags;
        if !lags {
            self.feed();
        }
    }

    /// Returns the changes after a version, as far as the cache has them.
    pub(super) fn since(&self, version: u64) -> impl Iterator<Item = &Change> {
        let known = &self.log[..self.cache.seen];
        known[known.partition_point(|change| change.version <= version)..].iter()
    }

    /// Returns the objects as they were at a version, or `None` if that version is forgotten.
    pub(super) fn at(&self, version: u64) -> Option<Objects> {
        if version < self.compacted {
            return None;
        }
        let mut objects = self.objects.clone();
        for change in self.log.iter().rev().take_while(|change| change.version > version) {
            match &change.before {
                Some(object) => _ = objects.insert(change.key.clone(), Arc::clone(object)),
                None => _ = objects.remove(&change.key),
            }
        }
        Some(objects)
    }

    /// Forgets all earlier versions.
    pub(super) fn compact(&mut self) {
        self.compacted = self.version;
        self.cache.floor = self.version;
        self.note(&JournalLine::Compact { version: self.version });
    }
}
