//! The state of each server of the URL, and its faults.

use elect_api::{Finding, StoreId};
use elect_remote::{Defect, Respondent, Session as _, Version, Versions};
use tokio_postgres::Row;

use crate::session::{Server, Session};
use crate::sql::Sql;

const VERSIONS: Versions = Versions {
    product: "PostgreSQL",
    oldest: Version(12, 0, 0),
    defects: &[Defect {
        versions: &[Version(14, 0, 0)..Version(14, 4, 0)],
        what: "an index that REINDEX CONCURRENTLY has made may lack rows: a row of elect's could be there twice",
        source: "https://www.postgresql.org/docs/release/14.4/",
        way_out: "upgrade it to 14.4 or newer, and then run REINDEX TABLE on the table of elect",
    }],
};
/// What a server is asked about its settings and its load.
pub(crate) const STATE: &str = "SELECT current_setting('fsync')::bool, current_setting('full_page_writes')::bool, \
    current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), \
    (SELECT count(*) FROM pg_stat_replication), current_setting('max_connections')::int8, \
    (SELECT sum(numbackends)::int8 FROM pg_stat_database), \
    CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE') THEN \
    (SELECT extract(epoch FROM max(clock_timestamp() - xact_start))::int8 FROM pg_stat_activity \
     WHERE backend_type = 'client backend') END, (100 * pg_notification_queue_usage())::int8";
/// The share of the queue of notices in percent from which on it may fill up.
const NEARLY: i64 = 10;

/// The lines of `elect doctor` about a server.
pub(crate) async fn examine(session: &Session, sql: &Sql, state: &Row) -> Respondent {
    let (place, server) = (&session.place, &session.server);
    let mut findings = of_server(place, server, session.tells());
    if !server.is_replica {
        findings.extend(of_settings(place, state));
        findings.extend(of_rights(session, sql).await);
        if let Err(failure) = session.ask("epoch", &sql.bare_epoch, &[]).await {
            let error = session.failed("cannot read the epoch", &failure, false);
            findings.push(Finding::error(
                format!("{error}: {}", elect_remote::in_full(&error)),
                "take a server that shows its WAL to this role",
            ));
        }
    }
    let number = |column: usize| u64::try_from(state.try_get::<_, i64>(column).ok()?).ok();
    Respondent {
        version: server.version.clone(),
        role: if server.is_replica { "replica" } else { "primary" },
        store: StoreId::read(server.cluster.as_bytes()),
        is_primary: !server.is_replica,
        findings,
        connections: number(5).zip(number(6)),
    }
}

fn of_server(place: &str, server: &Server, tells: bool) -> Vec<Finding> {
    let mut findings: Vec<_> = VERSIONS.findings(place, &server.version).collect();
    if server.is_read_only && !server.is_replica {
        findings.push(Finding::error(
            format!("PostgreSQL at {place} takes no writes from this role"),
            "see default_transaction_read_only of the server, the database and the role",
        ));
    }
    if !tells {
        findings.push(Finding::note(
            format!("a pooler is in front of PostgreSQL at {place}, so candidates poll for changes, up to once a second"),
            "connect without the pooler for a hand-over at once",
        ));
    }
    findings
}

