//! Scripts for phones: conversations as data, step by step. A contact's `script` field names one of
//! [`ExchangeSettings::scripts`](super::ExchangeSettings::scripts).

use serde::Deserialize;

/// A callee that follows a list of steps.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Steps in order, from the answer on. After the last one the callee stays on the line and says nothing.
    pub steps: Vec<Step>,
    /// Background sound of the line.
    pub line: LineSound,
    /// Faults of the path from the phone to the service.
    #[serde(rename = "wire")]
    pub faults: MediaFaults,
}

impl Script {
    /// Returns a script with these steps on a clean line.
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            steps: steps.into_iter().collect(),
            ..Self::default()
        }
    }
}

/// One step. It begins in the 20 ms frame in which the previous step ends; earlier events do not count. A
/// step with sound ends when its sound has been sent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Step {
    /// Waits this many milliseconds.
    WaitMs(u64),
    /// Waits until the agent begins to talk.
    UntilAgentStarts,
    /// Waits until the agent has finished a speech, which is noticed after 600 ms of silence. A speech that
    /// continues after a shorter silence is one speech.
    UntilAgentSaid,
    /// Waits until the agent talks, or begins to, and has then been silent for this many milliseconds: 600 at most.
    UntilAgentSilentMs(u64),
    /// Waits until this many milliseconds into the agent's present speech, or into the next one if the agent
    /// is silent or the speech is too short.
    IntoSpeechMs(u64),
    /// Waits until this word, in any case, has been heard from its first to its last sound in the agent's
    /// present or a later speech.
    UntilHeardWord(String),
    /// Says this. A letter takes about 75 ms.
    Say(String),
    /// Says this at another level (root mean square) than the usual -20 dBFS.
    SayQuietly {
        /// Words.
        text: String,
        /// Level.
        dbfs: f64,
    },
    /// Another person at the same phone says this; each name has its own voice.
    SayAs {
        /// Name of the voice.
        voice: String,
        /// Words.
        text: String,
    },
    /// Says this without wanting the agent to stop, such as "mm-hm".
    Murmur(String),
    /// Says one sentence with silences in it.
    Spell {
        /// Parts of the sentence.
        groups: Vec<String>,
        /// Silence between two parts.
        gap_ms: u64,
    },
    /// Coughs for 250 ms.
    Cough,
    /// Plays 50 Hz and its harmonics, at -26 dBFS.
    Hum {
        /// Duration.
        ms: u64,
    },
    /// Plays chords as on hold, at -24 dBFS.
    Music {
        /// Duration.
        ms: u64,
    },
    /// Plays pink noise.
    NoiseBurst {
        /// Duration.
        ms: u64,
        /// Level (root mean square).
        dbfs: f64,
    },
    /// Plays a click of 3 ms, like that of a switch.
    Click,
    /// Plays a mailbox's tone: 1 kHz for 400 ms.
    Beep,
    /// Plays the tone of a telephone key for 100 ms: 0 to 9, `*`, `#`, A to D.
    Key(char),
    /// Presses a key, which the carrier reports beside the audio.
    Press(char),
    /// Waits until the agent has pressed this key, as tones.
    UntilKey(char),
    /// From here on the callee cooperates: it answers the last question and every further one.
    Cooperate,
    /// Repeats the same steps.
    Repeat {
        /// Number of times.
        times: u32,
        /// Steps.
        steps: Vec<Step>,
    },
    /// Hangs up.
    HangUp,
    /// The phone's socket dies without a close, and the carrier opens another on request. The next step begins then.
    LoseMedia,
    /// The phone's socket dies without a close and cannot be reopened; the carrier's call goes on until
    /// the caller hangs up.
    Drop,
}

/// Echo of the agent's voice.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Echo {
    /// Level relative to what was played; -20 dB is a tenth.
    pub gain_db: f64,
    /// Delay.
    pub delay_ms: u64,
}

/// Constant sound of a line, as root mean square relative to full scale. A voice is at -20 dBFS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LineSound {
    /// Pink noise.
    pub noise_dbfs: Option<f64>,
    /// Echo of the agent's own voice.
    pub echo: Option<Echo>,
    /// 50 Hz and its harmonics.
    pub hum_dbfs: Option<f64>,
    /// Music on hold.
    pub music_dbfs: Option<f64>,
}

/// An interval in which no frame arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stall {
    /// Start, counted from the opening of the media.
    pub from_ms: u64,
    /// Duration; the frames held back arrive at once at its end.
    pub ms: u64,
}

/// Faults of the frames' path. Frames are counted from 1; `Some(50)` means every 50th.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MediaFaults {
    /// Seed of the moments of [`jitter_ms`](Self::jitter_ms).
    pub seed: u64,
    /// Largest delay of a frame, in steps of 20 ms; the order of the frames stays.
    pub jitter_ms: u64,
    /// Every n-th frame arrives twice.
    pub duplicate_every: Option<u32>,
    /// Every n-th frame arrives after the next one.
    pub swap_every: Option<u32>,
    /// Every n-th frame never arrives.
    pub lose_every: Option<u32>,
    /// Frames arrive in bursts of this many.
    pub burst_frames: Option<u32>,
    /// Frames stop arriving for a while.
    pub stall: Option<Stall>,
}
