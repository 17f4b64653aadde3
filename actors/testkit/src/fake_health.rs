//! Providers that are down when the test says so.

use std::sync::{Mutex, PoisonError};

use domain::{agent::Agent, ports::health::ProviderHealth};

#[derive(Default)]
struct Standing {
    obstacle: Option<String>,
    asked: usize,
}

/// The fake; well at the start.
#[derive(Default)]
pub struct FakeHealth(Mutex<Standing>);

impl FakeHealth {
    /// From now on no call can be held, for this reason.
    pub fn down(&self, reason: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).obstacle = Some(reason.to_owned());
    }

    /// The providers are back.
    pub fn up(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).obstacle = None;
    }

    /// How often it was asked.
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
}
