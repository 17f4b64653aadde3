//! The audio formats of the plain link: their names, the pair an agent asks for, and what both become inside.

use domain::agent::Agent;
use media::format::{Encoding, LineFormat};

use crate::wire::WireError;

/// What is taken as a format, for an error's words.
pub const TAKEN: &str = "pcm_8000, pcm_16000, pcm_22050, pcm_24000, pcm_44100, pcm_48000 or ulaw_8000";

/// A format with its name. Linear samples have 16 bits, the low byte first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AudioFormat {
    /// As agents and clients call it.
    pub name: &'static str,
    /// What it stands for.
    pub line: LineFormat,
}

impl AudioFormat {
    /// Every format there is.
    pub const ALL: [Self; 7] = [
        Self::linear("pcm_8000", 8_000),
        Self::linear("pcm_16000", 16_000),
        Self::linear("pcm_22050", 22_050),
        Self::linear("pcm_24000", 24_000),
        Self::linear("pcm_44100", 44_100),
        Self::linear("pcm_48000", 48_000),
        Self {
            name: "ulaw_8000",
            line: LineFormat::MULAW_8000,
        },
    ];

    /// That of an agent that names none.
    const DEFAULT: Self = Self::linear("pcm_16000", 16_000);

    const fn linear(name: &'static str, sample_rate: u32) -> Self {
        Self {
            name,
            line: LineFormat {
                encoding: Encoding::Linear16,
                sample_rate,
            },
        }
    }

    /// The format of this name.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn named(name: &str) -> Result<Self, WireError> {
        let known = Self::ALL.into_iter().find(|format| format.name == name);
        known.ok_or_else(|| WireError::NoFormat {
            name: name.chars().take(40).collect(),
            taken: TAKEN,
        })
    }
}

/// What comes from the client, and what goes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Formats {
    /// From the client.
    pub input: AudioFormat,
    /// To the client.
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
    /// Those that an agent asks for.
    pub fn of(agent: &Agent) -> Self {
        let config = &agent.conversation_config;
        // A stored agent's formats were checked when it was saved.
        let named = |name: &str| AudioFormat::named(name).unwrap_or(AudioFormat::DEFAULT);
        Self {
            input: named(&config.asr.user_input_audio_format),
            output: named(&config.tts.agent_output_audio_format),
        }
    }

    /// Those of an address, where what is not named is the default.
    ///
    /// # Errors
    ///
    /// When one is no format.
    pub fn named(input: Option<&str>, output: Option<&str>) -> Result<Self, WireError> {
        let named = |name: Option<&str>| name.map_or(Ok(AudioFormat::DEFAULT), AudioFormat::named);
        Ok(Self {
            input: named(input)?,
            output: named(output)?,
        })
    }

    /// The query of an address that names them; empty for the default.
    pub fn query(self) -> String {
        match self == Self::default() {
            true => String::new(),
            false => format!("?input={}&output={}", self.input.name, self.output.name),
        }
    }

    /// What a call works with that has these at its ends. A session knows 8 and 16 kHz; formats that are one and the same
    /// of those stay as they are.
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
            let own = AudioFormat::named(name).unwrap();
            let both = Formats {
                input: own,
                output: own,
            };
            assert_eq!(both.inside(), own.line, "{name}");
        }
    }
}
