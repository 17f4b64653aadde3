//! Telnyx's media protocol: JSON text messages, base64 audio in the requested codec, marks, clear. Pure.

use std::borrow::Cow;

use domain::ports::media_leg::{LegAbilities, OutboundItem};
use media::{codec, format::LineFormat};
use serde::Deserialize;

use super::line::{CallerAudio, LineChoice};
use crate::protocol::{
    Event, MediaMessage, MediaProtocol, MediaWriter, MessageError, Start, ignored_or,
    json_stream::{DigitBody, MarkBody, MediaBody, clear, mark, media},
    key, named,
    number::Written,
};

/// Abilities of the far end of a stream.
pub const ABILITIES: LegAbilities = LegAbilities {
    buffers: true,
    marks: true,
    clear: true,
    digits: false,
};

/// Minimum audio in one outgoing message, in milliseconds (Telnyx's documentation: 20 ms to 30 s).
pub const MIN_AUDIO_MS: u32 = 20;
/// Maximum audio in one outgoing message, in milliseconds. This is far below Telnyx's 30 s, and a third of
/// the 64 KiB that a message may have here.
pub const MAX_AUDIO_MS: u32 = 500;

/// Accepted formats, for the text of an error.
const TAKEN: &str = "PCMU or PCMA at 8000 Hz or L16 at 16000 Hz, mono,";

/// Events whose messages must be well-formed.
const KNOWN: [&str; 5] = ["media", "mark", "dtmf", "start", "stop"];

/// Reader and writer of this protocol.
#[derive(Debug)]
pub struct TelnyxProtocol {
    choice: LineChoice,
    heard: CallerAudio,
}

impl TelnyxProtocol {
    /// Creates the protocol for a stream requested with these options.
    pub fn new(choice: LineChoice) -> Self {
        Self {
            choice,
            heard: CallerAudio::as_asked(choice),
        }
    }

    fn start(&mut self, start: StartBody, stream: &str) -> Result<Event, MessageError> {
        let format = start.media_format;
        let rate = format.sample_rate.to_string();
        let channels = format
            .channels
            .map_or_else(|| "1".to_owned(), |channels| channels.to_string());
        let heard = CallerAudio::of(self.choice, &format.encoding, &rate).filter(|_| channels == "1");
        let Some(heard) = heard else {
            return Err(MessageError::Format {
                encoding: format.encoding,
                rate,
                channels,
                taken: TAKEN,
            });
        };
        named("stream_id", stream)?;
        named("start.call_control_id", &start.call_control_id)?;
        if !heard.is_as_asked() {
            tracing::info!(
                asked = self.choice.codec.name(),
                comes = format.encoding,
                "Telnyx sends another codec than requested; converting"
            );
        }
        self.heard = heard;
        Ok(Event::Start(Start {
            stream: stream.to_owned(),
            call: Some(start.call_control_id),
            format: self.choice.codec.format(),
        }))
    }
}

impl MediaProtocol for TelnyxProtocol {
    fn read_text(&mut self, text: &str) -> Result<Event, MessageError> {
        let message: Message<'_> = match serde_json::from_str(text) {
            Ok(message) => message,
            Err(error) => return ignored_or(text, &error, &KNOWN),
        };
        match message.event.as_ref() {
            "media" => {
                let media = message.media.ok_or(MessageError::Incomplete("media"))?;
                media.event(|audio| self.heard.take(audio))
            }
            "mark" => message.mark.ok_or(MessageError::Incomplete("mark"))?.event(),
            "dtmf" => Ok(key(&message.dtmf.ok_or(MessageError::Incomplete("dtmf"))?.digit)),
            "start" => {
                let start = message.start.ok_or(MessageError::Incomplete("start"))?;
                self.start(start, &message.stream_id)
            }
            "stop" => Ok(Event::Stop),
            "error" => {
                complain(&message.payload.unwrap_or_default());
                Ok(Event::Ignored)
            }
            _ => Ok(Event::Ignored),
        }
    }

    /// Streams are requested with the dial.
    fn opens_early(&self) -> bool {
        true
    }

    fn abilities(&self) -> LegAbilities {
        ABILITIES
    }

    fn writer(&mut self, _: &Start) -> Box<dyn MediaWriter> {
        Box::new(TelnyxWriter::new(self.choice))
    }
}

