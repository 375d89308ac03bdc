//! This file reports to the service manager by `sd_notify(3)`, as systemd and others understand it.
//!
//! The existing crates for this block if the manager does not read, and do not support abstract sockets.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// A service manager that listens at the socket of `NOTIFY_SOCKET`.
#[derive(Debug)]
pub struct ServiceManager {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl ServiceManager {
    /// The variable that names the socket.
    pub const SOCKET: &'static str = "NOTIFY_SOCKET";
    /// The variable with the longest time between two watchdog messages, in microseconds.
    pub const WATCHDOG: &'static str = "WATCHDOG_USEC";
    /// The variable with the process id from which watchdog messages are expected.
    pub const WATCHDOG_PID: &'static str = "WATCHDOG_PID";

    /// Returns the service manager that has started this process; `None` if there is none.
    ///
    /// # Errors
    /// If the name of the socket is neither an absolute path nor `@` and an abstract name.
    pub fn from_environment() -> io::Result<Option<Self>> {
        match env::var_os(Self::SOCKET) {
            Some(name) if !name.is_empty() => Self::at(&name).map(Some),
            _ => Ok(None),
        }
    }

    fn at(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            [b'/', ..] => SocketAddr::from_pathname(name)?,
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address })
    }

    /// Sends these `NAME=value` lines, all of them or none. Never waits.
    ///
    /// # Errors
    /// If the manager does not listen, or has not read earlier messages.
    pub fn tell(&self, lines: &str) -> io::Result<()> {
        self.socket.send_to_addr(lines.as_bytes(), &self.address).map(|_| ())
    }

    /// Returns the longest time between two watchdog messages from this process, if the manager wants any.
    pub fn watchdog() -> Option<Duration> {
        let number = |name| env::var(name).ok()?.parse::<u64>().ok();
        let is_ours = env::var_os(Self::WATCHDOG_PID).is_none()
            || number(Self::WATCHDOG_PID) == Some(std::process::id().into());
        number(Self::WATCHDOG).filter(|&micros| is_ours && micros > 0).map(Duration::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn a_manager_is_told_through_a_path_or_an_abstract_socket() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let name = format!("elect-test-{}", std::process::id());
        let hidden = SocketAddr::from_abstract_name(&name).expect("a name");
        for (listener, name) in [
            (UnixDatagram::bind(&path), path.clone().into_os_string()),
            (UnixDatagram::bind_addr(&hidden), format!("@{name}").into()),
        ] {
            let listener = listener.expect("a socket");
            ServiceManager::at(&name).expect("an address").tell("READY=1\n").expect("told");
            let mut heard = [0; 64];
            let length = listener.recv(&mut heard).expect("a message");
            assert_eq!(&heard[..length], b"READY=1\n");
        }
    }

    #[test]
    fn a_name_that_makes_no_sense_is_refused() {
        for name in ["notify", "vsock:2:9999", &format!("/{}", "x".repeat(200))] {
            assert!(ServiceManager::at(OsStr::new(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn a_message_to_the_manager_never_waits() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let manager = ServiceManager::at(path.as_os_str()).expect("an address");
        assert_eq!(manager.tell("x").map_err(|error| error.kind()), Err(ErrorKind::NotFound));
        let _listener = UnixDatagram::bind(&path).expect("a socket");
        let full = (0..100_000).find_map(|_| manager.tell("x").err()).expect("a full queue");
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
    }
}
