//! Carriers and providers as a test wants them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use domain::ports::services::{CarrierEntry, CheckReport, Outage, Service, ServiceKind, Services};

/// The fake: a carrier that fails, a voice that works, and a language model without its key. Clones share the count of
/// checks.
#[derive(Debug, Clone, Default)]
pub struct FakeServices {
    takes: Duration,
    checks: Arc<AtomicUsize>,
}

impl FakeServices {
    /// Creates a fake whose checks take this time.
    pub fn slow(takes: Duration) -> Self {
        Self {
            takes,
            checks: Arc::default(),
        }
    }

    /// Returns how many checks were begun.
    pub fn checks(&self) -> usize {
        self.checks.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Services for FakeServices {
    fn all(&self) -> Vec<Service> {
        let outage = Outage {
            since: Some("2026-01-01T00:00:00.000000Z".to_owned()),
            reason: "connection refused".to_owned(),
        };
        let telnyx = Service {
            name: "carrier-telnyx".to_owned(),
            kind: ServiceKind::Carrier,
            provider: "telnyx",
            rank: Some(1),
            configured: true,
            outage: Some(outage),
            settings: vec!["TELNYX_API_KEY"],
        };
        let kokoro = Service {
            name: "tts-kokoro".to_owned(),
            kind: ServiceKind::Tts,
            provider: "kokoro",
            outage: None,
            settings: vec!["KOKORO_API_KEY", "KOKORO_BASE_URL"],
            ..telnyx.clone()
        };
        let groq = Service {
            name: "llm-groq".to_owned(),
            kind: ServiceKind::Llm,
            provider: "groq",
            rank: None,
            configured: false,
            settings: vec!["GROQ_API_KEY"],
            ..kokoro.clone()
        };
        vec![telnyx, groq, kokoro]
    }

    async fn problems(&self) -> Vec<&'static str> {
        vec!["dial_journal"]
    }

    async fn check(&self, service: &Service) -> CheckReport {
        let before = self.checks.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(self.takes).await;
        let entry = CarrierEntry {
            at: "the webhook",
            value: "https://calls.example.com/in".to_owned(),
        };
        match service.kind {
            ServiceKind::Carrier => CheckReport {
                works: true,
                message: format!("answer {}", before + 1),
                numbers: vec!["+15550000001".to_owned()],
                enter: vec![entry],
            },
            _ => CheckReport::of(Err("401: wrong key".to_owned())),
        }
    }
}
