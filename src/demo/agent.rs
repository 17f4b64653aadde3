//! Agent of the demo, as a client would create it.

use serde_json::{Value, json};

/// Returns an agent that books a visit: two questions, a voicemail message, recorded.
pub fn sample() -> Value {
    json!({
        "name": "Ava from Greenfield Dental",
        "tags": ["demo"],
        "conversationConfig": {
            "agent": {
                "prompt": {
                    "prompt": "You are Ava from Greenfield Dental. You call patients who are due for a check-up and book a visit.",
                    "llm": "interviewer",
                    "builtInTools": {
                        "endCall": { "enabled": true },
                        "voicemailDetection": {
                            "enabled": true,
                            "voicemailMessage": "Hello {{name}}, this is Ava from Greenfield Dental. Please call us back."
                        }
                    }
                },
                "greetingMessage": "Hello {{name}}, this is Ava from Greenfield Dental. You are due for a check-up."
            },
            "turn": { "turnTimeout": 4, "silenceEndCallTimeout": 9 },
            "conversation": { "maxDurationSeconds": 75 }
        },
        "platformSettings": {
            "dataCollection": {
                "entities": {
                    "preferredDay": { "type": "string", "description": "preferred day for a visit" },
                    "firstVisit": { "type": "boolean", "description": "whether this is your first visit" }
                }
            },
            "privacy": { "recordVoice": true },
            "disclosure": { "enabled": true }
        }
    })
}
