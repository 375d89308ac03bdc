//! The statements. Values stand in them as numbers, or as bytes in hexadecimal, so none can be read as anything else.

use std::fmt::Write as _;

use elect_record::table::{Body, Key, Range};

/// What the server says of itself to all users: MariaDB has it in one place, MySQL in another. Each skips the comment
/// of the other.
pub(crate) const STATUS: &str =
    "/*M! information_schema.GLOBAL_STATUS */ /*!80000 performance_schema.global_status */";
/// Whether the server takes no writes, even from a user that may write on a replica. A reader of Aurora has the second
/// setting alone.
const READ_ONLY: &str = "(CAST(@@read_only AS CHAR) NOT IN ('0', 'OFF') OR CAST(@@innodb_read_only AS CHAR) NOT IN ('0', 'OFF'))";
/// The name of the epoch of a database without a table, or of a table without an id, begins so.
pub(crate) const NONE: &str = "none";
/// The engine and the columns of the table. The server is compared with them.
pub(crate) const COLUMNS: &str = "InnoDB: election varbinary key, document varbinary key, tag bigint, head mediumblob, \
                                  cells mediumblob";
/// What a session needs, whatever the server's settings are. A lock of others holds a statement up for 1 s.
pub(crate) const SETTINGS: [&str; 2] = [
    "SET SESSION autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
     innodb_lock_wait_timeout = 1, lock_wait_timeout = 1, time_zone = '+00:00'/*M! , max_statement_time = 0 */\
     /*!80000 , max_execution_time = 0 */",
    // A binlog then has the rows, and not the statement, whose epoch would be another one on a replica.
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];

/// The statements for one table.
pub(crate) struct Sql {
    pub(crate) table: String,
    /// The database and the table, as literals.
    names: [String; 2],
    pub(crate) hello: String,
    /// The epoch of a table that is there.
    pub(crate) epoch: String,
    /// The epoch of a database without the table, and whether no candidate can have led there.
    pub(crate) bare: String,
    pub(crate) create: String,
    /// Makes candidates wait for the one that makes the table, so that it alone says whether the table is new.
    pub(crate) lock: String,
    /// For a DBA, who makes the table for a user.
    pub(crate) ddl: String,
    pub(crate) grants: String,
}

impl Sql {
    pub(crate) fn new(database: &str, table: &str) -> Self {
        let names = [database, table].map(|name| format!("_utf8mb4 {}", hex(name)));
        let [schema, name] = &names;
        let columns = format!(
            "(SELECT CONCAT(engine, ': ', (SELECT GROUP_CONCAT(CONCAT(column_name, ' ', data_type, \
             IF(column_key = 'PRI', ' key', '')) ORDER BY ordinal_position SEPARATOR ', ') \
             FROM information_schema.COLUMNS WHERE table_schema = {schema} AND table_name = {name})) \
             FROM information_schema.TABLES WHERE table_schema = {schema} AND table_name = {name})"
        );
        let create = |table: &str| {
            format!(
                "CREATE TABLE {table} (election VARBINARY(128) NOT NULL, document VARBINARY(64) NOT NULL, \
                 tag BIGINT NOT NULL, head MEDIUMBLOB NOT NULL, cells MEDIUMBLOB NOT NULL, \
                 PRIMARY KEY (election, document)) ENGINE=InnoDB"
            )
        };
        let full = format!("`{}`.`{table}`", database.replace('`', "``"));
        let grants =
            format!("GRANT SELECT, INSERT, UPDATE, DELETE ON {full} TO 'USER_OF_ELECT'@'%'");
        let mut sql = Self {
            hello: format!("SELECT VERSION(), {READ_ONLY}, @@max_allowed_packet, {columns}"),
            epoch: String::new(),
            bare: String::new(),
            create: create(&format!("`{table}`")),
            lock: format!(
                "SELECT GET_LOCK(LEFT(SHA2(CONCAT('elect.', DATABASE(), '.{table}'), 256), 60), 2)"
            ),
            ddl: create(&full),
            grants,
            table: table.to_owned(),
            names,
        };
        sql.epoch = format!("SELECT {}", sql.epoch_of(&sql.id()));
        sql.bare = format!("SELECT {}, {}", history(NONE_TEXT, "0"), VIRGIN);
        sql
    }

