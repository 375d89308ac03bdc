//! Why a server cannot be used: its kind, and the words for people.

use std::borrow::Cow;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

use elect_api::ErrorKind;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error as Rustls};

/// A failure on the way to a server, or what answers there instead.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// The first text, a name, does not resolve, for the reason in the second.
    NoSuchName(String, String),
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

/// The settings that say which server is meant and who we are, for advice.
#[derive(Clone, Debug)]
pub struct Hints {
    /// The scheme for connections in the clear.
    pub clear: Cow<'static, str>,
    /// The scheme for connections with TLS.
    pub tls: Cow<'static, str>,
    /// Where the scheme stands, as in `the URL`.
    pub place: Cow<'static, str>,
    /// The advice for a server whose certificate is for another name.
    pub other_name: Cow<'static, str>,
    /// What names the authority of the server's certificate, as in `the option ca`.
    pub authority: Cow<'static, str>,
    /// What names the client's certificate and its key, as in `the options cert and key`.
    pub identity: Cow<'static, str>,
}

impl Hints {
    /// The hints of a store whose URL has the options of [`Tls`](crate::Tls).
    pub const fn of_url(clear: &'static str, tls: &'static str, other_name: &'static str) -> Self {
        Self {
            clear: Cow::Borrowed(clear),
            tls: Cow::Borrowed(tls),
            place: Cow::Borrowed("the URL"),
            other_name: Cow::Borrowed(other_name),
            authority: Cow::Borrowed(crate::tls::AUTHORITY),
            identity: Cow::Borrowed(crate::tls::IDENTITY),
        }
    }
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

    /// Returns whether there was no connection at all, so that other credentials or certificates do not help.
    pub const fn is_unanswered(&self) -> bool {
        matches!(self, Self::NoSuchName(..) | Self::Refused | Self::NoWay(_) | Self::Silent)
    }

    /// Returns whether it is about TLS, which the server speaks.
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
        let Hints { clear, tls, place, other_name, identity, .. } = hints;
        let text = match self {
            Self::NoSuchName(name, _) => return format!("the name {name} does not resolve"),
            Self::Refused => "nothing listens there (connection refused)",
            Self::NoWay(_) => "the machine cannot be reached",
            Self::Silent => "no answer",
            Self::HungUp => {
                "it closes the connection without a word, as a balancer does that has no server to pass it to"
            }
            Self::BrokenOff => {
                return format!(
                    "it closes the connection in the middle of the TLS handshake: it may require a client certificate \
                     that it trusts ({identity})"
                );
            }
            Self::WantsTls => return format!("it expects TLS: write {tls}:// in {place}"),
            Self::NoTls => return format!("it does not speak TLS: write {clear}:// in {place}"),
            Self::NoProtocol => "it does not speak the store's protocol inside TLS",
            Self::Certificate(cause) => return certificate(cause, hints),
            Self::Alert(AlertDescription::InternalError) => "it cannot speak TLS now",
            Self::Alert(AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure)
            | Self::Tls(Rustls::PeerIncompatible(_)) => {
                "it speaks neither TLS 1.2 nor 1.3 in a way that we do"
            }
            Self::Alert(AlertDescription::UnrecognisedName) => {
                return format!("it does not know the name that it is asked for: {other_name}");
            }
            Self::Alert(alert) => {
                let why = match alert {
                    AlertDescription::CertificateExpired => ", which has expired",
                    AlertDescription::UnknownCA => ", as it does not know who signed it",
                    _ => ", or wants one",
                };
                return format!("it does not accept our certificate{why}: see {identity}");
            }
            Self::Tls(_) => "TLS with it fails",
            Self::Failed(_) => "the connection failed",
        };
        text.to_owned()
    }

    /// The trouble in words, and the underlying error if it says more.
    pub fn in_full(&self, hints: &Hints) -> String {
        let words = self.in_words(hints);
        self.cause().map_or_else(|| words.clone(), |cause| format!("{words} ({cause})"))
    }

    /// The text of the underlying error, if it says more than [`Self::in_words`].
    pub fn cause(&self) -> Option<String> {
        match self {
            Self::NoSuchName(_, text) | Self::NoWay(text) | Self::Failed(text) => {
                Some(text.clone())
            }
            Self::Certificate(cause) => Some(Rustls::InvalidCertificate(cause.clone()).to_string()),
            Self::Alert(alert) => Some(Rustls::AlertReceived(*alert).to_string()),
            Self::Tls(error) => Some(error.to_string()),
            _ => None,
        }
    }
}

/// The words of an error and of its causes, without those that repeat what they wrap.
pub fn in_full(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    for error in std::iter::successors(Some(error), |&error| error.source()) {
        let words = error.to_string();
        if !text.ends_with(&words) {
            text = if text.is_empty() { words } else { format!("{text}: {words}") };
        }
    }
    text
}

/// Says what is wrong with a server's certificate, and what mends it.
fn certificate(cause: &CertificateError, hints: &Hints) -> String {
    use CertificateError as Wrong;
    let Hints { other_name, authority, .. } = hints;
    let other = match cause {
        Wrong::Other(other) => other.0.downcast_ref(),
        _ => None,
    };
    let what = match (cause, other) {
        (Wrong::UnknownIssuer, _) => {
            return format!(
                "its certificate is not signed by a trusted authority: name the authority with {authority}"
            );
        }
        (Wrong::BadSignature, _) => {
            return format!(
                "its certificate is not signed by a trusted authority, but by another one of the same name: name that \
                 one with {authority}"
            );
        }
        (Wrong::NotValidForNameContext { presented, .. }, _) if presented.is_empty() => {
            "has no subjectAltName: have it made anew with one"
        }
        (Wrong::NotValidForName | Wrong::NotValidForNameContext { .. }, _) => {
            return format!("its certificate is for another name: {other_name}");
        }
        (Wrong::ExpiredContext { not_after, .. }, _) => {
            let day = day(*not_after);
            return format!(
                "its certificate has expired on {day}, or this machine's clock is wrong"
            );
        }
        (Wrong::Expired, _) => "has expired, or this machine's clock is wrong",
        (Wrong::NotValidYet | Wrong::NotValidYetContext { .. }, _) => {
            "is not valid yet, or this machine's clock is wrong"
        }
        (_, Some(webpki::Error::CaUsedAsEndEntity)) => {
            "is one of an authority, which no server may show: give the server one that an authority has signed for it"
        }
        (_, Some(webpki::Error::EndEntityUsedAsCa)) => {
            return format!(
                "its certificate is signed by one that is no authority: name an authority with {authority}"
            );
        }
        (_, Some(webpki::Error::EmptyEkuExtension)) | (Wrong::InvalidPurposeContext { .. }, _) => {
            "is not for servers: have it made anew with the extended key usage serverAuth"
        }
        (
            Wrong::UnsupportedSignatureAlgorithmContext { .. }
            | Wrong::UnsupportedSignatureAlgorithmForPublicKeyContext { .. },
            _,
        ) => "is signed in a way that is not safe, such as by SHA-1: have it made anew",
        _ => "is not valid: have it made anew",
    };
    format!("its certificate {what}")
}

/// The day of a time, as in `2001-01-01`.
fn day(time: UnixTime) -> String {
    // `humantime` knows no later years.
    let last = Duration::from_secs(253_402_300_799);
    let time = UNIX_EPOCH + Duration::from_secs(time.as_secs()).min(last);
    humantime::format_rfc3339_seconds(time).to_string().chars().take(10).collect()
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
    fn errors_of_a_restarting_server_are_no_refusal() {
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
