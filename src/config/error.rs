use std::path::Path;
use std::time::Duration;

use elect_api::{ElectionNameError, KeyError};

use crate::cli::Position;
use crate::identity::LabelError;
use crate::stores::{BackendUrl, UrlError};

/// What is wrong with what the user asked for. No message holds a secret out of a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The name given with `-e`, or to `status`, is not the name of an election.
    #[error("{:?} cannot name an election", BackendUrl::shown(name))]
    Election {
        /// The name as given.
        name: String,
        /// What is wrong with it.
        #[source]
        source: ElectionNameError,
    },
    /// The command's file name is not the name of an election.
    #[error("the election cannot be named after the command {command:?}")]
    CommandName {
        /// The command as given.
        command: String,
        /// What is wrong with its file name.
        #[source]
        source: ElectionNameError,
    },
    /// The command's file name says nothing about what is being done.
    #[error("the election cannot be named after {0:?}, which runs other programs")]
    Speechless(String),
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
        /// The other, such as the one that divides the election.
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
    /// Something that needs an order of those who wait was asked of a store without one.
    #[error("{what} needs a store in which candidates queue; in {scheme} the first to ask leads")]
    Orderless {
        /// The scheme of the store.
        scheme: &'static str,
        /// The flag, or the command.
        what: &'static str,
    },
    /// A label of the pod was asked for where the store is not on Kubernetes.
    #[error("--pod-label needs a store on Kubernetes, which knows the pod; {0} is none")]
    Podless(String),
    /// A flag was given without the one that it is a part of.
    #[error("{flag} requires {with}")]
    Alone {
        /// The flag.
        flag: &'static str,
        /// What it needs.
        with: &'static str,
    },
    /// What is to be run beside is not there.
    #[error("there is no program {program:?} for {flag}{}", if program.contains('/') { "" } else { " in PATH" })]
    NoProgram {
        /// The flag.
        flag: &'static str,
        /// The program.
        program: String,
    },
    /// The first pause of `--restart` is longer than the longest.
    #[error(
        "--restart-delay {} is longer than --restart-max-delay {}",
        humantime::format_duration(*.delay),
        humantime::format_duration(*.longest)
    )]
    Delays {
        /// The first.
        delay: Duration,
        /// The longest.
        longest: Duration,
    },
    /// A configuration file, or something in it, cannot be used.
    #[error("{place}: {why}")]
    File {
        /// Where.
        place: Position,
        /// What is wrong, and the way out.
        why: String,
    },
    /// There is no profile of the name given with `--profile`.
    #[error("there is no profile {name:?}: {why}")]
    NoProfile {
        /// The name as given.
        name: String,
        /// Where it was looked for, and what there is.
        why: String,
    },
    /// `elect check` runs outside any `elect run`, and no other lease is named.
    #[error("there is no lease to check: ELECT_LEASE is not set")]
    NoLease,
    /// A name that nothing can be kept under.
    #[error("{name:?} cannot name a {what}")]
    Key {
        /// What it was to name.
        what: &'static str,
        /// The name as given.
        name: String,
        /// What is wrong with it.
        #[source]
        source: KeyError,
    },
    /// No token was given, and this is not the command of an `elect run`.
    #[error("there is no token: ELECT_TOKEN is not set")]
    NoToken,
    /// The token that an `elect run` told its command is one of another election.
    #[error("the token in ELECT_TOKEN is of the election {leader}, not of {election}")]
    ForeignToken {
        /// The election that leads here.
        leader: String,
        /// The one that was named.
        election: String,
    },
    /// No election was named, and this is not the command of an `elect run`.
    #[error("no election is named, and ELECT_LEADER_ELECTION is not set")]
    Outside,
    /// `elect sidecar` was not told which election to take part in.
    #[error("no election is named, and there is no command to name it after")]
    Unnamed,
}

impl ConfigError {
    pub(super) fn file(place: &Position, why: String) -> Self {
        Self::File { place: place.clone(), why }
    }

    /// The file, or what leads to it, cannot be relied on.
    pub(super) fn untrusted(path: &Path, why: String) -> Self {
        Self::file(&Position { file: path.to_owned(), line: 0, column: 0 }, why)
    }

    /// The long name of the flag whose value is to blame.
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
            Self::Podless(_) => Some("pod-label"),
            Self::NoProfile { .. } => Some("profile"),
            Self::Delays { .. } => Some("restart-delay"),
            Self::CommandName { .. }
            | Self::Speechless(_)
            | Self::Nameless(_)
            | Self::File { .. }
            | Self::NoLease
            | Self::Key { .. }
            | Self::NoToken
            | Self::ForeignToken { .. }
            | Self::Outside
            | Self::Unnamed => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Url(error) => return Some(error.hint()),
            Self::Election { name, .. } if name.contains("://") => Some("a store is given with -b"),
            Self::Speechless(_) | Self::Nameless(_) | Self::CommandName { .. } | Self::Unnamed => {
                Some("use -e NAME")
            }
            Self::Label(_) => Some("give another one with --id"),
            Self::Timeless { .. } => Some(
                "remove the flag or its variable; its key belongs in the profiles of other stores",
            ),
            Self::Undivided { .. } => Some(
                "remove one of them: the flag, its variable, or its key in the configuration file",
            ),
            Self::Orderless { what, .. } if what.starts_with("--") => Some(
                "remove order=race from the store's URL, or the flag, its variable or its key in the configuration file",
            ),
            Self::Podless(_) => Some(
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
            Self::Outside => {
                Some("use -e NAME, or run this inside a command that `elect run` started")
            }
            Self::Election { .. }
            | Self::Key { .. }
            | Self::Orderless { .. }
            | Self::Alone { .. }
            | Self::File { .. }
            | Self::NoProgram { .. }
            | Self::NoProfile { .. } => None,
        };
        hint.map(str::to_owned)
    }
}
