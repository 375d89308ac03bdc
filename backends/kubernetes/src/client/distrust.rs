//! Explains troubles with TLS: whose certificate is wrong, and how to mend it. rustls' own words follow in
//! parentheses.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError};

/// The side that we expect to talk to, and the settings that say so.
pub(super) struct Expected<'a> {
    /// The name in its certificate.
    pub(super) name: &'a str,
    /// The authority that should have signed its certificate.
    pub(super) authority: String,
    /// Whether it is a proxy, which the settings of a cluster do not cover.
    pub(super) is_proxy: bool,
}

impl Expected<'_> {
    /// The remedy if another authority has signed its certificate.
    const fn other_authority(&self) -> &'static str {
        if self.is_proxy {
            "this system's authorities need the one that signed it"
        } else {
            "certificate-authority has to name who signed it"
        }
    }

    /// The remedy if its certificate has another name.
    const fn other_name(&self) -> &'static str {
        if self.is_proxy {
            "proxy-url or the variable of the proxy has to name it so"
        } else {
            "the kubeconfig needs a tls-server-name"
        }
    }
}

/// Explains why TLS with a server failed.
pub(super) fn in_words(error: &io::Error, expected: &Expected<'_>) -> String {
    match rustls_error(error) {
        Some(rustls::Error::InvalidCertificate(cause)) => certificate(cause, expected),
        Some(cause) => explain(cause),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "it closed the connection instead of speaking TLS: look at the server of the kubeconfig, and what stands \
             before it"
                .to_owned()
        }
        None => error.to_string(),
    }
}

/// Joins the words of an error and of its causes. Troubles with TLS are explained.
pub(super) fn chain_of(error: &(dyn StdError + 'static)) -> String {
    let mut text = String::new();
    for error in std::iter::successors(Some(error), |&error| error.source()) {
        if let Some(cause) = error.downcast_ref::<io::Error>().and_then(rustls_error) {
            let _ = write!(text, "{}{}", if text.is_empty() { "" } else { ": " }, explain(cause));
            break;
        }
        let words = error.to_string();
        // Wrappers repeat what they wrap.
        if !text.ends_with(&words) {
            let _ = write!(text, "{}{words}", if text.is_empty() { "" } else { ": " });
        }
    }
    text
}

fn rustls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Explains why the certificate of a server is refused.
fn certificate(cause: &CertificateError, expected: &Expected<'_>) -> String {
    let Expected { name, authority, .. } = expected;
    match cause {
        CertificateError::UnknownIssuer => format!(
            "its certificate is not signed by {authority}: it is another server, or {}",
            expected.other_authority()
        ),
        CertificateError::BadSignature => format!(
            "its certificate is not signed by {authority}, but by another one of the same name: if the cluster was made \
             anew, get its kubeconfig anew"
        ),
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            format!("its certificate has no subjectAltName: have it made anew for {name}")
        }
        CertificateError::NotValidForNameContext { presented, .. } => format!(
            "its certificate is not for {name} but for {}: it is another server, or {}",
            presented.join(", "),
            expected.other_name()
        ),
        CertificateError::NotValidForName => format!(
            "its certificate is not for {name}: it is another server, or {}",
            expected.other_name()
        ),
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("its certificate has expired on {}, {OR_THE_CLOCK}", day(*not_after))
        }
        CertificateError::Expired => format!("its certificate has expired, {OR_THE_CLOCK}"),
        CertificateError::NotValidYetContext { not_before, .. } => {
            format!("its certificate is not valid before {}, {OR_THE_CLOCK}", day(*not_before))
        }
        CertificateError::NotValidYet => {
            format!("its certificate is not valid yet, {OR_THE_CLOCK}")
        }
        other => flaw(other, authority),
    }
}

const OR_THE_CLOCK: &str = "or this machine's clock is wrong";

