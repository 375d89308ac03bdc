//! A schema of its own for each test, on a server that tests share, or on its own server.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use elect_api::Store;
use elect_record::table::Table;
use elect_testkit::fault::{Mode, TcpProxy};
use elect_testkit::servers::{Part, Postgres};
use elect_testkit::table::{Ground, Rights};
use elect_testkit::{Servers, Stall};

pub(crate) struct PostgresGround {
    schema: String,
    server: SocketAddr,
    /// The server, if no other test uses it, and the copy of its data that a loss goes back to.
    own: Option<Mutex<(Postgres, String)>>,
    proxy: Arc<TcpProxy>,
}

impl PostgresGround {
    pub(crate) fn new(servers: Servers) -> Self {
        let part = Part::of_postgres().filter(|_| servers == Servers::Shared);
        if let Some(Part { servers, name }) = part {
            let proxy = Arc::new(TcpProxy::start(servers[0]));
            return Self { schema: name, server: servers[0], own: None, proxy };
        }
        let own = Postgres::start();
        let server = own.address();
        let own = Some(Mutex::new((own, String::new())));
        let proxy = Arc::new(TcpProxy::start(server));
        Self { schema: "elect".to_owned(), server, own, proxy }
    }

    /// Has elect make its table.
    pub(crate) async fn make_table(&self) {
        self.straight().prepare().await.expect("the right to make it");
        // A law begins without rows.
        self.ask(&format!("DELETE FROM {}.document", self.schema));
        if let Some(own) = &self.own {
            let mut own = own.lock().expect("no panic");
            own.1 = own.0.back_up();
        }
    }

    /// The store, through the proxy.
    pub(crate) fn store(&self) -> Box<dyn Store> {
        elect_postgresql::connect(&self.url("elect")).expect("a good URL")
    }

    /// The table, past the proxy.
    pub(crate) fn straight(&self) -> impl Table + use<> {
        let (server, schema) = (self.server, &self.schema);
        let url = format!("postgresql://elect@{server}/postgres?schema={schema}");
        elect_postgresql::table(&url).expect("a good URL")
    }

    /// Holds back all requests until this is dropped.
    pub(crate) fn hold(&self) -> Stall {
        self.proxy.requests(Mode::Hold);
        let proxy = Arc::clone(&self.proxy);
        Box::new(scopeguard(move || proxy.requests(Mode::Pass)))
    }

    fn url(&self, user: &str) -> String {
        format!("postgresql://{user}@{}/postgres?schema={}", self.proxy.address(), self.schema)
    }

    fn table(&self, user: &str) -> Box<dyn Table> {
        Box::new(elect_postgresql::table(&self.url(user)).expect("a good URL"))
    }

    fn ask(&self, statements: &str) {
        let (host, port) = (self.server.ip().to_string(), self.server.port().to_string());
        let words =
            ["-XAtqh", &host, "-p", &port, "-U", "elect", "-d", "postgres", "-c", statements];
        let output = Command::new("psql").args(words).output().expect("psql: tests/run setup");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {said}");
    }
}

#[async_trait]
impl Ground for PostgresGround {
    async fn connect(&self) -> Box<dyn Table> {
        self.table("elect")
    }

    async fn cut(&self) -> Stall {
        self.proxy.hang_up(true);
        self.proxy.cut();
        let proxy = Arc::clone(&self.proxy);
        Box::new(scopeguard(move || proxy.hang_up(false)))
    }

    async fn silence(&self) -> Stall {
        self.proxy.replies(Mode::Hold);
        let proxy = Arc::clone(&self.proxy);
        Box::new(scopeguard(move || proxy.replies(Mode::Pass)))
    }

    async fn lose(&self) {
        let own = self.own.as_ref().expect("a server of its own");
        let mut own = own.lock().expect("no panic");
        let (server, backup) = &mut *own;
        server.restore(backup);
        // Without an archive, a second recovery of one copy would give its timeline the same number.
        *backup = server.back_up();
    }

    async fn connect_as(&self, rights: Rights) -> Box<dyn Table> {
        let schema = &self.schema;
        let user = format!("{schema}_{:08x}", fastrand::u32(..));
        self.ask(&format!("CREATE ROLE {user} LOGIN"));
        if rights == Rights::Read {
            self.ask(&format!(
                "GRANT USAGE ON SCHEMA {schema} TO {user}; GRANT SELECT ON {schema}.document TO {user}"
            ));
        }
        self.table(&user)
    }
}

/// Calls a function when it is dropped.
struct AtEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        self.0();
    }
}

fn scopeguard<F: FnMut() + Send + 'static>(f: F) -> AtEnd<F> {
    AtEnd(f)
}
