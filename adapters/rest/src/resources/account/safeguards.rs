//! Limits on an account's calls.

use axum::extract::State;
use chrono_tz::Tz;
use domain::{
    agent::Problem,
    id::AccountId,
    phone_number::PhoneNumber,
    ports::store::Store,
    safeguards::{
        AllowedPrefixes, CallingHours, CallsPerNumber, DailyCalls, Mode, NumberPrefix, Safeguards, TimeOfDay, Weekday,
    },
};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::{
    caller::Caller,
    described::operation::Operation,
    request::{
        body::JsonObject,
        fields::{Fields, patched},
        optimistic::until_written,
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiResult, OrNoSuch},
    },
    state::RestState,
};

/// Valid limits of calls to one number per day or week.
const PER_NUMBER: std::ops::RangeInclusive<i64> = 1..=1_000;
/// Valid limits of an account's calls per day.
const PER_DAY: std::ops::RangeInclusive<i64> = 1..=10_000_000;
/// Maximum prefixes of a list.
const PREFIXES: usize = 1_000;

/// Fields of an account's rules.
const FIELDS: [&str; 5] = [
    "callingHours",
    "callsPerNumber",
    "allowedPrefixes",
    "dailyCalls",
    "liveListening",
];

async fn show(State(state): State<RestState>, Caller(account): Caller, _: Query<NoParameters>) -> ApiResult<Reply> {
    let row = state.store.safeguards(account.id).await?;
    Ok(Reply::ok(row.safeguards))
}

/// Applies a merge patch; `null` resets a field to its default.
async fn patch(
    State(state): State<RestState>,
    Caller(account): Caller,
    _: Query<NoParameters>,
    JsonObject(patch): JsonObject,
) -> ApiResult<Reply> {
    let patch = Value::Object(patch);
    let outcome = until_written(async || {
        let row = state.store.safeguards(account.id).await?;
        let merged = patched(json!(row.safeguards), &patch, &FIELDS);
        let new = read(merged.as_object().unwrap_or(&Map::new()))?;
        Ok(state.store.set_safeguards(account.id, row.version, new).await)
    });
    let row = outcome.await?.or_no_such("account")?;
    // Calls that the earlier rules postponed are due.
    state.switchboard.look_again();
    Ok(Reply::ok(row.safeguards))
}

/// Reads the rules from a body.
fn read(body: &Map<String, Value>) -> ApiResult<Safeguards> {
    let mut fields = Fields::of(body, "");
    fields.only(&FIELDS);
    let rules = Safeguards {
        calling_hours: part(&mut fields, "callingHours", calling_hours),
        calls_per_number: part(&mut fields, "callsPerNumber", calls_per_number),
        allowed_prefixes: part(&mut fields, "allowedPrefixes", allowed_prefixes),
        daily_calls: part(&mut fields, "dailyCalls", daily_calls),
        live_listening: fields.value("liveListening").is_none() || fields.flag("liveListening"),
    };
    fields.end()?;
    Ok(rules)
}

/// Reads the object of one rule, or its default if it is missing.
fn part<T: Default>(fields: &mut Fields<'_>, name: &str, read: impl FnOnce(&mut Fields<'_>) -> T) -> T {
    let Some(map) = fields.object(name) else {
        return T::default();
    };
    let mut own = Fields::of(map, fields.path(name));
    let rule = read(&mut own);
    fields.problems.append(&mut own.problems);
    rule
}

fn mode(fields: &mut Fields<'_>) -> Mode {
    let Some(text) = fields.string("mode") else {
        return Mode::Off;
    };
    Mode::parse(text).unwrap_or_else(|| {
        let message = format!("`{text:.20}` is not one of off, warn, enforce");
        fields.problem("mode", "not_allowed", message);
        Mode::Off
    })
}

fn calling_hours(fields: &mut Fields<'_>) -> CallingHours {
    fields.only(&["mode", "from", "to", "days"]);
    let usual = CallingHours::default();
    let rule = CallingHours {
        mode: mode(fields),
        from: time(fields, "from").unwrap_or(usual.from),
        to: time(fields, "to").unwrap_or(usual.to),
        days: days(fields).unwrap_or(usual.days),
    };
    if rule.from >= rule.to {
        let message = format!(
            "must be later than `from`, which is {}: hours do not cross midnight",
            rule.from
        );
        fields.problem("to", "not_allowed", message);
    }
    rule
}

fn time(fields: &mut Fields<'_>, name: &str) -> Option<TimeOfDay> {
    let text = fields.string(name)?;
    let time = TimeOfDay::parse(text);
    if time.is_none() {
        let message = format!("`{text:.20}` is not a time of day: write `HH:MM`, from `00:00` to `24:00`");
        fields.problem(name, "invalid", message);
    }
    time
}

fn days(fields: &mut Fields<'_>) -> Option<Vec<Weekday>> {
    let items = fields.array("days")?;
    if items.is_empty() {
        fields.problem(
            "days",
            "required",
            "must contain at least one day: otherwise nobody could be called",
        );
    }
    let mut days = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item.as_str().and_then(Weekday::parse) {
            Some(day) if !days.contains(&day) => days.push(day),
            Some(_) => {}
            None => {
                let shown = item.to_string();
                let message = format!("{shown:.40} is not a day: write `monday`, `tuesday` and so on to `sunday`");
                fields.problem(&format!("days[{index}]"), "not_allowed", message);
            }
        }
    }
    Some(days)
}

