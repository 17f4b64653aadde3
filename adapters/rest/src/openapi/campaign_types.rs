//! Schemas of campaigns, in responses and requests.

use domain::campaign_options::CampaignOptions;
use utoipa::ToSchema;

use crate::described::common::{Email, Name, PhoneNumberSent};

/// A contact to call. Up to 100 custom fields of 4 KiB each are stored, and are available as variables in the call.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewCampaignContact {
    /// Phone number; unique within the campaign.
    pub phone_number: PhoneNumberSent,
    /// Id of a saved contact with this number.
    #[schema(format = "uuid")]
    pub contact_id: Option<String>,
    /// Name of the person.
    #[schema(max_length = 200)]
    pub name: Option<String>,
    /// E-mail address.
    pub email: Option<Email>,
}

/// A campaign to create. `launch` and `scheduled` exclude each other. A schedule needs `startTime` and `timezone`.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewCampaign {
    /// Name of the campaign.
    pub name: Name,
    /// Agent that dials.
    #[schema(format = "uuid")]
    pub agent_id: String,
    /// Contacts to call; required without `contactIds`.
    #[schema(required = false, min_items = 1)]
    pub contacts: Vec<NewCampaignContact>,
    /// Saved contacts to call; required without `contacts`.
    #[schema(required = false, min_items = 1)]
    pub contact_ids: Vec<ContactId>,
    /// Whether to dial at once.
    #[schema(default = false)]
    pub launch: Option<bool>,
    /// Whether to dial on the schedule.
    #[schema(default = false)]
    pub scheduled: Option<bool>,
    /// Start time: `HH:MM[:SS]`, or ISO 8601 with or without an offset.
    #[schema(example = "09:00")]
    pub start_time: Option<String>,
    /// End time in the same format; without it there is no daily pause.
    #[schema(example = "17:30")]
    pub end_time: Option<String>,
    /// IANA name of the time zone.
    #[schema(example = "Europe/Berlin")]
    pub timezone: Option<String>,
    /// Whether contacts are called again.
    pub follow_up_call: Option<bool>,
    /// Number of follow-up calls.
    #[schema(minimum = 1, maximum = 100)]
    pub follow_up_attempts: Option<i64>,
    /// Minutes before each follow-up call, one entry per call.
    pub follow_up_intervals: Option<Vec<Minutes>>,
    /// Options.
    #[serde(flatten)]
    pub options: CampaignOptions,
}

/// Id of a contact.
#[derive(ToSchema)]
#[schema(format = "uuid")]
pub struct ContactId(pub String);

/// Minutes, up to a week.
#[derive(ToSchema)]
#[schema(minimum = 1, maximum = 10_080)]
pub struct Minutes(pub i64);

/// Describes a form with a file of contacts, beside its own fields.
macro_rules! file_form {
    ($(#[$about:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(ToSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            $($own)*
            /// CSV file in UTF-8, UTF-16 with a byte order mark, or windows-1252, with a header line, at most 64 MiB.
            #[schema(format = Binary, content_media_type = "text/csv")]
            pub file: String,
            /// Header of the phone column.
            #[schema(required = false, example = "phone")]
            pub phone_column: String,
            /// Header of the name column.
            #[schema(required = false, example = "name")]
            pub name_column: String,
            /// Header of the e-mail column.
            #[schema(required = false, example = "email")]
            pub email_column: String,
            /// Country by whose plan numbers without `+` are read (ISO 3166, two letters); the account's `defaultCountry`
            /// if it is left out.
            #[schema(required = false, example = "DE")]
            pub default_country: String,
            /// Separator of the cells: `,` (the default), `;`, `|`, `tab`, or `auto`, which finds it by the content.
            /// The line `sep=` in the file wins.
            #[schema(required = false, example = "auto")]
            pub separator: String,
            /// Whether invalid rows are left out; without it they refuse the file.
            #[schema(required = false, default = false)]
            pub skip_invalid_rows: bool,
        }
    };
}

