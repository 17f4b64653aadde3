//! Contents of the database before the service starts and after it has ended.

use std::{fs::File, sync::Arc};

use domain::{
    id::{AccountId, AgentId, AttemptId, CampaignId},
    ports::store::{CampaignContact, CampaignStore, StoreResult},
    time::SystemClock,
};
use serde_json::json;

use super::Report;
use crate::cli::BenchApiArgs;
use crate::{
    BenchError,
    processes::ServiceSettings,
    seeds::{campaign, contact},
    site::Site,
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
    /// Conversation with the most turns.
    pub longest: AttemptId,
}

async fn open(settings: &ServiceSettings) -> Result<SqlStore, BenchError> {
    Ok(SqlStore::open(&settings.database_url(), Arc::new(SystemClock)).await?)
}

/// Creates agents, their conversations, and an import that was never finished; all but the import with the previous
/// version of the program if there is one. A database that is kept has no such import.
pub async fn fill(site: &mut Site, args: &BenchApiArgs) -> Result<Seeded, BenchError> {
    let present = site.settings.program.clone();
    if let Some(previous) = &args.previous {
        site.begin_again(previous.clone()).await?;
    }
    if let Some(folder) = &args.keep {
        site.begin_in(std::path::absolute(folder)?).await?;
    }
    let (service, api) = site.serve().await?;
    let mut owners = Vec::new();
    for n in 0..AGENTS {
        let agent = json!({ "name": format!("Agent {n}"), "conversationConfig": { "agent": {
            "prompt": { "prompt": "Ask for the caller's name. ".repeat(20) }, "greetingMessage": "Hello." } } });
        let agent = api.create_agent(agent).await?;
        let contacts = json!([{ "phoneNumber": "+15550000000" }]);
        let campaign = json!({ "name": "Seed", "agentId": agent, "contacts": contacts });
        let campaign = api.post("/public/v1/campaigns", campaign).await?;
        let campaign = campaign["data"]["campaignId"].as_str().ok_or("no campaign")?;
        owners.push((agent.parse::<AgentId>()?, campaign.parse::<CampaignId>()?));
    }
    let account: AccountId = api.get("/public/v1/me").await?["data"]["userId"]
        .as_str()
        .ok_or("no account")?
        .parse()?;
    service.kill().await?;

    // While the file's lock is held the store does not change the tables, so they stay those of the previous version.
    let lock = File::create(site.settings.folder.join("ringback.db.lock"))?;
    lock.lock()?;
    let store = SqlStore::open_beside(&site.settings.database_url(), Arc::new(SystemClock)).await?;
    let longest = store
        .seed_conversations(account, &owners, i64::from(args.conversations))
        .await?;
    store.close().await;
    drop(lock);
    site.settings.program = present;
    if args.previous.is_none() && args.keep.is_none() {
        let store = open(&site.settings).await?;
        leave_import(&store, account, owners[0].0, args.rows).await?;
        store.close().await;
    }
    let (agents, campaigns) = owners.into_iter().unzip();
    Ok(Seeded {
        agents,
        campaigns,
        conversations: args.conversations,
        longest,
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
