//! Present states of calls that other nodes hold.

use std::{collections::HashMap, time::Duration};

use actors::live_feed::LivePresent;
use bytes::Bytes;
use domain::id::AttemptId;
use futures_util::future::join_all;
use tokio::time::timeout;

use super::{Others, Peers, paths};

/// Time limit for another node's answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

impl Peers {
    /// Asks each other node once for the present states of these calls, at most [`super::routes::MOST_LISTED`]. Calls that no node
    /// tells of within a second are left out. The caller must have checked that they belong to the account.
    pub async fn present(&self, attempts: &[AttemptId]) -> HashMap<AttemptId, LivePresent> {
        let Some(others) = self.0.as_ref().filter(|_| !attempts.is_empty()) else {
            return HashMap::new();
        };
        let settings = &others.settings;
        let nodes = others.ask(settings.directory.others(settings.me)).await;
        let body = Bytes::from(serde_json::to_vec(attempts).unwrap_or_default());
        let nodes = nodes.unwrap_or_default().into_iter();
        let nodes = nodes.filter(|address| Some(address) != settings.address.as_ref());
        let asked = nodes.map(|address| timeout(ANSWERED_WITHIN, others.present_at(address, body.clone())));
        let told = join_all(asked).await.into_iter().flatten().flatten();
        told.flatten().collect()
    }
}

impl Others {
    async fn present_at(&self, address: String, body: Bytes) -> Option<HashMap<AttemptId, LivePresent>> {
        let answer = self.send(&address, paths::PRESENT, body).await.ok()?;
        answer.error_for_status().ok()?.json().await.ok()
    }
}