    /// The id in the table, which its maker has drawn.
    fn id(&self) -> String {
        // The table of an UPDATE may be read within it only through a second one. Short columns keep that in memory.
        format!(
            "COALESCE((SELECT id FROM (SELECT CAST(head AS CHAR(16)) AS id FROM `{}` \
             WHERE election = '-' AND document = 'made') made), {NONE_TEXT})",
            self.table
        )
    }

    fn epoch_of(&self, id: &str) -> String {
        let [schema, name] = &self.names;
        let created = format!(
            "(SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.TABLES \
             WHERE table_schema = {schema} AND table_name = {name})"
        );
        history(id, &created)
    }

    fn present(&self) -> String {
        self.epoch_of(&self.id())
    }

    pub(crate) fn scan(&self, range: Range<'_>) -> String {
        let condition = match range {
            Range::Candidates(election) => {
                format!("election = {} AND document >= {}", hex(election), hex(Key::LEADER))
            }
            Range::Row(key) => is(key),
            Range::Leaders => format!("document = {}", hex(Key::LEADER)),
        };
        format!(
            "SELECT epoch, read_only, election, document, tag, head, cells \
             FROM (SELECT {} AS epoch, {READ_ONLY} AS read_only) e LEFT JOIN `{}` d ON {condition}",
            self.present(),
            self.table
        )
    }

    pub(crate) fn insert(&self, key: Key<'_>, epoch: &str, tag: i64, body: &Body) -> String {
        let Key { election, document } = key;
        let texts = [election, document, &body.head, &body.cells].map(hex);
        let [election, document, head, cells] = texts;
        format!(
            "INSERT INTO `{}` (election, document, tag, head, cells) \
             SELECT {election}, {document}, {tag}, {head}, {cells} FROM DUAL WHERE {}",
            self.table,
            self.is_present(epoch)
        )
    }

    pub(crate) fn update(
        &self,
        key: Key<'_>,
        epoch: &str,
        (expected, tag): (i64, i64),
        body: &Body,
    ) -> String {
        let cells = if body.has_same_cells {
            String::new()
        } else {
            format!(", cells = {}", hex(&body.cells))
        };
        format!(
            "UPDATE `{}` SET tag = {tag}, head = {}{cells} WHERE {} AND tag = {expected} AND {}",
            self.table,
            hex(&body.head),
            is(key),
            self.is_present(epoch)
        )
    }

    fn is_present(&self, epoch: &str) -> String {
        format!("{} = {} AND NOT {READ_ONLY}", self.present(), hex(epoch))
    }

    pub(crate) fn delete(&self, key: Key<'_>, tag: i64) -> String {
        format!(
            "DELETE FROM `{}` WHERE {} AND tag = {tag} AND NOT {READ_ONLY}",
            self.table,
            is(key)
        )
    }

    pub(crate) fn is_there(&self, key: Key<'_>) -> String {
        format!("SELECT 1 FROM `{}` WHERE {}", self.table, is(key))
    }

    /// Gives the table an id. If the table is new, this also notes that no candidate need wait for a forgotten leader,
    /// where none can have led.
    pub(crate) fn name(&self, id: &str, is_new: bool) -> String {
        let id = hex(id);
        let mut statement = format!(
            "INSERT INTO `{}` (election, document, tag, head, cells) \
             SELECT '-', 'made', 0, {id}, '' FROM DUAL WHERE NOT {READ_ONLY}",
            self.table
        );
        if is_new {
            let waited = format!(
                " UNION ALL SELECT '-', 'waited', 0, {}, '' FROM DUAL WHERE {VIRGIN}",
                self.epoch_of(&id)
            );
            statement.push_str(&waited);
        }
        statement
    }

