//! Agents for whole campaigns, and transcripts read line by line.

use serde_json::{Value, json};

use super::phone_log::Words;

/// Message left on a machine, for the contact's name Maria.
pub const MESSAGE: &str = "Hello Maria, this is Ava from Greenfield Dental. Please call us back.";
/// First words of the agent.
pub const GREETING: &str = "Hello Maria, this is Ava from Greenfield Dental. You are due for a check-up.";

/// Returns an agent that asks for two things, leaves a message, and gives up on silence.
pub fn interviewing_agent() -> Value {
    json!({
        "name": "Ava",
        "conversationConfig": {
            "agent": {
                "prompt": {
                    "prompt": "You are Ava from Greenfield Dental. You book check-ups.",
                    "builtInTools": { "endCall": { "enabled": true }, "voicemailDetection": {
                        "enabled": true, "voicemailMessage": MESSAGE.replace("Maria", "{{name}}")
                    } }
                },
                "greetingMessage": GREETING.replace("Maria", "{{name}}")
            },
            "turn": { "turnTimeout": 4, "silenceEndCallTimeout": 9 },
            "conversation": { "maxDurationSeconds": 75 }
        },
        "platformSettings": { "dataCollection": { "entities": {
            "preferredDay": { "type": "string", "description": "So. Which day suits you for a visit?" },
            "firstVisit": { "type": "boolean", "description": "whether this is your first visit" }
        } } }
    })
}

/// Returns the words without what is not audible: spaces, and the mark for what was not understood.
pub fn tidy(text: &str) -> String {
    text.replace('…', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the understood words of a list, without speeches of which nothing was understood.
pub fn texts(words: &[Words]) -> Vec<String> {
    let texts = words.iter().map(|words| tidy(&words.text));
    texts.filter(|text| !text.is_empty()).collect()
}

/// Returns the lines of a conversation's transcript that `speaker` (`Agent` or `User`) spoke.
pub fn lines(conversation: &Value, speaker: &str) -> Vec<String> {
    let transcript = conversation["transcript"].as_str().unwrap_or_default();
    let prefix = format!("{speaker}: ");
    let own = transcript.lines().filter_map(|line| line.strip_prefix(&prefix));
    own.map(str::to_owned).collect()
}

/// Returns the value collected for an entity.
pub fn collected<'a>(conversation: &'a Value, entity: &str) -> Option<&'a str> {
    let items = conversation["dataCollected"]["items"].as_array()?;
    let item = items.iter().find(|item| item["entity"] == entity)?;
    item["value"].as_str()
}
