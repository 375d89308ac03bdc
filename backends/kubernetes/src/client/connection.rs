//! Connections to the API server: made by way of a proxy or straight, with or without TLS, one request at a time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use elect_remote::Host;
use hyper::Request;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;

use super::access::{Access, Server};
use super::distrust::chain_of;
use super::proxy::Kind;
use super::tls::{self, Identity};

/// How long an address of a machine is alone before the next one is tried too.
const HEAD_START: Duration = Duration::from_millis(250);
/// What the headers of an answer may have, in bytes.
const LONGEST_HEADERS: usize = 64 << 10;

/// A connection. Dropped, it is closed.
pub(super) struct Connection {
    sender: SendRequest<String>,
    /// By which access it was made: another one may show another certificate.
    access: Arc<Access>,
    /// Who we are on it, as a plugin says.
    identity: Option<Arc<Identity>>,
    /// What moves its bytes; it ends with this.
    task: JoinSet<hyper::Result<()>>,
}

/// Why there is no connection.
pub(super) struct Unconnected {
    /// What was tried, and what came of it.
    pub(super) why: String,
    /// Whether one of us does not trust the other: other certificates would help.
    pub(super) is_distrust: bool,
}

/// Why a request has no answer.
pub(super) enum Unanswered {
    /// It was not sent, and here it is.
    Unsent(Box<Request<String>>, String),
    /// It may have been.
    Lost(String),
}

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Connection {
    /// Connects to a server, as whom a plugin says that we are.
    ///
    /// # Errors
    /// What was tried, and what came of it.
    pub(super) async fn dial(
        access: &Arc<Access>,
        identity: Option<&Arc<Identity>>,
    ) -> Result<Self, Unconnected> {
        let failed = |is_distrust| move |why| Unconnected { why, is_distrust };
        let server = &access.server;
        let to_server = |why: String| format!("cannot connect to {}: {why}", server.address);
        let mut stream = Self::reach(server).await.map_err(failed(false))?;
        if let Some(tls) = &server.tls {
            let identity = identity.map(AsRef::as_ref);
            let secured = tls.connect(stream, &server.address.host.name, identity).await;
            stream = Box::new(secured.map_err(to_server).map_err(failed(true))?);
        }
        let handshake = http1::Builder::new()
            .max_buf_size(LONGEST_HEADERS)
            .handshake(TokioIo::new(stream))
            .await;
        let (sender, connection) =
            handshake.map_err(|error| failed(false)(to_server(chain_of(&error))))?;
        let mut task = JoinSet::new();
        task.spawn(connection);
        Ok(Self { sender, access: Arc::clone(access), identity: identity.cloned(), task })
    }

    /// Reaches a server, by way of its proxy.
    async fn reach(server: &Server) -> Result<Box<dyn Stream>, String> {
        let to_server = |why: String| format!("cannot connect to {}: {why}", server.address);
        let Some(proxy) = &server.proxy else {
            return Ok(Box::new(connect(&server.address.host).await.map_err(to_server)?));
        };
        let through = |why: String| {
            let (server, proxy) = (&server.address, &proxy.host);
            format!("cannot connect to {server} through the proxy at {proxy}: {why}")
        };
        let mut stream: Box<dyn Stream> = Box::new(connect(&proxy.host).await.map_err(through)?);
        if proxy.kind == Kind::Https {
            let secured = tls::connect_to_proxy(stream, &proxy.host.name).await;
            stream = Box::new(secured.map_err(through)?);
        }
        proxy.connect(stream, &server.address.host).await.map_err(through)
    }

    /// Whether it can take a request of this one, as far as is known.
    pub(super) async fn is_good_for(
        &mut self,
        access: &Arc<Access>,
        identity: Option<&Arc<Identity>>,
    ) -> bool {
        let is_ours = Arc::ptr_eq(&self.access, access) && self.identity.as_ref() == identity;
        is_ours && self.task.try_join_next().is_none() && self.sender.ready().await.is_ok()
    }

    /// Closes it.
    #[cfg(test)]
    pub(super) async fn close(&mut self) {
        self.task.shutdown().await;
    }

    /// Sends a request, and waits for the head of its answer.
    ///
    /// # Errors
    /// Whether the request was sent.
    ///
    /// # Cancellation
    /// The connection is closed.
    pub(super) async fn ask(
        &mut self,
        request: Request<String>,
    ) -> Result<hyper::Response<Incoming>, Unanswered> {
        self.sender.try_send_request(request).await.map_err(|mut failed| {
            let request = failed.take_message();
            let why = chain_of(&failed.into_error());
            match request {
                Some(request) => Unanswered::Unsent(Box::new(request), why),
                None => Unanswered::Lost(why),
            }
        })
    }
}

async fn connect(host: &Host) -> Result<TcpStream, String> {
    let addresses = lookup_host((host.name.as_str(), host.port)).await;
    let addresses =
        addresses.map_err(|error| format!("the name {} does not resolve ({error})", host.name))?;
    let stream = race(addresses).await.map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there (connection refused)".to_owned(),
        _ => error.to_string(),
    })?;
    // A request waits for its answer: nothing else would come to fill the packet.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Connects to the first address that answers. One that is silent does not hold up the others.
async fn race(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let mut addresses = addresses.peekable();
    let mut tries = JoinSet::new();
    let mut outcome = io::Error::new(io::ErrorKind::NotFound, "the name has no addresses");
    loop {
        if let Some(address) = addresses.next() {
            tries.spawn(TcpStream::connect(address));
        }
        tokio::select! {
            ended = tries.join_next() => match ended {
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => outcome = error,
                Some(Err(_)) => {}
                None => return Err(outcome),
            },
            () = tokio::time::sleep(HEAD_START), if addresses.peek().is_some() => {}
        }
    }
}
