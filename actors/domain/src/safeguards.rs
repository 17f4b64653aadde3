//! Safeguards: limits of an account's calls, namely the callee's calling hours, calls per number,
//! destinations, and calls per day. Each rule is off, warns, or is enforced by the permit. Free of I/O; the
//! present time is a parameter.

mod hours;
mod judge;
mod mode;
mod rules;
mod zones;

pub use hours::{CallingHours, TimeOfDay, Weekday};
pub use judge::{Judgement, Note, PermitFacts, Refusal, SAFEGUARD, day_start};
pub use mode::{Mode, Rule};
pub use rules::{AllowedPrefixes, CallsPerNumber, DailyCalls, NumberPrefix, Safeguards};
pub use zones::zones_of;
