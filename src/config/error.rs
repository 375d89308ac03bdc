use std::path::Path;
use std::time::Duration;

use elect_api::{ElectionNameError, KeyError};

use crate::cli::Position;
use crate::identity::LabelError;
use crate::stores::{BackendUrl, UrlError};

/// A fault in the user's request. No message holds a secret from a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The name given with `-e`, or to `status`, is not the name of an election.
    #[error("{:?} cannot name an election", BackendUrl::shown(name))]
    Election {
        /// The name as given.
        name: String,
        /// The rule that it breaks.
        #[source]
        source: ElectionNameError,
    },
    /// The command's file name is not the name of an election.
    #[error("the election cannot be named after the command {command:?}")]
    CommandName {
        /// The command as given.
        command: String,
        /// The rule that its file name breaks.
        #[source]
        source: ElectionNameError,
    },
    /// The command's file name does not describe the work.
    #[error("the election cannot be named after {0:?}, which runs other programs")]
    NamedAfterRunner(String),
    /// The command has no file name, such as the empty text or `/`.
    #[error("the command {0:?} has no file name to name the election after")]
    Nameless(String),
    /// The label given with `--id` has another form.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// The URL names no store.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// Two flags were given of which only one can count, such as one that means nothing in an election that is divided.
    #[error("{flag} and {with} exclude each other")]
    Undivided {
        /// The flag.
        flag: &'static str,
        /// The other flag, such as the one that divides the election.
        with: &'static str,
    },
    /// A flag about the time of leases was given for a store whose leases do not end by time.
    #[error("the {scheme} store's leases have no time limit: {flag} does not apply")]
    Timeless {
        /// The scheme of the store.
        scheme: &'static str,
        /// The flag.
        flag: &'static str,
    },
    /// A flag or a command needs a queue, and the store has none.
    #[error("{what} needs a store in which candidates queue; in {scheme} the first to ask leads")]
    Orderless {
        /// The scheme of the store.
        scheme: &'static str,
        /// The flag, or the command.
        what: &'static str,
    },
    /// A pod label was requested for a store that is not on Kubernetes.
    #[error("--pod-label needs a store on Kubernetes, which knows the pod; {0} is none")]
    NoPod(String),
    /// A strong promise was demanded of a store whose promise is weak.
    #[error("--require-strong needs a store with a strong promise; that of {0} is weak")]
    Weak(&'static str),
    /// A flag was given without the one that it requires.
    #[error("{flag} requires {with}")]
    Alone {
        /// The flag.
        flag: &'static str,
        /// The required flag.
        with: &'static str,
    },
    /// The program of a hook or a health check does not exist.
    #[error("there is no program {program:?} for {flag}{}", if program.contains('/') { "" } else { " in PATH" })]
    NoProgram {
        /// The flag.
        flag: &'static str,
        /// The program.
        program: String,
    },
    /// The first pause of `--restart` is longer than the longest pause.
    #[error(
        "--restart-delay {} is longer than --restart-max-delay {}",
        humantime::format_duration(*.delay),
        humantime::format_duration(*.longest)
    )]
    Delays {
        /// The first pause.
        delay: Duration,
        /// The longest pause.
        longest: Duration,
    },
    /// A configuration file, or a setting in it, cannot be used.
    #[error("{place}: {why}")]
    File {
        /// The place in the file.
        place: Position,
        /// The fault, and the way out.
        why: String,
    },
    /// There is no profile of the name given with `--profile`.
    #[error("there is no profile {name:?}: {why}")]
    NoProfile {
        /// The name as given.
        name: String,
        /// The place where it was looked for, and the profiles that exist.
        why: String,
    },
    /// `elect check` runs outside any `elect run`, and no other lease is named.
    #[error("there is no lease to check: ELECT_LEASE is not set")]
    NoLease,
    /// The name of a fence or a value has a wrong form.
    #[error("{name:?} cannot name a {what}")]
    Key {
        /// The kind of thing that it names.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The rule that it breaks.
        #[source]
        source: KeyError,
    },
    /// No token was given, and this process is not in the command of an `elect run`.
    #[error("there is no token: ELECT_TOKEN is not set")]
    NoToken,
    /// The token in the environment, from an `elect run`, belongs to another election.
    #[error("the token in ELECT_TOKEN is of the election {leader}, not of {election}")]
    ForeignToken {
        /// The election of that `elect run`.
        leader: String,
        /// The election that was named.
        election: String,
    },
    /// No election was named, and this process is not in the command of an `elect run`.
    #[error("no election is named, and ELECT_LEADER_ELECTION is not set")]
    NoElection,
    /// `elect sidecar` was given no election.
    #[error("no election is named, and there is no command to name it after")]
    Unnamed,
}

