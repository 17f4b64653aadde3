//! The media protocols, as the carriers write them.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use hmac::{Hmac, Mac, digest::KeyInit};
use serde_json::{Value, json};
use sha1::Sha1;
use tokio_tungstenite::tungstenite::Message;

use carriers::{telnyx::mark, vonage::account};
use domain::id::AttemptId;

/// Key of Twilio's signatures.
pub const AUTH_TOKEN: &str = "tok";
/// Key of Telnyx's tokens.
pub const API_KEY: &str = "KEY1";
/// Key of Vonage's tokens.
pub const SECRET: &str = "secret-of-the-account";

/// A media protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Simulated,
    Twilio,
    Telnyx,
    Vonage,
    /// Asterisk's `chan_websocket` with plain text control messages. Wide samples.
    AsteriskWords,
    /// The same with JSON control messages. Mu-law.
    AsteriskJson,
    Plain,
}

/// All protocols. SignalWire uses Twilio's; AudioSocket is not a WebSocket.
pub const PROTOCOLS: [Protocol; 7] = [
    Protocol::Simulated,
    Protocol::Twilio,
    Protocol::Telnyx,
    Protocol::Vonage,
    Protocol::AsteriskWords,
    Protocol::AsteriskJson,
    Protocol::Plain,
];

fn text(message: &Value) -> Message {
    Message::Text(message.to_string().into())
}

