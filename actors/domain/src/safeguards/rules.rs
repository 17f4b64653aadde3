//! An account's rules with their limits.

use serde::{Deserialize, Serialize};

use super::{hours::CallingHours, mode::Mode};
use crate::phone_number::PhoneNumber;

/// Limit of calls to one number. It counts permits to dial, whether or not the call is answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CallsPerNumber {
    /// `off` by default.
    #[schema(required)]
    pub mode: Mode,
    /// Most calls in any 24 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 1000)]
    pub per_day: Option<u32>,
    /// Most calls in any seven days.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 1000)]
    pub per_week: Option<u32>,
}

/// An E.164 prefix.
#[derive(utoipa::ToSchema)]
#[schema(pattern = r"^\+[1-9][0-9]{0,14}$", example = "+4930")]
pub struct NumberPrefix(pub String);

/// Allowed destinations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AllowedPrefixes {
    /// `off` by default.
    #[schema(required)]
    pub mode: Mode,
    /// Prefixes, one of which a number must begin with.
    #[schema(required, value_type = Vec<NumberPrefix>, max_items = 1000)]
    pub prefixes: Vec<String>,
}

/// Limit of the account's calls per day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DailyCalls {
    /// `off` by default.
    #[schema(required)]
    pub mode: Mode,
    /// Most calls from midnight to midnight.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 10000000)]
    pub limit: Option<u32>,
    /// Time zone of midnight, as an IANA name; `UTC` by default.
    #[schema(required, example = "Europe/Berlin")]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Safeguards {
    /// Local calling hours of the callee.
    #[schema(required)]
    pub calling_hours: CallingHours,
    /// Limit of calls to one number.
    #[schema(required)]
    pub calls_per_number: CallsPerNumber,
    /// Allowed destinations.
    #[schema(required)]
    pub allowed_prefixes: AllowedPrefixes,
    /// Limit of the account's calls per day.
    #[schema(required)]
    pub daily_calls: DailyCalls,
    /// Whether clients may follow live calls, listen to them and take them over; true by default.
    #[schema(required)]
    pub live_listening: bool,
}

impl Default for Safeguards {
    fn default() -> Self {
        Self {
            calling_hours: CallingHours::default(),
            calls_per_number: CallsPerNumber::default(),
            allowed_prefixes: AllowedPrefixes::default(),
            daily_calls: DailyCalls::default(),
            live_listening: true,
        }
    }
}

impl Safeguards {
    /// Returns whether all rules on dials are off.
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
    /// Returns why a number is not allowed; none if it is allowed or the rule is off.
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

/// Most prefixes that a message names.
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
            "dailyCalls":{"mode":"enforce","limit":7,"timezone":"Asia/Kolkata"},"liveListening":false}"#;
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
