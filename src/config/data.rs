//! The plans of `fence`, `put` and `get`: which text of which election they concern.

use std::env;
use std::ffi::OsString;

use elect_api::{ElectionName, Key, Token};

use super::campaign::parse_election;
use super::variables::{LEADER_BACKEND, LEADER_ELECTION};
use super::{BackendUrl, ConfigError, Target};
use crate::cli::{DataArgs, FenceArgs, GetArgs, Origin, Origins, PutArgs};
use crate::stores;

/// The plan of `elect fence`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencePlan {
    /// The election, and the store that keeps it.
    pub target: Target,
    /// The resource that the command is about to change.
    pub resource: Key,
    /// The token to present.
    pub token: Token,
    /// The command and its arguments; never empty.
    pub command: Vec<OsString>,
}

impl FencePlan {
    /// Makes the plan from these arguments with these origins, and from the environment.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: FenceArgs, origins: &Origins) -> Result<Self, ConfigError> {
        let target = place(args.data, origins)?;
        let token = token(args.token, &target.election, origins)?;
        let resource = parse_key("resource", &args.resource.unwrap_or_default())?;
        Ok(Self { target, resource, token, command: args.command })
    }
}

/// The plan of `elect put`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutPlan {
    /// The election, and the store that keeps it.
    pub target: Target,
    /// The token of the leader that must still lead.
    pub token: Token,
    /// The key of the value.
    pub key: Key,
    /// The value; `None` for standard input.
    pub value: Option<OsString>,
}

impl PutPlan {
    /// Makes the plan from these arguments with these origins, and from the environment.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: PutArgs, origins: &Origins) -> Result<Self, ConfigError> {
        let target = place(args.data, origins)?;
        let token = token(args.token, &target.election, origins)?;
        let key = parse_key("key", &args.key.unwrap_or_default())?;
        Ok(Self { target, token, key, value: args.value.filter(|value| value != "-") })
    }
}

/// The plan of `elect get`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetPlan {
    /// The election, and the store that keeps it.
    pub target: Target,
    /// The key of the value.
    pub key: Key,
}

impl GetPlan {
    /// Makes the plan from these arguments with these origins, and from the environment.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: GetArgs, origins: &Origins) -> Result<Self, ConfigError> {
        let target = place(args.data, origins)?;
        let key = parse_key("key", &args.key.unwrap_or_default())?;
        Ok(Self { target, key })
    }
}

/// The store and the election. Inside the command of an `elect run`, the defaults are the store and the election
/// in which that run leads. A token that is compared in another store would stop no other writer. Only a store
/// that is named in this very call replaces that default.
fn place(args: DataArgs, origins: &Origins) -> Result<Target, ConfigError> {
    let election = args.election.or_else(|| variable(LEADER_ELECTION));
    let election = parse_election(&election.ok_or(ConfigError::NoElection)?)?;
    let backend = match variable(LEADER_BACKEND).map(|url| url.parse::<BackendUrl>()) {
        // The given URL of the same store may include the password.
        Some(Ok(leader))
            if origins.of("backend") != Origin::Flag
                && args.backend.without_password() != leader =>
        {
            leader
        }
        _ => args.backend,
    };
    stores::find(&backend)?;
    Ok(Target { backend, election })
}

/// Returns whether this process runs inside the command of an `elect run`, which has named its store.
pub fn has_store_of_leader() -> bool {
    variable(LEADER_BACKEND).is_some()
}

/// The token that was given. A token in the environment, from an `elect run`, is valid only for the election of
/// that run.
fn token(
    given: Option<u64>,
    election: &ElectionName,
    origins: &Origins,
) -> Result<Token, ConfigError> {
    let token = given.map(Token::new).ok_or(ConfigError::NoToken)?;
    let leader = variable(LEADER_ELECTION).filter(|leader| *leader != election.as_str());
    match leader {
        Some(leader) if origins.of("token") != Origin::Flag => {
            Err(ConfigError::ForeignToken { leader, election: election.to_string() })
        }
        _ => Ok(token),
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn parse_key(what: &'static str, name: &str) -> Result<Key, ConfigError> {
    name.parse().map_err(|source| ConfigError::Key { what, name: name.to_owned(), source })
}
