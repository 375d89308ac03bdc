use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::fault::Network;

/// The machine where servers run and listen.
#[derive(Clone, Debug)]
pub struct Place {
    machine: Option<(Arc<Network>, usize)>,
}

impl Place {
    /// This machine, on the loopback interface.
    pub const fn here() -> Self {
        Self { machine: None }
    }

    /// A machine of a network.
    pub fn on(network: &Arc<Network>, machine: usize) -> Self {
        Self { machine: Some((Arc::clone(network), machine)) }
    }

    /// Returns the address to listen on.
    pub fn address(&self) -> Ipv4Addr {
        self.machine.as_ref().map_or(Ipv4Addr::LOCALHOST, |(net, machine)| net.address(*machine))
    }

    /// Returns the words before a command that make it run at this place.
    pub fn enter(&self) -> Vec<String> {
        self.machine.as_ref().map_or_else(Vec::new, |(net, machine)| net.enter(*machine).to_vec())
    }

    /// Calls a function, whose connections start at this place.
    ///
    /// # Panics
    /// Panics if the function does.
    #[track_caller]
    pub fn inside<T: Send>(&self, call: impl FnOnce() -> T + Send) -> T {
        match &self.machine {
            Some((network, machine)) => network.inside(*machine, call),
            None => call(),
        }
    }
}
