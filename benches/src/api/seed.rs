//! Contents of the database before the service starts and after it has ended.

use std::sync::Arc;

use domain::{
    id::{AccountId, AgentId, CampaignId},
    ports::store::{CampaignContact, CampaignStore, DirectoryStore, StoreResult},
    time::SystemClock,
};
use serde_json::json;

use super::Report;
use crate::cli::BenchApiArgs;
use crate::{
    BenchError,
    processes::ServiceSettings,
    seeds::{account_of, campaign, contact},
};
use sim::samples::Samples;
use storage::SqlStore;

const AGENTS: usize = 10;

/// Seeded rows.
pub struct Seeded {
    /// Agents of the account.
    pub agents: Vec<AgentId>,
    /// Campaigns of the account, one for each agent.
    pub campaigns: Vec<CampaignId>,
    /// Number of conversations.
    pub conversations: u32,
}

async fn open(settings: &ServiceSettings) -> Result<SqlStore, BenchError> {
    Ok(SqlStore::open(&settings.database_url(), Arc::new(SystemClock)).await?)
}

/// Creates agents, their conversations, and an import that was never finished.
pub async fn fill(settings: &ServiceSettings, key: &str, args: &BenchApiArgs) -> Result<Seeded, BenchError> {
    let store = open(settings).await?;
    let account = account_of(&store, key).await?;
    let mut owners = Vec::new();
    for n in 0..AGENTS {
        let document = json!({ "name": format!("Agent {n}"), "conversationConfig": { "agent": {
            "prompt": { "prompt": "Ask for the caller's name. ".repeat(20) }, "greetingMessage": "Hello." } } });
        let document = document.as_object().cloned().unwrap_or_default();
        let agent = store.create_agent(account, document, None).await?.id;
        let import = store.begin_import(account, campaign("Seed", agent)).await?;
        owners.push((agent, store.finish_import(import, None).await?.id));
    }
    store
        .seed_conversations(account, &owners, i64::from(args.conversations))
        .await?;
    leave_import(&store, account, owners[0].0, args.rows).await?;
    store.close().await;
    let (agents, campaigns) = owners.into_iter().unzip();
    Ok(Seeded {
        agents,
        campaigns,
        conversations: args.conversations,
    })
}

async fn leave_import(store: &SqlStore, account: AccountId, agent: AgentId, rows: u32) -> StoreResult<()> {
    let import = store.begin_import(account, campaign("Left over", agent)).await?;
    let numbers: Vec<u32> = (0..rows).collect();
    for chunk in numbers.chunks(2_000) {
        let contacts: Vec<CampaignContact> = chunk.iter().filter_map(|n| contact(*n)).collect();
        store.append_contacts(import, &contacts).await?;
    }
    Ok(())
}

/// Reads from the database how long dials waited during the import, from claim to permit, pacing included.
/// Runs after the service has ended.
pub async fn permit_waits(settings: &ServiceSettings, report: &mut Report) -> Result<(), BenchError> {
    let store = open(settings).await?;
    let waits = store.permit_waits_us().await?.into_iter();
    let waits: Samples = waits.map(|us| us as f64 / 1_000.0).collect();
    store.close().await;
    // A short import may be over before anybody is dialed.
    if let Some(p99) = waits.percentile(0.99) {
        report.at_most("claim to permit during it, p99", p99, "ms", 500.0);
    }
    Ok(())
}
