//! The record of a call's end: its outcome, and the side that ended it.

use serde_json::json;

use super::State;
use crate::call::outcome::Ending;
use domain::ports::store::ENDED;

/// Side that ended the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The agent.
    Agent,
    /// The other person.
    User,
    /// A request: of the account, or of a service that stops.
    Request,
    /// A transfer: the other person talks with somebody else.
    Transfer,
    /// A fault of the line, the carrier or a provider.
    Fault,
}

impl By {
    fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::User => "user",
            Self::Request => "request",
            Self::Transfer => "transfer",
            Self::Fault => "fault",
        }
    }
}

impl State {
    /// Notes the side that ends the call; the first counts.
    pub(super) fn ends(&mut self, by: By, why: Option<&'static str>) {
        self.ended_by.get_or_insert((by, why));
    }

    /// Records the end with its outcome. A call that nobody answered was hung up by a request or not at all.
    pub(super) fn record_end(&mut self, ending: &Ending) {
        let (Ending::Outcome(outcome) | Ending::Written(outcome)) = ending else {
            return;
        };
        let failed = outcome.error.is_some();
        let usual = if failed { By::Fault } else { By::Agent };
        let machine = outcome.voicemail.then_some("voicemail");
        let (by, why) = self.ended_by.unwrap_or((usual, machine));
        let known = self.leg.answered_ms.is_some() || by == By::Request;
        let mut detail = json!({ "status": outcome.status.as_str() });
        for (name, value) in [
            ("by", known.then(|| by.as_str())),
            ("why", why.filter(|_| known)),
            ("error", outcome.error.as_deref()),
        ] {
            if let Some(value) = value {
                detail[name] = value.into();
            }
        }
        self.record(ENDED, &detail);
    }
}
