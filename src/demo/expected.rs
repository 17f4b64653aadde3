//! Expected result of each persona's call.

use std::collections::BTreeMap;

use serde_json::Value;

use sim::exchange::Persona;

/// Outcome of a call, as far as its persona determines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Conversation status.
    pub status: &'static str,
    /// `errorMessage`.
    pub error: Option<&'static str>,
    /// `voiceMailDetected`.
    pub voicemail: bool,
}

/// Returns the persona of a contact: by its `persona` field, or else by the number's last digit. The second
/// value is a name that no persona has.
pub fn persona_of(contact: &Value) -> (Persona, Option<String>) {
    let hint = contact["persona"].as_str().unwrap_or_default();
    let hints = BTreeMap::from([("persona".to_owned(), hint.to_owned())]);
    Persona::choose(&hints, contact["phoneNumber"].as_str().unwrap_or_default())
}

/// Returns the expected outcome of a call to `persona`.
pub fn expected(persona: Persona) -> Expected {
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
        Persona::Cooperative
        | Persona::HelloFirst
        | Persona::Hesitant
        | Persona::Spells
        | Persona::Interrupts
        | Persona::Backchannel
        | Persona::Echo
        | Persona::Noisy
        | Persona::Hum
        | Persona::Silent
        | Persona::HangsUp
        | Persona::OptsOut
        | Persona::Screening
        | Persona::Ivr => completed,
        Persona::Voicemail => Expected {
            voicemail: true,
            ..completed
        },
        Persona::Busy => failed("busy"),
        Persona::NoAnswer => failed("no-answer"),
        Persona::Rejects => failed("rejected"),
        Persona::Invalid => failed("invalid-number"),
        Persona::Drops => failed("media-lost"),
    }
}

/// Returns whether a conversation had this outcome.
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
        let persona = |contact| persona_of(&contact).0;
        assert_eq!(
            persona(json!({ "phoneNumber": "+15550100006", "persona": "Silent" })),
            Persona::Silent
        );
        assert_eq!(persona(json!({ "phoneNumber": "+15550100006" })), Persona::Busy);
        assert_eq!(
            persona(json!({ "phoneNumber": "+15550100006", "persona": "nobody" })),
            Persona::Cooperative
        );
        assert_eq!(persona_of(&json!({ "persona": "nobody" })).1.as_deref(), Some("nobody"));
    }

    #[test]
    fn an_outcome_is_compared_in_all_three_parts() {
        let busy = expected(Persona::Busy);
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
            expected(Persona::Voicemail),
            &json!({ "status": "completed", "voiceMailDetected": false })
        ));
    }
}