/// Says which other flaw a certificate has, and what mends it.
fn flaw(cause: &CertificateError, authority: &str) -> String {
    use CertificateError as Known;
    use webpki::Error as Other;
    let other = match cause {
        Known::Other(other) => other.0.downcast_ref(),
        _ => None,
    };
    let what = match (cause, other) {
        (_, Some(Other::CaUsedAsEndEntity)) => {
            return format!(
                "its certificate is one of an authority, and no server may show that: give the server one that \
                 {authority} has signed for it (CaUsedAsEndEntity)"
            );
        }
        (_, Some(Other::EndEntityUsedAsCa)) => {
            "is signed by one that is no authority: certificate-authority has to name an authority (EndEntityUsedAsCa)"
        }
        (_, Some(Other::UnsupportedCertVersion)) => {
            "is older than X.509 version 3: have it made anew (UnsupportedCertVersion)"
        }
        (_, Some(Other::EmptyEkuExtension)) | (Known::InvalidPurposeContext { .. }, _) => {
            "is not for servers: have it made anew with the extended key usage serverAuth (InvalidPurpose)"
        }
        (Known::BadEncoding, _) => "is damaged: have it made anew (BadEncoding)",
        (
            Known::UnsupportedSignatureAlgorithmContext { .. }
            | Known::UnsupportedSignatureAlgorithmForPublicKeyContext { .. },
            _,
        ) => {
            "is signed in a way that is not safe, such as by SHA-1: have it made anew (UnsupportedSignatureAlgorithm)"
        }
        (_, Some(other)) => {
            return format!("its certificate is not valid: have it made anew ({other})");
        }
        _ => return format!("its certificate is not valid: have it made anew ({cause})"),
    };
    format!("its certificate {what}")
}

fn explain(error: &rustls::Error) -> String {
    use AlertDescription as Alert;
    match error {
        rustls::Error::AlertReceived(Alert::CertificateRequired) => {
            "it does not take our client certificate, or misses one: see client-certificate and client-key of the user \
             (CertificateRequired)"
                .into()
        }
        rustls::Error::AlertReceived(Alert::CertificateExpired) => {
            "it does not take our client certificate, which has expired: renew the client-certificate of the user \
             (CertificateExpired)"
                .into()
        }
        rustls::Error::AlertReceived(Alert::UnknownCA) => {
            "it does not take our client certificate, as it does not know who signed it: see client-certificate of the \
             user (UnknownCA)"
                .into()
        }
        rustls::Error::AlertReceived(
            alert @ (Alert::BadCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateUnknown
            | Alert::UnsupportedCertificate
            | Alert::AccessDenied),
        ) => format!(
            "it does not take our client certificate: see client-certificate and client-key of the user ({alert:?})"
        ),
        rustls::Error::AlertReceived(Alert::UnrecognisedName) => {
            "it does not know the name that we ask it by: see server and tls-server-name of the cluster \
             (UnrecognisedName)"
                .into()
        }
        rustls::Error::AlertReceived(alert @ (Alert::ProtocolVersion | Alert::HandshakeFailure)) => {
            format!("{OTHER_TLS} ({alert:?})")
        }
        rustls::Error::PeerIncompatible(why) => format!("{OTHER_TLS} ({why:?})"),
        rustls::Error::InvalidMessage(_) => {
            "it does not speak TLS: is it http:// instead of https://?".into()
        }
        other => format!("TLS with it fails ({other})"),
    }
}

const OTHER_TLS: &str = "it speaks neither TLS 1.2 nor 1.3 in a way that we do";

fn day(time: UnixTime) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs()));
    // `humantime` knows no later years.
    let known = time.filter(|_| time < UNIX_EPOCH.checked_add(Duration::from_secs(LAST)));
    let text = known.map(|time| humantime::format_rfc3339_seconds(time).to_string());
    text.and_then(|text| Some(text.split_once('T')?.0.to_owned()))
        .unwrap_or_else(|| "a day far off".into())
}

/// The end of the year 9999, in seconds since 1970.
const LAST: u64 = 253_402_300_800;
