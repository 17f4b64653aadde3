//! What an account lets its calls do at most.

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::operation::Operation;
use domain::safeguards::{Mode, NumberPrefix, Safeguards, TimeOfDay, Weekday};

/// Changes of the hours.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallingHoursPatch {
    /// Another mode.
    pub mode: Option<Mode>,
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
    pub mode: Option<Mode>,
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
    pub mode: Option<Mode>,
    /// The whole new list.
    #[schema(max_items = 1000)]
    pub prefixes: Option<Vec<NumberPrefix>>,
}

/// Changes of the day's calls; with a mode other than `off` a limit is needed.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DailyCallsPatch {
    /// Another mode.
    pub mode: Option<Mode>,
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
