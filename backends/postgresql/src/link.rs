//! How a session is opened with a server that accepts writes, and has the table that elect means.

use std::sync::atomic::{AtomicBool, Ordering};

use elect_api::{Error, ErrorKind, StoreId};
use elect_remote::{Address, Destination, Identity, Opener, Respondent, Variable, Witness};
use tokio_postgres::Row;

use crate::error::Failure;
use crate::session::Session;
use crate::sql::Sql;
use crate::{PRODUCT, address, examine};

/// Opens sessions for the table of one schema.
pub(crate) struct Schema {
    pub(crate) sql: Sql,
    /// Whether the sessions tell of changes. A pooler takes that away, and a server may refuse it.
    tells: AtomicBool,
}

impl Schema {
    pub(crate) fn new(address: &Address) -> Self {
        Self { sql: Sql::new(&address.space), tells: AtomicBool::new(true) }
    }

    pub(crate) fn tells(&self) -> bool {
        self.tells.load(Ordering::Relaxed)
    }

    /// Has candidates poll until the next session.
    pub(crate) fn poll(&self) {
        self.tells.store(false, Ordering::Relaxed);
    }
}

impl Opener for Schema {
    type Session = Session;
    type State = Row;

    fn parse(url: &str, variable: Variable<'_>) -> Result<Address, Error> {
        address::parse(url, variable)
    }

    async fn log_in(
        &self,
        address: &Address,
        destination: &Destination,
        witness: &Witness,
    ) -> Result<Session, Failure> {
        Session::open(address, destination, &self.sql, witness).await
    }

    fn admit(&self, session: &Session, identity: &Identity) -> Result<(), Error> {
        self.tells.store(session.tells(), Ordering::Relaxed);
        let (name, server) = (PRODUCT.at(&session.place), &session.server);
        identity.admit(&name, StoreId::read(server.cluster.as_bytes()).as_ref())?;
        let why = if server.is_replica {
            "is a read-only replica: name the primary in the URL"
        } else if server.is_read_only {
            "takes no writes: see default_transaction_read_only of the server, the database and the role"
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Unreachable, format!("{name} {why}")))
    }

    async fn state(&self, session: &Session) -> Result<Row, Failure> {
        session.one("state", examine::STATE, &[]).await
    }

    async fn examine(&self, session: &Session, state: Row) -> Respondent {
        examine::examine(session, &self.sql, &state).await
    }
}
