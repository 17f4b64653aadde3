//! What each persona's call must come to.

use serde_json::Value;

/// The outcome of a call, as far as it is its persona's doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Conversation status.
    pub status: &'static str,
    /// `errorMessage`.
    pub error: Option<&'static str>,
    /// `voiceMailDetected`.
    pub voicemail: bool,
}

/// The persona of a contact: its `persona` field, else by the number's last digit.
pub fn persona_of(contact: &Value) -> String {
    if let Some(persona) = contact["persona"].as_str() {
        return persona.to_owned();
    }
    let number = contact["phoneNumber"].as_str().unwrap_or_default();
    match number.chars().last() {
        Some('5') => "hesitant",
        Some('6') => "busy",
        Some('7') => "no-answer",
        Some('8') => "voicemail",
        Some('9') => "interrupts",
        _ => "cooperative",
    }
    .to_owned()
}

/// What a call to `persona` must come to; a persona that is not known behaves as `cooperative`.
pub fn expected(persona: &str) -> Expected {
    let completed = Expected {
        status: "completed",
        error: None,
        voicemail: false,
    };
    let failed = |error| Expected {
        status: "failed",
        error: Some(error),
        voicemail: false,
    };
    match persona {
        "voicemail" => Expected {
            voicemail: true,
            ..completed
        },
        "busy" => failed("busy"),
        "no-answer" => failed("no-answer"),
        _ => completed,
    }
}

/// Whether a conversation came to that.
pub fn holds(expected: Expected, conversation: &Value) -> bool {
    conversation["status"] == expected.status
        && conversation["errorMessage"].as_str() == expected.error
        && conversation["voiceMailDetected"].as_bool().unwrap_or(false) == expected.voicemail
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_field_wins_over_the_last_digit() {
        assert_eq!(
            persona_of(&json!({ "phoneNumber": "+15550100006", "persona": "silent" })),
            "silent"
        );
        assert_eq!(persona_of(&json!({ "phoneNumber": "+15550100006" })), "busy");
        assert_eq!(persona_of(&json!({ "phoneNumber": "+15550100001" })), "cooperative");
    }

    #[test]
    fn an_outcome_is_compared_in_all_three_parts() {
        let busy = expected("busy");
        assert!(holds(
            busy,
            &json!({ "status": "failed", "errorMessage": "busy", "voiceMailDetected": false })
        ));
        assert!(!holds(
            busy,
            &json!({ "status": "failed", "errorMessage": "no-answer" })
        ));
        assert!(!holds(busy, &json!({ "status": "completed" })));
        assert!(!holds(
            expected("voicemail"),
            &json!({ "status": "completed", "voiceMailDetected": false })
        ));
    }
}
