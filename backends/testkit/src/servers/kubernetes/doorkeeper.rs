//! A webhook that tells a real API server which user has which token (`--authentication-token-webhook-config-file`).
//! With it users can be added and removed while the server runs.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::super::Place;

/// A running webhook. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct Doorkeeper {
    place: Place,
    address: SocketAddr,
    known: Arc<Mutex<BTreeMap<String, String>>>,
    is_over: Arc<AtomicBool>,
}

impl Doorkeeper {
    /// Starts a webhook beside an API server.
    pub(super) fn start(place: &Place) -> Self {
        let listen = || TcpListener::bind((place.address(), 0));
        let listener = place.inside(listen).expect("a port");
        let address = listener.local_addr().expect("its address");
        let keeper =
            Self { place: place.clone(), address, known: Arc::default(), is_over: Arc::default() };
        let (known, is_over) = (Arc::clone(&keeper.known), Arc::clone(&keeper.is_over));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if is_over.load(SeqCst) {
                    break;
                }
                let known = Arc::clone(&known);
                thread::spawn(move || serve(&stream, &known));
            }
        });
        keeper
    }

    /// Returns the kubeconfig by which the API server finds it.
    pub(super) fn kubeconfig(&self) -> Value {
        let cluster = json!({"server": format!("http://{}/", self.address)});
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "door",
            "clusters": [{"name": "door", "cluster": cluster}],
            "users": [{"name": "door", "user": {}}],
            "contexts": [{"name": "door", "context": {"cluster": "door", "user": "door"}}],
        })
    }

    pub(super) fn admit(&self, user: &str, token: &str) {
        lock(&self.known).insert(token.to_owned(), user.to_owned());
    }

    pub(super) fn dismiss(&self, token: &str) {
        lock(&self.known).remove(token);
    }
}

impl Drop for Doorkeeper {
    fn drop(&mut self) {
        self.is_over.store(true, SeqCst);
        // The thread checks the flag at the next connection.
        let _ = self.place.inside(|| TcpStream::connect(self.address));
    }
}

fn lock(
    known: &Mutex<BTreeMap<String, String>>,
) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the requests of one connection.
fn serve(stream: &TcpStream, known: &Mutex<BTreeMap<String, String>>) {
    let mut reader = BufReader::new(stream);
    while let Ok(Some(review)) = read(&mut reader) {
        let token = review["spec"]["token"].as_str().unwrap_or_default();
        let status = match lock(known).get(token) {
            Some(user) => json!({"authenticated": true, "user": {"username": user, "uid": user}}),
            None => json!({"authenticated": false}),
        };
        let review = json!({
            "apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status,
        });
        let body = review.to_string();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
        if write!(&mut &*stream, "{head}{}\r\n\r\n{body}", body.len()).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// Reads the body of the next request. Returns `None` at the end of the connection.
fn read(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Value>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(number) = line.strip_prefix("content-length:") {
            length = number.trim().parse().map_err(io::Error::other)?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    serde_json::from_slice(&body).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends one review over a connection that stays open, as an API server does.
    fn review(stream: &TcpStream, token: &str) -> Value {
        let body =
            json!({"apiVersion": "authentication.k8s.io/v1", "spec": {"token": token}}).to_string();
        let head = "POST / HTTP/1.1\r\nHost: door\r\nContent-Length: ";
        write!(&mut &*stream, "{head}{}\r\n\r\n{body}", body.len()).expect("it is sent");
        read(&mut BufReader::new(stream)).expect("an answer").expect("a review")
    }

    #[test]
    fn users_come_and_go() {
        let keeper = Doorkeeper::start(&Place::here());
        let stream = TcpStream::connect(keeper.address).expect("a connection");
        let known = |token: &str| review(&stream, token)["status"]["user"]["username"].clone();
        keeper.admit("ann", "secret");
        assert_eq!((known("secret"), known("other")), (json!("ann"), Value::Null));
        keeper.dismiss("secret");
        assert_eq!(known("secret"), Value::Null);
    }
}
