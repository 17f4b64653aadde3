//! What a phone can be told to do, step by step: conversations as data. A contact's `script` field names one of
//! [`ExchangeSettings::scripts`](super::ExchangeSettings::scripts).

use serde::Deserialize;

/// A callee who follows a list of steps.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Done in order, from the answer on. Behind the last one the callee stays on the line and says nothing.
    pub steps: Vec<Step>,
    /// What the line sounds like beneath the callee.
    pub line: LineSound,
    /// What the way from the phone to the service does to its frames.
    pub wire: WireFaults,
}

impl Script {
    /// These steps on a clean line.
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            steps: steps.into_iter().collect(),
            ..Self::default()
        }
    }
}

/// One step. It begins in the 20 ms frame in which the one before it is done; what happened earlier does not count.
/// Steps that sound are done when their sound is out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Step {
    /// Lets so many milliseconds pass.
    WaitMs(u64),
    /// Until the agent begins to talk.
    UntilAgentStarts,
    /// Until the agent has finished a speech, which is noticed after 600 ms of silence. A speech that goes on behind
    /// a shorter silence is one speech.
    UntilAgentSaid,
    /// Until the agent, who talks or begins to, has been silent for so many milliseconds: 600 at most.
    UntilAgentSilentMs(u64),
    /// Until so many milliseconds into the agent's present speech, or the next one where it is silent or too short.
    IntoSpeechMs(u64),
    /// Until this word, in any case, has been heard from its first to its last sound in the agent's present or a
    /// later speech.
    UntilHeardWord(String),
    /// Says this. Letters cost 75 ms each, about.
    Say(String),
    /// Says this at another level (root mean square) than the usual -20 dBFS.
    SayQuietly {
        /// The words.
        text: String,
        /// The level.
        dbfs: f64,
    },
    /// Somebody else at the same phone says this; each name has a voice of its own.
    SayAs {
        /// Who.
        voice: String,
        /// The words.
        text: String,
    },
    /// Says this without wanting the agent to stop, such as "mm-hm".
    Murmur(String),
    /// Says one sentence with silences in it.
    Spell {
        /// Its parts.
        groups: Vec<String>,
        /// The silence between two parts.
        gap_ms: u64,
    },
    /// Coughs for 250 ms.
    Cough,
    /// 50 Hz and its harmonics, at -26 dBFS.
    Hum {
        /// How long.
        ms: u64,
    },
    /// Chords as on hold, at -24 dBFS.
    Music {
        /// How long.
        ms: u64,
    },
    /// Pink noise.
    NoiseBurst {
        /// How long.
        ms: u64,
        /// Root mean square.
        dbfs: f64,
    },
    /// A click of 3 ms, as of a switch.
    Click,
    /// A mailbox's tone: 1 kHz for 400 ms.
    Beep,
    /// A key of the telephone is heard for 100 ms: 0 to 9, `*`, `#`, A to D.
    Key(char),
    /// Presses a key, which the carrier tells beside the audio.
    Press(char),
    /// Until the agent has pressed this key, as tones.
    UntilKey(char),
    /// From here on the callee cooperates: it answers whatever it was asked last, and every further question.
    Cooperate,
    /// The same steps several times.
    Repeat {
        /// How often.
        times: u32,
        /// What.
        steps: Vec<Step>,
    },
    /// Hangs up.
    HangUp,
    /// The phone's socket dies without a word, and the carrier opens another when it is asked to. The next step begins
    /// then.
    LoseMedia,
    /// The phone's socket dies without a word and cannot be had back; the carrier's call goes on until the caller hangs up.
    Drop,
}

/// The agent's voice, coming back.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Echo {
    /// Relative to what was played; -20 is a tenth.
    pub gain_db: f64,
    /// How much later.
    pub delay_ms: u64,
}

/// What is heard on a line all the time, as root mean square relative to full scale. A voice has -20 dBFS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LineSound {
    /// Pink noise.
    pub noise_dbfs: Option<f64>,
    /// The agent's own voice.
    pub echo: Option<Echo>,
    /// 50 Hz and its harmonics.
    pub hum_dbfs: Option<f64>,
    /// Music on hold.
    pub music_dbfs: Option<f64>,
}

/// Nothing comes for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stall {
    /// From the opening of the media.
    pub from_ms: u64,
    /// How long; what was held back then comes at once.
    pub ms: u64,
}

/// What happens to frames on their way. Frames are counted from 1, `Some(50)` means every 50th.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct WireFaults {
    /// Makes other moments of [`jitter_ms`](Self::jitter_ms).
    pub seed: u64,
    /// Each frame is late by up to this, in steps of 20 ms; their order stays.
    pub jitter_ms: u64,
    /// Every n-th comes twice.
    pub duplicate_every: Option<u32>,
    /// Every n-th comes behind the one after it.
    pub swap_every: Option<u32>,
    /// Every n-th never comes.
    pub lose_every: Option<u32>,
    /// They come in bursts of this many.
    pub burst_frames: Option<u32>,
    /// They stop coming for a while.
    pub stall: Option<Stall>,
}
