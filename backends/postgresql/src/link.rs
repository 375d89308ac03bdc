//! How a session is opened with a server that accepts writes, and has the table that elect means.

use std::sync::atomic::{AtomicBool, Ordering};

use elect_api::{Error, ErrorKind, StoreId};
use elect_remote::{Identity, Opener, Place, Witness};

use crate::address::Address;
use crate::session::Session;
use crate::sql::Sql;

/// What opens sessions for the table of one schema.
pub(crate) struct Schema {
    pub(crate) sql: Sql,
    /// Whether the sessions tell of changes. A pooler takes that away.
    tells: AtomicBool,
}

impl Schema {
    pub(crate) fn new(address: &Address) -> Self {
        Self { sql: Sql::new(&address.schema), tells: AtomicBool::new(true) }
    }

    pub(crate) fn tells(&self) -> bool {
        self.tells.load(Ordering::Relaxed)
    }
}

impl Opener for Schema {
    type Address = Address;
    type Session = Session;

    fn parse(url: &str) -> Result<Address, Error> {
        Address::parse(url, |name| std::env::var(name).ok())
    }

    fn places(address: &Address) -> &[Place] {
        &address.places
    }

    fn store(address: &Address) -> Option<StoreId> {
        address.store.clone()
    }

    async fn open(
        &self,
        address: &Address,
        place: &Place,
        identity: &Identity,
    ) -> Result<Session, Error> {
        let (sql, witness) = (&self.sql, Witness::default());
        let session = Session::open(address, place, &sql.hello, &sql.schema, &witness).await?;
        self.tells.store(session.tells(), Ordering::Relaxed);
        let (name, server) = (format!("PostgreSQL at {}", session.place), &session.server);
        identity.admit(&name, StoreId::read(server.cluster.as_bytes()).as_ref())?;
        let unwritable = |why: &str| Error::new(ErrorKind::Unreachable, format!("{name} {why}"));
        if server.is_replica {
            return Err(unwritable("is a read-only replica: name the primary in the URL"));
        }
        if server.is_read_only {
            return Err(unwritable(
                "takes no writes: see default_transaction_read_only of the server, the database and the role",
            ));
        }
        Ok(session)
    }
}
