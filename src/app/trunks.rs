//! Carriers of a running service: each one whose account is set, and the simulated one if it is wanted.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use actors::attempt::{NoLine, line};
use axum::Router;
use domain::{
    agent::Agent,
    ports::{NotReady, carrier::Carriers},
    time::SystemClock,
};
use tokio::net::TcpListener;

use super::opening::StartError;
use crate::config::ServeConfig;
use carriers::{
    Bulkheads, CarrierLink, EventListener, Trunk, plain,
    registry::{self, wanted},
    settings::CarrierSettings,
    simulated,
};
use net::bind::{bind, reachable};
use sim::exchange::{Exchange, ExchangeHandle, ExchangeSettings};

/// Name of the carrier that calls simulated phones only.
pub(super) const SIMULATED: &str = simulated::NAME;

/// All carriers of the service.
pub(super) struct Trunks {
    pub(super) carriers: Carriers,
    pub(super) endpoints: Vec<(&'static str, Router<CarrierLink>)>,
    pub(super) event_listeners: Vec<EventListener>,
    /// Exchange of the simulated carrier, if it runs in this process.
    pub(super) exchange: Option<ExchangeHandle>,
    /// Endpoint for that exchange if the service's own address speaks TLS.
    pub(super) own_listener: Option<OwnListener>,
    /// Health and limits of each carrier.
    pub(super) bulkheads: Bulkheads,
    /// Accounts at carriers.
    pub(super) settings: CarrierSettings,
}

/// Plain-HTTP endpoint for this machine only. An exchange in this process speaks no TLS, and no certificate
/// would match the address it uses.
pub(super) struct OwnListener {
    pub(super) listener: TcpListener,
    pub(super) endpoints: Router<CarrierLink>,
}

/// Sets up every configured carrier. `served` is the address of this service.
pub(super) async fn join(config: &ServeConfig, served: SocketAddr) -> Result<Trunks, StartError> {
    let settings = match &config.carriers {
        Some(settings) => settings.clone(),
        None => CarrierSettings::from_environment()?,
    };
    let mut trunks = real(config, &settings)?;
    let (mut exchange, mut own_listener) = (None, None);
    // With a real carrier, simulated phones are reachable only if they were asked for.
    if config.carrier == SIMULATED || config.simulated_url.is_some() {
        let (handle, url) = self::exchange(config).await?;
        let listener = side_listener(config).await?;
        let side = listener.as_ref().map(TcpListener::local_addr).transpose()?;
        let trunk = simulated::trunk(&url, &callback_address(config, side.unwrap_or(served))?)?;
        own_listener = listener.map(|listener| OwnListener {
            listener,
            endpoints: trunk.routes.clone(),
        });
        trunks.push(trunk);
        exchange = handle;
    }
    let chosen = trunks.iter().position(|trunk| trunk.carrier.name() == config.carrier);
    let chosen = chosen.ok_or_else(|| format!("RINGBACK_CARRIER {}: {}", config.carrier, wanted(&config.carrier)))?;
    let first = trunks.remove(chosen);
    let mut bulkheads = Bulkheads::default();
    let (mut others, mut endpoints) = (Vec::new(), vec![(first.carrier.name(), first.routes)]);
    let mut event_listeners: Vec<EventListener> = first.event_listener.into_iter().collect();
    for trunk in trunks {
        endpoints.push((trunk.carrier.name(), trunk.routes));
        others.push(bulkheads.around(trunk.carrier));
        event_listeners.extend(trunk.event_listener);
    }
    Ok(Trunks {
        carriers: Carriers::new(bulkheads.around(first.carrier), others),
        endpoints,
        event_listeners,
        exchange,
        own_listener,
        bulkheads,
        settings: settings.with_exchange(config.simulated_url.as_deref()),
    })
}

/// Checks that an agent's calls can go out: they cannot if its numbers are at carriers that are not configured.
pub(super) fn line_for(agent: &Agent, carriers: &Carriers) -> Result<(), NotReady> {
    let Err(NoLine { provider: missing }) = line(agent, carriers) else {
        return Ok(());
    };
    let way_out = match registry::named(&missing) {
        Some(kind) if kind.name == SIMULATED => format!("{} to the address of a `ringback phones`", kind.wanted()),
        Some(kind) if kind.calls_back => format!(
            "{}, and RINGBACK_PUBLIC_URL to the https:// address under which it reaches this service",
            kind.wanted()
        ),
        // Without a kind, the agent was saved before carrier names were checked.
        _ => wanted(&missing),
    };
    Err(NotReady(format!(
        "the agent's phone number is at `{missing}`, where this service places no calls: {way_out}; or remove the \
         number from the agent"
    )))
}

fn real(config: &ServeConfig, settings: &CarrierSettings) -> Result<Vec<Trunk>, StartError> {
    let mut trunks = vec![plain::trunk()];
    for set in settings.carriers() {
        let public = match set.kind.calls_back {
            true => way_in(config, set.kind.name, set.account.api())?,
            false => Some(""),
        };
        if let Some(public) = public {
            trunks.push(set.account.trunk(public, Arc::new(SystemClock))?);
        }
    }
    Ok(trunks)
}

/// Returns the address at which a carrier reaches this service, or `None` to leave out a carrier that is not
/// the chosen one.
fn way_in<'a>(config: &'a ServeConfig, carrier: &str, api: &str) -> Result<Option<&'a str>, StartError> {
    match public_address(config, carrier, api) {
        Ok(public) => Ok(Some(public)),
        Err(why) if carrier == config.carrier => Err(why),
        Err(why) => {
            tracing::warn!(carrier, error = %why, "carrier disabled");
            Ok(None)
        }
    }
}

