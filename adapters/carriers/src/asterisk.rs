//! A self-hosted Asterisk in front of any SIP trunk. Calls are controlled through its REST interface (ARI),
//! progress comes from its event stream, and audio through `chan_websocket` or AudioSocket. Here we
//! authenticate to Asterisk, so its events need no proof.

pub mod account;
pub mod ari;
pub mod audiosocket;
pub mod call;
mod cause;
mod client;
mod effects;
pub mod event;
mod events;
pub mod inbound;
pub mod media_route;
pub mod names;
mod resync;
pub mod stream;
mod switch;

use std::sync::Arc;

use async_trait::async_trait;
use domain::time::Clock;
use futures_util::FutureExt;
use serde::Deserialize;

pub use self::account::NAME;
use self::{
    account::{AsteriskAccount, Media},
    ari::Ari,
    client::AsteriskCarrier,
    switch::Switch,
};
use crate::{
    http::{
        SetupError, socket_address,
        words::{hide_pair, plain_words},
    },
    kind::{
        Account, CarrierKind, Entries, Trunk,
        ask::{Check, Problem},
    },
    link::CarrierLink,
};

/// Asterisk. It does not call back to an address of ours, so it needs no public address.
pub static KIND: CarrierKind = CarrierKind {
    name: NAME,
    title: "Asterisk",
    calls_back: false,
    variables: &[
        "ASTERISK_ARI_URL",
        "ASTERISK_ARI_USER",
        "ASTERISK_ARI_PASSWORD",
        "ASTERISK_ENDPOINT",
    ],
    begun_by: &["ASTERISK_ARI_URL", "ASTERISK_ARI_USER", "ASTERISK_ARI_PASSWORD"],
    account: Some(|variables| Ok(Arc::new(AsteriskAccount::read(variables)?))),
    ..CarrierKind::USUAL
};

#[derive(Deserialize)]
struct Info {
    system: System,
}

#[derive(Deserialize)]
struct System {
    version: String,
}

#[async_trait]
impl Account for AsteriskAccount {
    fn api(&self) -> &str {
        &self.ari_url
    }

    fn trunk(&self, _public: &str, _clock: Arc<dyn Clock>) -> Result<Trunk, SetupError> {
        hide_pair(&self.user, &self.password);
        let media = self.media.clone();
        let listener = match &media {
            Media::WebSocket { .. } => None,
            Media::AudioSocket { listen, .. } => Some(audiosocket::bind(*listen)?),
        };
        let switch = Arc::new(Switch::new(Ari::new(self.clone())?));
        let carrier = Arc::new(AsteriskCarrier::new(switch.clone()));
        let event_listener = move |link: CarrierLink| {
            async move {
                let link = link.of(NAME);
                let events = events::listen(switch.clone(), link.clone());
                match listener {
                    None => events.await,
                    Some(listener) => {
                        tokio::join!(events, audiosocket::serve(listener, switch, link));
                    }
                }
            }
            .boxed()
        };
        Ok(Trunk {
            carrier,
            routes: media_route::route(&media),
            event_listener: Some(Box::new(event_listener)),
        })
    }

    async fn state(&self, check: &Check<'_>) -> Result<String, Problem> {
        let request = check.ask.get(&format!("{}/asterisk/info", self.ari_url));
        let request = request.basic_auth(&self.user, Some(self.password.secret()));
        let settings = "ASTERISK_ARI_URL, ASTERISK_ARI_USER, ASTERISK_ARI_PASSWORD";
        let asked = check.ask.json(request).await;
        let said: Info = asked.map_err(|why| why.at(&self.ari_url, settings))?;
        Ok(format!("Asterisk {}", plain_words(&said.system.version)))
    }

    fn entries(&self, check: &Check<'_>) -> Entries {
        let application = format!("Stasis({})", self.app);
        let media = match &self.media {
            Media::WebSocket { .. } => {
                let address = check.callback("media");
                ("websocket_client.conf, uri", socket_address(&address))
            }
            Media::AudioSocket { reached_at, .. } => ("reachable from Asterisk by TCP", reached_at.clone()),
        };
        vec![("extensions.conf, for calls that come in", application), media]
    }
}
