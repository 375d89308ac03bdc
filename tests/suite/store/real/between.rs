//! A process between A and the store, which passes on what A sends: a pooler of PostgreSQL, or an agent of Consul.

use elect_testkit::servers::{Consul, DatabaseServer as _, PgBouncer};

use crate::prelude::*;

pub(crate) enum Between {
    Pooler(PgBouncer),
    Agent(Box<Consul>),
}

impl Between {
    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Pooler(pooler) => pooler.address(),
            Self::Agent(agent) => agent.address(),
        }
    }

    pub(crate) fn kill(&mut self) {
        match self {
            Self::Pooler(pooler) => pooler.kill(),
            Self::Agent(agent) => agent.kill(),
        }
    }

    /// Starts it again if it is dead. Returns when it serves.
    pub(crate) fn revive(&mut self) {
        match self {
            Self::Pooler(pooler) => pooler.revive(),
            Self::Agent(agent) => agent.revive(),
        }
    }
}
