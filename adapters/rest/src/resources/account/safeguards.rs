//! Limits on an account's calls.

use std::collections::HashSet;

use axum::extract::State;
use chrono_tz::Tz;
use domain::{
    agent::Problem,
    id::AccountId,
    phone_number::PhoneNumber,
    ports::store::Store,
    safeguards::{AllowedPrefixes, Mode, Safeguards, TimeOfDay},
};
use serde_json::{Map, Value, json};

use crate::{
    caller::Caller,
    described::operation::Operation,
    request::{
        body::JsonObject,
        checked::Checked,
        fields::patched,
        optimistic::until_written,
        query::{NoParameters, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiResult, OrNoSuch},
    },
    state::RestState,
};

/// Rules whose fields a patch names.
const RULES: [&str; 4] = ["callingHours", "callsPerNumber", "allowedPrefixes", "dailyCalls"];

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
        let merged = patched(json!(row.safeguards), &patch, &RULES);
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
    let mut body = Checked::<Safeguards>::of(body)
        .coded("allowedPrefixes.prefixes[", "wrong_type", "invalid")
        .coded("callingHours.days[", "wrong_type", "not_allowed");
    for time in ["callingHours.from", "callingHours.to"] {
        body.parse(time, |text| match TimeOfDay::parse(text) {
            Some(_) => Ok(text.to_owned()),
            None => Err((
                "invalid",
                format!("`{text:.20}` is not a time of day: write `HH:MM`, from `00:00` to `24:00`"),
            )),
        });
    }
    body.parse("dailyCalls.timezone", |zone| match zone.parse::<Tz>() {
        Ok(_) => Ok(zone.to_owned()),
        Err(_) => Err((
            "invalid",
            format!("`{zone:.60}` is not an IANA time zone; write one such as `Europe/Berlin` or `UTC`"),
        )),
    });
    body.parse_items("allowedPrefixes.prefixes", |text| match is_prefix(text) {
        true => Ok(()),
        false => Err((
            "invalid",
            format!("`{text:.40}` is not a prefix: write `+` and 1 to 15 digits such as `+4930`"),
        )),
    });
    check_together(&mut body);
    let mut rules = body.end()?;
    let (mut days, mut prefixes) = (HashSet::new(), HashSet::new());
    rules.calling_hours.days.retain(|day| days.insert(*day));
    rules
        .allowed_prefixes
        .prefixes
        .retain(|prefix| prefixes.insert(prefix.clone()));
    Ok(rules)
}

/// Checks the rules between fields.
fn check_together(body: &mut Checked<Safeguards>) {
    let Safeguards {
        calling_hours: hours,
        calls_per_number: number,
        allowed_prefixes: allowed,
        daily_calls: daily,
        ..
    } = body.so_far();
    if hours.from >= hours.to {
        let message = format!(
            "must be later than `from`, which is {}: hours do not cross midnight",
            hours.from
        );
        body.problem("callingHours.to", ("not_allowed", message));
    }
    let has_limit = number.per_day.is_some() || number.per_week.is_some() || body.is_refused("callsPerNumber.per");
    if number.mode != Mode::Off && !has_limit {
        let message = "set `perDay`, `perWeek` or both, or switch the rule off";
        body.problem("callsPerNumber.perDay", ("required", message.into()));
    }
    let has_prefixes = !allowed.prefixes.is_empty() || body.is_refused("allowedPrefixes.prefixes");
    if allowed.mode != Mode::Off && !has_prefixes {
        let message = "must contain at least one prefix such as `+44`: otherwise nothing could be dialed";
        body.problem("allowedPrefixes.prefixes", ("required", message.into()));
    }
    let has_limit = daily.limit.is_some() || body.is_refused("dailyCalls.limit");
    if daily.mode != Mode::Off && !has_limit {
        let message = "set a number of calls, or switch the rule off";
        body.problem("dailyCalls.limit", ("required", message.into()));
    }
}

fn is_prefix(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|digits| {
        (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0')
    })
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
pub const NOT_ALLOWED: &str = "destination_not_allowed";

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
            .ok::<Safeguards>(sample()),
        Operation::patch(
            "/public/v1/safeguards",
            "updateSafeguards",
            "Change the account's rules",
        )
        .by(patch)
        .note("Applies to every dial permitted after the response, on every node.")
        .changes::<Safeguards>(
            "SafeguardsPatch",
            json!({
                "nothing": {},
                "some": { "callingHours": { "mode": "enforce" }, "callsPerNumber": { "mode": "warn", "perDay": 3 } },
            }),
        )
        .ok::<Safeguards>(sample())
        .invalid("callsPerNumber.perDay", "out_of_range", "must be from 1 to 1000, not 0"),
    ]
}