impl Protocol {
    /// Returns the carrier's name in addresses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Twilio => "twilio",
            Self::Telnyx => "telnyx",
            Self::Vonage => "vonage",
            Self::AsteriskWords | Self::AsteriskJson => "asterisk",
            Self::Plain => "plain",
        }
    }

    /// Returns whether audio comes in binary messages.
    pub fn is_binary(self) -> bool {
        matches!(
            self,
            Self::Vonage | Self::AsteriskWords | Self::AsteriskJson | Self::Plain
        )
    }

    /// Returns whether an odd number of bytes is invalid audio.
    pub fn has_wide_samples(self) -> bool {
        self.is_binary() && self != Self::AsteriskJson
    }

    /// Returns whether any text is a valid message, because text that is not JSON counts as words.
    pub fn takes_words(self) -> bool {
        matches!(self, Self::AsteriskWords | Self::AsteriskJson)
    }

    /// Returns whether the request is authenticated by more than its address.
    pub fn is_guarded(self) -> bool {
        matches!(self, Self::Twilio | Self::Telnyx | Self::Vonage)
    }

    /// Returns whether the credentials depend on the attempt.
    pub fn shows_token(self) -> bool {
        matches!(self, Self::Telnyx | Self::Vonage)
    }

    /// Returns the header of the request that opens a socket at `address`.
    pub fn header(self, address: &str, attempt: AttemptId) -> Option<(&'static str, String)> {
        match self {
            Self::Simulated | Self::Plain => None,
            Self::AsteriskWords | Self::AsteriskJson => Some(("sec-websocket-protocol", "media".to_owned())),
            Self::Twilio => {
                let mac = <Hmac<Sha1> as KeyInit>::new_from_slice(AUTH_TOKEN.as_bytes()).unwrap();
                let mac = mac.chain_update(address).finalize();
                Some(("x-twilio-signature", BASE64.encode(mac.into_bytes())))
            }
            Self::Telnyx => {
                let token = mark::stream_tokens(API_KEY).token(attempt);
                Some(("x-telnyx-streaming-auth-token", token))
            }
            Self::Vonage => Some(("authorization", account::stream_tokens(SECRET).token(attempt))),
        }
    }

    /// Returns the start of a stream.
    pub fn start(self) -> Message {
        if self == Self::AsteriskWords {
            let start = "MEDIA_START connection_id:c1 channel:WebSocket/c1/0x1 channel_id:ringback.a.m1 format:slin16 \
                         optimal_frame_size:640 ptime:20";
            return Message::Text(start.into());
        }
        text(&match self {
            Self::AsteriskWords | Self::AsteriskJson => json!({
                "event": "MEDIA_START", "connection_id": "c1", "channel": "WebSocket/c1/0x1", "channel_id": "x",
                "format": "ulaw", "optimal_frame_size": 160, "ptime": 20, "channel_variables": {},
            }),
            Self::Plain => json!({ "event": "start", "format": "pcm_8000", "buffers": true }),
            Self::Simulated | Self::Twilio => json!({
                "event": "start", "sequenceNumber": "1", "streamSid": "MZ1",
                "start": { "accountSid": "AC1", "streamSid": "MZ1", "callSid": "CA1", "tracks": ["inbound"],
                    "mediaFormat": { "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 } },
            }),
            Self::Telnyx => json!({
                "event": "start", "sequence_number": "1", "stream_id": "s1",
                "start": { "call_control_id": "v3:1", "user_id": "u", "client_state": null,
                    "media_format": { "encoding": "PCMU", "sample_rate": 8000, "channels": 1 } },
            }),
            Self::Vonage => json!({ "event": "websocket:connected", "content-type": "audio/l16;rate=8000" }),
        })
    }

    /// Returns 20 ms of audio.
    pub fn frame(self, number: u32) -> Vec<u8> {
        let sample = u8::try_from(number % 200).unwrap();
        let bytes = match self {
            Self::AsteriskWords => 640,
            Self::Vonage | Self::Plain => 320,
            _ => 160,
        };
        vec![sample; bytes]
    }

    /// Returns an audio message.
    pub fn audio(self, number: u32, audio: &[u8]) -> Message {
        let payload = BASE64.encode(audio);
        let (chunk, timestamp) = (number.to_string(), (number * 20).to_string());
        match self {
            Self::Simulated | Self::Twilio => text(&json!({
                "event": "media", "sequenceNumber": chunk, "streamSid": "MZ1",
                "media": { "track": "inbound", "chunk": chunk, "timestamp": timestamp, "payload": payload },
            })),
            Self::Telnyx => text(&json!({
                "event": "media", "sequence_number": chunk, "stream_id": "s1",
                "media": { "track": "inbound", "chunk": chunk, "timestamp": timestamp, "payload": payload },
            })),
            Self::Vonage | Self::AsteriskWords | Self::AsteriskJson | Self::Plain => {
                Message::Binary(audio.to_vec().into())
            }
        }
    }

    /// Returns the message of a returned mark.
    pub fn mark(self, name: &str) -> Message {
        if self == Self::AsteriskWords {
            return Message::Text(format!("MEDIA_MARK_PROCESSED {name}").into());
        }
        text(&match self {
            Self::AsteriskWords | Self::AsteriskJson => {
                json!({ "event": "MEDIA_MARK_PROCESSED", "channel_id": "x", "correlation_id": name })
            }
            Self::Plain => json!({ "event": "mark", "name": name }),
            Self::Simulated | Self::Twilio => json!({ "event": "mark", "streamSid": "MZ1", "mark": { "name": name } }),
            Self::Telnyx => json!({ "event": "mark", "stream_id": "s1", "mark": { "name": name } }),
            Self::Vonage => json!({ "event": "websocket:notify", "payload": { "id": name } }),
        })
    }

    /// Returns the message of a pressed key.
    pub fn key(self, key: &str) -> Message {
        if self == Self::AsteriskWords {
            return Message::Text(format!("DTMF_END digit:{key} channel_id:x").into());
        }
        text(&match self {
            Self::AsteriskWords | Self::AsteriskJson => json!({ "event": "DTMF_END", "channel_id": "x", "digit": key }),
            Self::Plain => json!({ "event": "digit", "digit": key }),
            Self::Simulated | Self::Twilio => json!({ "event": "dtmf", "streamSid": "MZ1", "dtmf": { "digit": key } }),
            Self::Telnyx => json!({ "event": "dtmf", "stream_id": "s1", "dtmf": { "digit": key } }),
            Self::Vonage => json!({ "event": "websocket:dtmf", "digit": key, "duration": 100 }),
        })
    }
}
