//! Audio formats of the plain link: their names, an agent's pair, and the format inside the call.

use domain::agent::{Agent, AudioFormat};
use media::format::{Encoding, LineFormat};

use crate::protocol::MessageError;

/// Accepted formats, for the text of an error.
pub const TAKEN: &str = "pcm_8000, pcm_16000, pcm_22050, pcm_24000, pcm_44100, pcm_48000 or ulaw_8000";

/// Returns the format with this name.
pub fn named(name: &str) -> Result<AudioFormat, MessageError> {
    AudioFormat::find(name).ok_or_else(|| MessageError::NoFormat {
        name: name.chars().take(40).collect(),
        taken: TAKEN,
    })
}

/// Formats of both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Formats {
    /// Format of audio from the client.
    pub input: AudioFormat,
    /// Format of audio to the client.
    pub output: AudioFormat,
}

impl Default for Formats {
    fn default() -> Self {
        Self {
            input: AudioFormat::DEFAULT,
            output: AudioFormat::DEFAULT,
        }
    }
}

impl Formats {
    /// Returns the formats of an agent.
    pub fn of(agent: &Agent) -> Self {
        let config = &agent.conversation_config;
        Self {
            input: config.asr.format().unwrap_or(AudioFormat::DEFAULT),
            output: config.tts.format().unwrap_or(AudioFormat::DEFAULT),
        }
    }

    /// Returns the formats with these names, or the default where a name is missing.
    pub fn named(input: Option<&str>, output: Option<&str>) -> Result<Self, MessageError> {
        let or_default = |name: Option<&str>| name.map_or(Ok(AudioFormat::DEFAULT), named);
        Ok(Self {
            input: or_default(input)?,
            output: or_default(output)?,
        })
    }

    /// Returns the query that names these formats in an address; empty for the default.
    pub fn query(self) -> String {
        match self == Self::default() {
            true => String::new(),
            false => format!("?input={}&output={}", self.input.name, self.output.name),
        }
    }

    /// Returns the format inside a call between these formats. A session supports 8 and 16 kHz. If both
    /// formats are the same and have one of these rates, that format is used.
    pub fn inside(self) -> LineFormat {
        let [input, output] = [self.input.line, self.output.line];
        let wide = input.sample_rate.max(output.sample_rate) > 8_000;
        let sample_rate = if wide { 16_000 } else { 8_000 };
        if input == output && input.sample_rate == sample_rate {
            return input;
        }
        LineFormat {
            encoding: Encoding::Linear16,
            sample_rate,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agents_formats_are_read_and_told_in_the_address() {
        let agent = json!({ "conversationConfig": {
            "asr": { "userInputAudioFormat": "pcm_44100" }, "tts": { "agentOutputAudioFormat": "ulaw_8000" },
        }});
        let formats = Formats::of(&serde_json::from_value(agent).unwrap());
        assert_eq!((formats.input.name, formats.output.name), ("pcm_44100", "ulaw_8000"));
        assert_eq!(formats.query(), "?input=pcm_44100&output=ulaw_8000");
        assert_eq!(Formats::named(Some("pcm_44100"), Some("ulaw_8000")), Ok(formats));
        assert_eq!(Formats::of(&Agent::default()), Formats::default());
        assert_eq!(
            (Formats::default().query(), Formats::named(None, None)),
            (String::new(), Ok(Formats::default()))
        );
        assert!(Formats::named(Some("pcm_11025"), None).is_err());
    }

    #[test]
    fn inside_are_eight_or_sixteen_kilohertz_and_no_more_translation_than_is_needed() {
        for input in AudioFormat::ALL {
            for output in AudioFormat::ALL {
                let inside = Formats { input, output }.inside();
                assert!(matches!(inside.sample_rate, 8_000 | 16_000), "{inside:?}");
                let least = input.line.sample_rate.max(output.line.sample_rate).min(16_000);
                assert_eq!(inside.sample_rate, least, "{} {}", input.name, output.name);
            }
        }
        for name in ["pcm_8000", "pcm_16000", "ulaw_8000"] {
            let own = named(name).unwrap();
            let both = Formats {
                input: own,
                output: own,
            };
            assert_eq!(both.inside(), own.line, "{name}");
        }
    }
}
