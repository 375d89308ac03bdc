//! Connections to the API server, with or without a proxy and TLS. Each takes one request at a time.

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

/// The time that an address has for itself before elect tries the next one too.
const HEAD_START: Duration = Duration::from_millis(250);
/// The most bytes in the headers of an answer.
const LONGEST_HEADERS: usize = 64 << 10;

/// A connection. Dropped, it is closed.
pub(super) struct Connection {
    sender: SendRequest<String>,
    /// The access that it was made with. Another access may have another certificate.
    access: Arc<Access>,
    /// The certificate that a plugin gave us for it.
    identity: Option<Arc<Identity>>,
    /// Moves its bytes, and ends with it.
    task: JoinSet<hyper::Result<()>>,
}

/// The reason why there is no connection.
pub(super) struct Unconnected {
    /// The attempt and its outcome, for people.
    pub(super) why: String,
    /// Whether a certificate was refused, ours or the server's. New certificate files may mend that.
    pub(super) is_distrust: bool,
}

/// The reason why a request has no answer.
pub(super) enum Unanswered {
    /// The request was not sent. It comes back for another attempt.
    Unsent(Box<Request<String>>, String),
    /// The request may have been sent.
    Lost(String),
}

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Connection {
    /// Connects to the server, with the certificate of a plugin if there is one.
    ///
    /// # Errors
    /// The attempt and its outcome.
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

    /// Reaches the server, through its proxy if it has one.
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

    /// Returns whether it can take a request with these credentials, as far as we know.
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
    /// [`Unanswered`] tells whether the request was sent.
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
    // The request waits for its answer, so no more bytes will fill the packet.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Connects to the first address that answers. A silent one does not hold up the others.
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
