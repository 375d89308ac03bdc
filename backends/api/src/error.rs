use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::text::clean;

/// How many characters a message, or one of its causes, may have: there may be many servers to tell of.
pub(crate) const LONGEST: usize = 4096;
/// How many causes are kept.
const MOST_CAUSES: usize = 16;

/// What went wrong in a store, in words for a person and a kind for the engine.
///
/// The message says what was tried and where; the source keeps the words of what came back. Both are
/// [clean](crate::text): servers have their words in them.
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
    /// In the store, or in what was asked.
    Store,
    /// In what answers in the place of the store, or on the way there.
    Way,
    /// In a text that the store keeps.
    Text,
}

/// The words of what came back, and of what that came of.
#[derive(Debug)]
struct Cause {
    words: String,
    source: Option<Box<Cause>>,
}

/// What the engine may conclude from an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request did not happen; trying again may help.
    Unreachable,
    /// The request may or may not have happened; the next `refresh` finds out.
    Ambiguous,
    /// The store refuses us: rights, ownership, credentials. Trying again does not help, unless it has let us in before.
    Denied,
    /// The store, its address or what it holds cannot serve an election. Trying again does not help.
    Unfit,
}

impl Error {
    /// An error of this kind; `message` says what was tried, where, and what to do next.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: clean(message.into(), LONGEST), about: About::Store, source: None }
    }

    /// The same error with what came back.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let source = source.into();
        self.source = Cause::of(source.as_ref(), MOST_CAUSES).map(Arc::new);
        self
    }

    /// The same error, from which something else is to be concluded.
    #[must_use]
    pub const fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// The same error, which is about what answers in the place of the store, or about the way there: a proxy, a
    /// certificate, another protocol.
    #[must_use]
    pub const fn of_the_way(mut self) -> Self {
        self.about = About::Way;
        self
    }

    /// The same error, which is about a text that the store keeps: no version of elect has written it as it is there. The
    /// store itself serves.
    #[must_use]
    pub const fn of_a_text(mut self) -> Self {
        self.about = About::Text;
        self
    }

    /// Whether only a text cannot be read that the store keeps.
    pub const fn is_of_a_text(&self) -> bool {
        matches!(self.about, About::Text)
    }

    /// The same error with more words.
    #[must_use]
    pub fn and(mut self, more: impl fmt::Display) -> Self {
        self.message = clean(format!("{} ({more})", self.message), LONGEST);
        self
    }

    /// What may be concluded from it.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether trying again cannot help a caller that the store has never let in.
    pub const fn is_permanent(&self) -> bool {
        matches!(self.kind, ErrorKind::Denied | ErrorKind::Unfit)
    }

    /// Whether the error may pass for a caller that the store has let in before. A refusal may pass: a credential is being
    /// renewed, or a server was restarted. An answer of another program in the place of the store may pass, too. An error
    /// about the store itself stays: another store than before, foreign or damaged data, a flag that it cannot serve.
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
    /// That of an error, with at most so many.
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
    fn only_what_the_store_itself_is_stays_for_whoever_was_let_in() {
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
