//! Rows that benches put into a database themselves.

use domain::{
    campaign_options::CampaignOptions,
    id::{AccountId, AgentId},
    phone_number::PhoneNumber,
    ports::store::{ApiKeyStore, CampaignContact, FollowUp, NewCampaign, ScheduleText},
};

use super::BenchError;
use domain::api_key::PlainKey;
use storage::SqlStore;

/// Returns the account of a key.
///
/// # Errors
/// Returns an error if the key belongs to no account.
pub async fn account_of(store: &SqlStore, key: &str) -> Result<AccountId, BenchError> {
    let key = PlainKey::parse(key).ok_or("not a key")?;
    let accounts = store.api_keys(key.prefix()).await?;
    Ok(accounts.first().ok_or("no account")?.account.id)
}

/// Returns a campaign without a schedule, follow-ups or a limit.
pub fn campaign(name: &str, agent: AgentId) -> NewCampaign {
    NewCampaign {
        name: name.to_owned(),
        agent,
        schedule: ScheduleText::default(),
        follow_up: FollowUp::default(),
        options: CampaignOptions::default(),
    }
}

/// Returns the contact with a number derived from `n`.
pub fn contact(n: u32) -> Option<CampaignContact> {
    Some(CampaignContact {
        phone_number: PhoneNumber::parse(&format!("+1556{n:07}")).ok()?,
        contact: None,
        name: Some(format!("Contact {n}")),
        email: None,
        extra: serde_json::Map::new(),
    })
}
