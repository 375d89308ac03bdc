//! One GET of an application of this machine: only the status counts.

use hyper::client::conn::http1;
use hyper::header::{HOST, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const HTTP_PORT: u16 = 80;

/// The status that `uri` is answered with.
///
/// # Errors
/// What was tried, for people.
///
/// # Cancellation
/// May be dropped at any time; the connection is closed.
pub(super) async fn status_of(uri: &Uri) -> Result<StatusCode, String> {
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((bare, uri.port_u16().unwrap_or(HTTP_PORT)))
        .await
        .map_err(|error| format!("cannot connect to {host}: {error}"))?;
    let broken = |error: hyper::Error| format!("no proper answer: {error}");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // Dropped with this future.
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().map_or(host, |authority| authority.as_str());
    let request = Request::get(path)
        .header(HOST, authority)
        .header(USER_AGENT, concat!("elect/", env!("CARGO_PKG_VERSION")))
        .body(String::new())
        .map_err(|error| error.to_string())?;
    let answer = sender.send_request(request).await.map_err(broken)?;
    Ok(answer.status())
}
