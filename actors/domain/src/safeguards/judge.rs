//! Applies an account's rules to one permit.

use std::time::Duration;

use chrono::{Days, NaiveTime, TimeZone};
use chrono_tz::Tz;
use serde_json::json;

use super::{
    mode::{Mode, Rule},
    rules::{CallsPerNumber, DailyCalls, Safeguards},
    zones::zones_of,
};
use crate::{
    history::{EventFact, Fact},
    phone_number::PhoneNumber,
    schedule::first_instant,
    time::Timestamp,
};

/// Name of the event with a rule's decision.
pub const SAFEGUARD: &str = "safeguard";

/// Decision of a rule that delays an attempt.
const PUT_OFF: &str = "put_off";

const DAY: Duration = Duration::from_secs(86_400);
const WEEK: Duration = Duration::from_secs(7 * 86_400);

/// Facts that a judgement needs in addition to the rules.
#[derive(Debug, Clone, Copy)]
pub struct PermitFacts<'a> {
    /// Number to call.
    pub number: &'a PhoneNumber,
    /// The store's present instant.
    pub now: Timestamp,
    /// Time when [`CallsPerNumber::windows`] allow the number again; none if they do now.
    pub number_free_at: Option<Timestamp>,
    /// Permits of the account since [`day_start`].
    pub calls_today: i64,
    /// Time after which a single call has waited too long; none for a campaign's call.
    pub dial_before: Option<Timestamp>,
}

/// Reason why a permit is not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Not before this time. The attempt waits and is not used up.
    PutOff(Timestamp),
    /// Never. The attempt ends `failed` with this error.
    NotAllowed(String),
    /// The account may place no more calls today, for this reason.
    DayUsedUp(String),
}

/// Decision of a rule on one permit, for the call's facts and for counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Rule that decided.
    pub rule: Rule,
    /// Decision: `warned`, `put_off` or `refused`.
    pub did: &'static str,
    /// Reason in words.
    why: String,
    until: Option<Timestamp>,
}

impl Note {
    /// Returns the event to store.
    pub fn fact(&self) -> EventFact {
        let mut detail = json!({ "rule": self.rule, "did": self.did, "why": self.why });
        if let Some(until) = self.until {
            detail["until"] = json!(until.to_iso8601());
        }
        EventFact {
            name: SAFEGUARD.to_owned(),
            at_ms: 0,
            detail: detail.to_string(),
        }
    }
}

impl From<&Note> for Fact {
    fn from(note: &Note) -> Self {
        Self::Event(note.fact())
    }
}

/// Decision of all rules on one permit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Reason for a refusal; none if the permit is given.
    pub refusal: Option<Refusal>,
    /// Decisions to store as events of the call.
    pub notes: Vec<Note>,
}

impl Judgement {
    /// Returns the rule that delays the attempt, if there is one.
    pub fn put_off_by(&self) -> Option<Rule> {
        let note = self.notes.iter().find(|note| note.did == PUT_OFF)?;
        Some(note.rule)
    }
}

impl CallsPerNumber {
    /// Returns the limits: number of permits, and the time span in which they delay the number.
    pub fn windows(&self) -> impl Iterator<Item = (u32, Duration)> {
        let on = self.mode != Mode::Off;
        let both = [(self.per_day, DAY), (self.per_week, WEEK)];
        both.into_iter()
            .filter_map(move |(most, window)| Some((most.filter(|_| on)?, window)))
    }

