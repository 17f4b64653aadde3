//! Telnyx's media stream format: JSON text messages, base64 audio in the codec that was asked for, marks, clear. Pure.

use std::borrow::Cow;

use domain::ports::media_leg::{LegAbilities, OutboundItem};
use media::{codec, format::LineFormat};
use serde::Deserialize;

use super::line::{CallerAudio, LineChoice};
use crate::wire::{
    Event, MediaWire, MediaWriter, Start, WireError, WireMessage, ignored_or,
    json_stream::{DigitBody, MarkBody, MediaBody, clear, mark, media},
    key, named,
    number::Written,
};

/// What the far end of a stream can do.
pub const ABILITIES: LegAbilities = LegAbilities {
    buffers: true,
    marks: true,
    clear: true,
    digits: false,
};

/// Least audio in one outgoing message, in milliseconds (Telnyx's documents: 20 ms to 30 s).
pub const MIN_AUDIO_MS: u32 = 20;
/// Most audio in one outgoing message, in milliseconds: far below Telnyx's 30 s, and a third of the 64 KiB that a
/// message may have here.
pub const MAX_AUDIO_MS: u32 = 500;

/// What is taken of a stream's beginning, for an error's words.
const TAKEN: &str = "PCMU or PCMA at 8000 Hz or L16 at 16000 Hz, mono,";

/// The events whose messages must be in the format.
const KNOWN: [&str; 5] = ["media", "mark", "dtmf", "start", "stop"];

/// Reads and writes this format.
#[derive(Debug)]
pub struct TelnyxWire {
    choice: LineChoice,
    heard: CallerAudio,
}

impl TelnyxWire {
    /// A stream for which this was asked.
    pub fn new(choice: LineChoice) -> Self {
        Self {
            choice,
            heard: CallerAudio::as_asked(choice),
        }
    }

    fn start(&mut self, start: StartBody, stream: &str) -> Result<Event, WireError> {
        let format = start.media_format;
        let rate = format.sample_rate.to_string();
        let channels = format
            .channels
            .map_or_else(|| "1".to_owned(), |channels| channels.to_string());
        let heard = CallerAudio::of(self.choice, &format.encoding, &rate).filter(|_| channels == "1");
        let Some(heard) = heard else {
            return Err(WireError::Format {
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
                "Telnyx sends another codec than it was asked for; it is translated"
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

impl MediaWire for TelnyxWire {
    fn read_text(&mut self, text: &str) -> Result<Event, WireError> {
        let message: Message<'_> = match serde_json::from_str(text) {
            Ok(message) => message,
            Err(error) => return ignored_or(text, &error, &KNOWN),
        };
        match message.event.as_ref() {
            "media" => {
                let media = message.media.ok_or(WireError::Incomplete("media"))?;
                media.event(|audio| self.heard.take(audio))
            }
            "mark" => message.mark.ok_or(WireError::Incomplete("mark"))?.event(),
            "dtmf" => Ok(key(&message.dtmf.ok_or(WireError::Incomplete("dtmf"))?.digit)),
            "start" => {
                let start = message.start.ok_or(WireError::Incomplete("start"))?;
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

    /// A stream is asked for with the dial.
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

/// What Telnyx says about something we sent. A call outlives it: the audio in question is merely not heard.
fn complain(error: &ErrorBody) {
    metrics::counter!("ringback_telnyx_stream_errors_total").increment(1);
    let code = error.code.as_ref().map(ToString::to_string).unwrap_or_default();
    tracing::warn!(code = %code.escape_debug(), "Telnyx refuses something it was sent on a media stream");
}

/// Writes to one stream. What is shorter than [`MIN_AUDIO_MS`] waits for more, and is filled up with silence where
/// nothing more may come: before a mark.
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

    fn audio(&mut self, audio: &[u8], messages: &mut Vec<WireMessage>) {
        self.waiting.extend_from_slice(audio);
        let least = self.format.bytes_for_ms(MIN_AUDIO_MS);
        let most = self.format.bytes_for_ms(MAX_AUDIO_MS);
        let mut sent = 0;
        while self.waiting.len() - sent >= least {
            // Whole samples: half of one waits for its other half.
            let length = (self.waiting.len() - sent).min(most) / 2 * 2;
            self.send(sent..sent + length, messages);
            sent += length;
        }
        self.waiting.drain(..sent);
    }

    fn flush(&mut self, messages: &mut Vec<WireMessage>) {
        if self.waiting.is_empty() {
            return;
        }
        let least = self.format.bytes_for_ms(MIN_AUDIO_MS);
        self.waiting.resize(least, codec::silence(self.format.encoding));
        self.send(0..least, messages);
        self.waiting.clear();
    }

    fn send(&mut self, piece: std::ops::Range<usize>, messages: &mut Vec<WireMessage>) {
        let piece = &mut self.waiting[piece];
        self.choice.reorder(self.format.encoding, piece);
        messages.push(WireMessage::Text(media("", piece)));
    }
}

impl MediaWriter for TelnyxWriter {
    fn write(&mut self, item: &OutboundItem, messages: &mut Vec<WireMessage>) {
        match item {
            OutboundItem::Audio(audio) => self.audio(audio, messages),
            OutboundItem::Mark(name) => {
                self.flush(messages);
                messages.push(WireMessage::Text(mark("", name)));
            }
            OutboundItem::Clear => {
                self.waiting.clear();
                messages.push(WireMessage::Text(clear("")));
            }
            OutboundItem::Digit(_) | OutboundItem::Close => {}
        }
    }
}

/// One pass over the text.
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