    /// The name of the lock that the session of an election's leader holds, as an expression.
    pub(crate) fn lead(&self, election: &str) -> String {
        format!(
            "LEFT(SHA2(CONCAT('elect.', DATABASE(), '.{}.', {}), 256), 60)",
            self.table,
            hex(election)
        )
    }

    /// Statements that change nothing, each with the right that it takes.
    pub(crate) fn trials(&self) -> [(&'static str, String); 4] {
        let table = &self.table;
        [
            ("SELECT", format!("SELECT 1 FROM `{table}` WHERE FALSE")),
            (
                "INSERT",
                format!(
                    "INSERT INTO `{table}` (election, document, tag, head, cells) \
                     SELECT '', '', 0, '', '' FROM DUAL WHERE FALSE"
                ),
            ),
            ("UPDATE", format!("UPDATE `{table}` SET tag = 0 WHERE FALSE")),
            ("DELETE", format!("DELETE FROM `{table}` WHERE FALSE")),
        ]
    }
}

/// Takes a lock if it is free: then the answer is 1.
pub(crate) fn take(lock: &str) -> String {
    format!("SELECT GET_LOCK({lock}, 0)")
}

pub(crate) fn release(lock: &str) -> String {
    format!("DO RELEASE_LOCK({lock})")
}

/// Waits for the end of a lock of another session, for 8 s at most. The answer is [`ENDED`] if it has ended. A lock
/// that is free is left alone, so that a leader gets it.
pub(crate) fn wait(lock: &str) -> String {
    format!(
        "SELECT IF(IS_FREE_LOCK({lock}), 'free', CASE GET_LOCK({lock}, 8) \
         WHEN 1 THEN IF(RELEASE_LOCK({lock}), '{ENDED}', '') WHEN 0 THEN '{LASTS}' END)"
    )
}

/// The answers to [`wait`]: the lock has ended, or lasts.
pub(crate) const ENDED: &str = "ended";
pub(crate) const LASTS: &str = "lasts";

const NONE_TEXT: &str = "'none'";
/// Whether the server never was a replica, as a replica that takes over may have lost the table. MySQL tells that only
/// if its transactions have numbers: it then has executed none of another server.
const VIRGIN: &str = "/*M! @@gtid_slave_pos = '' */ \
                      /*!80000 (@@gtid_mode = 'ON' AND @@gtid_executed NOT LIKE '%,%' \
                      AND (@@gtid_executed = '' OR @@gtid_executed LIKE CONCAT(@@server_uuid, ':%'))) */";

/// MariaDB's counters of statements that make a server a replica. An old primary that has been one since, and leads
/// again without a restart, may lack writes. MySQL shows no such counter.
const TURNS: &str =
    "'COM_CHANGE_MASTER', 'COM_START_SLAVE', 'COM_SLAVE_START', 'COM_START_ALL_SLAVES'";

/// The epoch: the table's id and birth, the start of the server, how often it became a replica, and which server it is.
///
/// The start is told in seconds, in which a server may start twice. So the end of a UUID stands beside it: the server
/// draws that part anew at each start, and if its clock is put back.
fn history(id: &str, created: &str) -> String {
    format!(
        "CONCAT_WS('-', {id}, {created}, (SELECT CONCAT_WS('-', \
         UNIX_TIMESTAMP() - MAX(IF(variable_name = 'UPTIME', variable_value, NULL)), \
         SUM(IF(variable_name = 'UPTIME', 0, variable_value))) FROM {STATUS} \
         WHERE variable_name IN ('UPTIME', {TURNS})), SUBSTR(UUID(), 20), @@server_id, @@port, @@hostname)"
    )
}

fn is(key: Key<'_>) -> String {
    format!("election = {} AND document = {}", hex(key.election), hex(key.document))
}

/// A text as a literal.
fn hex(text: &str) -> String {
    let mut literal = String::with_capacity(2 * text.len() + 3);
    literal.push_str("x'");
    for byte in text.bytes() {
        let _ = write!(literal, "{byte:02x}");
    }
    literal.push('\'');
    literal
}
