//! One connection to one server.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use elect_api::count_trip;
use elect_remote::{
    Address, Destination, Encryption, Notices, Product, Pulse, Stream, Trouble, Witness,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::Severity;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Row};

use crate::PRODUCT;
use crate::error::{self, Failure, Refusal};
use crate::sql::{COLUMNS, Sql};

/// What a session of ours has and no other: by it, we know whether our settings are in force. It also bounds how long a
/// lock of others holds a statement up.
const LOCK_TIMEOUT: &str = "1009ms";
/// Asks a server whether it speaks TLS: the length, and a number that no version of the protocol has.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// The function of the server that warns of a queue of notices that is half full. All other warnings may be about a
/// commit.
const ABOUT_NOTICES: &str = "asyncQueueFillWarning";

/// A connection that has logged in.
pub(crate) struct Session {
    client: Client,
    /// The place, for messages.
    pub(crate) place: String,
    /// Whether the session is ours alone, with our settings and with notices.
    is_own: bool,
    /// What the server said of itself.
    pub(crate) server: Server,
    pub(crate) heard: Heard,
    pulse: Pulse,
}

/// What the driver of the connection has heard.
#[derive(Clone, Default)]
pub(crate) struct Heard {
    /// The number of warnings.
    warnings: Arc<AtomicU64>,
    pub(crate) notices: Arc<Notices>,
}

/// What a server says of itself.
#[derive(Debug, Default)]
pub(crate) struct Server {
    pub(crate) version: String,
    pub(crate) is_replica: bool,
    pub(crate) is_read_only: bool,
    /// The system identifier, in 16 hexadecimal digits.
    pub(crate) cluster: String,
    /// Whether the table is there.
    pub(crate) has_table: AtomicBool,
}

impl Session {
    /// Connects, logs in, and asks the server who it is.
    ///
    /// # Errors
    /// Why the server cannot be used.
    pub(crate) async fn open(
        address: &Address,
        destination: &Destination,
        sql: &Sql,
        witness: &Witness,
    ) -> Result<Self, Failure> {
        let opened = match logged_in(address, destination, witness, true).await {
            // Poolers refuse settings that they do not know.
            Err(failure) if is_about_settings(&failure) => {
                logged_in(address, destination, witness, false).await
            }
            outcome => outcome,
        };
        let (client, pulse, heard) = opened?;
        let (place, server) = (destination.way.to_string(), Server::default());
        let mut session = Self { client, place, is_own: false, server, heard, pulse };
        let row = session.one("hello", &sql.hello, &[]).await?;
        let said = Server::read(&row).ok_or(Failure::Odd("the answer is not understood"))?;
        (session.server, session.is_own) = (said.0, said.1 == LOCK_TIMEOUT);
        Ok(session)
    }

