//! Passwords and certificates of databases are renewed, and their connections run out, while candidates lead, wait and
//! start.

use elect_testkit::fault::TcpProxy;
use elect_testkit::program::eventually;
use elect_testkit::servers::{DatabaseServer, DatabaseSetup, MariaDb, Postgres};

use super::renewals::{First, LIMIT, crowd_out, renew_both_certificates, renew_password};
use super::{Brand, MARIADB, POSTGRESQL, Store};

/// Statements about the user `me`.
struct Statements {
    /// Makes it with the password `one`. It may do what the manual says.
    make: &'static str,
    /// Lists its sessions.
    sessions: &'static str,
    /// Ends them.
    log_out: &'static str,
    /// Sets its password to `two`.
    change: &'static str,
}

impl Statements {
    /// Ends the sessions of both candidates, and waits until they have logged in anew.
    fn log_in_anew(&self, server: &impl DatabaseServer) {
        let sessions = || server.ask(self.sessions).lines().map(str::to_owned).collect::<Vec<_>>();
        let before = sessions();
        server.ask(self.log_out);
        eventually("both candidates to log in anew", || {
            let now = sessions();
            (now.len() >= 2 && now.iter().all(|id| !before.contains(id))).then_some(())
        });
    }
}

const OF_MARIADB: Statements = Statements {
    make: "CREATE USER me@'%' IDENTIFIED BY 'one'; \
           GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON jobs.elect TO me@'%'",
    sessions: "SELECT id FROM information_schema.PROCESSLIST WHERE user = 'me'",
    log_out: "KILL USER me",
    change: "SET PASSWORD FOR me@'%' = PASSWORD('two')",
};
const OF_POSTGRESQL: Statements = Statements {
    make: "CREATE ROLE me LOGIN PASSWORD 'one'; GRANT CREATE ON DATABASE postgres TO me",
    sessions: "SELECT pid FROM pg_stat_activity WHERE usename = 'me'",
    log_out: "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'me'",
    change: "ALTER ROLE me PASSWORD 'two'",
};

fn renew_password_in_mariadb(first: First) {
    let server = MariaDb::start();
    let url = format!("mariadb://{}/jobs", server.address());
    renew_password_of_rows(MARIADB, first, server, &url, &OF_MARIADB);
}

fn renew_password_in_postgresql(first: First) {
    let server = Postgres::start();
    server.rule("host all me all scram-sha-256");
    let url = format!("postgresql://{}/postgres", server.address());
    renew_password_of_rows(POSTGRESQL, first, server, &url, &OF_POSTGRESQL);
}

fn renew_password_of_rows<S: DatabaseServer>(
    store: Store,
    first: First,
    server: S,
    url: &str,
    of: &Statements,
) {
    server.ask(of.make);
    let log_out = |server: &mut S, _: &mut [_]| of.log_in_anew(server);
    renew_password(store, first, server, url, log_out, |server: &S| {
        server.ask(of.change);
        server.ask(of.log_out);
    });
}

/// The server asks `me` for a certificate as well.
fn renew_certificates_in_mariadb(first: First) {
    let start = |folder: &str| {
        let files = [("cert", "cert"), ("key", "key"), ("ca", "clients")];
        let files = files.map(|(option, file)| format!("--ssl-{option}={folder}/0-{file}"));
        let server = MariaDb::start_with(&files.each_ref().map(String::as_str));
        server.ask(OF_MARIADB.make);
        server.ask("ALTER USER me@'%' REQUIRE SUBJECT '/CN=me'");
        let files = ["ca", "cert", "key"].map(|name| format!("ssl-{name}={folder}/{name}"));
        let mode = format!("ssl-mode=VERIFY_IDENTITY&{}", files.join("&"));
        let url = format!("mariadb://me:one@{}/jobs?{mode}", server.address());
        (server, url)
    };
    let log_out = |server: &mut MariaDb, _: &mut [_]| OF_MARIADB.log_in_anew(server);
    renew_both_certificates(MARIADB, first, start, log_out, |server| {
        server.ask("FLUSH SSL");
        server.ask(OF_MARIADB.log_out);
    });
}

/// The server knows `me` by a certificate alone.
fn renew_certificates_in_postgresql(first: First) {
    let start = |folder: &str| {
        let files = [("cert", "cert"), ("key", "key"), ("ca", "clients")];
        let files = files.map(|(option, file)| format!("ssl_{option}_file={folder}/0-{file}"));
        let [cert, key, ca] = &files;
        let server = Postgres::start_with(&["ssl=on", cert, key, ca]);
        server.rule("hostssl all me all cert\nhost all me all reject");
        server.ask(OF_POSTGRESQL.make);
        let files = [("rootcert", "ca"), ("cert", "cert"), ("key", "key")];
        let files = files.map(|(option, file)| format!("ssl{option}={folder}/{file}"));
        let mode = format!("sslmode=verify-full&{}", files.join("&"));
        let url = format!("postgresql://me@{}/postgres?{mode}", server.address());
        (server, url)
    };
    let log_out = |server: &mut Postgres, _: &mut [_]| OF_POSTGRESQL.log_in_anew(server);
    renew_both_certificates(POSTGRESQL, first, start, log_out, |server| {
        let read = || server.ask("SELECT pg_conf_load_time()");
        let before = read();
        server.ask("SELECT pg_reload_conf()");
        eventually("PostgreSQL to read its files", || (read() != before).then_some(()));
        server.ask(OF_POSTGRESQL.log_out);
    });
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
fn certificates_that_the_files_have_before_mariadb() {
    renew_certificates_in_mariadb(First::File);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn certificates_that_mariadb_has_before_the_files() {
    renew_certificates_in_mariadb(First::Server);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn certificates_that_the_files_have_before_postgresql() {
    renew_certificates_in_postgresql(First::File);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn certificates_that_postgresql_has_before_the_files() {
    renew_certificates_in_postgresql(First::Server);
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
