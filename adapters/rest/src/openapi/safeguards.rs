//! Limits on an account's calls.

use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::described::operation::Operation;
use domain::safeguards::{Mode, NumberPrefix, Safeguards, TimeOfDay, Weekday};

/// Changes of the calling hours.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallingHoursPatch {
    /// New mode.
    pub mode: Option<Mode>,
    /// New start of the hours.
    pub from: Option<TimeOfDay>,
    /// New end of the hours.
    pub to: Option<TimeOfDay>,
    /// New days.
    #[schema(min_items = 1)]
    pub days: Option<Vec<Weekday>>,
}

/// Changes of the limits per number. A mode other than `off` needs at least one of them.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallsPerNumberPatch {
    /// New mode.
    pub mode: Option<Mode>,
    /// New limit within 24 hours; `null` for none.
    #[schema(minimum = 1, maximum = 1000)]
    pub per_day: Option<i64>,
    /// New limit within seven days; `null` for none.
    #[schema(minimum = 1, maximum = 1000)]
    pub per_week: Option<i64>,
}

/// Changes of the destinations. A mode other than `off` needs at least one prefix.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedPrefixesPatch {
    /// New mode.
    pub mode: Option<Mode>,
    /// New list, complete.
    #[schema(max_items = 1000)]
    pub prefixes: Option<Vec<NumberPrefix>>,
}

/// Changes of the daily limit. A mode other than `off` needs a limit.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DailyCallsPatch {
    /// New mode.
    pub mode: Option<Mode>,
    /// New limit; `null` for none.
    #[schema(minimum = 1, maximum = 10000000)]
    pub limit: Option<i64>,
    /// New time zone.
    #[schema(example = "Europe/Berlin")]
    pub timezone: Option<String>,
}

/// Changes of the rules (RFC 7396). `null` resets a rule or a field to its default.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SafeguardsPatch {
    /// Calling hours in the callee's local time.
    pub calling_hours: Option<CallingHoursPatch>,
    /// Limits of calls to one number.
    pub calls_per_number: Option<CallsPerNumberPatch>,
    /// Allowed destinations.
    pub allowed_prefixes: Option<AllowedPrefixesPatch>,
    /// Limit of the account's calls per day.
    pub daily_calls: Option<DailyCallsPatch>,
    /// Whether clients may follow live calls, listen to them and take them over.
    pub live_listening: Option<bool>,
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
        "liveListening": true,
    })
}

/// Returns the operations of safeguards.
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
        .note("Applies to every dial permitted after the response, on every node.")
        .body::<SafeguardsPatch>(json!({
            "nothing": {},
            "some": { "callingHours": { "mode": "enforce" }, "callsPerNumber": { "mode": "warn", "perDay": 3 } },
        }))
        .ok::<Safeguards>(sample())
        .invalid("callsPerNumber.perDay", "out_of_range", "must be from 1 to 1000, not 0"),
    ]
}