fn of_settings(place: &str, row: &Row) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_on = |column: usize| row.try_get::<_, bool>(column).unwrap_or(true);
    for (column, name) in [(0, "fsync"), (1, "full_page_writes")] {
        if !is_on(column) {
            findings.push(Finding::error(
                format!("{name} is off at {place}: a crash of the machine loses writes that elect relies on"),
                format!("set {name}=on"),
            ));
        }
    }
    let text = |column: usize| row.try_get::<_, String>(column).unwrap_or_default();
    let replicas: i64 = row.try_get(4).unwrap_or_default();
    if matches!(text(2).as_str(), "off" | "local" | "remote_write") {
        findings.push(Finding::note(
            format!("synchronous_commit is {} at {place}; elect asks for on", text(2)),
            "nothing has to be done",
        ));
    }
    if replicas > 0 && text(3).is_empty() {
        findings.push(Finding::warning(
            format!("{replicas} replicas of {place} are asynchronous: a fail-over may lose the newest writes"),
            "elect then waits 60 s before it lets another candidate lead; set synchronous_standby_names to lose nothing",
        ));
    }
    if replicas == 0 && !text(3).is_empty() {
        findings.push(Finding::error(
            format!("no replica is connected to {place}, and a commit there waits for a synchronous one: {}", text(3)),
            "start one of synchronous_standby_names, or set that to ''",
        ));
    }
    let queued: i64 = row.try_get(8).unwrap_or_default();
    if queued >= NEARLY {
        findings.push(Finding::warning(
            format!("the queue of notices at {place} is full to {queued} %: full, it refuses them, and hand-overs take longer"),
            "end the transaction of the session that listens and does not read: see xact_start in pg_stat_activity",
        ));
    }
    let oldest: i64 = row.try_get::<_, Option<i64>>(7).ok().flatten().unwrap_or_default();
    if oldest > 3600 {
        findings.push(Finding::warning(
            format!(
                "a transaction at {place} is open for {} h, so the table grows with each renewal",
                oldest / 3600
            ),
            "end it: see xact_start in pg_stat_activity",
        ));
    }
    findings
}

/// What this role lacks for the table.
async fn of_rights(session: &Session, sql: &Sql) -> Option<Finding> {
    let (place, Sql { table, schema, ddl, create_schema, .. }) = (&session.place, sql);
    let namespace = format!("to_regnamespace('\"{schema}\"')");
    let may = format!(
        "SELECT EXISTS (SELECT FROM pg_class WHERE relnamespace = {namespace} AND relname = 'document'), \
         {namespace} IS NOT NULL, CASE WHEN {namespace} IS NULL \
         THEN has_database_privilege(current_database(), 'CREATE') \
         ELSE has_schema_privilege({namespace}, 'CREATE') AND has_schema_privilege({namespace}, 'USAGE') END"
    );
    let asked = session.ask("rights", &may, &[]).await.ok()?;
    let answer = asked.first()?;
    let is_true = |column: usize| answer.try_get::<_, bool>(column).ok();
    let (has_table, has_schema, may_create) = (is_true(0)?, is_true(1)?, is_true(2)?);
    if !has_table {
        let first = if has_schema { String::new() } else { format!("{create_schema}; ") };
        return Some(if may_create {
            Finding::note(
                format!("{place} has no table {table} yet"),
                "the first elect run makes it",
            )
        } else {
            Finding::error(
                format!("{place} has no table {table}, and this role may not make it"),
                format!("have a DBA run: {first}{ddl}"),
            )
        });
    }
    let asked = session.another_table(sql).await.ok()?;
    if let Some([what, advice]) = asked {
        return Some(Finding::error(what, advice));
    }
    let may = format!(
        "SELECT string_agg(verb, ', ') FROM unnest(ARRAY['USAGE', 'SELECT', 'INSERT', 'UPDATE', 'DELETE']) verb \
         WHERE NOT CASE verb WHEN 'USAGE' THEN has_schema_privilege('{schema}', verb) ELSE has_table_privilege(\
         (SELECT pg_class.oid FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace \
         WHERE nspname = '{schema}' AND relname = 'document'), verb) END"
    );
    let asked = session.ask("rights", &may, &[]).await.ok()?;
    let missing: Option<String> = asked.first()?.try_get(0).ok()?;
    missing.map(|missing| {
        Finding::error(
            format!("this role lacks {missing} on {table} at {place}"),
            format!(
                "have a DBA run: GRANT USAGE ON SCHEMA \"{schema}\" TO ROLE_OF_ELECT; \
                 GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO ROLE_OF_ELECT"
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::VERSIONS;

    #[test]
    fn versions_with_faults_are_known() {
        for (version, faults) in
            [("11.22", 1), ("14.3 (Debian 14.3-1)", 1), ("14.4", 0), ("15.18", 0), ("19devel", 0)]
        {
            assert_eq!(VERSIONS.findings("a:1", version).count(), faults, "{version}");
        }
    }
}
