//! Why a server cannot be used: its kind, and the words for people.

use std::io;

use elect_api::ErrorKind;
use rustls::{AlertDescription, CertificateError, Error as Rustls};

/// A failure on the way to a server, or what answers there instead.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// The name does not resolve.
    NoSuchName(String),
    /// The machine is there, and no program listens.
    Refused,
    /// The machine cannot be reached.
    NoWay(String),
    /// No answer came in time.
    Silent,
    /// The server closed the connection. Before TLS is spoken, it did so without a byte.
    HungUp,
    /// The server closed the connection in the middle of the TLS handshake.
    BrokenOff,
    /// The server speaks TLS, and this connection is in the clear.
    WantsTls,
    /// The answer to TLS is not TLS.
    NoTls,
    /// The server speaks TLS, and has no protocol in common with this client inside it.
    NoProtocol,
    /// The server's certificate is not accepted.
    Certificate(CertificateError),
    /// The server ended TLS with this alert.
    Alert(AlertDescription),
    /// TLS failed in another way.
    Tls(Rustls),
    /// The connection failed in another way.
    Failed(String),
}

/// What a store's URLs look like, for advice.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// The scheme for connections in the clear.
    pub clear: &'static str,
    /// The scheme for connections with TLS.
    pub tls: &'static str,
    /// The advice for a server whose certificate is for another name.
    pub other_name: &'static str,
}

impl Trouble {
    /// The trouble that an error of a connection stands for.
    pub fn of(error: &io::Error) -> Self {
        use io::ErrorKind::{
            BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof,
        };
        if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<Rustls>()) {
            return match error {
                Rustls::InvalidCertificate(cause) => Self::Certificate(cause.clone()),
                Rustls::AlertReceived(AlertDescription::NoApplicationProtocol)
                | Rustls::NoApplicationProtocol => Self::NoProtocol,
                Rustls::AlertReceived(alert) => Self::Alert(*alert),
                Rustls::InvalidMessage(_) => Self::NoTls,
                other => Self::Tls(other.clone()),
            };
        }
        match error.kind() {
            ConnectionRefused => Self::Refused,
            ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof => Self::HungUp,
            _ => Self::Failed(error.to_string()),
        }
    }

    /// Whether there was no connection at all, so that other credentials or certificates do not help.
    pub const fn is_unanswered(&self) -> bool {
        matches!(self, Self::NoSuchName(_) | Self::Refused | Self::NoWay(_) | Self::Silent)
    }

    /// Whether it is about TLS, which the server speaks.
    pub const fn is_of_tls(&self) -> bool {
        matches!(self, Self::NoProtocol | Self::Certificate(_) | Self::Alert(_) | Self::Tls(_))
    }

    /// The conclusion for the engine. A name may come back, and a silent server may answer. A program that speaks
    /// another protocol, or has another certificate, is not the server that the URL means.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            // Servers in Go send it while they have no certificate to show.
            Self::Alert(AlertDescription::InternalError) => ErrorKind::Unreachable,
            Self::Alert(AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure)
            | Self::WantsTls
            | Self::NoTls
            | Self::NoProtocol
            | Self::Certificate(_)
            | Self::Tls(Rustls::PeerIncompatible(_)) => ErrorKind::Unfit,
            Self::Alert(_) => ErrorKind::Denied,
            _ => ErrorKind::Unreachable,
        }
    }

    /// The trouble in words, with the way out.
    pub fn in_words(&self, hints: &Hints) -> String {
        use CertificateError as Wrong;
        let text = match self {
            Self::NoSuchName(_) => "the name does not resolve",
            Self::Refused => "nothing listens there (connection refused)",
            Self::NoWay(_) => "the machine cannot be reached",
            Self::Silent => "no answer",
            Self::HungUp => "it closes the connection without a word",
            Self::BrokenOff => {
                "it closes the connection in the middle of the TLS handshake: it may require a client certificate that \
                 it trusts (the options cert and key)"
            }
            Self::WantsTls => return format!("it expects TLS: write {}:// in the URL", hints.tls),
            Self::NoTls => {
                return format!("it does not speak TLS: write {}:// in the URL", hints.clear);
            }
            Self::NoProtocol => "it does not speak the store's protocol inside TLS",
            Self::Certificate(Wrong::UnknownIssuer | Wrong::BadSignature) => {
                "its certificate is not signed by a trusted authority: name the authority with the option ca"
            }
            Self::Certificate(Wrong::Expired | Wrong::ExpiredContext { .. }) => {
                "its certificate has expired"
            }
            Self::Certificate(Wrong::NotValidForName | Wrong::NotValidForNameContext { .. }) => {
                return format!("its certificate is for another name: {}", hints.other_name);
            }
            Self::Certificate(_) => "its certificate is not valid",
            Self::Alert(AlertDescription::InternalError) => "it cannot speak TLS now",
            Self::Alert(AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure)
            | Self::Tls(Rustls::PeerIncompatible(_)) => {
                "it speaks neither TLS 1.2 nor 1.3 in a way that we do"
            }
            Self::Alert(AlertDescription::UnrecognisedName) => {
                return format!(
                    "it does not know the name that it is asked for: {}",
                    hints.other_name
                );
            }
            Self::Alert(_) => {
                "it does not accept our certificate, or wants one: see the options cert and key"
            }
            Self::Tls(_) => "TLS with it fails",
            Self::Failed(_) => "the connection failed",
        };
        text.to_owned()
    }

    /// The text of the underlying error, if it says more than [`Self::in_words`].
    pub fn cause(&self) -> Option<String> {
        match self {
            Self::NoSuchName(text) | Self::NoWay(text) | Self::Failed(text) => Some(text.clone()),
            Self::Certificate(cause) => Some(Rustls::InvalidCertificate(cause.clone()).to_string()),
            Self::Alert(alert) => Some(Rustls::AlertReceived(*alert).to_string()),
            Self::Tls(error) => Some(error.to_string()),
            _ => None,
        }
    }
}

/// What `tonic` and others hand through as a source.
impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.cause().unwrap_or_else(|| format!("{self:?}")))
    }
}

impl std::error::Error for Trouble {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that is not ready, or that another one may replace, is worth another try. A refusal is not.
    #[test]
    fn what_a_restart_shows_is_no_refusal() {
        let kind = |error: Rustls| Trouble::of(&io::Error::other(error)).kind();
        let alert = |alert| kind(Rustls::AlertReceived(alert));
        assert_eq!(alert(AlertDescription::InternalError), ErrorKind::Unreachable);
        assert_eq!(alert(AlertDescription::UnknownCA), ErrorKind::Denied);
        assert_eq!(alert(AlertDescription::CertificateExpired), ErrorKind::Denied);
        assert_eq!(alert(AlertDescription::ProtocolVersion), ErrorKind::Unfit);
        assert_eq!(kind(CertificateError::UnknownIssuer.into()), ErrorKind::Unfit);
        assert_eq!(
            Trouble::of(&io::ErrorKind::ConnectionReset.into()).kind(),
            ErrorKind::Unreachable
        );
    }
}
