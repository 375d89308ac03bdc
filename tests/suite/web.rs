//! Applications that speak HTTP, and their clients.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::prelude::*;

/// Answers every request with these bytes, and hangs where there are none.
pub(crate) struct Application {
    address: SocketAddr,
    answer: Arc<Mutex<&'static [u8]>>,
    asked: Arc<Mutex<String>>,
}

pub(crate) const WELL: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
pub(crate) const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy";

impl Application {
    pub(crate) fn start(answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (answer, asked) = (Arc::new(Mutex::new(answer)), Arc::<Mutex<String>>::default());
        let (shared, heard) = (Arc::clone(&answer), Arc::clone(&asked));
        thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut request = [0; 1024];
                let length = stream.read(&mut request).unwrap_or(0);
                *heard.lock().unwrap() = String::from_utf8_lossy(&request[..length]).into_owned();
                let answer = *shared.lock().unwrap();
                if answer.is_empty() {
                    kept.push(stream);
                } else {
                    let _ = stream.write_all(answer);
                }
            }
        });
        Self { address, answer, asked }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The last request.
    pub(crate) fn asked(&self) -> String {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn answers(&self, answer: &'static [u8]) {
        *self.answer.lock().unwrap() = answer;
    }
}

/// Returns the status and the body of a GET; `None` without an answer.
pub(crate) fn get(address: &str, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    match stream.read_to_string(&mut text) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
        _ => {}
    }
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}
