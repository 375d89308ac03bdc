//! The destinations of a database, for stores whose URL may name several: the way to each, the password there, and
//! whether connections are encrypted.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use elect_api::{Error, Finding};
use tokio::net::UnixStream;

use crate::{
    Check, Host, Password, Secured, Seen, Stream, Tls, TlsSettings, Trouble, Witness, unfit,
};

/// One destination of connections to a database, and the password there.
#[derive(Clone, PartialEq)]
pub struct Destination {
    /// The way to the server.
    pub way: Way,
    /// The password, if there is one.
    pub password: Option<Password>,
}

/// The way to a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// A host on the network.
    Network(Host),
    /// A socket of this machine.
    Socket(PathBuf),
}

/// Whether connections over a network are encrypted.
#[derive(Clone, PartialEq)]
pub enum Encryption {
    /// Never.
    Off,
    /// If the server can.
    IfPossible(Tls),
    /// Always.
    Required(Tls),
}

/// How much encryption a setting asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// None.
    Off,
    /// Encryption if the server can. Any certificate is accepted.
    IfPossible,
    /// Encryption. Where a file of authorities is named, one of them must have signed the server's certificate.
    Required,
    /// Encryption with a certificate that a named authority has signed.
    Authority,
    /// Encryption with a certificate of the host's name.
    Name,
}

impl Destination {
    /// The user who logs in, for a message about a refusal. `settings` names where a password can stand, as in
    /// `PGPASSFILE`.
    pub fn login(&self, user: &str, settings: &str) -> String {
        match &self.password {
            Some(password) => format!("user {user}, {}", password.in_words()),
            None => format!(
                "user {user}, and no password is given: set ELECT_PASSWORD_FILE, {settings} or the option password-file"
            ),
        }
    }
}

impl Way {
    /// The host, if the way leads over a network.
    pub const fn host(&self) -> Option<&Host> {
        match self {
            Self::Network(host) => Some(host),
            Self::Socket(_) => None,
        }
    }

    /// The host as requests of HTTP name it: without the usual port.
    pub fn authority(&self, usual: u16) -> String {
        match self.host() {
            Some(host) if host.port == usual => host.name.clone(),
            Some(host) => host.to_string(),
            None => "localhost".to_owned(),
        }
    }

    /// The first of these sockets that is there, or else the first: servers of several systems have theirs elsewhere.
    pub fn usual<const N: usize>(sockets: [&str; N]) -> Self {
        let found = sockets.iter().find(|path| Path::new(path).exists()).unwrap_or(&sockets[0]);
        Self::Socket(found.into())
    }

    /// Connects without TLS. The `witness` forgets an earlier connection.
    ///
    /// # Errors
    /// The trouble, as [`connect`](crate::connect).
    pub async fn connect(&self, witness: &Witness) -> Result<Stream, Trouble> {
        match self {
            Self::Network(host) => crate::connect(host, witness).await,
            Self::Socket(path) => connect_locally(path, witness).await,
        }
    }

    /// Connects, with TLS from the first byte where `encryption` asks for it. The `witness` forgets an earlier
    /// connection.
    ///
    /// # Errors
    /// The trouble, as [`dial`](crate::dial()).
    pub async fn dial(
        &self,
        encryption: &Encryption,
        witness: &Witness,
    ) -> Result<Stream, Trouble> {
        match self {
            Self::Network(host) => {
                crate::dial(host, encryption.secured(self)?.as_ref(), witness).await
            }
            Self::Socket(path) => connect_locally(path, witness).await,
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(host) => host.fmt(f),
            Self::Socket(path) => path.display().fmt(f),
        }
    }
}

/// The encryption that settings ask for.
pub struct Wanted {
    /// How much.
    pub demand: Demand,
    /// What asks for it, as in `sslmode=require`.
    pub setting: String,
    /// What to add to the URL for all checks, as in `sslmode=verify-full`.
    pub better: &'static str,
    /// The files of the authorities, of the client's certificate, and of its key.
    pub files: [Option<String>; 3],
    /// The name in the server's certificate, if it is not that of the host.
    pub server_name: Option<String>,
}

impl Encryption {
    /// Reads the files of these settings, as much as is asked for. `names` are the names of the files in messages.
    ///
    /// # Errors
    /// As [`Tls::new`]; `Unfit` if an authority has to be named.
    pub fn new(wanted: &Wanted, names: [&'static str; 3], hosts: &[Host]) -> Result<Self, Error> {
        let Wanted { demand, setting, files: [ca, cert, key], .. } = wanted;
        let check = match demand {
            Demand::Off => return Ok(Self::Off),
            Demand::Required if ca.is_some() => Check::Authority,
            Demand::IfPossible | Demand::Required => Check::Nothing,
            Demand::Authority if ca.is_none() => {
                let [authority, ..] = names;
                return Err(unfit(format!(
                    "{setting} takes the file of an authority: name one with {authority}"
                )));
            }
            Demand::Authority => Check::Authority,
            Demand::Name => Check::Name,
        };
        let ca = ca.clone().filter(|_| check != Check::Nothing);
        let (cert, key, server_name) = (cert.clone(), key.clone(), wanted.server_name.clone());
        let tls = Tls::new(TlsSettings { ca, cert, key, check, server_name, names }, &[], hosts)?;
        let is_optional = *demand == Demand::IfPossible;
        Ok(if is_optional { Self::IfPossible(tls) } else { Self::Required(tls) })
    }

    /// What it takes to begin TLS; `None` where connections stay in the clear, as on a socket.
    ///
    /// # Errors
    /// The trouble that no certificate can have the host's name.
    pub fn secured(&self, way: &Way) -> Result<Option<Secured>, Trouble> {
        let (Self::IfPossible(tls) | Self::Required(tls), Some(host)) = (self, way.host()) else {
            return Ok(None);
        };
        tls.secure(host).map(Some).map_err(|error| Trouble::Failed(error.to_string()))
    }

    /// Returns whether each server proves that it has the name in the URL.
    pub fn checks_names(&self) -> bool {
        matches!(self, Self::Required(tls) if tls.pem.check == Check::Name)
    }

    /// Returns whether each server proves which one it is.
    fn is_checked(&self) -> bool {
        matches!(self, Self::Required(tls) if tls.pem.check != Check::Nothing)
    }

    /// The places where others can learn the password: its file, and a server that proves nothing.
    pub fn cautions(&self, destinations: &[Destination], wanted: &Wanted) -> Vec<Finding> {
        let Wanted { setting, better, .. } = wanted;
        let far = |destination: &&Destination| {
            destination.password.is_some()
                && destination.way.host().is_some_and(|host| !host.is_loopback())
        };
        let sent = destinations.iter().find(far).filter(|_| !self.is_checked()).map(|destination| {
            Finding::warning(
                format!(
                    "with {setting}, any machine on the way to {} can pose as the server and ask for the password",
                    destination.way
                ),
                format!("have the server speak TLS, and add {better} to the URL"),
            )
        });
        let exposed =
            destinations.iter().find_map(|destination| destination.password.as_ref()?.exposure());
        sent.into_iter().chain(exposed).collect()
    }
}

async fn connect_locally(path: &Path, witness: &Witness) -> Result<Stream, Trouble> {
    witness.restore(Seen::default());
    let stream = UnixStream::connect(path).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Trouble::Refused,
        _ => Trouble::NoWay(error.to_string()),
    })?;
    Ok(Stream::new(stream, witness.clone()))
}
