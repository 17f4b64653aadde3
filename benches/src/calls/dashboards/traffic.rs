//! Traffic on an account with dashboards: calls that start and end, and campaigns that change.

use std::time::Duration;

use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

use crate::BenchError;
use ringback::api_client::ApiClient;

/// Interval of the calls. Each is refused as busy, so that it has events and no audio.
const CALL_EVERY: Duration = Duration::from_secs(1);

/// A campaign is created with every so many calls.
const CALLS_PER_CAMPAIGN: u32 = 5;

/// Calls and campaigns that are made until this is dropped.
pub struct Traffic(JoinSet<Result<(), BenchError>>);

impl Traffic {
    /// Makes the first call at once.
    pub async fn begin(api: &ApiClient) -> Result<Self, BenchError> {
        let agent = json!({ "name": "Beside", "conversationConfig": { "agent": {
            "prompt": { "prompt": "Say hello." }, "greetingMessage": "Hello." } } });
        let agent = api.create_agent(agent).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(make(api.clone(), agent));
        Ok(Self(tasks))
    }

    /// Ends it. Returns why it ended before.
    pub async fn end(mut self) -> Result<(), BenchError> {
        if let Some(ended) = self.0.try_join_next() {
            ended??;
        }
        self.0.shutdown().await;
        Ok(())
    }
}

async fn make(api: ApiClient, agent: String) -> Result<(), BenchError> {
    let mut clock = interval(CALL_EVERY);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for n in 0_u32.. {
        clock.tick().await;
        let phone = format!("+1556{n:07}");
        let call = json!({ "agentId": agent, "phoneNumber": phone, "dynamicVariables": { "persona": "busy" } });
        api.post("/public/v1/calls", call).await?;
        if n % CALLS_PER_CAMPAIGN == 0 {
            let contacts = json!([{ "phoneNumber": "+15570000000" }]);
            let campaign = json!({ "name": format!("Beside {n}"), "agentId": agent, "contacts": contacts });
            api.post("/public/v1/campaigns", campaign).await?;
        }
    }
    Ok(())
}
