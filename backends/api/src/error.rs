use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// What went wrong in a store, in words for a person and a kind for the engine.
///
/// The message says what was tried and where; the source keeps what came back.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What the engine may conclude from an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request did not happen; trying again may help.
    Unreachable,
    /// The request may or may not have happened; the next `refresh` finds out.
    Ambiguous,
    /// The store refuses us: rights, ownership, credentials. Trying again does not help.
    Denied,
    /// The store, its address or what it holds cannot serve an election. Trying again does not help.
    Unfit,
}

impl Error {
    /// An error of this kind; `message` says what was tried, where, and what to do next.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// The same error with what came back.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// The same error, from which something else is to be concluded.
    #[must_use]
    pub const fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// The same error with more words.
    #[must_use]
    pub fn and(mut self, more: impl fmt::Display) -> Self {
        self.message = format!("{} ({more})", self.message);
        self
    }

    /// What may be concluded from it.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether trying again cannot help.
    pub const fn is_permanent(&self) -> bool {
        matches!(self.kind, ErrorKind::Denied | ErrorKind::Unfit)
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