    fn words(&self) -> String {
        let part = |most: Option<u32>, window: &str| most.map(|most| format!("{most} in {window}"));
        let parts = [part(self.per_day, "24 hours"), part(self.per_week, "7 days")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!(
            "the number was called as often as `callsPerNumber` allows ({})",
            parts.join(", ")
        )
    }
}

impl DailyCalls {
    fn zone(&self) -> Tz {
        self.timezone.parse().unwrap_or(Tz::UTC)
    }
}

/// Returns the beginning of the day that contains `at`, in the rule's time zone.
pub fn day_start(rule: &DailyCalls, at: Timestamp) -> Timestamp {
    midnight(rule.zone(), at, 0)
}

/// Returns the beginning of the next day.
fn day_end(rule: &DailyCalls, at: Timestamp) -> Timestamp {
    midnight(rule.zone(), at, 1)
}

fn midnight(zone: Tz, at: Timestamp, days: u64) -> Timestamp {
    let today = zone.from_utc_datetime(&at.to_utc().naive_utc()).date_naive();
    let day = today.checked_add_days(Days::new(days)).unwrap_or(today);
    first_instant(zone, day.and_time(NaiveTime::MIN))
}

impl Safeguards {
    /// Applies the rules. Destinations come first, because nothing can change them; then the rules that can
    /// be waited for; the day's calls come last, so that a call that is not dialed anyway uses none of them.
    pub fn judge(&self, facts: &PermitFacts<'_>) -> Judgement {
        let mut judging = Judging {
            notes: Vec::new(),
            until: facts.now,
            waits_for: None,
        };
        if let Some(why) = self.allowed_prefixes.objection(facts.number)
            && judging.enforces(self.allowed_prefixes.mode, Rule::AllowedPrefixes, &why)
        {
            return not_allowed(Rule::AllowedPrefixes, why);
        }
        if let Some(free_at) = facts.number_free_at.filter(|at| *at > facts.now) {
            let why = self.calls_per_number.words();
            if judging.enforces(self.calls_per_number.mode, Rule::CallsPerNumber, &why) {
                judging.wait(Rule::CallsPerNumber, why, free_at);
            }
        }
        if let Some(never) = self.hours(facts, &mut judging) {
            return never;
        }
        let campaign = facts.dial_before.is_none();
        if let Some(limit) = self
            .daily_calls
            .limit
            .filter(|limit| facts.calls_today >= i64::from(*limit))
        {
            let ends_at = day_end(&self.daily_calls, facts.now);
            let why = format!(
                "all calls that `dailyCalls` allows a day are made ({limit}); the next day begins at {}",
                ends_at.to_utc().format("%Y-%m-%dT%H:%M:%SZ")
            );
            if judging.enforces(self.daily_calls.mode, Rule::DailyCalls, &why) {
                if campaign && judging.waits_for.is_none() {
                    return Judgement {
                        refusal: Some(Refusal::DayUsedUp(why)),
                        notes: Vec::new(),
                    };
                } else if !campaign {
                    judging.wait(Rule::DailyCalls, why, ends_at);
                }
            }
        }
        judging.end(facts)
    }

    fn hours(&self, facts: &PermitFacts<'_>, judging: &mut Judging) -> Option<Judgement> {
        let hours = &self.calling_hours;
        if hours.mode == Mode::Off {
            return None;
        }
        let zones = zones_of(facts.number);
        let names: Vec<&str> = zones.iter().take(ZONES_NAMED).map(|zone| zone.name()).collect();
        let more = if zones.len() > names.len() { " and others" } else { "" };
        let place = format!("{}-{} in {}{more}", hours.from, hours.to, names.join(", "));
        let Some(opens_at) = hours.opening(zones, judging.until) else {
            let why = match zones {
                [] => "where the number rings is not known, so that `callingHours` cannot be kept".to_owned(),
                _ => format!("`callingHours` ({place}) never comes in all of these zones at once"),
            };
            return judging
                .enforces(hours.mode, Rule::CallingHours, &why)
                .then(|| not_allowed(Rule::CallingHours, why));
        };
        if opens_at > judging.until {
            let why = format!("it is outside the callee's `callingHours` ({place})");
            if judging.enforces(hours.mode, Rule::CallingHours, &why) {
                judging.wait(Rule::CallingHours, why, opens_at);
            }
        }
        None
    }
}

/// Most zones that a message names.
const ZONES_NAMED: usize = 3;

struct Judging {
    notes: Vec<Note>,
    /// Time when the rules checked so far allow the call.
    until: Timestamp,
    waits_for: Option<(Rule, String)>,
}

impl Judging {
    /// Returns whether an objection blocks the call; an objection that only warns is noted.
    fn enforces(&mut self, mode: Mode, rule: Rule, why: &str) -> bool {
        if mode == Mode::Warn {
            self.notes.push(Note {
                rule,
                did: "warned",
                why: why.to_owned(),
                until: None,
            });
        }
        mode == Mode::Enforce
    }

    fn wait(&mut self, rule: Rule, why: String, until: Timestamp) {
        self.until = self.until.max(until);
        self.waits_for = Some((rule, why));
    }

    fn end(self, facts: &PermitFacts<'_>) -> Judgement {
        let Some((rule, why)) = self.waits_for else {
            return Judgement {
                refusal: None,
                notes: self.notes,
            };
        };
        if facts.dial_before.is_some_and(|before| before <= self.until) {
            return not_allowed(rule, format!("{why}, and the call was not to wait so long"));
        }
        Judgement {
            refusal: Some(Refusal::PutOff(self.until)),
            notes: vec![Note {
                rule,
                did: PUT_OFF,
                why,
                until: Some(self.until),
            }],
        }
    }
}

fn not_allowed(rule: Rule, why: String) -> Judgement {
    Judgement {
        refusal: Some(Refusal::NotAllowed(format!("not-allowed: {why}"))),
        notes: vec![Note {
            rule,
            did: "refused",
            why,
            until: None,
        }],
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
