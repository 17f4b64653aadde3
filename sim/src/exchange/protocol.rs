//! The carrier's side of Twilio's media stream. It is written from Twilio's documents and not from Ringback's
//! reader, so that a mistake in one is not repeated in the other. Pure.

use std::{borrow::Cow, fmt::Write as _};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::Deserialize;
use serde_json::json;

/// Messages from a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Incoming {
    /// Mu-law to play after the previous audio.
    Audio(Vec<u8>),
    /// Mark to return when the previous audio has been played.
    Mark(String),
    /// Discards the audio that is not yet played.
    Clear,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    stream_sid: Cow<'a, str>,
    #[serde(borrow)]
    media: Option<Media<'a>>,
    mark: Option<Mark>,
}

#[derive(Deserialize)]
struct Media<'a> {
    #[serde(borrow)]
    payload: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Mark {
    name: String,
}

/// Messages about which Twilio would complain.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidMessage {
    #[error("malformed message: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("message for stream `{0}` on stream `{1}`")]
    Stream(String, String),
    #[error("payload is not base64: {0}")]
    Payload(#[from] base64::DecodeError),
    #[error("unsupported or incomplete `{0}` message")]
    Unsupported(String),
}

/// Reads one message.
pub(super) fn read(text: &str, stream: &str) -> Result<Incoming, InvalidMessage> {
    let message: Message<'_> = serde_json::from_str(text)?;
    if message.stream_sid != stream {
        let other = message.stream_sid.into_owned();
        return Err(InvalidMessage::Stream(other, stream.to_owned()));
    }
    match (&*message.event, message.media, message.mark) {
        ("media", Some(media), _) => Ok(Incoming::Audio(BASE64.decode(media.payload.as_bytes())?)),
        ("mark", _, Some(mark)) if !mark.name.is_empty() => Ok(Incoming::Mark(mark.name)),
        ("clear", ..) => Ok(Incoming::Clear),
        (event, ..) => Err(InvalidMessage::Unsupported(event.to_owned())),
    }
}

/// Encodes a frame of audio for a message.
pub(super) fn payload(audio: &[u8]) -> String {
    BASE64.encode(audio)
}

/// Writes the numbered messages of one stream.
#[derive(Debug)]
pub(super) struct Writer {
    stream: String,
    call: String,
    sequence: u64,
    chunk: u64,
}

impl Writer {
    /// Creates a writer; `stream` and `call` are letters and digits.
    pub(super) fn new(stream: String, call: String) -> Self {
        Self {
            stream,
            call,
            sequence: 0,
            chunk: 0,
        }
    }

    pub(super) fn connected() -> String {
        json!({ "event": "connected", "protocol": "Call", "version": "1.0.0" }).to_string()
    }

    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    pub(super) fn start(&mut self) -> String {
        let sequence = self.next().to_string();
        json!({
            "event": "start", "sequenceNumber": sequence, "streamSid": self.stream,
            "start": {
                "accountSid": "ACsimulated", "streamSid": self.stream, "callSid": self.call, "tracks": ["inbound"],
                "mediaFormat": { "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 },
                "customParameters": {},
            },
        })
        .to_string()
    }

    /// Writes a frame; `payload` is base64. This is the most frequent message, so it is assembled by hand.
    pub(super) fn media(&mut self, timestamp_ms: u64, payload: &str) -> String {
        let sequence = self.next();
        self.chunk += 1;
        let mut text = String::with_capacity(180 + payload.len());
        let _ = write!(
            text,
            r#"{{"event":"media","sequenceNumber":"{sequence}","streamSid":"{}","media":{{"track":"inbound","chunk":"{}","timestamp":"{timestamp_ms}","payload":"{payload}"}}}}"#,
            self.stream, self.chunk,
        );
        text
    }

    /// Writes a pressed key.
    pub(super) fn dtmf(&mut self, key: char) -> String {
        let sequence = self.next().to_string();
        let dtmf = json!({ "track": "inbound_track", "digit": key.to_string() });
        json!({ "event": "dtmf", "sequenceNumber": sequence, "streamSid": self.stream, "dtmf": dtmf }).to_string()
    }

    pub(super) fn mark(&mut self, name: &str) -> String {
        let sequence = self.next().to_string();
        json!({ "event": "mark", "sequenceNumber": sequence, "streamSid": self.stream, "mark": { "name": name } })
            .to_string()
    }

    pub(super) fn stop(&mut self) -> String {
        let sequence = self.next().to_string();
        let stop = json!({ "accountSid": "ACsimulated", "callSid": self.call });
        json!({ "event": "stop", "sequenceNumber": sequence, "streamSid": self.stream, "stop": stop }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carriers::twilio::stream;

    #[test]
    fn what_the_service_sends_is_read() {
        assert_eq!(
            read(&stream::media("MZ1", &[1, 2]), "MZ1").unwrap(),
            Incoming::Audio(vec![1, 2])
        );
        assert_eq!(
            read(&stream::mark("MZ1", "é\""), "MZ1").unwrap(),
            Incoming::Mark("é\"".into())
        );
        assert_eq!(read(&stream::clear("MZ1"), "MZ1").unwrap(), Incoming::Clear);
    }

    #[test]
    fn what_twilio_would_refuse_is_refused() {
        for bad in [
            "",
            r#"{"event":"clear"}"#,
            r#"{"event":"clear","streamSid":"MZ2"}"#,
            r#"{"event":"media","streamSid":"MZ1"}"#,
            r#"{"event":"media","streamSid":"MZ1","media":{"payload":"?"}}"#,
            r#"{"event":"mark","streamSid":"MZ1","mark":{"name":""}}"#,
            r#"{"event":"dance","streamSid":"MZ1"}"#,
        ] {
            assert!(read(bad, "MZ1").is_err(), "{bad}");
        }
    }

    #[test]
    fn every_message_of_a_phone_is_read_by_the_service() {
        use carriers::protocol::{Event, Media};
        use domain::ports::media_leg::InboundItem;
        let mut writer = Writer::new("MZ1".into(), "CA1".into());
        assert_eq!(stream::parse(&Writer::connected()), Ok(Event::Ignored));
        let Ok(Event::Start(start)) = stream::parse(&writer.start()) else {
            panic!("no start");
        };
        assert_eq!((&*start.stream, start.call.as_deref()), ("MZ1", Some("CA1")));
        let media = writer.media(20, &payload(&[9; 160]));
        assert!(media.contains(r#""sequenceNumber":"2""#) && media.contains(r#""timestamp":"20""#));
        let expected = Media {
            chunk: Some(1),
            timestamp_ms: Some(20),
            audio: vec![9; 160],
        };
        assert_eq!(stream::parse(&media), Ok(Event::Media(expected)));
        assert_eq!(
            stream::parse(&writer.mark("u1")),
            Ok(Event::Item(InboundItem::Mark("u1".into())))
        );
        assert_eq!(
            stream::parse(&writer.dtmf('#')),
            Ok(Event::Item(InboundItem::Digit('#')))
        );
        assert_eq!(stream::parse(&writer.stop()), Ok(Event::Stop));
    }
}
