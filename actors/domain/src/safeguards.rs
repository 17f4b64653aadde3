//! What an account lets its calls do at most: the callee's calling hours, calls per number, destinations, calls per day.
//! Each rule is off, warns, or is enforced by the permit. Free of I/O; the present time is a parameter.

mod hours;
mod judge;
mod zones;

use serde::{Deserialize, Serialize};

use crate::phone_number::PhoneNumber;

pub use hours::{CallingHours, TimeOfDay, Weekday};
pub use judge::{Judgement, Note, PermitFacts, Refusal, SAFEGUARD, day_start};
pub use zones::zones_of;

/// How seriously a rule is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = SafeguardMode)]
pub enum Mode {
    /// It is not looked at.
    #[default]
    Off,
    /// Calls are dialed, and what the rule says against them is kept.
    Warn,
    /// What the rule forbids is not dialed.
    Enforce,
}

spelled!(Mode, Off "off", Warn "warn", Enforce "enforce");

/// One of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// Where the number may be dialed to at all.
    AllowedPrefixes,
    /// The callee's local hours.
    CallingHours,
    /// How often one number is called.
    CallsPerNumber,
    /// How many calls the account makes a day.
    DailyCalls,
}

spelled!(Rule, AllowedPrefixes "allowedPrefixes", CallingHours "callingHours", CallsPerNumber "callsPerNumber",
    DailyCalls "dailyCalls");

/// How often one number is called. Permits to dial count, answered or not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallsPerNumber {
    /// `off` by default.
    #[schema(required)]
    pub mode: Mode,
    /// At most so many in any 24 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 1000)]
    pub per_day: Option<u32>,
    /// At most so many in any seven days.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 1000)]
    pub per_week: Option<u32>,
}

/// An E.164 prefix.
#[derive(utoipa::ToSchema)]
#[schema(pattern = r"^\+[1-9][0-9]{0,14}$", example = "+4930")]
pub struct NumberPrefix(pub String);

/// Where calls may go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AllowedPrefixes {
    /// `off` by default.
    #[schema(required)]
    pub mode: Mode,
    /// A number must begin with one of them.
    #[schema(required, value_type = Vec<NumberPrefix>, max_items = 1000)]
    pub prefixes: Vec<String>,
}

/// How many calls the account makes a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DailyCalls {
    /// `off` by default.
    #[schema(required)]
    pub mode: Mode,
    /// At most so many from midnight to midnight.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 10000000)]
    pub limit: Option<u32>,
    /// Whose midnight: an IANA name; `UTC` by default.
    #[schema(required)]
    pub timezone: String,
}

impl Default for DailyCalls {
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            limit: None,
            timezone: "UTC".to_owned(),
        }
    }
}

/// The account's rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Safeguards {
    /// The callee's local hours.
    #[schema(required)]
    pub calling_hours: CallingHours,
    /// How often one number is called.
    #[schema(required)]
    pub calls_per_number: CallsPerNumber,
    /// Where calls may go.
    #[schema(required)]
    pub allowed_prefixes: AllowedPrefixes,
    /// How many calls the account makes a day.
    #[schema(required)]
    pub daily_calls: DailyCalls,
}

impl Safeguards {
    /// Nothing is to be checked.
    pub fn all_off(&self) -> bool {
        let modes = [
            self.calling_hours.mode,
            self.calls_per_number.mode,
            self.allowed_prefixes.mode,
            self.daily_calls.mode,
        ];
        modes.into_iter().all(|mode| mode == Mode::Off)
    }
}

impl AllowedPrefixes {
    /// Why a number is not among the allowed ones; none where it is, and none while the rule is off.
    pub fn objection(&self, number: &PhoneNumber) -> Option<String> {
        let allowed = |prefix: &String| number.as_str().starts_with(prefix.as_str());
        if self.mode == Mode::Off || self.prefixes.iter().any(allowed) {
            return None;
        }
        let (few, more) = match self.prefixes.get(..SHOWN) {
            Some(few) if self.prefixes.len() > SHOWN => (few, " and others"),
            _ => (self.prefixes.as_slice(), ""),
        };
        Some(format!(
            "the number begins with none of the prefixes that `allowedPrefixes` allows ({}{more})",
            few.join(", ")
        ))
    }
}

/// Prefixes that a message names.
const SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_reads_back_and_what_is_missing_is_off() {
        let all: Safeguards = serde_json::from_str("{}").unwrap();
        assert_eq!(all, Safeguards::default());
        assert!(all.all_off());
        let text = r#"{"callingHours":{"mode":"enforce","from":"09:30","to":"24:00","days":["monday","sunday"]},
            "callsPerNumber":{"mode":"warn","perDay":2},"allowedPrefixes":{"mode":"enforce","prefixes":["+1"]},
            "dailyCalls":{"mode":"enforce","limit":7,"timezone":"Asia/Kolkata"}}"#;
        let read: Safeguards = serde_json::from_str(text).unwrap();
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), value);
        assert!(!read.all_off());
    }

    #[test]
    fn an_objection_names_the_rule_and_a_few_prefixes() {
        let number = PhoneNumber::parse("+998901234567").unwrap();
        let mut rule = AllowedPrefixes {
            mode: Mode::Enforce,
            prefixes: vec!["+1".into(), "+4930".into()],
        };
        let why = rule.objection(&number).unwrap();
        assert!(why.contains("allowedPrefixes") && why.contains("+1, +4930)"), "{why}");
        rule.prefixes.extend((0..9).map(|n| format!("+3{n}")));
        assert!(
            rule.objection(&number).unwrap().contains("+31, +32 and others")
                || rule.objection(&number).unwrap().contains("and others)")
        );
        assert_eq!(rule.objection(&PhoneNumber::parse("+12125550100").unwrap()), None);
        rule.mode = Mode::Off;
        assert_eq!(rule.objection(&number), None);
    }
}