impl ConfigError {
    pub(super) fn file(place: &Position, why: String) -> Self {
        Self::File { place: place.clone(), why }
    }

    /// The error for a file that cannot be relied on, because of itself or of the way to it.
    pub(super) fn untrusted(path: &Path, why: String) -> Self {
        Self::file(&Position { file: path.to_owned(), line: 0, column: 0 }, why)
    }

    /// The long name of the flag whose value is wrong.
    pub fn flag(&self) -> Option<&'static str> {
        match self {
            Self::Election { .. } => Some("election"),
            Self::Label(_) => Some("id"),
            Self::Url(_) => Some("backend"),
            Self::Timeless { flag, .. }
            | Self::Orderless { what: flag, .. }
            | Self::Alone { flag, .. }
            | Self::NoProgram { flag, .. }
            | Self::Undivided { flag, .. } => flag.strip_prefix("--"),
            Self::NoPod(_) => Some("pod-label"),
            Self::Weak(_) => Some("require-strong"),
            Self::NoProfile { .. } => Some("profile"),
            Self::Delays { .. } => Some("restart-delay"),
            Self::CommandName { .. }
            | Self::NamedAfterRunner(_)
            | Self::Nameless(_)
            | Self::File { .. }
            | Self::NoLease
            | Self::Key { .. }
            | Self::NoToken
            | Self::ForeignToken { .. }
            | Self::NoElection
            | Self::Unnamed => None,
        }
    }

    /// Returns the advice to the user.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Url(error) => return Some(error.hint()),
            Self::Weak(_) => Some(
                "take another store, or remove the flag, its variable or its key: see `elect help guarantee`",
            ),
            Self::Election { name, .. } if name.contains("://") => Some("a store is given with -b"),
            Self::NamedAfterRunner(_)
            | Self::Nameless(_)
            | Self::CommandName { .. }
            | Self::Unnamed => Some("use -e NAME"),
            Self::Label(_) => Some("give another one with --id"),
            Self::Timeless { .. } => Some(
                "remove the flag or its variable; its key belongs in the profiles of other stores",
            ),
            Self::Undivided { .. } => Some(
                "remove one of them: the flag, its variable, or its key in the configuration file",
            ),
            Self::Orderless { what, .. } if what.starts_with("--") => Some(
                "write order=queue in the store's URL on all candidates, or remove the flag, its variable or its key in \
                 the configuration file",
            ),
            Self::Orderless { .. } => {
                Some("write order=queue in the store's URL on all candidates")
            }
            Self::NoPod(_) => Some(
                "use -b kubernetes:///NAMESPACE, or let hooks label the pod: see `elect help kubernetes-service`",
            ),
            Self::Delays { .. } => Some("lower the one or raise the other"),
            Self::NoLease => Some(
                "run `elect check` inside a command that `elect run` started, or name the file of \
                 another elect with --lease-file",
            ),
            Self::NoToken => {
                Some("give it with --token, or run this inside a command that `elect run` started")
            }
            Self::ForeignToken { .. } => Some("give the one of that election with --token"),
            Self::NoElection => {
                Some("use -e NAME, or run this inside a command that `elect run` started")
            }
            Self::Election { .. }
            | Self::Key { .. }
            | Self::Alone { .. }
            | Self::File { .. }
            | Self::NoProgram { .. }
            | Self::NoProfile { .. } => None,
        };
        hint.map(str::to_owned)
    }
}
