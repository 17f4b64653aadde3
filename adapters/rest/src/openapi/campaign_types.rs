//! The shapes of campaigns: as they read, and as they are sent.

use utoipa::ToSchema;

use super::{
    common::{Email, Name, PhoneNumberSent},
    conversations::DataCollected,
};

/// Where a campaign stands.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum CampaignStatus {
    /// Made, not yet launched.
    Draft,
    /// Its time is still to come.
    Waiting,
    /// Dialing.
    Running,
    /// Held, by the user or by the end of its window.
    Paused,
    /// Ended by the user.
    Stopped,
    /// Every contact has its outcome.
    Completed,
    /// It cannot go on.
    Failed,
    /// It should be dialing and cannot at the moment.
    Delayed,
}

/// Calls after an unsuccessful one.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FollowUp {
    /// Whether there are any.
    pub enabled: bool,
    /// How many.
    pub attempts: i64,
    /// Minutes before each.
    pub intervals_minutes: Vec<i64>,
}

/// When a campaign was made, changed and deleted.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CampaignMetadata {
    /// ISO 8601, UTC.
    #[schema(required, format = DateTime)]
    pub created_at: Option<String>,
    /// ISO 8601, UTC.
    #[schema(required, format = DateTime)]
    pub updated_at: Option<String>,
    /// ISO 8601, UTC.
    #[schema(required, format = DateTime)]
    pub deleted_at: Option<String>,
}

/// Contacts by how far they are.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Still to be called.
    #[schema(minimum = 0)]
    pub pending: i64,
    /// Being called.
    #[schema(minimum = 0)]
    pub in_progress: i64,
    /// Reached, voicemail included.
    #[schema(minimum = 0)]
    pub completed: i64,
    /// Not reached.
    #[schema(minimum = 0)]
    pub failed: i64,
    /// Stopped before they were called.
    #[schema(minimum = 0)]
    pub cancelled: i64,
    /// How many of the completed are voicemail.
    #[schema(minimum = 0)]
    pub voicemail: i64,
}

/// A contact of a campaign. Further fields stand beside the known ones.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CampaignContact {
    /// E.164.
    pub phone_number: CampaignNumber,
    /// The saved contact with this number.
    #[schema(required, format = "uuid")]
    pub contact_id: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its address.
    pub email: Option<String>,
}

/// A campaign.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Campaign {
    /// Its id.
    #[schema(format = "uuid")]
    pub campaign_id: String,
    /// Its name.
    pub name: String,
    /// The agent that dials.
    #[schema(format = "uuid")]
    pub agent_id: String,
    /// Whether it dials, or will by itself.
    pub active: bool,
    /// Whether a schedule is attached.
    pub scheduled: bool,
    /// As it was given.
    #[schema(required)]
    pub start_time: Option<String>,
    /// As it was given.
    #[schema(required)]
    pub end_time: Option<String>,
    /// IANA name.
    #[schema(required)]
    pub timezone: Option<String>,
    /// When dialing next begins, UTC.
    #[schema(required, format = DateTime)]
    pub next_run_at: Option<String>,
    /// Where it stands.
    pub status: CampaignStatus,
    /// The first contact not yet dialed.
    #[schema(minimum = 0)]
    pub start_index: i64,
    /// Its contacts.
    #[schema(minimum = 0)]
    pub contact_count: i64,
    /// Its follow-ups.
    pub follow_up: FollowUp,
    /// Calls of this campaign at once, when that is bounded.
    #[schema(minimum = 1)]
    pub max_concurrent_calls: Option<i64>,
    /// When it was made.
    pub metadata: CampaignMetadata,
    /// How far it is; left out in lists.
    pub progress: Option<Progress>,
    /// Its contacts; left out in lists.
    pub contacts: Option<Vec<CampaignContact>>,
}

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

/// A phone number in E.164; `+0000000` where the person's was erased.
#[derive(ToSchema)]
#[schema(pattern = r"^\+([1-9][0-9]{6,14}|0000000)$", example = "+15550100010")]
pub struct CampaignNumber(pub String);

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

/// A deleted campaign's id.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CampaignDeleted {
    /// The id.
    #[schema(format = "uuid")]
    pub campaign_id: String,
    /// True.
    pub deleted: bool,
}

/// Where a contact of a campaign stands.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum ContactStatus {
    /// Still to be called.
    Pending,
    /// Being called.
    InProgress,
    /// Reached.
    Completed,
    /// Not reached.
    Failed,
    /// Stopped before it was called.
    Cancelled,
}

/// What came of a contact.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContactResult {
    /// E.164.
    pub phone_number: CampaignNumber,
    /// Its name.
    pub name: Option<String>,
    /// The saved contact.
    #[schema(required, format = "uuid")]
    pub contact_id: Option<String>,
    /// Where it stands.
    pub status: ContactStatus,
    /// Why it failed or was cancelled, such as `busy`.
    pub error_message: Option<String>,
    /// Attempts so far; one that is planned counts.
    #[schema(minimum = 0)]
    pub attempts: i64,
    /// The conversation of the last attempt; a planned one is `scheduled`.
    #[schema(format = "uuid")]
    pub last_conversation_id: Option<String>,
    /// A machine picked up.
    pub voice_mail_detected: bool,
    /// What the agent found out.
    pub data_collected: DataCollected,
}
