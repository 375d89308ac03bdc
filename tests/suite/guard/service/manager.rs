//! A service manager as the unit of an `elect run` sees it: it listens on the notify socket, heeds the
//! main process only, and stops a unit by the book of its `KillMode`.

use std::io::{ErrorKind, IoSliceMut};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use elect_testkit::program::{PATIENCE, children, is_alive};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt::PassCred,
};

use crate::prelude::*;
use crate::stage::send_if_alive;

/// Which processes of a unit get TERM, and which KILL when `TimeoutStopSec` is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KillMode {
    /// All of them, for both.
    ControlGroup,
    /// The main process gets TERM, all get KILL.
    Mixed,
    /// The main process, for both.
    Process,
}

/// The manager's end of the notify socket.
pub(super) struct Manager {
    _folder: TempDir,
    socket: UnixDatagram,
    name: String,
}

impl Manager {
    /// One with a socket in a folder.
    pub(super) fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        Self::at(socket, path.display().to_string(), folder)
    }

    /// One with an abstract socket.
    pub(super) fn hidden() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let name = folder.path().display().to_string();
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        Self::at(UnixDatagram::bind_addr(&address).expect("a socket"), format!("@{name}"), folder)
    }

    fn at(socket: UnixDatagram, name: String, folder: TempDir) -> Self {
        setsockopt(&socket, PassCred, &true).expect("a socket's option");
        Self { _folder: folder, socket, name }
    }

    /// Leaves no room in the queue of the socket.
    pub(super) fn fill(&self) {
        let other = UnixDatagram::unbound().expect("a socket");
        other.set_nonblocking(true).expect("a socket's option");
        let full = (0..100_000).find_map(|_| other.send_to(b"", &self.name).err());
        assert_eq!(full.map(|error| error.kind()), Some(ErrorKind::WouldBlock));
    }

    /// `elect` as the manager starts it, as a unit's main process.
    pub(super) fn starts(self, elect: Elect) -> Unit {
        let elect = elect.env("NOTIFY_SOCKET", &self.name);
        Unit { main: elect.spawn(), manager: self, heard: Vec::new(), read: 0 }
    }
}

/// A unit that was started.
pub(super) struct Unit {
    pub(super) main: Running,
    manager: Manager,
    /// All lines that the main process sent.
    heard: Vec<String>,
    /// The number of messages that were waited for, or passed over.
    read: usize,
}

impl Unit {
    /// Takes in one message, if one comes within this time.
    #[track_caller]
    fn listen(&mut self, patience: Duration) -> bool {
        let main = self.main.pid();
        let socket = &self.manager.socket;
        socket.set_read_timeout(Some(patience)).expect("a socket's option");
        let mut bytes = [0; 4096];
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let mut space = nix::cmsg_space!(libc::ucred);
        let got = recvmsg::<SockaddrStorage>(
            socket.as_raw_fd(),
            &mut parts,
            Some(&mut space),
            MsgFlags::empty(),
        );
        let Ok(message) = got else { return false };
        let sender = message.cmsgs().expect("room for all of it").find_map(|part| match part {
            ControlMessageOwned::ScmCredentials(sender) => Some(sender.pid()),
            _ => None,
        });
        let length = message.bytes;
        if length == 0 {
            // An empty message is one with which the test filled the queue.
            return true;
        }
        let text = String::from_utf8(bytes[..length].to_vec()).expect("text");
        // As with `NotifyAccess=main`.
        assert_eq!(sender, Some(main), "{text:?} comes from another process");
        self.heard.extend(text.lines().map(str::to_owned));
        true
    }

    /// Waits for a line that begins like this, after the one that was waited for before.
    #[track_caller]
    pub(super) fn hears(&mut self, beginning: &str) -> String {
        let end = now() + PATIENCE;
        loop {
            let new = &self.heard[self.read..];
            if let Some(at) = new.iter().position(|line| line.starts_with(beginning)) {
                self.read += at + 1;
                return self.heard[self.read - 1].clone();
            }
            self.listen(Duration::from_millis(50));
            assert!(now() < end, "{beginning:?} was not heard, but {:?}", self.heard);
        }
    }

    /// Waits until no message has come for this long.
    #[track_caller]
    pub(super) fn is_silent_for(&mut self, pause: Duration) {
        let end = now() + PATIENCE;
        while self.listen(pause) {
            assert!(now() < end, "it goes on: {:?}", self.heard.last());
        }
        self.read = self.heard.len();
    }

    /// Receives all pending messages, and returns how many of all messages so far begin like this.
    #[track_caller]
    pub(super) fn has_heard(&mut self, beginning: &str) -> usize {
        while self.listen(Duration::from_millis(1)) {}
        self.heard.iter().filter(|line| line.starts_with(beginning)).count()
    }

    /// All processes of the unit, the main one first.
    #[track_caller]
    pub(super) fn processes(&mut self) -> Vec<i32> {
        let mut all = vec![self.main.pid()];
        let mut next = 0;
        while let Some(&pid) = all.get(next) {
            all.extend(children(pid));
            next += 1;
        }
        all
    }

    /// `systemctl stop`: TERM, then, if it takes longer than `timeout`, KILL. Returns how the main
    /// process ended, whether KILL was needed, and everything that was heard.
    #[track_caller]
    pub(super) fn stop(mut self, mode: KillMode, timeout: Duration) -> (Ended, bool, Vec<String>) {
        let all = self.processes();
        let told = if mode == KillMode::ControlGroup { &all[..] } else { &all[..1] };
        for &pid in told {
            send_if_alive(pid, Signal::SIGTERM);
            send_if_alive(pid, Signal::SIGCONT);
        }
        let end = now() + timeout;
        while now() < end && self.main.is_running() {
            self.listen(Duration::from_millis(5));
        }
        let needs_kill = self.main.is_running();
        if needs_kill {
            let all = self.processes();
            let killed = if mode == KillMode::Process { &all[..1] } else { &all[..] };
            for &pid in killed {
                send_if_alive(pid, Signal::SIGKILL);
            }
        }
        eventually("the end of the main process", || (!self.main.is_running()).then_some(()));
        while self.listen(Duration::from_millis(1)) {}
        eventually("the end of the unit", || all.iter().all(|&pid| !is_alive(pid)).then_some(()));
        (self.main.wait(), needs_kill, self.heard)
    }

    /// Waits for its end.
    #[track_caller]
    pub(super) fn ends(mut self) -> (Ended, Vec<String>) {
        eventually("the end of the main process", || (!self.main.is_running()).then_some(()));
        while self.listen(Duration::from_millis(1)) {}
        (self.main.wait(), self.heard)
    }
}
