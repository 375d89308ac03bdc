//! Passwords of PostgreSQL are renewed, and its connections run out, while candidates lead, wait and start.

use elect_testkit::fault::TcpProxy;
use elect_testkit::servers::Postgres;

use super::POSTGRESQL;
use super::renewals::{First, LIMIT, crowd_out, renew_password};

/// The role `me`, which may do what the manual says, with the password `one`.
const ROLE: &str = "CREATE ROLE me LOGIN PASSWORD 'one'; GRANT CREATE ON DATABASE postgres TO me";
/// Ends the sessions of that role, so that all log in anew.
const LOG_OUT: &str =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'me'";

fn renew_password_in_postgresql(first: First) {
    let server = Postgres::start();
    server.ask(ROLE);
    server.rule("host all me all scram-sha-256");
    let url = format!("postgresql://{}/postgres", server.address());
    let change = |server: &Postgres| {
        server.ask("ALTER ROLE me PASSWORD 'two'");
        server.ask(LOG_OUT);
    };
    let log_out = |server: &mut Postgres, _: &mut [_]| drop(server.ask(LOG_OUT));
    renew_password(POSTGRESQL, first, server, &url, log_out, change);
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
fn others_have_all_connections_to_postgresql() {
    let server = Postgres::start();
    let balancer = TcpProxy::start(server.address());
    balancer.limit(LIMIT);
    crowd_out(POSTGRESQL, balancer.address());
}
