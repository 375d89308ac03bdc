//! What people use on databases, with their clients and a shell: a lock of a session, and a row with the time until
//! which it is locked, as ShedLock keeps one.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use elect_testkit::servers::MariaDb;

/// A database and the statements that the benchmark has for it.
pub(crate) struct Database {
    scheme: &'static str,
    pub(crate) name: &'static str,
    /// What the peers, the floor and the counts need.
    pub(crate) tables: &'static str,
    /// Tells the numbers of statements so far, the writes apart.
    pub(crate) counts: &'static str,
    pub(crate) client: fn() -> PathBuf,
    /// The client's arguments before the statements.
    arguments: fn(host: &str, port: &str) -> Vec<String>,
    /// Waits for the lock NAME of the session.
    lock: &'static str,
    /// The client's further arguments, which have it wait for that lock, and then run a line of the shell.
    lock_and_run: fn(lock: String, line: &str) -> Vec<String>,
    /// Locks the row NAME for ME if it is free, and prints something if it is locked for ME.
    take: &'static str,
    give: &'static str,
}

pub(crate) const USER: &str = "elect";

/// A lock ends after 3 s at the latest: somewhat longer than a command of this benchmark takes.
pub(crate) const POSTGRESQL: Database = Database {
    scheme: "postgresql",
    name: "postgres",
    tables: "CREATE EXTENSION pg_stat_statements; \
        CREATE TABLE bench_floor (name text PRIMARY KEY, value text NOT NULL); \
        CREATE TABLE bench_row (name text PRIMARY KEY, lock_until timestamptz NOT NULL, locked_by text NOT NULL)",
    // Without this one and those of others.
    counts: "SELECT coalesce(sum(calls), 0), \
        coalesce(sum(calls) FILTER (WHERE query ~ '(INSERT INTO|UPDATE|DELETE FROM) \"'), 0) \
        FROM pg_stat_statements WHERE query !~ 'pg_stat_statements|bench_'",
    client: psql,
    arguments: |host, port| {
        ["-h", host, "-p", port, "-U", USER, "-d", "postgres", "-XAtqc"].map(str::to_owned).to_vec()
    },
    lock: "SELECT pg_advisory_lock(hashtext('NAME'))",
    lock_and_run: |lock, line| vec![lock, "-c".to_owned(), format!("\\! {line}")],
    take: "INSERT INTO bench_row VALUES ('NAME', now() + interval '3 s', 'ME') \
        ON CONFLICT (name) DO UPDATE SET lock_until = excluded.lock_until, locked_by = excluded.locked_by \
        WHERE bench_row.lock_until <= now() RETURNING 1",
    give: "UPDATE bench_row SET lock_until = now() WHERE name = 'NAME' AND locked_by = 'ME'",
};

pub(crate) const MARIADB: Database = Database {
    scheme: "mariadb",
    name: "jobs",
    tables: "CREATE TABLE bench_floor (name VARCHAR(64) PRIMARY KEY, value TEXT NOT NULL); \
        CREATE TABLE bench_row (name VARCHAR(64) PRIMARY KEY, lock_until TIMESTAMP(3) NOT NULL, locked_by TEXT NOT NULL)",
    // This one is none of these.
    counts: "SHOW GLOBAL STATUS WHERE variable_name IN \
        ('Com_select', 'Com_insert', 'Com_insert_select', 'Com_update', 'Com_delete')",
    client: MariaDb::program,
    arguments: |host, port| {
        ["--no-defaults", "-h", host, "-P", port, "-u", USER, "-D", "jobs", "-NBe"]
            .map(str::to_owned)
            .to_vec()
    },
    lock: "SELECT GET_LOCK('NAME', 1000000)",
    lock_and_run: |lock, line| vec![format!("{lock};\n\\! {line}")],
    // ShedLock makes the row once.
    take: "UPDATE bench_row SET lock_until = NOW(3) + INTERVAL 3 SECOND, locked_by = 'ME' \
        WHERE name = 'NAME' AND lock_until <= NOW(3); \
        INSERT INTO bench_row SELECT 'NAME', NOW(3) + INTERVAL 3 SECOND, 'ME' FROM DUAL \
        WHERE NOT EXISTS (SELECT 1 FROM bench_row WHERE name = 'NAME'); \
        SELECT 1 FROM bench_row WHERE name = 'NAME' AND locked_by = 'ME'",
    give: "UPDATE bench_row SET lock_until = NOW(3) WHERE name = 'NAME' AND locked_by = 'ME'",
};

/// A waiter looks every 50 ms.
const ROW: &str = r#"
until [ "$("$client" $arguments "$take")" ]; do sleep 0.05; done
"$@"
exec "$client" $arguments "$give"
"#;

impl Database {
    pub(crate) fn url(&self, place: &str) -> String {
        format!("{}://{USER}@{place}/{}", self.scheme, self.name)
    }

    fn arguments_at(&self, place: &str) -> Vec<String> {
        let (host, port) = place.rsplit_once(':').expect("HOST:PORT");
        (self.arguments)(host, port)
    }

    /// Runs a command while a session holds a lock. The client runs it, so that it is the wrapper.
    pub(crate) fn session(&self, place: &str, name: &str, words: &[OsString]) -> Command {
        let words = words.iter().map(|word| format!("'{}'", word.to_str().expect("a plain word")));
        let line = words.collect::<Vec<_>>().join(" ");
        let lock = self.lock.replace("NAME", name);
        let mut client = Command::new((self.client)());
        client.args(self.arguments_at(place)).args((self.lock_and_run)(lock, &line));
        client
    }

    /// Runs the words that follow as a command while the row is locked.
    pub(crate) fn row(&self, place: &str, name: &str) -> Command {
        let me = format!("{name}-{:08x}", fastrand::u32(..));
        let of =
            |statement: &str| statement.replace("NAME", name).replace("'ME'", &format!("'{me}'"));
        let mut shell = Command::new("sh");
        shell.args(["-c", ROW, "row"]).env("client", (self.client)());
        shell.env("arguments", self.arguments_at(place).join(" "));
        shell.env("take", of(self.take)).env("give", of(self.give));
        shell
    }
}

/// The program itself: `psql` in PATH is a script of Debian's, which takes longer than what it starts.
fn psql() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|version| version.path().join("bin/psql"));
    found.filter(|psql| psql.exists()).max().unwrap_or_else(|| "psql".into())
}
