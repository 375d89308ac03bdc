//! A server that has the id of a store, and answers all else as a test says.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// A status with headers, and a body.
pub(crate) type Answer = (&'static str, &'static str);

pub(crate) const REMOVED: Answer = ("204 No Content", "");
pub(crate) const PRECONDITION: Answer =
    ("412 Failed", "<Error><Code>PreconditionFailed</Code></Error>");
pub(crate) const DENIED: Answer = ("403 No", "<Error><Code>AccessDenied</Code></Error>");
pub(crate) const UNKNOWN: Answer = ("501 No", "<Error><Code>NotImplemented</Code></Error>");
pub(crate) const ABSENT: Answer = ("404 Not Found", "<Error><Code>NoSuchKey</Code></Error>");

/// The object with the id of the store.
pub(crate) const ID: &str = "/elect/a/rows/-/id";

/// The server. It heeds conditions for its own objects, `/-/...`.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    answer: Answer,
    /// The answers to requests of one method.
    special: HashMap<&'static str, Answer>,
    /// The heads of requests for rows.
    asked: Vec<String>,
    /// The own objects: the number in the tag of each, and its text.
    objects: HashMap<String, (usize, String)>,
    writes: usize,
}

impl Scripted {
    /// Starts a server whose note says that it has proven this: `puts` or `deletes`, or nothing.
    pub(crate) fn start(proven: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(Mutex::new(State::default()));
        let id = format!("0123456789abcdef\n00000000000000a1\n{proven}\nscripted");
        state.lock().expect("no panic").objects.insert(ID.into(), (0, id));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self { address, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    /// Sets the answer to all requests for rows.
    pub(crate) fn set(&self, answer: Answer) {
        let mut state = self.state();
        (state.answer, state.special) = (answer, HashMap::new());
    }

    /// Sets the answer to requests of one method, also for its own objects.
    pub(crate) fn set_of(&self, method: &'static str, answer: Answer) {
        self.state().special.insert(method, answer);
    }

    /// Returns the heads of the requests for rows since the last call, in small letters.
    pub(crate) fn heads(&self) -> Vec<String> {
        std::mem::take(&mut self.state().asked)
    }

    /// Returns their methods alone.
    pub(crate) fn asked(&self) -> Vec<String> {
        let word = |head: &String| head.split(' ').next().unwrap_or_default().to_owned();
        self.heads().iter().map(word).collect()
    }

    /// Returns what its note says that it has proven.
    pub(crate) fn note(&self) -> String {
        let state = self.state();
        let (_, text) = &state.objects[ID];
        text.lines().skip(2).collect::<Vec<_>>().join(" ")
    }

    /// Returns the keys of its own objects.
    pub(crate) fn own(&self) -> Vec<String> {
        self.state().objects.keys().cloned().collect()
    }
}

impl State {
    fn answer(&mut self, head: &str, body: &str) -> (String, String) {
        let mut words = head.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = path.split('?').next().unwrap_or_default();
        let text = |(status, body): Answer| (status.to_owned(), body.to_owned());
        let special = self.special.iter().find(|(known, _)| known.eq_ignore_ascii_case(method));
        if !path.contains("/-/") {
            let answer = text(special.map_or(self.answer, |(_, answer)| *answer));
            self.asked.push(head.to_owned());
            return answer;
        }
        if let Some((_, answer)) = special {
            if *answer == REMOVED {
                self.objects.remove(path);
            }
            return text(*answer);
        }
        let number = self.objects.get(path).map(|(number, _)| format!("\"{number}\""));
        let header = |name: &str| {
            let (_, rest) = head.split_once(&format!("\r\n{name}: "))?;
            rest.lines().next().map(str::to_owned)
        };
        let is_other = header("if-match").is_some_and(|wanted| Some(wanted) != number);
        if is_other && number.is_none() && method == "put" {
            return text(ABSENT);
        }
        if is_other && number.is_some() || header("if-none-match").is_some() && number.is_some() {
            return text(PRECONDITION);
        }
        match (method, self.objects.get(path)) {
            ("put", _) => {
                self.writes += 1;
                self.objects.insert(path.to_owned(), (self.writes, body.to_owned()));
                (format!("200 OK\r\nETag: \"{}\"", self.writes), String::new())
            }
            ("delete", _) => {
                self.objects.remove(path);
                text(REMOVED)
            }
            (_, Some((number, body))) => (format!("200 OK\r\nETag: \"{number}\""), body.clone()),
            (_, None) => text(ABSENT),
        }
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    let (mut read, mut buffer) = (Vec::new(), [0; 1 << 14]);
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        read.extend_from_slice(&buffer[..length]);
        let text = String::from_utf8_lossy(&read).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let wanted = head.split_once("content-length: ").map_or("0", |(_, rest)| rest);
        let wanted = wanted.lines().next().and_then(|it| it.parse().ok()).unwrap_or(0);
        if body.len() < wanted {
            continue;
        }
        let (status, body) = state.lock().expect("no panic").answer(head, body);
        let more = "Server: scripted\r\nLast-Modified: Tue, 01 Sep 2026 10:00:00 GMT";
        let length = body.len();
        let length = if status.starts_with("204") {
            String::new()
        } else {
            format!("Content-Length: {length}\r\n")
        };
        let answer = format!("HTTP/1.1 {status}\r\n{more}\r\n{length}\r\n{body}");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
        read.clear();
    }
}