    /// Asks one question. The names of `operation` are counted.
    pub(crate) async fn ask(
        &self,
        operation: &'static str,
        statement: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Failure> {
        self.await_answer(operation, self.client.query_typed(statement, parameters)).await
    }

    /// The one row that answers a question.
    pub(crate) async fn one(
        &self,
        operation: &'static str,
        statement: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Row, Failure> {
        let rows = self.ask(operation, statement, parameters).await?;
        rows.into_iter().next().ok_or(Failure::Odd("no row"))
    }

    async fn await_answer<T>(
        &self,
        operation: &'static str,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        count_trip(operation);
        self.pulse.ask(async { asked.await.map_err(|error| error::of(&error)) }).await
    }

    /// What is wrong with the columns of the table, and the advice; `None` if they are elect's, or there is no table.
    pub(crate) async fn another_table(&self, sql: &Sql) -> Result<Option<[String; 2]>, Failure> {
        let rows = self.ask("columns", &sql.columns, &[(&sql.schema, Type::TEXT)]).await?;
        let columns: Option<String> = rows.first().and_then(|row| row.try_get(0).ok().flatten());
        let (place, table) = (&self.place, &sql.table);
        Ok(columns.filter(|columns| columns != COLUMNS).map(|columns| {
            let what = format!(
                "PostgreSQL at {place} has another table {table}: its columns are {columns}, and not {COLUMNS}"
            );
            let advice = "name another schema in the URL, as in ?schema=elect2, or rename that table";
            [what, advice.to_owned()]
        }))
    }

    /// Returns whether a commit of this role waits for a synchronous replica. Unknown counts as no.
    pub(crate) async fn awaits_replica(&self) -> bool {
        let asked = "SELECT EXISTS (SELECT FROM pg_stat_activity \
                     WHERE wait_event = 'SyncRep' AND usename = current_user)";
        let rows = self.ask("activity", asked, &[]).await.unwrap_or_default();
        rows.first().and_then(|row| row.try_get(0).ok()).unwrap_or(false)
    }

    /// Runs statements that are separated by semicolons, in one transaction.
    pub(crate) async fn run(
        &self,
        operation: &'static str,
        statements: &str,
    ) -> Result<(), Failure> {
        self.await_answer(operation, self.client.batch_execute(statements)).await
    }

    /// The number of warnings so far.
    pub(crate) fn warnings(&self) -> u64 {
        self.heard.warnings.load(Ordering::Relaxed)
    }

    /// Returns whether it tells of changes.
    pub(crate) const fn tells(&self) -> bool {
        self.is_own
    }

    /// Waits for the next notice on a channel. The first poll begins to listen.
    pub(crate) async fn notice(&self, channel: &str) -> Result<(), Failure> {
        let (mut notices, is_new) = self.heard.notices.join(channel);
        if is_new {
            let mut statements = self.unlisten();
            statements.push(format!("LISTEN \"{channel}\""));
            if let Err(failure) = self.run("listen", &statements.join("; ")).await {
                self.heard.notices.forget(channel);
                return Err(failure);
            }
        }
        // The senders are dropped when the connection ends.
        notices.changed().await.map_err(|_| Failure::Silent)
    }

    /// Stops listening to what no call waits for. A session that ends listens to nothing either.
    pub(crate) async fn hush(&self) {
        let statements = self.unlisten();
        if !statements.is_empty() {
            let _ = self.run("listen", &statements.join("; ")).await;
        }
    }

    /// The statements that end the notices that no call waits for.
    fn unlisten(&self) -> Vec<String> {
        let unused = self.heard.notices.unused();
        unused.iter().map(|channel| format!("UNLISTEN \"{channel}\"")).collect()
    }
}

impl elect_remote::Session for Session {
    type Refusal = Refusal;

    const PRODUCT: Product = PRODUCT;

    fn place(&self) -> &str {
        &self.place
    }

    fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    fn is_connected(&self) -> bool {
        !self.client.is_closed()
    }

    async fn check(&self) -> bool {
        self.client.check_connection().await.is_ok()
    }
}

impl Server {
    fn read(row: &Row) -> Option<(Self, String)> {
        let server = Self {
            version: row.try_get(0).ok()?,
            is_replica: row.try_get(1).ok()?,
            is_read_only: row.try_get(2).ok()?,
            cluster: row.try_get(4).ok()?,
            has_table: AtomicBool::new(row.try_get(5).ok()?),
        };
        Some((server, row.try_get(3).ok()?))
    }
}

fn is_about_settings(failure: &Failure) -> bool {
    failure.refusal().is_some_and(|Refusal(answer)| match answer.code().code() {
        "08P01" => answer.message().contains("startup parameter"),
        // Proxies of clouds say that it is not supported, is unknown, or has a wrong value.
        code => matches!(code, "0A000" | "42704" | "22023"),
    })
}

async fn logged_in(
    address: &Address,
    destination: &Destination,
    witness: &Witness,
    has_settings: bool,
) -> Result<(Client, Pulse, Heard), Failure> {
    let mut config = Config::new();
    config
        .user(&address.user)
        // Without a password the library would not ask the server at all.
        .password(destination.password.as_ref().map_or("", |password| password.reveal()))
        .dbname(&address.database)
        .application_name(address.url.option("application_name").unwrap_or("elect"))
        .ssl_mode(SslMode::Disable);
    if has_settings {
        config.options(format!(
            "-c lock_timeout={LOCK_TIMEOUT} -c statement_timeout=0 -c search_path=pg_catalog \
             -c client_min_messages=warning -c default_transaction_isolation=read\\ committed"
        ));
    }
    let stream = secured(address, destination, witness).await?;
    let opened = Box::pin(config.connect_raw(stream, NoTls)).await;
    let (client, connection) = opened.map_err(|error| error::of_login(&error, witness))?;
    let heard = Heard::default();
    let driver = tokio::spawn(drive(connection, heard.clone())).abort_handle();
    Ok((client, Pulse::of(driver), heard))
}

/// A connection, with TLS if it is asked for and the server agrees. The library could begin TLS as well, but takes
/// three types for it.
async fn secured(
    address: &Address,
    destination: &Destination,
    witness: &Witness,
) -> Result<Stream, Failure> {
    let mut stream = destination.way.connect(witness).await.map_err(Failure::Way)?;
    let Some(secured) = address.encryption.secured(&destination.way).map_err(Failure::Way)? else {
        return Ok(stream);
    };
    stream.write_all(&SSL_REQUEST).await?;
    stream.flush().await?;
    match (stream.read_u8().await?, &address.encryption) {
        (b'S', _) => secured.over(stream, witness).await.map_err(Failure::Way),
        (b'N', Encryption::Required(_)) => Err(Failure::Way(Trouble::NoTls)),
        (b'N', _) => Ok(stream),
        _ => Err(Failure::Odd("no answer to the request for TLS")),
    }
}

/// Moves bytes in both directions until the connection ends, and passes on notices and warnings.
async fn drive(mut connection: Connection<Stream, NoTlsStream>, heard: Heard) {
    let _end = heard.notices.end_later();
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            AsyncMessage::Notification(notice) => heard.notices.tell(notice.channel()),
            AsyncMessage::Notice(notice)
                if notice.parsed_severity() == Some(Severity::Warning)
                    && notice.routine() != Some(ABOUT_NOTICES) =>
            {
                heard.warnings.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}
