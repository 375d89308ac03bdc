//! What an election keeps for its leaders, and which election that is.

use std::env;
use std::ffi::OsString;

use elect_api::{ElectionName, Key, Token};

use super::campaign::parse_election;
use super::variables::{LEADER_BACKEND, LEADER_ELECTION};
use super::{BackendUrl, ConfigError, Target};
use crate::cli::{FenceArgs, GetArgs, KeptArgs, Origin, Origins, PutArgs};
use crate::stores;

/// What `elect fence` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencePlan {
    /// The election, and the store that keeps it.
    pub target: Target,
    /// What the command is about to change.
    pub resource: Key,
    /// The token to come with.
    pub token: Token,
    /// The command and its arguments; never empty.
    pub command: Vec<OsString>,
}

impl FencePlan {
    /// The plan that these arguments, which came from there, and the environment ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: FenceArgs, origins: &Origins) -> Result<Self, ConfigError> {
        let target = place(args.kept, origins)?;
        let token = token(args.token, &target.election, origins)?;
        let resource = parse_key("resource", &args.resource.unwrap_or_default())?;
        Ok(Self { target, resource, token, command: args.command })
    }
}

/// What `elect put` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutPlan {
    /// The election, and the store that keeps it.
    pub target: Target,
    /// The token of whoever is to lead.
    pub token: Token,
    /// What the value is to be found under.
    pub key: Key,
    /// The value; what standard input says if `None`.
    pub value: Option<OsString>,
}

impl PutPlan {
    /// The plan that these arguments, which came from there, and the environment ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: PutArgs, origins: &Origins) -> Result<Self, ConfigError> {
        let target = place(args.kept, origins)?;
        let token = token(args.token, &target.election, origins)?;
        let key = parse_key("key", &args.key.unwrap_or_default())?;
        Ok(Self { target, token, key, value: args.value.filter(|value| value != "-") })
    }
}

/// What `elect get` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetPlan {
    /// The election, and the store that keeps it.
    pub target: Target,
    /// What the value is to be found under.
    pub key: Key,
}

impl GetPlan {
    /// The plan that these arguments, which came from there, and the environment ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: GetArgs, origins: &Origins) -> Result<Self, ConfigError> {
        let target = place(args.kept, origins)?;
        let key = parse_key("key", &args.key.unwrap_or_default())?;
        Ok(Self { target, key })
    }
}

/// The store and the election. In a command that `elect run` started they are those which this leads: a token that
/// is compared in another store bars nobody's way. Only who names a store at this very call means another.
fn place(args: KeptArgs, origins: &Origins) -> Result<Target, ConfigError> {
    let election = args.election.or_else(|| variable(LEADER_ELECTION));
    let election = parse_election(&election.ok_or(ConfigError::Outside)?)?;
    let backend = match variable(LEADER_BACKEND).map(|url| url.parse::<BackendUrl>()) {
        // Ours may have the password too.
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

/// The token that was given; what `elect run` told its command is one of the election that this leads.
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
