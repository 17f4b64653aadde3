//! What an account lets its calls do at most.

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::operation::Operation;

/// How seriously a rule is taken.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum SafeguardMode {
    /// It is not looked at.
    Off,
    /// Calls are dialed, and what the rule says against them is kept and counted.
    Warn,
    /// What the rule forbids is not dialed.
    Enforce,
}

/// A day of the week.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum Weekday {
    /// Monday.
    Monday,
    /// Tuesday.
    Tuesday,
    /// Wednesday.
    Wednesday,
    /// Thursday.
    Thursday,
    /// Friday.
    Friday,
    /// Saturday.
    Saturday,
    /// Sunday.
    Sunday,
}

/// `HH:MM`; `24:00` is the day's end.
#[derive(ToSchema)]
#[schema(pattern = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$", example = "08:00")]
pub struct TimeOfDay(pub String);

/// An E.164 prefix.
#[derive(ToSchema)]
#[schema(pattern = r"^\+[1-9][0-9]{0,14}$", example = "+4930")]
pub struct NumberPrefix(pub String);

/// The callee's local hours, by the zones of the number's first digits; where a number may lie in several zones it must
/// be within the hours in all of them.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallingHours {
    /// `off` by default.
    pub mode: SafeguardMode,
    /// From then on; `08:00` by default.
    pub from: TimeOfDay,
    /// Not any more from then on, later than `from`; `21:00` by default.
    pub to: TimeOfDay,
    /// On these days; all of them by default.
    #[schema(min_items = 1)]
    pub days: Vec<Weekday>,
}

/// How often one number is called. Permits to dial count, answered or not.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallsPerNumber {
    /// `off` by default.
    pub mode: SafeguardMode,
    /// At most so many in any 24 hours.
    #[schema(minimum = 1, maximum = 1000)]
    pub per_day: Option<i64>,
    /// At most so many in any seven days.
    #[schema(minimum = 1, maximum = 1000)]
    pub per_week: Option<i64>,
}

/// Where calls may go.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllowedPrefixes {
    /// `off` by default.
    pub mode: SafeguardMode,
    /// A number must begin with one of them.
    #[schema(max_items = 1000)]
    pub prefixes: Vec<NumberPrefix>,
}

/// How many calls the account makes a day.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DailyCalls {
    /// `off` by default.
    pub mode: SafeguardMode,
    /// At most so many from midnight to midnight.
    #[schema(minimum = 1, maximum = 10000000)]
    pub limit: Option<i64>,
    /// Whose midnight: an IANA name; `UTC` by default.
    pub timezone: String,
}

/// The account's rules.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Safeguards {
    /// The callee's local hours.
    pub calling_hours: CallingHours,
    /// How often one number is called.
    pub calls_per_number: CallsPerNumber,
    /// Where calls may go.
    pub allowed_prefixes: AllowedPrefixes,
    /// How many calls the account makes a day.
    pub daily_calls: DailyCalls,
}

/// Changes of the hours.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallingHoursPatch {
    /// Another mode.
    pub mode: Option<SafeguardMode>,
    /// Another begin.
    pub from: Option<TimeOfDay>,
    /// Another end.
    pub to: Option<TimeOfDay>,
    /// Other days.
    #[schema(min_items = 1)]
    pub days: Option<Vec<Weekday>>,
}

/// Changes of the counts; with a mode other than `off` one of them is needed.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallsPerNumberPatch {
    /// Another mode.
    pub mode: Option<SafeguardMode>,
    /// Another count in 24 hours; `null` for none.
    #[schema(minimum = 1, maximum = 1000)]
    pub per_day: Option<i64>,
    /// Another count in seven days; `null` for none.
    #[schema(minimum = 1, maximum = 1000)]
    pub per_week: Option<i64>,
}

/// Changes of the destinations; with a mode other than `off` a prefix is needed.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedPrefixesPatch {
    /// Another mode.
    pub mode: Option<SafeguardMode>,
    /// The whole new list.
    #[schema(max_items = 1000)]
    pub prefixes: Option<Vec<NumberPrefix>>,
}

/// Changes of the day's calls; with a mode other than `off` a limit is needed.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DailyCallsPatch {
    /// Another mode.
    pub mode: Option<SafeguardMode>,
    /// Another limit; `null` for none.
    #[schema(minimum = 1, maximum = 10000000)]
    pub limit: Option<i64>,
    /// Another zone.
    #[schema(example = "Europe/Berlin")]
    pub timezone: Option<String>,
}

/// Changes of the rules (RFC 7396); `null` puts a rule or a field back to its default.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SafeguardsPatch {
    /// The callee's local hours.
    pub calling_hours: Option<CallingHoursPatch>,
    /// How often one number is called.
    pub calls_per_number: Option<CallsPerNumberPatch>,
    /// Where calls may go.
    pub allowed_prefixes: Option<AllowedPrefixesPatch>,
    /// How many calls the account makes a day.
    pub daily_calls: Option<DailyCallsPatch>,
}

fn sample() -> Value {
    json!({
        "callingHours": {
            "mode": "enforce", "from": "09:00", "to": "20:00",
            "days": ["monday", "tuesday", "wednesday", "thursday", "friday"],
        },
        "callsPerNumber": { "mode": "enforce", "perDay": 2, "perWeek": 5 },
        "allowedPrefixes": { "mode": "warn", "prefixes": ["+1", "+44"] },
        "dailyCalls": { "mode": "off", "timezone": "UTC" },
    })
}

/// Operations of safeguards.
pub fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/public/v1/safeguards", "getSafeguards", "Read the account's rules")
            .ours()
            .ok::<Safeguards>(sample()),
        Operation::patch(
            "/public/v1/safeguards",
            "updateSafeguards",
            "Change the account's rules",
        )
        .ours()
        .note("Holds for every permit to dial that is given after the answer, on every node.")
        .body::<SafeguardsPatch>(json!({
            "nothing": {},
            "some": { "callingHours": { "mode": "enforce" }, "callsPerNumber": { "mode": "warn", "perDay": 3 } },
        }))
        .ok::<Safeguards>(sample())
        .invalid("callsPerNumber.perDay", "out_of_range", "must be from 1 to 1000, not 0"),
    ]
}
