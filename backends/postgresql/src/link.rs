//! The session in use, and the place where the next one is opened.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use elect_api::{Error, ErrorKind, StoreId};
use elect_remote::{Identity, Renewed, Tries, Witness};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::address::Address;
use crate::session::Session;
use crate::sql::{COLUMNS, Sql};

/// The way to the database: one session at a time, with the first place that accepts writes.
///
/// The first request opens a session. A request that was dropped before its answer makes the session suspect, and the
/// next request closes it if that answer does not come at last. So a dead connection takes one attempt.
pub(crate) struct Link {
    url: String,
    addresses: Renewed<Address>,
    identity: Identity,
    /// The place to begin with. An attempt that is cut off leaves the next one here.
    place: AtomicUsize,
    /// Whether the sessions tell of changes. A pooler takes that away.
    tells: AtomicBool,
    session: Mutex<Option<Arc<Session>>>,
    /// Held by the request that checks the session, or opens another.
    opening: tokio::sync::Mutex<()>,
    opened: Notify,
}

impl Link {
    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let address = parse(url)?;
        Ok(Self {
            url: url.to_owned(),
            identity: Identity::new(address.store.clone()),
            addresses: Renewed::new(address),
            place: AtomicUsize::new(0),
            tells: AtomicBool::new(true),
            session: Mutex::new(None),
            opening: tokio::sync::Mutex::new(()),
            opened: Notify::new(),
        })
    }

    /// The address as it served last.
    pub(crate) fn address(&self) -> Arc<Address> {
        self.addresses.known()
    }

    pub(crate) fn store(&self) -> Option<StoreId> {
        self.identity.expected()
    }

    pub(crate) fn tells(&self) -> bool {
        self.tells.load(Ordering::Relaxed)
    }

    /// The session in use, or a new one.
    ///
    /// # Errors
    /// Why no place can be used; never `Ambiguous`.
    ///
    /// # Cancellation
    /// The next attempt begins with the next place.
    pub(crate) async fn session(&self, sql: &Sql) -> Result<Arc<Session>, Error> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(session) = self.present() {
            if session.is_alive().await {
                return Ok(session);
            }
            session.close();
        }
        let session = Arc::new(self.open(sql).await?);
        self.tells.store(session.tells(), Ordering::Relaxed);
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&session));
        self.opened.notify_waiters();
        Ok(session)
    }

    /// The session in use, if there is one. It may be dead.
    pub(crate) fn present(&self) -> Option<Arc<Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends when the next session is opened.
    pub(crate) fn opened(&self) -> Notified<'_> {
        self.opened.notified()
    }

    /// Opens a session with the first place that accepts writes.
    async fn open(&self, sql: &Sql) -> Result<Session, Error> {
        let url = self.url.clone();
        // Certificates of the system are many, and files may be slow.
        let read = tokio::task::spawn_blocking(move || parse(&url)).await;
        let read = read.unwrap_or_else(|error| {
            Err(Error::new(ErrorKind::Unreachable, "cannot read the settings").because(error))
        });
        let Tries { first, second, unread } = self.addresses.tries(|_| read);
        let refusal = match self.open_at_any(&first, sql).await {
            Ok(session) => {
                self.addresses.keep(&first);
                return Ok(session);
            }
            Err(refusal) => refusal,
        };
        match (second, unread) {
            (Some(second), _) if refusal.kind() == ErrorKind::Denied => {
                self.open_at_any(&second, sql).await.map_err(|_| refusal)
            }
            // The files were usable before, and may be again.
            (None, Some(unread)) => Err(unread.with_kind(ErrorKind::Unreachable)),
            _ => Err(refusal),
        }
    }

    async fn open_at_any(&self, address: &Address, sql: &Sql) -> Result<Session, Error> {
        let count = address.places.len();
        let begin = self.place.load(Ordering::Relaxed);
        let mut refusal: Option<Error> = None;
        for place in (0..count).map(|step| (begin + step) % count) {
            self.place.store((place + 1) % count, Ordering::Relaxed);
            match self.open_at(address, place, sql).await {
                Ok(session) => {
                    self.place.store(place, Ordering::Relaxed);
                    return Ok(session);
                }
                Err(error) => {
                    // What a person has to mend is worth more than what may pass.
                    let is_worse =
                        refusal.as_ref().is_none_or(|known| known.kind() == ErrorKind::Unreachable);
                    if is_worse {
                        refusal = Some(error);
                    }
                }
            }
        }
        Err(refusal.unwrap_or_else(|| Error::new(ErrorKind::Unfit, "the URL names no place")))
    }

    async fn open_at(&self, address: &Address, place: usize, sql: &Sql) -> Result<Session, Error> {
        let witness = Witness::default();
        let session =
            Session::open(address, &address.places[place], &sql.hello, &sql.schema, &witness)
                .await?;
        let (name, server) = (format!("PostgreSQL at {}", session.place), &session.server);
        self.identity.admit(&name, StoreId::read(server.cluster.as_bytes()).as_ref())?;
        let unwritable = |why: &str| Error::new(ErrorKind::Unreachable, format!("{name} {why}"));
        if server.is_replica {
            return Err(unwritable("is a read-only replica: name the primary in the URL"));
        }
        if server.is_read_only {
            return Err(unwritable(
                "takes no writes: see default_transaction_read_only of the server, the database and the role",
            ));
        }
        match &server.columns {
            Some(columns) if columns != COLUMNS => {
                let table = &sql.table;
                let what = format!(
                    "{name} has another table {table}: its columns are {columns}, and not {COLUMNS}"
                );
                Err(Error::new(ErrorKind::Unfit, what).and(
                    "name another schema in the URL, as in ?schema=elect2, or rename that table",
                ))
            }
            _ => Ok(session),
        }
    }
}

fn parse(url: &str) -> Result<Address, Error> {
    Address::parse(url, |name| std::env::var(name).ok())
}