/// Logs an error that Telnyx reports about our messages. The call continues; only the audio in question is not heard.
fn complain(error: &ErrorBody) {
    metrics::counter!("ringback_telnyx_stream_errors_total").increment(1);
    let code = error.code.as_ref().map(ToString::to_string).unwrap_or_default();
    tracing::warn!(code = %code.escape_debug(), "Telnyx rejected a media stream message");
}

/// Writer of one stream. Audio shorter than [`MIN_AUDIO_MS`] waits for more. Before a mark it is padded with
/// silence, because nothing more may follow.
struct TelnyxWriter {
    choice: LineChoice,
    format: LineFormat,
    waiting: Vec<u8>,
}

impl TelnyxWriter {
    fn new(choice: LineChoice) -> Self {
        Self {
            choice,
            format: choice.codec.format(),
            waiting: Vec::new(),
        }
    }

    fn audio(&mut self, audio: &[u8], messages: &mut Vec<MediaMessage>) {
        self.waiting.extend_from_slice(audio);
        let least = self.format.bytes_for_ms(MIN_AUDIO_MS);
        let most = self.format.bytes_for_ms(MAX_AUDIO_MS);
        let mut sent = 0;
        while self.waiting.len() - sent >= least {
            // Only whole samples are sent.
            let length = (self.waiting.len() - sent).min(most) / 2 * 2;
            self.send(sent..sent + length, messages);
            sent += length;
        }
        self.waiting.drain(..sent);
    }

    fn flush(&mut self, messages: &mut Vec<MediaMessage>) {
        if self.waiting.is_empty() {
            return;
        }
        let least = self.format.bytes_for_ms(MIN_AUDIO_MS);
        self.waiting.resize(least, codec::silence(self.format.encoding));
        self.send(0..least, messages);
        self.waiting.clear();
    }

    fn send(&mut self, piece: std::ops::Range<usize>, messages: &mut Vec<MediaMessage>) {
        let piece = &mut self.waiting[piece];
        self.choice.reorder(self.format.encoding, piece);
        messages.push(MediaMessage::Text(media("", piece)));
    }
}

impl MediaWriter for TelnyxWriter {
    fn write(&mut self, item: &OutboundItem, messages: &mut Vec<MediaMessage>) {
        match item {
            OutboundItem::Audio(audio) => self.audio(audio, messages),
            OutboundItem::Mark(name) => {
                self.flush(messages);
                messages.push(MediaMessage::Text(mark("", name)));
            }
            OutboundItem::Clear => {
                self.waiting.clear();
                messages.push(MediaMessage::Text(clear("")));
            }
            OutboundItem::Digit(_) | OutboundItem::Close => {}
        }
    }
}

/// Every message, parsed in one pass.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow, default)]
    stream_id: Cow<'a, str>,
    #[serde(borrow)]
    media: Option<MediaBody<'a>>,
    #[serde(borrow)]
    mark: Option<MarkBody<'a>>,
    #[serde(borrow)]
    dtmf: Option<DigitBody<'a>>,
    start: Option<StartBody>,
    payload: Option<ErrorBody>,
}

#[derive(Deserialize)]
struct StartBody {
    call_control_id: String,
    media_format: FormatBody,
}

#[derive(Deserialize)]
struct FormatBody {
    encoding: String,
    sample_rate: Written,
    channels: Option<Written>,
}

#[derive(Deserialize, Default)]
struct ErrorBody {
    code: Option<Written>,
}

#[cfg(test)]
mod tests;