fn count(fields: &mut Fields<'_>, name: &str, range: std::ops::RangeInclusive<i64>) -> Option<u32> {
    fields.integer(name, range).and_then(|count| u32::try_from(count).ok())
}

fn calls_per_number(fields: &mut Fields<'_>) -> CallsPerNumber {
    fields.only(&["mode", "perDay", "perWeek"]);
    let rule = CallsPerNumber {
        mode: mode(fields),
        per_day: count(fields, "perDay", PER_NUMBER),
        per_week: count(fields, "perWeek", PER_NUMBER),
    };
    let given = fields.value("perDay").or(fields.value("perWeek"));
    if rule.mode != Mode::Off && given.is_none() {
        let message = "set `perDay`, `perWeek` or both, or switch the rule off";
        fields.problem("perDay", "required", message);
    }
    rule
}

fn allowed_prefixes(fields: &mut Fields<'_>) -> AllowedPrefixes {
    fields.only(&["mode", "prefixes"]);
    let mode = mode(fields);
    let items = fields.array("prefixes").unwrap_or_default();
    if items.len() > PREFIXES {
        let message = format!("has {} prefixes; at most {PREFIXES} are allowed", items.len());
        fields.problem("prefixes", "too_many", message);
    } else if items.is_empty() && mode != Mode::Off {
        let message = "must contain at least one prefix such as `+44`: otherwise nothing could be dialed";
        fields.problem("prefixes", "required", message);
    }
    let mut prefixes: Vec<String> = Vec::new();
    for (index, item) in items.iter().take(PREFIXES).enumerate() {
        match item.as_str().filter(|text| is_prefix(text)) {
            Some(text) if !prefixes.iter().any(|prefix| prefix == text) => prefixes.push(text.to_owned()),
            Some(_) => {}
            None => {
                let shown = item.to_string();
                let message = format!("{shown:.40} is not a prefix: write `+` and 1 to 15 digits such as `+4930`");
                fields.problem(&format!("prefixes[{index}]"), "invalid", message);
            }
        }
    }
    AllowedPrefixes { mode, prefixes }
}

fn is_prefix(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|digits| {
        (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0')
    })
}

fn daily_calls(fields: &mut Fields<'_>) -> DailyCalls {
    fields.only(&["mode", "limit", "timezone"]);
    let mut rule = DailyCalls {
        mode: mode(fields),
        limit: count(fields, "limit", PER_DAY),
        ..DailyCalls::default()
    };
    if rule.mode != Mode::Off && fields.value("limit").is_none() {
        fields.problem("limit", "required", "set a number of calls, or switch the rule off");
    }
    if let Some(zone) = fields.string("timezone") {
        if zone.parse::<Tz>().is_err() {
            let message = format!("`{zone:.60}` is not an IANA time zone; write one such as `Europe/Berlin` or `UTC`");
            fields.problem("timezone", "invalid", message);
        }
        zone.clone_into(&mut rule.timezone);
    }
    rule
}

/// Allowed destinations of an account, checked before anything is queued or saved. A number that the rules
/// never allow is an immediate error; one that they only warn about produces a warning. The dial permit
/// checks again.
pub struct Destinations {
    rule: AllowedPrefixes,
    warned: usize,
}

impl Destinations {
    /// Reads the account's current rule.
    pub async fn of(store: &dyn Store, account: AccountId) -> ApiResult<Self> {
        let rules = store.safeguards(account).await?.safeguards;
        Ok(Self {
            rule: rules.allowed_prefixes,
            warned: 0,
        })
    }

    /// Allows any number, as for an account without a rule.
    pub fn any() -> Self {
        Self {
            rule: AllowedPrefixes::default(),
            warned: 0,
        }
    }

    /// Returns the reason if the number is refused.
    pub fn refuses(&mut self, number: &PhoneNumber) -> Option<String> {
        let objection = self.rule.objection(number)?;
        if self.rule.mode == Mode::Enforce {
            return Some(objection);
        }
        self.warned += 1;
        None
    }

    /// Does the same and adds a problem for the field.
    pub fn check(&mut self, path: String, number: &PhoneNumber, problems: &mut Vec<Problem>) {
        if let Some(message) = self.refuses(number) {
            problems.push(Problem::new(path, NOT_ALLOWED, message));
        }
    }

    /// Returns a warning about numbers that are dialed anyway.
    pub fn warning(&self) -> Option<String> {
        let numbers = match self.warned {
            0 => return None,
            1 => "1 number begins".to_owned(),
            many => format!("{many} numbers begin"),
        };
        Some(format!(
            "{numbers} with a prefix that the account's safeguard `allowedPrefixes` does not list; it only warns"
        ))
    }
}

/// Code of a number that must not be dialed.
const NOT_ALLOWED: &str = "destination_not_allowed";

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
            .by(show)
            .ours()
            .ok::<Safeguards>(sample()),
        Operation::patch(
            "/public/v1/safeguards",
            "updateSafeguards",
            "Change the account's rules",
        )
        .by(patch)
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
