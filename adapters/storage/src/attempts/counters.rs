//! Counters of outcomes and of safeguard decisions, incremented when either is written.

use domain::{
    ports::store::{ConversationStatus, Outcome, Permit},
    safeguards::Note,
};

/// Counts the outcome that a refused permit wrote, and the safeguards' decisions on it.
pub fn count_refusal(permit: &Permit, notes: &[Note]) {
    match permit {
        Permit::DoNotCall => count_outcome("do-not-call"),
        Permit::Restricted => count_outcome("restricted"),
        Permit::NotAllowed { .. } => count_outcome("not-allowed"),
        _ => {}
    }
    for note in notes {
        metrics::counter!(SAFEGUARDS, "rule" => note.rule.as_str(), "did" => note.did).increment(1);
    }
}

/// Name of the counter of safeguard decisions.
pub const SAFEGUARDS: &str = "ringback_safeguards_total";

/// Counts an attempt whose outcome is on disk.
pub fn count_outcome(word: &'static str) {
    metrics::counter!("ringback_call_outcomes_total", "outcome" => word).increment(1);
}

/// Error codes of failed and cancelled attempts, up to the colon before the details.
const ERRORS: [&str; 10] = [
    "busy",
    "no-answer",
    "rejected",
    "invalid-number",
    "carrier-error",
    "media-lost",
    "agent-error",
    "do-not-call",
    "restricted",
    "not-allowed",
];

/// Returns the outcome as one of a few words, for a label.
pub fn outcome_word(outcome: &Outcome) -> &'static str {
    let error = outcome.error.as_deref().unwrap_or_default();
    let known = ERRORS.into_iter().find(|known| Some(*known) == error.split(':').next());
    match (outcome.status, known) {
        (ConversationStatus::Completed, _) if outcome.voicemail => "voicemail",
        (ConversationStatus::Completed, _) => "completed",
        _ if error.starts_with("carrier-error: outcome unknown") => "outcome-unknown",
        (_, Some(known)) => known,
        (ConversationStatus::Cancelled, None) => "cancelled",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_one_of_a_few_words_whatever_the_carrier_says() {
        let word = |status, error: Option<&str>, voicemail| {
            outcome_word(&Outcome {
                status,
                error: error.map(str::to_owned),
                voicemail,
                transferred: false,
                collected: std::collections::BTreeMap::new(),
                times: Default::default(),
                facts_follow: false,
                refusal: None,
            })
        };
        assert_eq!(word(ConversationStatus::Completed, None, false), "completed");
        assert_eq!(word(ConversationStatus::Completed, None, true), "voicemail");
        assert_eq!(word(ConversationStatus::Cancelled, None, false), "cancelled");
        assert_eq!(
            word(ConversationStatus::Cancelled, Some("do-not-call"), false),
            "do-not-call"
        );
        for (error, expected) in [
            ("busy", "busy"),
            ("carrier-error: no credit for +15551234567", "carrier-error"),
            ("carrier-error: outcome unknown", "outcome-unknown"),
            ("agent-error: call crashed", "agent-error"),
            ("something else: busy", "other"),
        ] {
            assert_eq!(word(ConversationStatus::Failed, Some(error), false), expected);
        }
    }
}
