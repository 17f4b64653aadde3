//! Carriers and providers of the installation, with the last check of each.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use domain::ports::services::{CheckReport, Service, Services};
use tokio::{sync, time::Instant};

/// Last check of a service. It is locked while one runs.
pub(crate) type Last = Arc<sync::Mutex<Option<(Instant, CheckReport)>>>;

/// Services of the installation, with the last check of each. Clones share them.
#[derive(Clone)]
pub struct CheckedServices {
    pub(crate) services: Arc<dyn Services>,
    checks: Arc<Mutex<BTreeMap<String, Last>>>,
}

impl CheckedServices {
    /// Wraps services, none of which was checked yet.
    pub fn new(services: Arc<dyn Services>) -> Self {
        let checks = Arc::default();
        Self { services, checks }
    }

    /// Returns the last check of a service.
    pub(crate) fn last(&self, service: &Service) -> Last {
        let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        checks.entry(service.name.clone()).or_default().clone()
    }
}
