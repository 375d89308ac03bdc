use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::text::clean;

/// The greatest length of a message, and of each of its causes, in characters. Messages may list many servers.
pub(crate) const LONGEST: usize = 4096;
/// The greatest number of causes in a chain.
const MOST_CAUSES: usize = 16;

/// A failure in a store: a message for a person, and a kind for the engine.
///
/// The message says what was tried and where. The source keeps the text of the answer. Both are [clean](crate::text),
/// because they quote servers.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    about: About,
    source: Option<Arc<Cause>>,
}

/// Where the fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// In the store, or in the request.
    Store,
    /// In a program that answers in the place of the store, or on the way to the store.
    Way,
    /// In a text that the store keeps.
    Text,
}

/// The text of an underlying error, and its own cause.
#[derive(Debug)]
struct Cause {
    words: String,
    source: Option<Box<Cause>>,
}

/// The conclusion that the engine may draw from an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request did not happen. Trying again may help.
    Unreachable,
    /// The request may have happened or not. The next `refresh` finds out.
    Ambiguous,
    /// The store refuses the caller: rights, ownership, credentials. Trying again helps only a caller that the store
    /// has let in before.
    Denied,
    /// The store, its address or what it holds cannot serve an election. Trying again does not help, unless
    /// [`Error::may_pass`] says so.
    Unfit,
}

impl Error {
    /// An error of this kind. The `message` says what was tried, where, and what to do next.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: clean(message.into(), LONGEST), about: About::Store, source: None }
    }

    /// The same error with its cause: the error that came back.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let source = source.into();
        self.source = Cause::of(source.as_ref(), MOST_CAUSES).map(Arc::new);
        self
    }

    /// The same error with another kind.
    #[must_use]
    pub const fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// The same error, marked as a failure of the way to the store or of a program that answers in its place: a proxy,
    /// a certificate, another protocol.
    #[must_use]
    pub const fn of_the_way(mut self) -> Self {
        self.about = About::Way;
        self
    }

    /// The same error, marked as one about a text in the store that no version of elect has written. The store itself
    /// serves.
    #[must_use]
    pub const fn of_a_text(mut self) -> Self {
        self.about = About::Text;
        self
    }

    /// Returns whether the fault is a text in the store that cannot be read.
    pub const fn is_of_a_text(&self) -> bool {
        matches!(self.about, About::Text)
    }

    /// The same error with more words at the end of its message, in parentheses.
    #[must_use]
    pub fn and(mut self, more: impl fmt::Display) -> Self {
        self.message = clean(format!("{} ({more})", self.message), LONGEST);
        self
    }

    /// The kind of the error, from which the engine draws its conclusion.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns whether trying again is useless for a caller that the store has never let in.
    pub const fn is_permanent(&self) -> bool {
        matches!(self.kind, ErrorKind::Denied | ErrorKind::Unfit)
    }

    /// Returns whether the error may pass for a caller that the store has let in before. A refusal may pass, because a
    /// credential is being renewed or a server was restarted. An answer of another program in the place of the store
    /// may pass too. An error about the store itself does not pass: a store other than before, foreign or damaged data,
    /// a flag that the store cannot honour.
    pub const fn may_pass(&self) -> bool {
        !matches!(self.kind, ErrorKind::Unfit) || matches!(self.about, About::Way)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl Cause {
    /// The chain of causes of an error, cut after `most` links.
    fn of(error: &(dyn StdError + 'static), most: usize) -> Option<Self> {
        let most = most.checked_sub(1)?;
        let source = error.source().and_then(|source| Self::of(source, most));
        Some(Self { words: clean(error.to_string(), LONGEST), source: source.map(Box::new) })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl StdError for Cause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unfit_store_cannot_pass_for_an_admitted_candidate() {
        for (kind, is_permanent, may_pass) in [
            (ErrorKind::Unreachable, false, true),
            (ErrorKind::Ambiguous, false, true),
            (ErrorKind::Denied, true, true),
            (ErrorKind::Unfit, true, false),
        ] {
            let error = Error::new(kind, "no");
            assert_eq!((error.is_permanent(), error.may_pass()), (is_permanent, may_pass));
            let text = error.clone().of_a_text();
            assert_eq!((text.is_of_a_text(), text.may_pass()), (true, may_pass));
            let error = error.of_the_way();
            assert_eq!((error.is_permanent(), error.may_pass()), (is_permanent, true));
            assert!(!error.is_of_a_text());
        }
    }

    #[test]
    fn the_words_of_servers_are_clean() {
        let said = Error::new(ErrorKind::Unfit, "\u{1b}[2J").because("a\0b");
        let error = Error::new(ErrorKind::Unfit, "x".repeat(1 << 20)).because(said).and("\n");
        assert_eq!(error.to_string().chars().count(), LONGEST);
        let texts: Vec<String> = std::iter::successors(error.source(), |&cause| cause.source())
            .map(ToString::to_string)
            .collect();
        assert_eq!(texts, ["\\u{1b}[2J", "a\\u{0}b"]);
    }
}
