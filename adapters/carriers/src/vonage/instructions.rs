//! Instructions for calls at Vonage (NCCO, a list of actions), with the addresses for Vonage's requests. Pure.
//!
//! Source: <https://developer.vonage.com/en/voice/voice-api/ncco-reference>

use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{Destination, WayBack},
};
use serde_json::{Value, json};

use super::account::Rate;
use crate::webhooks::{StreamTokens, addresses::Addresses, conferences::RINGS_SECONDS, handovers::Try};

/// Returns a number as Vonage writes it, without the plus.
pub fn digits(number: &PhoneNumber) -> &str {
    number.as_str().trim_start_matches('+')
}

/// Writer of instructions for one account's calls at a node.
#[derive(Debug, Clone)]
pub struct Instructions {
    pub(crate) addresses: Addresses,
    /// Tokens that authenticate media sockets.
    pub tokens: StreamTokens,
    /// Sample rate of media sockets.
    pub rate: Rate,
}

impl Instructions {
    /// Connects the call with its media socket. If that cannot be opened or ends early, its events are
    /// answered with further instructions (`synchronous`). Without them Vonage would end the call.
    pub fn stream(&self, attempt: AttemptId, media_token: &str) -> Value {
        let socket = json!({
            "type": "websocket",
            "uri": self.addresses.media(attempt, media_token),
            "content-type": self.rate.content_type(),
            "headers": { "attempt": attempt.to_string() },
            "authorization": { "type": "custom", "value": self.tokens.token(attempt) },
        });
        json!([{
            "action": "connect",
            "eventType": "synchronous",
            "eventUrl": [self.addresses.at(&format!("stream/{attempt}.{media_token}"))],
            "endpoint": [socket],
        }])
    }

    /// Transfers the call. Vonage reports the result to a separate address. The response brings the caller
    /// back if nobody answered.
    pub fn handed_on(&self, back: &WayBack, to: &Destination, from: Option<&PhoneNumber>) -> Value {
        let mut action = json!({
            "action": "connect",
            "eventType": "synchronous",
            "eventUrl": [self.addresses.transfer(back)],
            "timeout": RINGS_SECONDS,
            "endpoint": [endpoint(to)],
        });
        if let Some(from) = from {
            action["from"] = json!(digits(from));
        }
        json!([action])
    }

    /// Joins a call with the others in the try's conversation, which ends when one of them leaves.
    pub(crate) fn conversation(&self, Try { attempt, number }: Try) -> Value {
        json!([{ "action": "conversation", "name": format!("ringback-{attempt}-{number}"), "endOnExit": true }])
    }
}

/// Returns the endpoint of a transfer destination.
pub fn endpoint(to: &Destination) -> Value {
    match to {
        Destination::Phone(number) => json!({ "type": "phone", "number": digits(number) }),
        Destination::Sip(address) => json!({ "type": "sip", "uri": address }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vonage::account::stream_tokens;

    fn instructions() -> Instructions {
        Instructions {
            addresses: Addresses::new("https://ringback.example/base", "vonage").unwrap(),
            tokens: stream_tokens("secret"),
            rate: Rate::Wide,
        }
    }

    fn back() -> WayBack {
        WayBack {
            attempt: AttemptId::new(),
            status_token: "5".repeat(64),
            media_token: "a".repeat(64),
        }
    }

    #[test]
    fn a_call_is_connected_with_its_media_socket() {
        let (instructions, back) = (instructions(), back());
        let attempt = back.attempt;
        let ncco = instructions.stream(attempt, &back.media_token);
        let socket = &ncco[0]["endpoint"][0];
        let token = format!("{attempt}.{}", back.media_token);
        assert_eq!(
            socket["uri"],
            format!("wss://ringback.example/base/carriers/vonage/media/{token}")
        );
        assert_eq!(
            (&socket["type"], &socket["content-type"]),
            (&json!("websocket"), &json!("audio/l16;rate=16000"))
        );
        assert_eq!(socket["authorization"]["type"], "custom");
        assert!(
            instructions
                .tokens
                .matches(attempt, socket["authorization"]["value"].as_str().unwrap())
        );
        let events = format!("https://ringback.example/base/carriers/vonage/stream/{token}");
        assert_eq!(ncco[0]["eventUrl"], json!([events]));
        assert_eq!(
            (&ncco[0]["action"], &ncco[0]["eventType"]),
            (&json!("connect"), &json!("synchronous"))
        );
        // Vonage's limit.
        assert!(socket["headers"].to_string().len() <= 512);
    }

    #[test]
    fn a_call_is_handed_on_to_a_telephone_or_a_sip_address() {
        let (instructions, back) = (instructions(), back());
        let from = PhoneNumber::parse("+15550000001").unwrap();
        let phone = Destination::Phone(PhoneNumber::parse("+15550000002").unwrap());
        let ncco = instructions.handed_on(&back, &phone, Some(&from));
        assert_eq!(
            ncco[0]["endpoint"],
            json!([{ "type": "phone", "number": "15550000002" }])
        );
        assert_eq!(
            (&ncco[0]["from"], &ncco[0]["timeout"]),
            (&json!("15550000001"), &json!(30))
        );
        let sip = Destination::Sip("sip:desk@example.com".into());
        let ncco = instructions.handed_on(&back, &sip, None);
        assert_eq!(
            ncco[0]["endpoint"],
            json!([{ "type": "sip", "uri": "sip:desk@example.com" }])
        );
        assert_eq!(ncco[0].get("from"), None);
    }

    #[test]
    fn numbers_lose_their_plus() {
        assert_eq!(digits(&PhoneNumber::parse("+15550000001").unwrap()), "15550000001");
    }
}
