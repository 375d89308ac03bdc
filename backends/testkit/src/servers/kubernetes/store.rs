//! The objects, their versions, and what has become of them: etcd, and the server's cache of it.

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

/// The version before the first write. Of a server of its own it is some two hundred.
const FIRST: u64 = 100;

/// The name of an object. Namespaces themselves are in none.
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

/// One line of the file from which a server that was killed is made again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Entry {
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
    /// All writes, the last one last.
    log: Vec<Change>,
    /// The least version that can still be read.
    compacted: u64,
    cache: Cache,
    pub(super) watchers: Watchers,
}

/// What the server knows of its store.
#[derive(Debug)]
struct Cache {
    objects: Objects,
    version: u64,
    /// How much of the log it has seen.
    seen: usize,
    /// The least version from which changes can be told.
    floor: u64,
    lags: bool,
}

impl Store {
    /// What a journal tells of, to which all that comes is added. The entries that are none of its own are returned.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Vec<Entry>)> {
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
        // Whoever was killed as it wrote has left half a line.
        for entry in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match entry {
                Entry::Write { version, key, after } => store.apply(version, &key, after),
                Entry::Compact { version } => store.compacted = version,
                other => others.push(other),
            }
        }
        // A server that starts anew has a cache of what there is, and of nothing that was before.
        store.feed();
        store.cache.floor = if text.is_empty() { 0 } else { store.version };
        Ok((store, others))
    }

    /// Keeps an entry for the next server. It is in the file when this returns.
    pub(super) fn note(&mut self, entry: &Entry) {
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

    /// The least version of which all changes since can be told.
    pub(super) const fn floor(&self) -> u64 {
        self.cache.floor
    }

    /// Writes an object, or deletes it; what is there afterwards.
    pub(super) fn write(&mut self, key: &Key, mut after: Option<Value>) -> Option<Arc<Value>> {
        let version = self.version + 1;
        if let Some(object) = &mut after {
            object["metadata"]["resourceVersion"] = version.to_string().into();
        }
        self.note(&Entry::Write { version, key: key.clone(), after: after.clone() });
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

    /// Brings the cache up to date, and tells who watches.
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

    /// Whether the cache gets no news from now on.
    pub(super) fn lag(&mut self, lags: bool) {
        self.cache.lags = lags;
        if !lags {
            self.feed();
        }
    }

    /// The changes after a version that the cache knows of.
    pub(super) fn since(&self, version: u64) -> impl Iterator<Item = &Change> {
        let known = &self.log[..self.cache.seen];
        known[known.partition_point(|change| change.version <= version)..].iter()
    }

    /// The objects as they were at a version; `None` if that is not known any more.
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

    /// Forgets what was before now.
    pub(super) fn compact(&mut self) {
        self.compacted = self.version;
        self.cache.floor = self.version;
        self.note(&Entry::Compact { version: self.version });
    }
}
