//! Whether the providers a call needs are well enough to begin one.

use crate::agent::Agent;

/// Knows how the providers are. Asked before contacts are dialed: it must answer at once.
pub trait ProviderHealth: Send + Sync {
    /// Why no call of this agent can be held now: every provider of one kind is down. In words for a client.
    fn obstacle(&self, agent: &Agent) -> Option<String>;
}

/// Providers inside this process, which are never down.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlwaysWell;

impl ProviderHealth for AlwaysWell {
    fn obstacle(&self, _agent: &Agent) -> Option<String> {
        None
    }
}
