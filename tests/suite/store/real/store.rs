//! The stores of the table of faults: those with servers, and the local disk.

use elect_testkit::servers::{PgBouncer, Place};

use super::between::Between;
use super::cluster::{Brand, Cluster};
use super::rows::{Rows, Server};
use crate::prelude::*;

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    File,
    Remote(Brand),
}

impl Store {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Remote(brand) => brand.name(),
        }
    }

    /// A TTL, or the least that there is.
    pub(crate) fn grants(self, ttl: Duration) -> Duration {
        match self {
            Self::File => ttl,
            Self::Remote(brand) => ttl.max(brand.least_ttl()),
        }
    }
}

/// A store that is there.
pub(crate) enum Ground {
    Folder(TempDir),
    Cluster(Brand, Box<dyn Cluster>),
    Rows(Box<Rows>),
}

impl Ground {
    /// With so many members at a place, if it is one that has members.
    pub(crate) fn start(store: Store, members: usize, place: &Place) -> Self {
        Self::start_as(store, members, Server::Plain, place)
    }

    /// With this server, if it is a store of rows.
    pub(crate) fn start_as(store: Store, members: usize, server: Server, place: &Place) -> Self {
        match store {
            Store::File => Self::Folder(TempDir::new().expect("a temporary folder")),
            Store::Remote(brand) if brand.has_rows() => {
                Self::Rows(Box::new(Rows::start(brand, server, place)))
            }
            Store::Remote(brand) => Self::Cluster(brand, brand.start(members, place)),
        }
    }

    pub(crate) fn cluster(&mut self) -> Option<&mut dyn Cluster> {
        match self {
            Self::Folder(_) => None,
            Self::Cluster(_, cluster) => Some(&mut **cluster),
            Self::Rows(rows) => Some(&mut **rows),
        }
    }

    /// The store of rows that it is.
    pub(crate) fn rows(&mut self) -> &mut Rows {
        match self {
            Self::Rows(rows) => rows,
            _ => panic!("it is no store of rows"),
        }
    }

    /// Returns the addresses at which the members serve clients.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        match self {
            Self::Folder(_) => Vec::new(),
            Self::Cluster(_, cluster) => cluster.addresses(),
            Self::Rows(rows) => rows.addresses(),
        }
    }

    /// The member that leads the others, or 0.
    pub(crate) fn leader(&self) -> usize {
        match self {
            Self::Folder(_) | Self::Rows(_) => 0,
            Self::Cluster(_, cluster) => cluster.leader(),
        }
    }

    /// Returns its URL for a candidate that reaches the members at these addresses.
    pub(crate) fn url(&self, addresses: &[SocketAddr]) -> String {
        match self {
            Self::Folder(folder) => format!("file://{}", folder.path().join("state").display()),
            Self::Cluster(brand, _) => brand.url(addresses),
            Self::Rows(rows) => rows.url(addresses),
        }
    }

    /// Starts a process that passes requests on to the store.
    pub(crate) fn between(&self) -> Between {
        match self {
            Self::Folder(_) => panic!("nothing is between"),
            Self::Cluster(_, cluster) => Between::Agent(Box::new(cluster.agent())),
            Self::Rows(rows) => Between::Pooler(PgBouncer::start(rows.primary.address())),
        }
    }
}
