//! Health of the providers that a call needs.

use crate::agent::Agent;

/// Knows the health of the providers. It is asked before contacts are dialed and must answer at once.
pub trait ProviderHealth: Send + Sync {
    /// Returns why no call of this agent can take place now, because every provider of one kind is down. The
    /// text is shown to clients.
    fn obstacle(&self, agent: &Agent) -> Option<String>;

    /// Returns the same for a call that is held in text, which needs no speech providers.
    fn obstacle_in_text(&self, agent: &Agent) -> Option<String>;
}

/// Providers inside this process, which are never down.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlwaysWell;

impl ProviderHealth for AlwaysWell {
    fn obstacle(&self, _agent: &Agent) -> Option<String> {
        None
    }

    fn obstacle_in_text(&self, _agent: &Agent) -> Option<String> {
        None
    }
}
