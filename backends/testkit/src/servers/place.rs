use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::fault::Network;

/// Where servers run and listen.
#[derive(Clone, Debug)]
pub struct Place {
    machine: Option<(Arc<Network>, usize)>,
}

impl Place {
    /// On this machine, on the loopback interface.
    pub const fn here() -> Self {
        Self { machine: None }
    }

    /// On a machine of a network.
    pub fn on(network: &Arc<Network>, machine: usize) -> Self {
        Self { machine: Some((Arc::clone(network), machine)) }
    }

    /// The address to listen on.
    pub fn address(&self) -> Ipv4Addr {
        self.machine.as_ref().map_or(Ipv4Addr::LOCALHOST, |(net, machine)| net.address(*machine))
    }

    /// What comes before a command to have it run here.
    pub fn enter(&self) -> Vec<String> {
        self.machine.as_ref().map_or_else(Vec::new, |(net, machine)| net.enter(*machine).to_vec())
    }

    /// Calls a function that makes its connections here.
    ///
    /// # Panics
    /// When the function does.
    #[track_caller]
    pub fn inside<T: Send>(&self, call: impl FnOnce() -> T + Send) -> T {
        match &self.machine {
            Some((network, machine)) => network.inside(*machine, call),
            None => call(),
        }
    }
}
