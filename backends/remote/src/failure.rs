//! Why a database does not answer, or not as asked: as a type, and in words.

use std::fmt;
use std::io;

use elect_api::{Error, ErrorKind};

use crate::{Hints, Trouble, Witness};

/// A kind of database, for messages.
pub struct Product {
    /// Its name.
    pub name: &'static str,
    /// The scheme of its URLs.
    pub scheme: &'static str,
    /// The names of the settings for the authority, the client's certificate, and its key.
    pub names: [&'static str; 3],
    /// The advice if a server speaks no TLS, which a setting asks for.
    pub no_tls: &'static str,
    /// The other places for a password, besides elect's own settings, as in `PGPASSFILE`.
    pub password: &'static str,
    /// Why it may close a connection without a word, besides being away; empty if it does not.
    pub hang_up: &'static str,
}

/// Why there is no answer, or no good one. `R` is an answer that is an error.
#[derive(Debug)]
pub enum Failure<R> {
    /// The answer is an error.
    Refused(R),
    /// There is no connection, or no TLS.
    Way(Trouble),
    /// The connection was lost.
    Lost(String),
    /// The request was not sent, as the connection has ended before.
    Unsent,
    /// No answer came in time.
    Silent,
    /// The answer is not one of the protocol.
    Odd(&'static str),
}

/// An answer that is an error.
pub trait Refusal: fmt::Debug + Send {
    /// The name of the error.
    type Code: PartialEq;

    /// The name of the error, if it has one.
    fn code(&self) -> Option<Self::Code>;

    /// Returns whether the statement may have been carried out.
    fn is_unclear(&self) -> bool;

    /// Returns whether the server takes no writes, so that another one may.
    fn is_of_a_replica(&self) -> bool;

    /// The error, with what mends it. `what` says what failed, and `login` who we are, if this is the answer to a
    /// login.
    fn error(&self, what: String, login: &str) -> Error;
}

impl<R: Refusal> Failure<R> {
    /// The answer that is an error, if there is one.
    pub const fn refusal(&self) -> Option<&R> {
        if let Self::Refused(refusal) = self { Some(refusal) } else { None }
    }

    /// Returns whether the answer is one of these errors.
    pub fn is(&self, codes: &[R::Code]) -> bool {
        self.refusal().and_then(Refusal::code).is_some_and(|code| codes.contains(&code))
    }

    pub(crate) fn is_unclear(&self) -> bool {
        !matches!(self, Self::Unsent) && self.refusal().is_none_or(Refusal::is_unclear)
    }
}

impl<R> From<io::Error> for Failure<R> {
    fn from(error: io::Error) -> Self {
        Self::Lost(error.to_string())
    }
}

impl Product {
    /// A server of it, as in `PostgreSQL at HOST:PORT`.
    pub fn at(&self, place: &str) -> String {
        format!("{} at {place}", self.name)
    }

    /// The error of a failed attempt to log in at a place. `login` says who we are.
    pub(crate) fn unconnected<R: Refusal>(
        &self,
        place: &str,
        failure: &Failure<R>,
        witness: &Witness,
        login: &str,
    ) -> Error {
        let what = format!("cannot use {}", self.at(place));
        let unfit = |why: &str| unfit(format!("{what}: {why}")).of_the_way();
        match failure {
            Failure::Refused(refusal) => refusal.error(what, login),
            Failure::Silent => self.told(&what, &Trouble::Silent),
            Failure::Way(Trouble::NoTls) => unfit(self.no_tls),
            Failure::Way(trouble) => self.told(&what, trouble),
            Failure::Odd(why) => {
                let name = self.name;
                unfit(&format!("it does not speak {name}'s protocol: see the host and the port"))
                    .because(*why)
            }
            Failure::Lost(why) => match witness.seen().trouble {
                Some(trouble) => self.told(&what, &trouble),
                None => Error::new(ErrorKind::Unreachable, what).because(why.as_str()),
            },
            Failure::Unsent => self.told(&what, &Trouble::HungUp),
        }
    }

    /// The error of a way to a server that is not there.
    fn told(&self, what: &str, trouble: &Trouble) -> Error {
        let [authority, cert, key] = self.names;
        let hints = Hints {
            // The schemes are never shown: troubles that name them have words of their own.
            clear: self.scheme.into(),
            tls: self.scheme.into(),
            place: "the URL".into(),
            other_name: "use the name in it as the host, or have it made anew with this one".into(),
            authority: format!("the option {authority}").into(),
            identity: format!("the options {cert} and {key}").into(),
        };
        let words = trouble.in_words(&hints);
        let mut error = Error::new(trouble.kind(), format!("{what}: {words}")).of_the_way();
        if matches!(trouble, Trouble::HungUp) && !self.hang_up.is_empty() {
            error = error.and(self.hang_up);
        }
        match trouble.cause() {
            Some(cause) => error.because(cause),
            None => error,
        }
    }
}

/// The error of a setting, or of a server, that can never serve.
pub fn unfit(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unfit, what)
}
