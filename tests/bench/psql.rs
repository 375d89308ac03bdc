//! What people use on PostgreSQL, with `psql` and a shell: an advisory lock of a session, and a row with the time until
//! which it is locked, as ShedLock keeps one.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

pub(crate) const USER: &str = "elect";
pub(crate) const DATABASE: &str = "postgres";

/// What the peers, the floor and the counts need in the database.
pub(crate) const TABLES: &str = "CREATE EXTENSION pg_stat_statements; \
    CREATE TABLE bench_floor (name text PRIMARY KEY, value text NOT NULL); \
    CREATE TABLE bench_row (name text PRIMARY KEY, lock_until timestamptz NOT NULL, locked_by text NOT NULL)";

/// The number of statements so far, and of those that write, without this one and those of others.
pub(crate) const COUNTS: &str = "SELECT coalesce(sum(calls), 0), \
    coalesce(sum(calls) FILTER (WHERE query ~ '(INSERT INTO|UPDATE|DELETE FROM) \"'), 0) \
    FROM pg_stat_statements WHERE query !~ 'pg_stat_statements|bench_'";

/// A lock ends after 3 s at the latest: somewhat longer than a command of this benchmark takes. A waiter looks every
/// 50 ms.
const ROW: &str = r#"
me=$name-$$
take="INSERT INTO bench_row VALUES ('$name', now() + interval '3 s', '$me')
    ON CONFLICT (name) DO UPDATE SET lock_until = excluded.lock_until, locked_by = excluded.locked_by
    WHERE bench_row.lock_until <= now() RETURNING 1"
until [ "$("$psql" -XAtqc "$take")" ]; do sleep 0.05; done
"$@"
exec "$psql" -Xqc "UPDATE bench_row SET lock_until = now() WHERE name = '$name' AND locked_by = '$me'"
"#;

/// Runs a command while a session holds an advisory lock. psql runs it, so that it is the wrapper.
pub(crate) fn advisory(place: &str, name: &str, words: &[OsString]) -> Command {
    let words: Vec<String> =
        words.iter().map(|word| format!("'{}'", word.to_str().expect("a plain word"))).collect();
    let mut psql = Command::new(program());
    psql.args(["-Xqc", &format!("SELECT pg_advisory_lock(hashtext('{name}'))")]);
    psql.args(["-c", &format!("\\! {}", words.join(" "))]);
    at(place, psql)
}

/// Runs the words that follow as a command while the row is locked.
pub(crate) fn row(place: &str, name: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", ROW, "row"]).env("name", name).env("psql", program());
    at(place, shell)
}

fn at(place: &str, mut command: Command) -> Command {
    let (host, port) = place.rsplit_once(':').expect("HOST:PORT");
    command.env("PGHOST", host).env("PGPORT", port).env("PGUSER", USER).env("PGDATABASE", DATABASE);
    command
}

/// The program itself: `psql` in PATH is a script of Debian's, which takes longer than what it starts.
pub(crate) fn program() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|version| version.path().join("bin/psql"));
    found.filter(|psql| psql.exists()).max().unwrap_or_else(|| "psql".into())
}
