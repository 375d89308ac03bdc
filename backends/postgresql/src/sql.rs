//! The statements.

use elect_record::table::{Key, Range};

/// The statements for one schema.
pub(crate) struct Sql {
    pub(crate) hello: String,
    /// The columns of the table, if it is there. A new session takes longer for this than for all of `hello`.
    pub(crate) columns: String,
    row: String,
    candidates: String,
    leaders: String,
    pub(crate) insert: String,
    pub(crate) update: String,
    pub(crate) update_head: String,
    pub(crate) delete: String,
    /// The epoch of a database without the table.
    pub(crate) bare_epoch: String,
    /// Makes the schema and the table, and notes that no candidate need wait for a forgotten leader.
    pub(crate) create_all: String,
    pub(crate) create_table: String,
    /// For a DBA, who makes the table for a role in a schema that is there.
    pub(crate) ddl: String,
    /// Makes the schema.
    pub(crate) create_schema: String,
    /// The table, with its schema.
    pub(crate) table: String,
    pub(crate) schema: String,
}

/// The columns of the table. The server is compared with it.
pub(crate) const COLUMNS: &str =
    "election text, document text, tag bigint, head bytea, cells bytea";

/// The cluster, its timeline, and the start of the server in hexadecimal, as in
/// `0123456789abcdef-00000001-6531d1fb2a40`.
const HISTORY: &str = "(SELECT lpad(to_hex(system_identifier), 16, '0') FROM pg_control_system()) || '-' || \
                       left(pg_walfile_name(pg_current_wal_lsn()), 8) || '-' || \
                       to_hex((extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint)";

/// The timeline of a cluster that has had no promotion.
pub(crate) const FIRST_TIMELINE: &str = "00000001";

/// Asks for a commit that waits for the disk, and for synchronous replicas, if a setting says otherwise.
const SYNCHRONOUS: &str = "CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') \
                           THEN set_config('synchronous_commit', 'on', true) END";

impl Sql {
    pub(crate) fn new(schema: &str) -> Self {
        let table = format!("\"{schema}\".document");
        // The path has the number of the database, as in `base/16384/16385`.
        let epoch = format!("({HISTORY} || '-' || pg_relation_filepath('{table}'::regclass))");
        let read = |condition: &str| {
            format!(
                "SELECT epoch, election, document, tag, head, cells \
                 FROM (SELECT {epoch} AS epoch) e LEFT JOIN {table} d ON {condition}"
            )
        };
        // Parameters 1 to 6 are the same for all writes: the key, the epoch, the new tag, the head, and the channels to
        // notify.
        let written = |change: &str| {
            format!(
                "WITH written AS ({change} RETURNING tag) \
                 SELECT (SELECT count(pg_notify(c, '')) FROM unnest($6) c), {SYNCHRONOUS} FROM written"
            )
        };
        let update = |cells: &str| {
            written(&format!(
                "UPDATE {table} SET tag = $4, head = $5{cells} \
                 WHERE election = $1 AND document = $2 AND {epoch} = $3 AND tag = $7"
            ))
        };
        let make = format!(
            "CREATE TABLE {table} (election text COLLATE \"C\" NOT NULL, document text COLLATE \"C\" NOT NULL, \
             tag bigint NOT NULL, head bytea NOT NULL, cells bytea NOT NULL, PRIMARY KEY (election, document)) \
             WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)"
        );
        let create_schema = format!("CREATE SCHEMA \"{schema}\"");
        // A new session takes longer to search the catalogs. Without the right to the schema, the table may be there.
        let namespace = format!("to_regnamespace('\"{schema}\"')");
        let has_table = format!(
            "CASE WHEN has_schema_privilege({namespace}, 'USAGE') THEN to_regclass('{table}') IS NOT NULL \
             ELSE {namespace} IS NOT NULL END"
        );
        Self {
            hello: format!("SELECT current_setting('server_version'), pg_is_in_recovery(), current_setting('transaction_read_only')::bool, \
                    current_setting('lock_timeout'), lpad(to_hex(system_identifier), 16, '0'), {has_table} \
                    FROM pg_control_system()"),
            columns: "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) \
                      FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid \
                      JOIN pg_namespace ON pg_namespace.oid = relnamespace \
                      WHERE nspname = $1 AND relname = 'document' AND attnum > 0 AND NOT attisdropped"
                .to_owned(),
            row: read("election = $1 AND document = $2"),
            candidates: read("election = $1 AND document >= $2"),
            leaders: read("document = $1"),
            insert: written(&format!(
                "INSERT INTO {table} SELECT $1, $2, $4, $5, $7 WHERE {epoch} = $3 ON CONFLICT (election, document) DO NOTHING"
            )),
            update: update(", cells = $8"),
            update_head: update(""),
            delete: format!(
                "WITH gone AS (DELETE FROM {table} WHERE election = $1 AND document = $2 AND tag = $3 RETURNING tag) \
                 SELECT EXISTS (SELECT FROM gone) OR \
                 NOT EXISTS (SELECT FROM {table} WHERE election = $1 AND document = $2), \
                 (SELECT count(pg_notify(c, '')) FROM gone, unnest($4) c), (SELECT {SYNCHRONOUS} FROM gone)"
            ),
            bare_epoch: format!("SELECT {HISTORY} || '-0'"),
            // In a new schema of a cluster without a promotion, no candidate led before.
            create_all: format!(
                "{create_schema}; {make}; \
                 INSERT INTO {table} SELECT '-', 'waited', 0, convert_to({epoch}, 'UTF8'), '' \
                 WHERE {epoch} LIKE '________________-{FIRST_TIMELINE}-%'"
            ),
            create_table: make.clone(),
            ddl: format!("{make}; GRANT USAGE ON SCHEMA \"{schema}\" TO ROLE_OF_ELECT; \
                          GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO ROLE_OF_ELECT"),
            create_schema,
            table,
            schema: schema.to_owned(),
        }
    }

    /// The statement that reads a range, with its parameters.
    pub(crate) fn scan<'a>(&self, range: Range<'a>) -> (&str, Vec<&'a str>) {
        match range {
            Range::Candidates(election) => (&self.candidates, vec![election, Key::LEADER]),
            Range::Row(key) => (&self.row, vec![key.election, key.document]),
            Range::Leaders => (&self.leaders, vec![Key::LEADER]),
        }
    }
}
