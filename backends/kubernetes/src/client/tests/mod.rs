//! The client against servers that do what a script says.

mod calls;
mod credentials;
mod found;
mod proxies;
mod secured;
mod watches;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_rustls::TlsAcceptor;

use super::{Access, Client, Failure};

/// Longer than all that happens here.
const PATIENCE: Duration = Duration::from_secs(20);
/// Too short for what never comes.
const SOON: Duration = Duration::from_millis(200);

/// A request that came.
#[derive(Debug)]
struct Seen {
    /// The number of its connection, from 1 on.
    connection: usize,
    head: String,
    body: String,
}

/// The reaction of a server to a request.
enum Reply {
    /// Writes this, and reads on.
    Write(String),
    /// Writes this, and closes the connection.
    Last(String),
    /// Writes the first, and the second once it is told to.
    Parts(String, Arc<Notify>, String),
    /// Says nothing, and keeps the connection.
    Hang,
}

/// A server. Dropped, it is gone.
struct Server {
    port: u16,
    seen: UnboundedReceiver<Seen>,
    _task: tokio::task::JoinSet<()>,
}

type Script = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

impl Server {
    async fn start(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_with(None, script).await
    }

    /// One that speaks TLS, if it has an acceptor.
    async fn start_with(
        tls: Option<TlsAcceptor>,
        script: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, seen) = unbounded_channel();
        let script: Script = Arc::new(script);
        let mut task = tokio::task::JoinSet::new();
        task.spawn(async move {
            let mut all = tokio::task::JoinSet::new();
            for connection in 1.. {
                let (stream, _) = listener.accept().await.unwrap();
                let (script, tell, tls) = (Arc::clone(&script), tell.clone(), tls.clone());
                let tell = move |seen| _ = tell.send(seen);
                all.spawn(async move {
                    match tls {
                        None => serve(stream, connection, script, tell).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, connection, script, tell).await;
                            }
                        }
                    }
                });
            }
        });
        Self { port, seen, _task: task }
    }

    /// A client without credentials.
    fn client(&self) -> Client {
        client(&json!({"server": format!("http://127.0.0.1:{}", self.port)}), &json!({}))
    }

    async fn next(&mut self) -> Seen {
        self.seen.recv().await.expect("a request")
    }
}

async fn serve<S>(mut stream: S, connection: usize, script: Script, tell: impl Fn(Seen))
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some((head, body)) = request(&mut stream).await {
        let seen = Seen { connection, head, body };
        let reply = script(&seen);
        tell(seen);
        match reply {
            Reply::Write(text) => stream.write_all(text.as_bytes()).await.unwrap(),
            Reply::Last(text) => {
                let _ = stream.write_all(text.as_bytes()).await;
                let _ = stream.shutdown().await;
                return;
            }
            Reply::Parts(first, gate, second) => {
                stream.write_all(first.as_bytes()).await.unwrap();
                gate.notified().await;
                stream.write_all(second.as_bytes()).await.unwrap();
            }
            Reply::Hang => std::future::pending().await,
        }
    }
}

/// The head and the body of the next request; `None` at the end.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<(String, String)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}

/// An answer with a body.
fn answer(status: &str, body: &str) -> String {
    answer_with(status, "", body)
}

/// The same with further headers, each with its end of line.
fn answer_with(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn ok() -> Reply {
    Reply::Write(answer("200 OK", "{}"))
}

/// A client by a kubeconfig with this cluster and this user.
fn client(cluster: &Value, user: &Value) -> Client {
    let folder = Folder::new();
    let access = Access::find(Some(&folder.kubeconfig(cluster, user)), None, nothing).unwrap();
    Client::new(access)
}

/// An environment without variables.
fn nothing(_: &str) -> Option<String> {
    None
}

/// A folder of files.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A program.
    fn program(&self, name: &str, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.write(name, &format!("#!/bin/sh\n{script}"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    /// A kubeconfig with one context.
    fn kubeconfig(&self, cluster: &Value, user: &Value) -> PathBuf {
        let text = json!({
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        });
        self.write("config", &text.to_string())
    }
}

async fn get(client: &Client) -> Result<Value, Failure> {
    client.call(Method::GET, "/x", None, PATIENCE).await
}

/// The one header of a request that has this name.
fn header<'a>(seen: &'a Seen, name: &str) -> Option<&'a str> {
    let mut found = seen.head.lines().filter_map(|line| {
        let (other, value) = line.split_once(": ")?;
        (other == name).then_some(value)
    });
    let value = found.next();
    assert_eq!(found.next(), None, "twice: {name}");
    value
}
