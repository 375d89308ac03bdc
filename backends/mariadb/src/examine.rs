//! The state of each server of the URL, and its faults.

use elect_api::Finding;
use elect_remote::{Defect, Respondent, Version, Versions};

use crate::error::code;
use crate::session::{self, Session};
use crate::sql::{COLUMNS, STATUS, Sql};
use crate::wire::Row;

const OF_MARIADB: Versions = Versions {
    product: "MariaDB",
    oldest: Version(10, 5, 0),
    defects: &[Defect {
        versions: &[Version(10, 6, 9)..Version(10, 6, 10)],
        what: "InnoDB may corrupt its tables when memory runs out: the row of a leader may be lost",
        source: "https://mariadb.com/kb/en/mariadb-10-6-9-release-notes/",
        way_out: "upgrade it to 10.6.10 or newer",
    }],
};
const OF_MYSQL: Versions = Versions {
    product: "MySQL",
    oldest: Version(8, 0, 0),
    defects: &[Defect {
        versions: &[
            Version(8, 0, 38)..Version(8, 0, 39),
            Version(8, 4, 1)..Version(8, 4, 2),
            Version(9, 0, 0)..Version(9, 0, 1),
        ],
        what: "with more than 8,000 tables it does not start again after it has stopped",
        source: "https://dev.mysql.com/doc/relnotes/mysql/8.0/en/news-8-0-38.html",
        way_out: "upgrade it to 8.0.39, 8.4.2 or newer",
    }],
};
/// As many bytes as a request needs that replaces all cells of an election.
const LONGEST_REQUEST: u64 = 4 << 20;

/// What a server is asked about its settings and its load.
pub(crate) fn state() -> String {
    let status = |name: &str| {
        format!("(SELECT variable_value FROM {STATUS} WHERE variable_name = '{name}')")
    };
    format!(
        "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog, @@binlog_format, @@max_connections, {}, \
         {}, {}, @@max_allowed_packet, {}",
        status("THREADS_CONNECTED"),
        status("SLAVES_CONNECTED"),
        status("RPL_SEMI_SYNC_MASTER_CLIENTS"),
        status("WSREP_CLUSTER_SIZE"),
    )
}

/// What `elect doctor` shows of a server.
pub(crate) async fn examine(session: &Session, sql: &Sql, state: &[Row]) -> Respondent {
    let (place, server) = (&session.place, &session.server);
    let mut findings: Vec<_> = of(&server.version).findings(place, &server.version).collect();
    if server.is_remembered {
        findings.push(Finding::warning(
            format!(
                "{place} lets this user in without TLS while it remembers the password: after a restart it asks for the \
                 password itself, and elect does not send it"
            ),
            "write ssl-mode=REQUIRED, or name the socket",
        ));
    }
    if !server.is_read_only {
        findings.extend(of_settings(place, state));
        findings.extend(of_table(session, sql).await);
    }
    let number = |column: usize| session::text(state, column)?.parse().ok();
    Respondent {
        version: server.version.clone(),
        role: if server.is_read_only { "read-only" } else { "primary" },
        store: server.epoch.as_deref().and_then(session::id),
        is_primary: !server.is_read_only,
        findings,
        connections: number(4).zip(number(5)),
    }
}

/// What elect knows of the versions of the product that calls itself so.
fn of(version: &str) -> Versions {
    if version.contains("MariaDB") { OF_MARIADB } else { OF_MYSQL }
}

fn of_settings(place: &str, rows: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let text = |column: usize| session::text(rows, column).unwrap_or_default();
    let number = |column: usize| text(column).parse::<u64>().unwrap_or_default();
    let mut loses = |name: &str, value: &str| {
        findings.push(Finding::error(
            format!("{name} is {value} at {place}: a crash loses writes that elect relies on"),
            format!("set {name}=1"),
        ));
    };
    if !matches!(text(0).as_str(), "1" | "3") {
        loses("innodb_flush_log_at_trx_commit", &text(0));
    }
    let has_binlog = text(1) == "1";
    if has_binlog && text(2) != "1" {
        loses("sync_binlog", &text(2));
    }
    if has_binlog && text(3) == "STATEMENT" {
        findings.push(Finding::error(
            format!("binlog_format is STATEMENT at {place}, so the server refuses elect's writes"),
            "set binlog_format=MIXED",
        ));
    }
    let replicas = number(6);
    if replicas > 0 && number(7) == 0 {
        findings.push(Finding::warning(
            format!("{replicas} replicas of {place} are asynchronous: a fail-over may lose the newest writes"),
            "elect then waits 60 s before it lets another candidate lead; turn semi-synchronous replication on to lose \
             less",
        ));
    }
    if number(8) < LONGEST_REQUEST {
        findings.push(Finding::warning(
            format!("max_allowed_packet is {} at {place}: long values may not be written", text(8)),
            "set max_allowed_packet=16M",
        ));
    }
    if number(9) > 0 {
        findings.push(Finding::warning(
            format!("{place} is a node of a Galera cluster, on which elect was not tried"),
            "name the same node first in the URLs of all candidates",
        ));
    }
    findings
}

/// What is wrong with the table, or what this user lacks for it.
async fn of_table(session: &Session, sql: &Sql) -> Option<Finding> {
    let (place, Sql { table, ddl, grants, .. }) = (&session.place, sql);
    if let Some(columns) = session.server.columns.as_ref().filter(|columns| *columns != COLUMNS) {
        return Some(Finding::error(
            format!("{place} has another table {table}: it is {columns}"),
            "name another one in the URL, as in ?table=elect2, or rename that table",
        ));
    }
    let mut missing = Vec::new();
    for (right, trial) in sql.trials() {
        match session.ask("rights", trial).await {
            Err(failure) if failure.is(&[code::NO_TABLE]) => {
                return Some(Finding::note(
                    format!("{place} has no table {table} yet"),
                    format!(
                        "the first elect run makes it, if its user has the right CREATE; else have a DBA run: {ddl}; \
                         {grants}"
                    ),
                ));
            }
            Err(failure) if failure.is(&code::NO_RIGHT) => missing.push(right),
            Err(_) | Ok(_) => {}
        }
    }
    (!missing.is_empty()).then(|| {
        let missing = missing.join(", ");
        let ddl = if session.server.columns.is_none() { format!("{ddl}; ") } else { String::new() };
        Finding::error(
            format!("this user lacks {missing} on {table} at {place}"),
            format!("have a DBA run: {ddl}{grants}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn each_product_has_its_own_versions() {
        for (version, faults) in [
            ("10.4.34-MariaDB-log", 1),
            ("10.6.9-MariaDB", 1),
            ("10.6.10-MariaDB", 0),
            ("11.8.3-MariaDB-0+deb13u1 from Debian", 0),
            ("5.7.44", 1),
            ("8.0.38", 1),
            ("8.4.2", 0),
        ] {
            assert_eq!(of(version).findings("a:1", version).count(), faults, "{version}");
        }
    }
}
