//! Tables in real databases as grounds for the laws of tables, and as benches for the laws of elections.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, ErrorKind, Seat, Store};
use elect_record::RecordStore;
use elect_record::table::{Key, Table, TableDocuments};

use super::{Ground, by_hand};
use crate::fault::{Mode, TcpProxy};
use crate::servers::{Database, Part, PgBouncer, Rights};
use crate::sim::{Clock as _, ManualClock};
use crate::{Bench, Servers, Stall};

/// Rows of its own for each test, on a server that tests share, or on its own server.
pub struct DatabaseGround<D, T> {
    table: fn(&str) -> T,
    name: String,
    server: SocketAddr,
    /// The server, if no other test uses it, and the copy of its data that a loss goes back to.
    own: Option<Mutex<(D, String)>>,
    proxy: Arc<TcpProxy>,
    /// What is between the proxy and the server.
    _pooler: Option<PgBouncer>,
}

impl<D: Database, T: Table + 'static> DatabaseGround<D, T> {
    /// A ground whose tables are opened by a URL.
    pub fn new(servers: Servers, table: fn(&str) -> T) -> Self {
        let part = D::part().filter(|_| servers == Servers::Shared);
        if let Some(Part { servers, name }) = part {
            let proxy = Arc::new(TcpProxy::start(servers[0]));
            return Self { table, name, server: servers[0], own: None, proxy, _pooler: None };
        }
        let own = D::start();
        let server = own.address();
        let own = Some(Mutex::new((own, String::new())));
        let proxy = Arc::new(TcpProxy::start(server));
        Self { table, name: "elect".to_owned(), server, own, proxy, _pooler: None }
    }

    /// The same, with a table that elect has made.
    pub async fn with_table(servers: Servers, table: fn(&str) -> T) -> Self {
        let ground = Self::new(servers, table);
        ground.straight().prepare().await.expect("the right to make it");
        // A law begins without rows.
        D::empty(ground.server, &ground.name);
        if let Some(own) = &ground.own {
            let mut own = own.lock().expect("no panic");
            own.1 = own.0.back_up();
        }
        ground
    }

    /// The same, with a pooler between the proxy and the server.
    #[must_use]
    pub fn behind(self, start: fn(SocketAddr) -> PgBouncer) -> Self {
        let pooler = start(self.server);
        self.proxy.redirect(pooler.address());
        Self { _pooler: Some(pooler), ..self }
    }

    /// The table, past the proxy.
    fn straight(&self) -> T {
        (self.table)(&D::url(self.server, "elect", &self.name))
    }

    /// The table, through the proxy.
    fn of(&self, user: &str) -> T {
        (self.table)(&D::url(self.proxy.address(), user, &self.name))
    }
}

#[async_trait]
impl<D: Database, T: Table + 'static> Ground for DatabaseGround<D, T> {
    async fn connect(&self) -> Box<dyn Table> {
        Box::new(self.of("elect"))
    }

    async fn cut(&self) -> Stall {
        let end = if D::greets() { TcpProxy::hang_up } else { TcpProxy::refuse };
        end(&self.proxy, true);
        self.proxy.cut();
        // Both orders end alike.
        Undo::after(&self.proxy, |proxy| proxy.refuse(false))
    }

    async fn silence(&self) -> Stall {
        self.proxy.replies(Mode::Hold);
        Undo::after(&self.proxy, |proxy| proxy.replies(Mode::Pass))
    }

    async fn lose(&self) {
        let own = self.own.as_ref().expect("a server of its own");
        let mut own = own.lock().expect("no panic");
        let (server, backup) = &mut *own;
        *backup = server.lose(backup);
    }

    async fn connect_as(&self, rights: Rights) -> Box<dyn Table> {
        let user = format!("{}_{:08x}", self.name, fastrand::u32(..));
        D::admit(self.server, &user, &self.name, rights);
        Box::new(self.of(&user))
    }
}

/// Changes a proxy back when it is dropped.
struct Undo(Arc<TcpProxy>, fn(&TcpProxy));

impl Undo {
    fn after(proxy: &Arc<TcpProxy>, undo: fn(&TcpProxy)) -> Stall {
        Box::new(Self(Arc::clone(proxy), undo))
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        (self.1)(&self.0);
    }
}

/// The store on a real database as a bench. Its time is the test's own: no database reads a clock for elect.
pub struct DatabaseBench<D, T> {
    ground: DatabaseGround<D, T>,
    clock: ManualClock,
}

impl<D: Database, T: Table + 'static> DatabaseBench<D, T> {
    /// A bench whose tables are opened by a URL.
    pub fn new(servers: Servers, table: fn(&str) -> T) -> Self {
        let ground = DatabaseGround::new(servers, table);
        D::begin(ground.server, &ground.name);
        Self { ground, clock: ManualClock::default() }
    }

    fn documents(&self) -> TableDocuments<T> {
        TableDocuments::new(self.ground.straight())
    }
}

#[async_trait]
impl<D: Database, T: Table + 'static> Bench for DatabaseBench<D, T> {
    async fn connect(&self) -> Box<dyn Store> {
        Box::new(RecordStore::new(TableDocuments::new(self.ground.of("elect"))))
    }

    fn now(&self) -> Boottime {
        self.clock.now()
    }

    async fn advance(&self, span: Duration) {
        self.clock.advance(span);
    }

    async fn crash(&self, store: Box<dyn Store>, seat: Box<dyn Seat>) {
        by_hand::crash(self.documents(), store, seat).await;
    }

    async fn wipe(&self, election: &ElectionName) {
        by_hand::wipe(&self.documents(), election).await;
    }

    async fn evict(&self, election: &ElectionName, candidate: &Candidate) {
        by_hand::evict(&self.documents(), election, candidate).await;
    }

    async fn stall(&self, _: &ElectionName) -> Stall {
        self.ground.proxy.requests(Mode::Hold);
        Undo::after(&self.ground.proxy, |proxy| proxy.requests(Mode::Pass))
    }
}

/// Asks for a row, and expects a refusal of this kind with these words, and without the password `hush`.
pub async fn refused(table: &impl Table, kind: ErrorKind, words: &[&str]) {
    let row = Key { election: "a", document: Key::LEADER };
    let error = table.get(row).await.expect_err("refused");
    let sources = std::iter::successors(Some(&error as &dyn std::error::Error), |it| it.source());
    let text: Vec<String> = sources.map(ToString::to_string).collect();
    let text = text.join(": ");
    assert_eq!(error.kind(), kind, "{text}");
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("hush"), "{text}");
}
