//! `platformSettings`: settings around an agent's calls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    config::{Entities, Entity},
    disclosure::Disclosure,
};
use crate::template::{self, Place};

/// `platformSettings`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlatformSettings {
    /// Actions after and during calls.
    pub call_actions: CallActions,
    /// Free-form settings of the widget.
    #[schema(value_type = Object)]
    pub widget: Map<String, Value>,
    /// Values to collect.
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
    /// Fields that one call may override.
    #[schema(extensions(("x-ringback-extension" = json!(true))))]
    pub overrides: AllowedOverrides,
    /// Words that tell the other person that an AI speaks, before anything else in each call.
    #[schema(extensions(("x-ringback-extension" = json!(true))))]
    pub disclosure: Disclosure,
}

/// `callActions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallActions {
    /// Whether "don't call again" applies to the whole account.
    pub smart_opt_out: bool,
    /// Whether issues of calls are reported.
    pub issue_tracking: bool,
    /// URL that results are delivered to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_call_webhook: Option<String>,
    /// E-mail after a call.
    pub post_call_email: PostCallEmail,
    /// Appointments.
    pub schedule_on_calendar: ScheduleOnCalendar,
}

/// `postCallEmail`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PostCallEmail {
    /// Whether e-mails are sent.
    pub enabled: bool,
    /// `to cc subject includeTranscript`, and any other fields.
    #[schema(value_type = Object)]
    pub email_configuration: Map<String, Value>,
}

/// `scheduleOnCalendar`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ScheduleOnCalendar {
    /// Whether appointments can be made.
    pub enabled: bool,
    /// Calendar provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Event types or calendars.
    pub events_ids: Vec<String>,
}

/// `dataCollection`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DataCollection {
    /// Map of name to `{ "type", "description", "enum" }`, in the client's order.
    #[schema(value_type = Object)]
    pub entities: Map<String, Value>,
    /// Whether values are stored with the contact.
    pub store_data: bool,
}

impl DataCollection {
    /// Returns the entities as the service reads them. The map is free-form, so unreadable parts count as missing.
    pub fn typed(&self) -> Entities {
        let entities = self.entities.iter();
        entities
            .map(|(name, entity)| (name.clone(), Entity::read(entity)))
            .collect()
    }

    /// Returns the same with the placeholders of the descriptions filled in.
    pub fn filled(&self, variables: &BTreeMap<String, String>) -> Entities {
        let mut entities = self.typed();
        for (_, entity) in &mut entities {
            entity.description = template::render(Place::EntityDescription, &entity.description, variables);
        }
        entities
    }
}

/// Minutes before a retry if the agent gives no `retryDelay`. A line that is busy stays so for a while.
pub const RETRY_DELAY_MIN: i64 = 60;

/// `callRetry`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallRetry {
    /// Number of retries, 0 to 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<i64>,
    /// Minutes before a retry, 0 to 10080; 60 if it is not set.
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
    /// Caller IDs in E.164.
    pub rotation_numbers: Vec<String>,
    /// Calls with each number before the next one's turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_number: Option<i64>,
    /// Whether calls to some prefixes are blocked.
    pub state_restriction_enabled: bool,
    /// Blocked prefixes in E.164.
    pub state_restricted_numbers: Vec<String>,
}

impl Telephony {
    /// Returns the E.164 prefixes that are not dialed.
    pub fn restricted_prefixes(&self) -> &[String] {
        match self.state_restriction_enabled {
            true => &self.state_restricted_numbers,
            false => &[],
        }
    }
}

/// `overrides`: fields that one call may override.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AllowedOverrides {
    /// Whether a call may override the instructions.
    pub prompt: bool,
    /// Whether a call may override the greeting.
    pub greeting_message: bool,
    /// Whether a call may override the voice.
    pub voice_id: bool,
    /// Whether a call may override the model.
    pub llm: bool,
    /// Whether a call may override the side that speaks first.
    pub first_speaker: bool,
    /// Whether a call may override the maximum duration.
    pub max_duration_seconds: bool,
}

impl AllowedOverrides {
    /// Returns whether the override with this name is allowed.
    pub fn allow(&self, name: &str) -> bool {
        match name {
            "prompt" => self.prompt,
            "greetingMessage" => self.greeting_message,
            "voiceId" => self.voice_id,
            "llm" => self.llm,
            "firstSpeaker" => self.first_speaker,
            "maxDurationSeconds" => self.max_duration_seconds,
            _ => false,
        }
    }
}
