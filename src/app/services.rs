//! Carriers and providers of this installation, as clients see them: without keys and without values of settings.

use async_trait::async_trait;
use domain::ports::{
    carrier::Carriers,
    services::{CheckReport, Service, ServiceKind, Services},
};

use super::parts::Parts;
use crate::{config::ServeConfig, load::ReadyEndpoint};
use carriers::settings::CarrierSettings;

/// Carriers and providers of this installation, seen from this node.
pub(super) struct InstalledServices {
    pub(super) config: ServeConfig,
    pub(super) carriers: Carriers,
    pub(super) accounts: CarrierSettings,
    pub(super) parts: Parts,
    pub(super) ready: ReadyEndpoint,
}

#[async_trait]
impl Services for InstalledServices {
    fn all(&self) -> Vec<Service> {
        let (now, guards) = (self.parts.clock.now(), &self.parts.providers.guards);
        let mut all = self.ready.carriers.services(&self.carriers, now);
        all.extend(providers::services::list(&self.config.providers, guards, now));
        all
    }

    async fn problems(&self) -> Vec<&'static str> {
        self.ready.reasons().await
    }

    async fn check(&self, service: &Service) -> CheckReport {
        let (config, provider) = (&self.config, service.provider);
        match service.kind {
            ServiceKind::Carrier => {
                let report = carriers::check::one(&self.accounts, provider, config.public_url.as_deref()).await;
                report.unwrap_or_else(|| CheckReport::of(Ok("its phones are inside the service".to_owned())))
            }
            kind => providers::check::one(&config.providers, kind, provider).await,
        }
    }
}
