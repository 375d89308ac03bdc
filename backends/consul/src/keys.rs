//! The names of keys and of paths.

use elect_record::table::Key;

/// The kinds of news of an election. Those of the leader's row and of data are called as their documents.
const WAITERS: &str = "waiters";
const REQUESTS: &str = "requests";

/// The keys below one prefix.
#[derive(Clone)]
pub(crate) struct Keys {
    prefix: String,
    /// The end of each path's query: the datacenter.
    datacenter: String,
}

/// A channel of news: a kind of one election.
pub(crate) fn channel(key: Key<'_>) -> String {
    let kind = match key.document {
        Key::LEADER | Key::DATA => key.document,
        _ => WAITERS,
    };
    format!("{}/{kind}", key.election)
}

/// The channel of the requests of an election.
pub(crate) fn requests(election: &str) -> String {
    format!("{election}/{REQUESTS}")
}

/// The channel of all news of an election. No key has this name.
pub(crate) fn all(election: &str) -> String {
    format!("{election}/")
}

impl Keys {
    pub(crate) fn new(prefix: &str, datacenter: &str) -> Self {
        let datacenter = match datacenter {
            "" => String::new(),
            datacenter => format!("&dc={datacenter}"),
        };
        Self { prefix: prefix.to_owned(), datacenter }
    }

    pub(crate) fn row(&self, key: Key<'_>) -> String {
        format!("{}/{key}", self.prefix)
    }

    pub(crate) fn id(&self) -> String {
        format!("{}/-/id", self.prefix)
    }

    /// The key of a channel.
    pub(crate) fn news(&self, channel: &str) -> String {
        format!("{}/-/news/{channel}", self.prefix)
    }

    /// The channel of a key.
    pub(crate) fn channel<'a>(&self, key: &'a str) -> Option<&'a str> {
        key.strip_prefix(&self.news(""))
    }

    /// The path of a key that a token may read which may read an election; `None`: all of them.
    pub(crate) fn probe(&self, election: Option<&str>) -> String {
        let key = match election {
            Some(election) => self.row(Key { election, document: Key::LEADER }),
            None => format!("{}/-", self.prefix),
        };
        self.path(&key, "consistent")
    }

    /// The election and the document of a row's key.
    pub(crate) fn named<'a>(&self, key: &'a str) -> Option<(&'a str, &'a str)> {
        key.strip_prefix(&self.prefix)?.strip_prefix('/')?.split_once('/')
    }

    /// The path of all elections' names.
    pub(crate) fn elections(&self) -> String {
        self.path(&format!("{}/", self.prefix), "keys&separator=/&consistent")
    }

    /// The election in such a name.
    pub(crate) fn election<'a>(&self, folder: &'a str) -> Option<&'a str> {
        let name = folder.strip_prefix(&self.prefix)?.strip_prefix('/')?.strip_suffix('/')?;
        (name != Key::STORE).then_some(name)
    }

    /// The path of one key, with a query.
    pub(crate) fn path(&self, key: &str, query: &str) -> String {
        format!("/v1/kv/{key}?{query}{}", self.datacenter)
    }

    /// The path of transactions.
    pub(crate) fn transactions(&self) -> String {
        format!("/v1/txn?consistent{}", self.datacenter)
    }

    /// What people allow a token.
    pub(crate) fn rights(&self) -> String {
        format!("key_prefix \"{}/\" {{ policy = \"write\" }}", self.prefix)
    }
}
