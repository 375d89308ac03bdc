//! One connection to one server.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io};

use elect_api::{Error, count_trip};
use elect_remote::{Encryption, Place, Pulse, Secured, Stream, Trouble, Witness};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::Severity;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Row};

use crate::address::Address;
use crate::error::{self, Failure};
use crate::sql::{COLUMNS, Sql};

/// The longest time for a name, a connection, TLS and the login together. The engine cuts its own attempts sooner, as a
/// rule.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time for one answer, for callers that have no limit of their own.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// What a session of ours has and no other: by it, we know whether our settings are in force. It also bounds how long a
/// lock of others holds a statement up.
const LOCK_TIMEOUT: &str = "1009ms";

/// A connection that has logged in.
pub(crate) struct Session {
    client: Client,
    /// The place, for messages.
    pub(crate) place: String,
    /// Whether the session is ours alone, with our settings and with notices.
    is_own: bool,
    /// What the server said of itself.
    pub(crate) server: Server,
    state: Arc<State>,
    driver: AbortHandle,
}

/// The channels that the session listens to, each with the mark of its last notice.
type Channels = HashMap<String, watch::Sender<u64>>;

/// What the driver of the connection has noticed.
#[derive(Default)]
struct State {
    /// The number of warnings.
    warnings: AtomicU64,
    pulse: Pulse,
    channels: Mutex<Channels>,
}

impl State {
    fn channels(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a server says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    pub(crate) version: String,
    pub(crate) number: i32,
    pub(crate) is_replica: bool,
    pub(crate) is_read_only: bool,
    /// The system identifier, in 16 hexadecimal digits.
    pub(crate) cluster: String,
    /// Whether the table is there.
    pub(crate) has_table: bool,
}

impl Session {
    /// Connects, logs in, and asks the server who it is.
    ///
    /// # Errors
    /// Why the server cannot be used; never `Ambiguous`.
    pub(crate) async fn open(
        address: &Address,
        place: &Place,
        hello: &str,
        schema: &str,
        witness: &Witness,
    ) -> Result<Self, Error> {
        let opened =
            timeout(CONNECT_TIMEOUT, Box::pin(greeted(address, place, hello, schema, witness)));
        let name = place.way.to_string();
        opened
            .await
            .unwrap_or_else(|_| Err(error::unconnected(&name, &Failure::Silent, witness, "")))
    }

