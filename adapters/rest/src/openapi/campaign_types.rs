//! The shapes of campaigns: as they read, and as they are sent.

use utoipa::ToSchema;

use super::common::{Email, Name, PhoneNumberSent};

/// A contact to call. Up to 100 further fields of 4 KiB each are kept, and serve as variables in the call.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewCampaignContact {
    /// Its number; none twice in a campaign.
    pub phone_number: PhoneNumberSent,
    /// A saved contact with this number.
    #[schema(format = "uuid")]
    pub contact_id: Option<String>,
    /// Its name.
    #[schema(max_length = 200)]
    pub name: Option<String>,
    /// Its address.
    pub email: Option<Email>,
}

/// A campaign to make. `launch` and `scheduled` exclude each other; a schedule needs `startTime` and `timezone`.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewCampaign {
    /// Its name.
    pub name: Name,
    /// The agent that dials.
    #[schema(format = "uuid")]
    pub agent_id: String,
    /// Whom to call.
    #[schema(min_items = 1)]
    pub contacts: Vec<NewCampaignContact>,
    /// Dial at once.
    #[schema(default = false)]
    pub launch: Option<bool>,
    /// Dial by the schedule.
    #[schema(default = false)]
    pub scheduled: Option<bool>,
    /// `HH:MM[:SS]`, or ISO 8601 with or without an offset.
    #[schema(example = "09:00")]
    pub start_time: Option<String>,
    /// The same; without it there is no daily pause.
    #[schema(example = "17:30")]
    pub end_time: Option<String>,
    /// IANA name.
    #[schema(example = "Europe/Berlin")]
    pub timezone: Option<String>,
    /// Whether contacts are called again.
    pub follow_up_call: Option<bool>,
    /// How often.
    #[schema(minimum = 1, maximum = 100)]
    pub follow_up_attempts: Option<i64>,
    /// Minutes before each, one per attempt.
    pub follow_up_intervals: Option<Vec<Minutes>>,
    /// Calls of this campaign at once.
    #[schema(minimum = 1, maximum = 100_000)]
    pub max_concurrent_calls: Option<i64>,
}

/// A contact's id.
#[derive(ToSchema)]
#[schema(format = "uuid")]
pub struct ContactId(pub String);

/// Minutes, up to a week.
#[derive(ToSchema)]
#[schema(minimum = 1, maximum = 10_080)]
pub struct Minutes(pub i64);

/// A campaign to make of a file.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewCsvCampaign {
    /// UTF-8, with a header line, at most 64 MiB and 1,000,000 rows.
    #[schema(format = Binary, content_media_type = "text/csv")]
    pub file: String,
    /// Its name.
    pub name: Name,
    /// The agent that dials.
    #[schema(format = "uuid")]
    pub agent_id: String,
    /// Dial at once.
    #[schema(required = false, default = false)]
    pub launch: bool,
    /// Dial by the schedule.
    #[schema(required = false, default = false)]
    pub scheduled: bool,
    /// `HH:MM[:SS]`, or ISO 8601 with or without an offset.
    #[schema(required = false, example = "09:00")]
    pub start_time: String,
    /// The same; without it there is no daily pause.
    #[schema(required = false, example = "17:30")]
    pub end_time: String,
    /// IANA name.
    #[schema(required = false, example = "Europe/Berlin")]
    pub timezone: String,
    /// The header of the phone column.
    #[schema(required = false, example = "phone")]
    pub phone_column: String,
    /// The header of the name column.
    #[schema(required = false, example = "name")]
    pub name_column: String,
    /// The header of the e-mail column.
    #[schema(required = false, example = "email")]
    pub email_column: String,
    /// Whether contacts are called again.
    #[schema(required = false)]
    pub follow_up_call: bool,
    /// How often.
    #[schema(required = false, minimum = 1, maximum = 100)]
    pub follow_up_attempts: i64,
    /// Minutes before each, separated by commas, one per attempt.
    #[schema(required = false, example = "30,120")]
    pub follow_up_intervals: String,
}

/// Changes of a campaign; what is left out stays. `null` clears the parts of the schedule.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CampaignPatch {
    /// Another name.
    #[schema(required = false)]
    pub name: Name,
    /// Another agent.
    #[schema(required = false, format = "uuid")]
    pub agent_id: String,
    /// The contacts in place of the present ones.
    #[schema(required = false, min_items = 1)]
    pub contacts: Vec<NewCampaignContact>,
    /// Saved contacts in place of the present ones.
    #[schema(required = false, min_items = 1)]
    pub contact_ids: Vec<ContactId>,
    /// False stops; true queues or launches.
    #[schema(required = false)]
    pub active: bool,
    /// True attaches the schedule; false takes it off.
    #[schema(required = false)]
    pub scheduled: bool,
    /// `HH:MM[:SS]`, or ISO 8601 with or without an offset.
    #[schema(example = "09:00")]
    pub start_time: Option<String>,
    /// The same; without it there is no daily pause.
    #[schema(example = "17:30")]
    pub end_time: Option<String>,
    /// IANA name.
    #[schema(example = "Europe/Berlin")]
    pub timezone: Option<String>,
    /// Whether contacts are called again.
    #[schema(required = false)]
    pub follow_up_call: bool,
    /// How often.
    #[schema(required = false, minimum = 1, maximum = 100)]
    pub follow_up_attempts: i64,
    /// Minutes before each, one per attempt.
    #[schema(required = false)]
    pub follow_up_intervals: Vec<Minutes>,
    /// Calls of this campaign at once.
    #[schema(required = false, minimum = 1, maximum = 100_000)]
    pub max_concurrent_calls: i64,
}

/// When to dial.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewSchedule {
    /// `HH:MM[:SS]`, or ISO 8601 with or without an offset.
    #[schema(example = "09:00")]
    pub start_time: String,
    /// The same; without it there is no daily pause.
    #[schema(example = "17:30")]
    pub end_time: Option<String>,
    /// IANA name.
    #[schema(example = "Europe/Berlin")]
    pub timezone: String,
}

/// Nothing to say.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NoFields {}

/// How to stop.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopOptions {
    /// Also hang up the calls in progress.
    #[schema(default = false)]
    pub hang_up: Option<bool>,
}