file_form! {
    /// A campaign to create from a file of at most 1,000,000 rows.
    pub struct NewCsvCampaign {
        /// Name of the campaign.
        pub name: Name,
        /// Agent that dials.
        #[schema(format = "uuid")]
        pub agent_id: String,
        /// Whether to dial at once.
        #[schema(required = false, default = false)]
        pub launch: bool,
        /// Whether to dial on the schedule.
        #[schema(required = false, default = false)]
        pub scheduled: bool,
        /// Start time: `HH:MM[:SS]`, or ISO 8601 with or without an offset.
        #[schema(required = false, example = "09:00")]
        pub start_time: String,
        /// End time in the same format; without it there is no daily pause.
        #[schema(required = false, example = "17:30")]
        pub end_time: String,
        /// IANA name of the time zone.
        #[schema(required = false, example = "Europe/Berlin")]
        pub timezone: String,
        /// Whether contacts are called again.
        #[schema(required = false)]
        pub follow_up_call: bool,
        /// Number of follow-up calls.
        #[schema(required = false, minimum = 1, maximum = 100)]
        pub follow_up_attempts: i64,
        /// Minutes before each follow-up call, separated by commas, one per call.
        #[schema(required = false, example = "30,120")]
        pub follow_up_intervals: String,
        /// Options.
        #[serde(flatten)]
        pub options: CampaignOptions,
    }
}

/// Contacts to add to a campaign: `contacts`, `contactIds` or both.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoreContacts {
    /// Contacts to call; required without `contactIds`.
    #[schema(required = false, min_items = 1)]
    pub contacts: Vec<NewCampaignContact>,
    /// Saved contacts to call; required without `contacts`.
    #[schema(required = false, min_items = 1)]
    pub contact_ids: Vec<ContactId>,
}

file_form! {
    /// A file of at most 100,000 contacts to add to a campaign.
    pub struct MoreCsvContacts {
    }
}

file_form! {
    /// A file of at most 1,000,000 contacts to check.
    pub struct CsvToCheck {
        /// Agent whose rules for overrides and languages are checked.
        #[schema(required = false, format = "uuid")]
        pub agent_id: String,
    }
}

/// Changes of a campaign. Omitted fields stay unchanged. `null` clears parts of the schedule.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CampaignPatch {
    /// New name.
    #[schema(required = false)]
    pub name: Name,
    /// New agent.
    #[schema(required = false, format = "uuid")]
    pub agent_id: String,
    /// Contacts that replace the current ones.
    #[schema(required = false, min_items = 1)]
    pub contacts: Vec<NewCampaignContact>,
    /// Saved contacts that replace the current ones.
    #[schema(required = false, min_items = 1)]
    pub contact_ids: Vec<ContactId>,
    /// False stops the campaign; true queues or launches it.
    #[schema(required = false)]
    pub active: bool,
    /// True attaches the schedule; false removes it.
    #[schema(required = false)]
    pub scheduled: bool,
    /// Start time: `HH:MM[:SS]`, or ISO 8601 with or without an offset.
    #[schema(example = "09:00")]
    pub start_time: Option<String>,
    /// End time in the same format; without it there is no daily pause.
    #[schema(example = "17:30")]
    pub end_time: Option<String>,
    /// IANA name of the time zone.
    #[schema(example = "Europe/Berlin")]
    pub timezone: Option<String>,
    /// Whether contacts are called again.
    #[schema(required = false)]
    pub follow_up_call: bool,
    /// Number of follow-up calls.
    #[schema(required = false, minimum = 1, maximum = 100)]
    pub follow_up_attempts: i64,
    /// Minutes before each follow-up call, one entry per call.
    #[schema(required = false)]
    pub follow_up_intervals: Vec<Minutes>,
    /// Options.
    #[serde(flatten)]
    pub options: CampaignOptions,
}

/// Schedule of the dialing.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewSchedule {
    /// Start time: `HH:MM[:SS]`, or ISO 8601 with or without an offset.
    #[schema(example = "09:00")]
    pub start_time: String,
    /// End time in the same format; without it there is no daily pause.
    #[schema(example = "17:30")]
    pub end_time: Option<String>,
    /// IANA name of the time zone.
    #[schema(example = "Europe/Berlin")]
    pub timezone: String,
}
