//! `platformSettings`: what happens around an agent's calls.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Entities, Entity};

/// `platformSettings`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlatformSettings {
    /// After and beside calls.
    pub call_actions: CallActions,
    /// Free-form.
    #[schema(value_type = Object)]
    pub widget: Map<String, Value>,
    /// What to collect.
    pub data_collection: DataCollection,
    /// Retries.
    pub call_retry: CallRetry,
    /// Language of the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_language: Option<String>,
    /// Recording.
    pub privacy: Privacy,
    /// Caller IDs and restrictions.
    pub telephony: Telephony,
}

/// `callActions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallActions {
    /// "Don't call again" is honoured account-wide.
    pub smart_opt_out: bool,
    /// Calls report issues.
    pub issue_tracking: bool,
    /// Where results are delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_call_webhook: Option<String>,
    /// Mail after a call.
    pub post_call_email: PostCallEmail,
    /// Appointments.
    pub schedule_on_calendar: ScheduleOnCalendar,
}

/// `postCallEmail`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PostCallEmail {
    /// Whether mail is sent.
    pub enabled: bool,
    /// `to cc subject includeTranscript`, and whatever else is given.
    #[schema(value_type = Object)]
    pub email_configuration: Map<String, Value>,
}

/// `scheduleOnCalendar`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ScheduleOnCalendar {
    /// Whether appointments are made.
    pub enabled: bool,
    /// Calendar provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Event kinds.
    pub events_ids: Vec<String>,
}

/// `dataCollection`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DataCollection {
    /// Map of name to `{ "type", "description", "enum" }`, in the client's order.
    #[schema(value_type = Object)]
    pub entities: Map<String, Value>,
    /// Whether values are kept with the contact.
    pub store_data: bool,
}

impl DataCollection {
    /// The entities as the service reads them; what cannot be read (the map is free-form) counts as not given.
    pub fn typed(&self) -> Entities {
        let entities = self.entities.iter();
        entities
            .map(|(name, entity)| (name.clone(), Entity::read(entity)))
            .collect()
    }
}

/// `callRetry`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallRetry {
    /// 0 to 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<i64>,
    /// Minutes, 0 to 10080.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_delay: Option<i64>,
}

/// `privacy`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Privacy {
    /// Whether calls are recorded.
    pub record_voice: bool,
}

/// `telephony`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Telephony {
    /// Whether caller IDs rotate.
    pub number_rotation_enabled: bool,
    /// The caller IDs, E.164.
    pub rotation_numbers: Vec<String>,
    /// Calls before the next one's turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_number: Option<i64>,
    /// Whether prefixes are restricted.
    pub state_restriction_enabled: bool,
    /// The prefixes, E.164.
    pub state_restricted_numbers: Vec<String>,
}
