//! Provider health that a test controls.

use std::sync::{Mutex, PoisonError};

use domain::{agent::Agent, ports::health::ProviderHealth};

#[derive(Default)]
struct Standing {
    obstacle: Option<String>,
    asked: usize,
}

/// The fake. Providers are healthy at the start.
#[derive(Default)]
pub struct FakeHealth(Mutex<Standing>);

impl FakeHealth {
    /// Makes all calls impossible from now on, for this reason.
    pub fn down(&self, reason: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).obstacle = Some(reason.to_owned());
    }

    /// Makes the providers healthy again.
    pub fn up(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).obstacle = None;
    }

    /// Returns how often it was asked.
    pub fn asked(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).asked
    }
}

impl ProviderHealth for FakeHealth {
    fn obstacle(&self, _agent: &Agent) -> Option<String> {
        let mut standing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        standing.asked += 1;
        standing.obstacle.clone()
    }

    /// The obstacle is one of speech providers.
    fn obstacle_in_text(&self, _agent: &Agent) -> Option<String> {
        None
    }
}
