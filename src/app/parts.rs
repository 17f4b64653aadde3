//! The parts of the service, each made from the settings.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use actors::{audio_stream::StreamSettings, node::NodeSettings};
use domain::{id::NodeId, node_times::Times, ports::store::Store, time::Clock};

use super::StartError;
use crate::config::ServeConfig;
use integrations::{
    deliveries::{Courier, Pace, WebhookLimits, WebhookSender},
    documents::{DocumentSettings, Documents, extract::this_program},
    http_tools::HttpTools,
};
use net::address_policy::{AddressPolicy, Resolver, SystemResolver};
use peers::{Peers, PeersSettings, directory::StoreDirectory};
use providers::{
    babble::BabbleTranscriber,
    configured::Configured,
    knowledge::{Embeddings, KnowledgeCache},
};
use storage::{SqlStore, dial_journal::DialJournal, recordings::WavRecordings};

pub(super) fn node_settings(config: &ServeConfig, (address, times): (SocketAddr, Times)) -> NodeSettings {
    NodeSettings {
        node: NodeId::new(),
        address: config.node_address(address),
        times,
        lines: config.max_calls as usize,
        calls_per_second: config.dials_per_second(),
        ring_timeout: Duration::from_secs(u64::from(config.ring_timeout_seconds)),
        stream: StreamSettings {
            fixed_pause_ms: config.fixed_pause_ms,
        },
        speculation: config.speculation.into(),
    }
}

/// The other nodes that may be: a database server may have several.
pub(super) fn peers(
    config: &ServeConfig,
    node: &NodeSettings,
    (store, clock): (Arc<dyn Store>, Arc<dyn Clock>),
) -> Result<Peers, StartError> {
    if !config.storage.database_url.is_postgres() {
        return Ok(Peers::none());
    }
    if node.address.is_none() {
        tracing::warn!(
            "RINGBACK_NODE_URL is not set and RINGBACK_LISTEN {} names no one address: other nodes on this database cannot \
             pass callbacks and media sockets on to this one",
            config.listen
        );
    }
    let settings = PeersSettings {
        me: node.node,
        address: node.address.clone(),
        directory: Arc::new(StoreDirectory(store)),
        clock,
    };
    Ok(Peers::among(settings)?)
}

/// Before anything is claimed: what the database forgot of this node's dials is written down again.
pub(super) async fn keep_dial_journal(config: &ServeConfig, store: &SqlStore) -> Result<(), StartError> {
    let folder = config.storage.data_dir.join("dials");
    let journal = DialJournal::open(folder.clone());
    let journal = journal.map_err(|e| format!("cannot use {} for the dial journal: {e}", folder.display()))?;
    let kept = store.keep_dial_journal(journal);
    kept.map_err(|e| format!("cannot use {} for the dial journal: {e}", folder.display()))?;
    store.reconcile_dials().await?;
    Ok(())
}

pub(super) fn recordings_dir(config: &ServeConfig) -> PathBuf {
    config.storage.data_dir.join("recordings")
}

pub(super) fn recordings(config: &ServeConfig) -> Result<WavRecordings, StartError> {
    let folder = recordings_dir(config);
    WavRecordings::new(folder.clone())
        .map_err(|e| format!("cannot use {} for recordings: {e}", folder.display()).into())
}

pub(super) fn address_policy(config: &ServeConfig) -> AddressPolicy {
    match config.allow_private_urls {
        true => AddressPolicy::everything(),
        false => AddressPolicy::public_only(),
    }
}

pub(super) fn courier(
    config: &ServeConfig,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
) -> Result<Courier, StartError> {
    let (policy, limits) = (address_policy(config), WebhookLimits::default());
    let webhooks = WebhookSender::new(policy, Arc::new(SystemResolver), limits, clock)?;
    Ok(Courier::new(store, webhooks, config.mail.mailer()?, Pace::default()))
}

pub(super) fn http_tools(
    config: &ServeConfig,
    store: &Arc<SqlStore>,
    clock: &Arc<dyn Clock>,
) -> Result<HttpTools, StartError> {
    let connects: (_, Arc<dyn Resolver>) = (address_policy(config), Arc::new(SystemResolver));
    Ok(HttpTools::new(store.clone(), connects, clock.clone())?)
}

pub(super) fn documents(address_policy: &AddressPolicy) -> Result<Documents, StartError> {
    let settings = DocumentSettings {
        policy: address_policy.clone(),
        resolver: Arc::new(SystemResolver),
        program: this_program().map_err(|e| format!("cannot find this program's own file: {e}"))?,
    };
    Ok(Documents::new(settings)?)
}

/// Whether the first voice of the settings is there and speaks: it says one sentence.
///
/// # Errors
///
/// What is wrong with it.
pub async fn try_voice(config: &ServeConfig) -> Result<(), StartError> {
    let team = team(config)?;
    // Unlike the service, which may wait for a program, this needs it now.
    let there = team.voices.check_names().await;
    there.map_err(|why| format!("RINGBACK_TTS: {why}"))?;
    if let Some(voice) = config.providers.tts.first() {
        let spoken = team.voices.probe(voice).await;
        spoken.map_err(|why| format!("RINGBACK_TTS: {voice}: {why}"))?;
    }
    Ok(())
}

pub(super) fn shelf(config: &ServeConfig, store: Arc<dyn Store>) -> Result<KnowledgeCache, StartError> {
    let settings = config.providers.settings()?;
    let model = config.providers.embeddings.as_ref();
    let embeddings = model.map(|model| Embeddings::new(model, &settings)).transpose();
    let embeddings = embeddings.map_err(|why| format!("RINGBACK_EMBEDDINGS: {why}"))?;
    Ok(KnowledgeCache::new(store, embeddings))
}

pub(super) fn team(config: &ServeConfig) -> Result<Configured, StartError> {
    let babble = config.babble.applied_to(BabbleTranscriber);
    let cache = config.storage.data_dir.join("speech");
    Ok(Configured::new(&config.providers, babble, Some(&cache))?)
}
