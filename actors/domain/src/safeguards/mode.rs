//! The rules, and their modes.

use serde::{Deserialize, Serialize};

/// Mode of a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = SafeguardMode)]
pub enum Mode {
    /// The rule is not checked.
    #[default]
    Off,
    /// Calls are dialed, and the rule's objections are recorded.
    Warn,
    /// Calls that violate the rule are not dialed.
    Enforce,
}

spelled!(Mode, Off "off", Warn "warn", Enforce "enforce");

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// Prefixes that may be dialed.
    AllowedPrefixes,
    /// Local calling hours of the callee.
    CallingHours,
    /// Calls to one number.
    CallsPerNumber,
    /// Calls of the account per day.
    DailyCalls,
}

spelled!(Rule, AllowedPrefixes "allowedPrefixes", CallingHours "callingHours", CallsPerNumber "callsPerNumber",
    DailyCalls "dailyCalls");