/// Returns the address at which a real carrier reaches this service. A carrier whose own address is `http://`
/// is on our side of the network and may be given an `http://` address too.
fn public_address<'a>(config: &'a ServeConfig, carrier: &str, api: &str) -> Result<&'a str, StartError> {
    let public = config.public_url.as_deref().unwrap_or_default();
    if public.starts_with("https://") || (!public.is_empty() && api.starts_with("http://")) {
        return Ok(public);
    }
    Err(format!(
        "RINGBACK_PUBLIC_URL: {carrier} must reach this service; set it to the https:// address under which it does"
    )
    .into())
}

async fn exchange(config: &ServeConfig) -> Result<(Option<ExchangeHandle>, String), StartError> {
    if let Some(url) = &config.simulated_url {
        return Ok((None, url.clone()));
    }
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let exchange = Exchange::start(ExchangeSettings {
        scripts: config.scripts.clone(),
        ..ExchangeSettings::at(loopback)
    })
    .await?;
    let url = exchange.url();
    Ok((Some(exchange), url))
}

/// Opens a separate port for an exchange in this process if the service speaks TLS.
async fn side_listener(config: &ServeConfig) -> Result<Option<TcpListener>, StartError> {
    if config.simulated_url.is_some() || !config.tls.is_set() {
        return Ok(None);
    }
    let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).and_then(TcpListener::from_std);
    let listener =
        listener.map_err(|e| format!("cannot listen on a port of 127.0.0.1 for the simulated phones: {e}"))?;
    Ok(Some(listener))
}

/// Returns the address at which clients reach this service.
pub(super) fn public_url(config: &ServeConfig, served: SocketAddr) -> String {
    let own = || format!("{}://{}", config.tls.scheme(), reachable(served));
    config.public_url.clone().unwrap_or_else(own)
}

/// Returns the address at which the exchange reaches this process: the loopback address if it runs in this
/// process, else the public address.
fn callback_address(config: &ServeConfig, served: SocketAddr) -> Result<String, StartError> {
    if config.simulated_url.is_none() {
        return Ok(format!("http://{}", reachable(served)));
    }
    if config.tls.is_set() {
        return Err(format!(
            "RINGBACK_SIMULATED_URL {}: the simulated exchange calls http:// addresses only, and this service speaks TLS; \
             leave RINGBACK_SIMULATED_URL out, or RINGBACK_TLS_CERT and RINGBACK_TLS_KEY",
            config.simulated_url.as_deref().unwrap_or_default()
        )
        .into());
    }
    let public = config.public_url.clone().unwrap_or_else(|| format!("http://{served}"));
    if public.starts_with("https://") {
        return Err(format!(
            "public address {public}: the simulated exchange calls http:// addresses only; set RINGBACK_PUBLIC_URL to \
             one, such as http://{served}"
        )
        .into());
    }
    Ok(public)
}
