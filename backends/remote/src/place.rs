//! The places of a database, for stores whose URL may name several: the way to each, the password there, and whether
//! connections are encrypted.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use elect_api::{Error, ErrorKind, Finding};
use tokio::net::UnixStream;

use crate::{Check, Host, Password, Secured, Seen, Stream, Tls, TlsSettings, Trouble, Witness};

/// One place of a database, and the password there.
#[derive(Clone, PartialEq)]
pub struct Place {
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

impl Place {
    /// Who logs in, for a message about a refusal. `settings` names where a password can stand, as in `PGPASSFILE`.
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
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(host) => host.fmt(f),
            Self::Socket(path) => path.display().fmt(f),
        }
    }
}

impl Encryption {
    /// Reads the files of these settings, as much as is asked for. What they say of checks does not count. `setting` is
    /// what asks, as in `sslmode=require`.
    ///
    /// # Errors
    /// As [`Tls::new`]; `Unfit` if an authority has to be named.
    pub fn new(
        demand: Demand,
        setting: &str,
        settings: TlsSettings,
        hosts: &[Host],
    ) -> Result<Self, Error> {
        let [authority, ..] = settings.names;
        let check = match demand {
            Demand::Off => return Ok(Self::Off),
            Demand::Required if settings.ca.is_some() => Check::Authority,
            Demand::IfPossible | Demand::Required => Check::Nothing,
            Demand::Authority if settings.ca.is_none() => {
                let what =
                    format!("{setting} takes the file of an authority: name one with {authority}");
                return Err(Error::new(ErrorKind::Unfit, what));
            }
            Demand::Authority => Check::Authority,
            Demand::Name => Check::Name,
        };
        let ca = settings.ca.filter(|_| check != Check::Nothing);
        let tls = Tls::new(TlsSettings { ca, check, ..settings }, &[], hosts)?;
        Ok(if demand == Demand::IfPossible { Self::IfPossible(tls) } else { Self::Required(tls) })
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

    /// Whether each server proves which one it is.
    fn is_checked(&self) -> bool {
        matches!(self, Self::Required(tls) if tls.pem.check != Check::Nothing)
    }

    /// The places where others can learn the password: its file, and a server that proves nothing. `setting` says what
    /// is set, as in `sslmode=prefer`, and `better` what to add to the URL.
    pub fn cautions(&self, places: &[Place], setting: &str, better: &str) -> Vec<Finding> {
        let far = |place: &&Place| {
            place.password.is_some() && place.way.host().is_some_and(|host| !host.is_loopback())
        };
        let sent = places.iter().find(far).filter(|_| !self.is_checked()).map(|place| {
            Finding::warning(
                format!(
                    "with {setting}, any machine on the way to {} can pose as the server and ask for the password",
                    place.way
                ),
                format!("have the server speak TLS, and add {better} to the URL"),
            )
        });
        let exposed = places.iter().find_map(|place| place.password.as_ref()?.exposure());
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