    /// Asks one question. The names of `operation` are counted.
    pub(crate) async fn ask(
        &self,
        operation: &'static str,
        statement: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Failure> {
        count_trip(operation);
        let asked = self.client.query_typed(statement, parameters);
        let answer = self.state.pulse.answer(ANSWER_TIMEOUT, asked).await;
        answer.ok_or(Failure::Silent)?.map_err(Failure::Server)
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

    /// Runs statements that are separated by semicolons, in one transaction.
    pub(crate) async fn run(
        &self,
        operation: &'static str,
        statements: &str,
    ) -> Result<(), Failure> {
        count_trip(operation);
        let asked = self.client.batch_execute(statements);
        let answer = self.state.pulse.answer(ANSWER_TIMEOUT, asked).await;
        answer.ok_or(Failure::Silent)?.map_err(Failure::Server)
    }

    /// The number of warnings so far.
    pub(crate) fn warnings(&self) -> u64 {
        self.state.warnings.load(Ordering::Relaxed)
    }

    /// Whether it tells of changes.
    pub(crate) const fn tells(&self) -> bool {
        self.is_own
    }

    /// Whether the session is not given up, and its connection has not ended.
    pub(crate) fn is_open(&self) -> bool {
        !self.client.is_closed() && !self.state.pulse.is_over()
    }

    /// The mark of the last notice on a channel; `None` if the session does not listen to it. No other notice, of any
    /// session, has the same mark.
    pub(crate) fn heard(&self, channel: &str) -> Option<u64> {
        self.state.channels().get(channel).map(|sender| *sender.borrow())
    }

    /// Waits for the next notice on a channel. The first poll begins to listen.
    pub(crate) async fn notice(&self, channel: &str) -> Result<(), Failure> {
        let (mut notices, statements) = {
            let mut channels = self.state.channels();
            if let Some(sender) = channels.get(channel) {
                (sender.subscribe(), None)
            } else {
                let mut statements = end_unused(&mut channels);
                statements.push(format!("LISTEN \"{channel}\""));
                let (sender, receiver) = watch::channel(mark());
                channels.insert(channel.to_owned(), sender);
                (receiver, Some(statements.join("; ")))
            }
        };
        if let Some(statements) = statements {
            count_trip("listen");
            let asked = self.client.batch_execute(&statements);
            let answer = self.state.pulse.answer(ANSWER_TIMEOUT, asked).await;
            if let Err(failure) =
                answer.ok_or(Failure::Silent).and_then(|it| it.map_err(Failure::Server))
            {
                self.state.channels().remove(channel);
                return Err(failure);
            }
        }
        // The driver drops the senders when the connection ends.
        notices.changed().await.map_err(|_| Failure::Silent)
    }

    /// Stops listening to what no call waits for. A session that ends listens to nothing either.
    pub(crate) async fn hush(&self) {
        let statements = end_unused(&mut self.state.channels());
        if !statements.is_empty() {
            let _ = self.run("listen", &statements.join("; ")).await;
        }
    }
}

impl elect_remote::Session for Session {
    async fn is_alive(&self) -> bool {
        let check = async {
            count_trip("check");
            self.client.check_connection().await.is_ok()
        };
        self.is_open() && self.state.pulse.is_there(check).await
    }

    /// Tells all that wait for notices, too.
    fn close(&self) {
        self.state.pulse.end();
        self.driver.abort();
        self.state.channels().clear();
    }
}

/// Forgets the channels that no call waits for. Returns the statements that end them.
fn end_unused(channels: &mut Channels) -> Vec<String> {
    let unused = channels.extract_if(|_, sender| sender.receiver_count() == 0);
    unused.map(|(name, _)| format!("UNLISTEN \"{name}\"")).collect()
}

fn mark() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

impl Drop for Session {
    fn drop(&mut self) {
        elect_remote::Session::close(self);
    }
}

async fn greeted(
    address: &Address,
    place: &Place,
    hello: &str,
    schema: &str,
    witness: &Witness,
) -> Result<Session, Error> {
    let session = match logged_in(address, place, witness, true).await {
        // Poolers refuse settings that they do not know.
        Err(failure) if is_about_settings(&failure) => {
            logged_in(address, place, witness, false).await
        }
        outcome => outcome,
    };
    let name = place.way.to_string();
    let failed = |failure: &Failure| {
        error::unconnected(&name, failure, witness, &place.login(&address.user, "PGPASSFILE"))
    };
    let (client, driver, state) = session.map_err(|failure| match failure {
        Unopened::Way(trouble) => {
            error::told(&format!("cannot use PostgreSQL at {name}"), &trouble)
        }
        Unopened::Login(failure) => failed(&failure),
    })?;
    let mut session = Session {
        client,
        place: name.clone(),
        is_own: false,
        server: Server::default(),
        state,
        driver,
    };
    let answer = session.ask("hello", hello, &[(&schema, Type::TEXT)]).await;
    let rows = answer.map_err(|failure| failed(&failure))?;
    let said = rows.first().and_then(Server::read);
    let (server, lock_timeout) = said.ok_or_else(|| {
        let what = format!("PostgreSQL at {name} gives an answer that is not understood");
        Error::new(elect_api::ErrorKind::Unfit, what)
    })?;
    session.is_own = lock_timeout == LOCK_TIMEOUT;
    session.server = server;
    Ok(session)
}

impl Server {
    fn read(row: &Row) -> Option<(Self, String)> {
        let server = Self {
            version: row.try_get(0).ok()?,
            number: row.try_get(1).ok()?,
            is_replica: row.try_get(2).ok()?,
            is_read_only: row.try_get(3).ok()?,
            cluster: row.try_get(5).ok()?,
            has_table: row.try_get(6).ok()?,
        };
        Some((server, row.try_get(4).ok()?))
    }
}

/// Why there is no session.
enum Unopened {
    Way(Trouble),
    Login(Failure),
}

fn is_about_settings(unopened: &Unopened) -> bool {
    let Unopened::Login(failure) = unopened else { return false };
    failure.answer().is_some_and(|answer| match answer.code().code() {
        "08P01" => answer.message().contains("startup parameter"),
        // Proxies of clouds say that it is not supported, is unknown, or has a wrong value.
        code => matches!(code, "0A000" | "42704" | "22023"),
    })
}

async fn logged_in(
    address: &Address,
    place: &Place,
    witness: &Witness,
    has_settings: bool,
) -> Result<(Client, AbortHandle, Arc<State>), Unopened> {
    let mut config = Config::new();
    config
        .user(&address.user)
        // Without a password the library would not ask the server at all.
        .password(place.password.as_ref().map_or("", |password| password.reveal()))
        .dbname(&address.database)
        .application_name(&address.application);
    if has_settings {
        config.options(format!(
            "-c lock_timeout={LOCK_TIMEOUT} -c statement_timeout=0 -c search_path=pg_catalog \
             -c client_min_messages=warning -c default_transaction_isolation=read\\ committed"
        ));
    }
    let stream = place.way.connect(witness).await.map_err(Unopened::Way)?;
    let secured = address.encryption.secured(&place.way).map_err(Unopened::Way)?;
    config.ssl_mode(match (&address.encryption, &secured) {
        (_, None) | (Encryption::Off, _) => SslMode::Disable,
        (Encryption::IfPossible(_), _) => SslMode::Prefer,
        (Encryption::Required(_), _) => SslMode::Require,
    });
    let starter = Starter { secured, witness: witness.clone() };
    let opened = Box::pin(config.connect_raw(stream, starter)).await;
    let (client, connection) = opened.map_err(|error| Unopened::Login(Failure::Server(error)))?;
    let state = Arc::new(State::default());
    let driver = tokio::spawn(drive(connection, Arc::clone(&state))).abort_handle();
    Ok((client, driver, state))
}

/// Moves bytes in both directions until the connection ends, and passes on notices and warnings.
async fn drive(mut connection: Connection<Stream, Wire>, state: Arc<State>) {
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            AsyncMessage::Notification(notice) => {
                let channels = state.channels();
                if let Some(sender) = channels.get(notice.channel()) {
                    sender.send_replace(mark());
                }
            }
            AsyncMessage::Notice(notice) if notice.parsed_severity() == Some(Severity::Warning) => {
                state.warnings.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
    state.channels().clear();
}

/// Begins TLS after the server has agreed to it.
struct Starter {
    secured: Option<Secured>,
    witness: Witness,
}

/// A connection with TLS.
struct Wire(Stream);

impl TlsConnect<Stream> for Starter {
    type Stream = Wire;
    type Error = Trouble;
    type Future = Pin<Box<dyn Future<Output = Result<Wire, Trouble>> + Send>>;

    fn connect(self, stream: Stream) -> Self::Future {
        Box::pin(async move {
            let secured = self.secured.ok_or(Trouble::NoTls)?;
            secured.over(stream, &self.witness).await.map(Wire)
        })
    }
}

impl TlsStream for Wire {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("place", &self.place).finish_non_exhaustive()
    }
}
