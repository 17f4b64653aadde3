//! A media stream to the service: JSON texts in Twilio's format.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use uuid::Uuid;

use super::{
    call::Call,
    form,
    stub::{ACCOUNT, Flavour, Twilio},
    twiml::Verb,
};
use crate::{
    schema,
    stub_carriers::bridge::{self, BridgeError, MediaSocket, ToService, Told},
};

/// An open stream.
pub(super) struct Stream {
    service: ToService,
    sid: String,
    flavour: Flavour,
    sent: u64,
    chunks: u64,
}

impl Stream {
    /// Opens the stream that the instructions name.
    pub(super) async fn open(stub: &Twilio, call: &Call, noun: &Verb) -> Result<Self, BridgeError> {
        let url = noun.get("url");
        let signature = form::sign(stub.key(), url, &Default::default());
        let bearer = format!("Bearer {}", noun.get("authBearerToken"));
        let (header, value) = match stub.flavour {
            Flavour::Twilio => (stub.signature_header(), signature.as_str()),
            Flavour::SignalWire => ("authorization", bearer.as_str()),
        };
        let mut stream = Self {
            service: bridge::open(url, header, value).await?,
            sid: format!("MZ{}", Uuid::new_v4().simple()),
            flavour: stub.flavour,
            sent: 0,
            chunks: 0,
        };
        stream.begin(&call.id).await;
        Ok(stream)
    }

    async fn begin(&mut self, call: &str) {
        let version = match self.flavour {
            Flavour::Twilio => "1.0.0",
            Flavour::SignalWire => "0.2.0",
        };
        let connected = json!({ "event": "connected", "protocol": "Call", "version": version });
        self.service.text(&connected).await;
        let start = json!({
            "accountSid": ACCOUNT, "streamSid": self.sid, "callSid": call, "tracks": ["inbound"],
            "mediaFormat": { "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 }, "customParameters": {},
        });
        self.numbered(json!({ "event": "start", "start": start })).await;
    }

    /// Sends a message with its number and, for Twilio, the stream's id.
    async fn numbered(&mut self, mut message: Value) {
        self.sent += 1;
        message["sequenceNumber"] = json!(self.sent.to_string());
        if self.flavour == Flavour::Twilio {
            message["streamSid"] = json!(self.sid);
        }
        self.service.text(&message).await;
    }

    fn read(&self, text: &str) -> Told {
        let said: Value = serde_json::from_str(text).unwrap_or_default();
        let nonsense = || Told::Nonsense(format!("31951: {text}"));
        let named = |value: &Value| value.as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        let misfit = schema::message(self.flavour.name(), "stream", &said).is_err();
        if misfit || said["streamSid"] != *self.sid {
            return nonsense();
        }
        match (said["event"].as_str(), self.flavour) {
            (Some("media"), _) => {
                let audio = said["media"]["payload"].as_str().map(|text| BASE64.decode(text));
                audio.and_then(Result::ok).map_or_else(nonsense, Told::Audio)
            }
            (Some("mark"), _) => named(&said["mark"]["name"]).map_or_else(nonsense, Told::Mark),
            (Some("clear"), _) => Told::Clear,
            (Some("dtmf"), Flavour::SignalWire) => named(&said["dtmf"]["digit"]).map_or_else(nonsense, Told::Key),
            _ => nonsense(),
        }
    }

    /// Ends the stream as the carrier does when the call moves elsewhere or is over.
    pub(super) async fn stop(mut self, call: &str) {
        let stop = match self.flavour {
            Flavour::Twilio => json!({ "event": "stop", "stop": { "accountSid": ACCOUNT, "callSid": call } }),
            Flavour::SignalWire => json!({ "event": "stop" }),
        };
        self.numbered(stop).await;
        self.service.close().await;
    }
}

impl MediaSocket for Stream {
    async fn audio(&mut self, mulaw: &[u8]) {
        self.chunks += 1;
        let media = json!({
            "track": "inbound", "chunk": self.chunks.to_string(),
            "timestamp": ((self.chunks - 1) * 20).to_string(), "payload": BASE64.encode(mulaw),
        });
        self.numbered(json!({ "event": "media", "media": media })).await;
    }

    async fn key(&mut self, key: &str) {
        let dtmf = json!({ "track": "inbound_track", "digit": key });
        self.numbered(json!({ "event": "dtmf", "dtmf": dtmf })).await;
    }

    async fn played(&mut self, mark: &str) {
        self.numbered(json!({ "event": "mark", "mark": { "name": mark } }))
            .await;
    }

    async fn told(&mut self) -> Told {
        match self.service.next().await {
            Some(Message::Text(text)) => self.read(text.as_str()),
            Some(_) => Told::Nonsense("31950: a binary message".to_owned()),
            None => Told::Gone,
        }
    }
}
