//! Passwords of databases are renewed, and their connections run out, while candidates lead, wait and start.

use elect_testkit::fault::TcpProxy;
use elect_testkit::servers::{DatabaseServer, DatabaseSetup, MariaDb, Postgres};

use super::renewals::{First, LIMIT, crowd_out, renew_password};
use super::{Brand, MARIADB, POSTGRESQL, Store};

/// Statements about the user `me`.
struct Statements {
    /// Makes it with the password `one`. It may do what the manual says.
    make: &'static str,
    /// Ends its sessions, so that all log in anew.
    log_out: &'static str,
    change: &'static str,
}

const OF_MARIADB: Statements = Statements {
    make: "CREATE USER me@'%' IDENTIFIED BY 'one'; \
           GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON jobs.elect TO me@'%'",
    log_out: "KILL USER me",
    change: "SET PASSWORD FOR me@'%' = PASSWORD('two')",
};
const OF_POSTGRESQL: Statements = Statements {
    make: "CREATE ROLE me LOGIN PASSWORD 'one'; GRANT CREATE ON DATABASE postgres TO me",
    log_out: "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'me'",
    change: "ALTER ROLE me PASSWORD 'two'",
};

fn renew_password_in_mariadb(first: First) {
    let server = MariaDb::start();
    let url = format!("mariadb://{}/jobs", server.address());
    renew(MARIADB, first, server, &url, &OF_MARIADB);
}

fn renew_password_in_postgresql(first: First) {
    let server = Postgres::start();
    server.rule("host all me all scram-sha-256");
    let url = format!("postgresql://{}/postgres", server.address());
    renew(POSTGRESQL, first, server, &url, &OF_POSTGRESQL);
}

fn renew<S: DatabaseServer>(
    store: Store,
    first: First,
    server: S,
    url: &str,
    Statements { make, log_out, change }: &Statements,
) {
    server.ask(make);
    let change = |server: &S| {
        server.ask(change);
        server.ask(log_out);
    };
    let log_out = |server: &mut S, _: &mut [_]| drop(server.ask(log_out));
    renew_password(store, first, server, url, log_out, change);
}

fn crowd_out_of(brand: Brand) {
    let server = brand.database(&DatabaseSetup::default());
    let balancer = TcpProxy::start(server.address());
    balancer.limit(LIMIT);
    crowd_out(Store::Remote(brand), balancer.address());
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_password_that_the_file_has_before_mariadb() {
    renew_password_in_mariadb(First::File);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_password_that_mariadb_has_before_the_file() {
    renew_password_in_mariadb(First::Server);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_password_that_the_file_has_before_postgresql() {
    renew_password_in_postgresql(First::File);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn a_password_that_postgresql_has_before_the_file() {
    renew_password_in_postgresql(First::Server);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn others_have_all_connections_to_mariadb() {
    crowd_out_of(Brand::MariaDb);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn others_have_all_connections_to_postgresql() {
    crowd_out_of(Brand::PostgreSql);
}
