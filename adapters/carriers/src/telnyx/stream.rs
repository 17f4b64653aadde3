//! Telnyx's media protocol: JSON text messages, base64 audio in the requested codec, marks, clear. Pure.

use media::format::LineFormat;
use serde::Deserialize;

use super::line::{CallerAudio, LineChoice};
use crate::kind::Choice;
use crate::protocol::{
    Event, MediaMessage, MediaProtocol, MediaWriter, MessageError, Start,
    framing::{FramedWriter, Lengths, Wording},
    json_stream::{self, FormatBody, Said, clear, mark, media},
    named,
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

    fn start(&mut self, start: StartBody, stream: String) -> Result<Event, MessageError> {
        let format = start.media_format;
        let heard = CallerAudio::of(self.choice, &format.encoding, &format.rate());
        let Some(heard) = heard.filter(|_| format.is_mono()) else {
            return Err(format.refused(TAKEN));
        };
        named("stream_id", &stream)?;
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
            stream,
            call: Some(start.call_control_id),
            format: self.choice.codec.format(),
        }))
    }
}

impl MediaProtocol for TelnyxProtocol {
    fn read_text(&mut self, text: &str) -> Result<Event, MessageError> {
        match json_stream::parse(text, &KNOWN, |audio| self.heard.take(audio))? {
            Said::Event(event) => Ok(event),
            Said::Start(start, stream) => self.start(start, stream),
            // The call continues; only the audio in question is not heard.
            Said::Error(code) => {
                metrics::counter!("ringback_telnyx_stream_errors_total").increment(1);
                tracing::warn!(code = %code.escape_debug(), "Telnyx rejected a media stream message");
                Ok(Event::Ignored)
            }
        }
    }

    /// Streams are requested with the dial.
    fn opens_early(&self) -> bool {
        true
    }

    fn writer(&mut self, _: &Start) -> Box<dyn MediaWriter> {
        Box::new(writer(self.choice))
    }
}

fn writer(choice: LineChoice) -> FramedWriter<TelnyxWords> {
    let format = choice.codec.format();
    let lengths = Lengths {
        // Only whole samples are sent.
        unit: 2,
        ..Lengths::of_frames(format, MIN_AUDIO_MS, MAX_AUDIO_MS)
    };
    FramedWriter::new(TelnyxWords { choice, format }, format, lengths)
}

struct TelnyxWords {
    choice: LineChoice,
    format: LineFormat,
}

impl Wording for TelnyxWords {
    fn audio(&self, mut piece: Vec<u8>) -> MediaMessage {
        self.choice.reorder(self.format.encoding, &mut piece);
        MediaMessage::Text(media("", &piece))
    }

    fn mark(&self, name: &str) -> Option<MediaMessage> {
        Some(MediaMessage::Text(mark("", name)))
    }

    fn clear(&self) -> MediaMessage {
        MediaMessage::Text(clear(""))
    }
}

#[derive(Deserialize)]
struct StartBody {
    call_control_id: String,
    media_format: FormatBody,
}

#[cfg(test)]
mod tests;
