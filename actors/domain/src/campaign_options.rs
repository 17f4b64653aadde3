//! Options of a campaign: the single declaration that the API reads and describes, the store keeps and campaigns obey.
//! A new one is a field here, a column (a migration, and `OPTIONS` among the store's campaigns), and a field of the
//! dashboard's form.

use serde::{Deserialize, Serialize};

/// Options of a campaign, each a whole number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CampaignOptions {
    /// Maximum concurrent calls of this campaign; without it, as many as there are lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = i64, minimum = 1, maximum = 100_000)]
    pub max_concurrent_calls: Option<u32>,
    /// Longest ringing time of a call in seconds; without it, that of the service. Every carrier supports the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = i64, minimum = 10, maximum = 120)]
    pub ring_timeout_seconds: Option<u32>,
}

impl CampaignOptions {
    /// Returns the options with those of `others` that are missing here.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            max_concurrent_calls: self.max_concurrent_calls.or(others.max_concurrent_calls),
            ring_timeout_seconds: self.ring_timeout_seconds.or(others.ring_timeout_seconds),
        }
    }
}
