//! What a callee notices, and its actions: say words in some manner, make a sound, leave.

/// Action of a callee.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Begins to say this.
    Say(String),
    /// Begins to say something in a particular manner.
    Speak(Words),
    /// Begins to make a sound.
    Sound(Sound),
    /// Presses a key of the telephone, which the carrier reports beside the audio.
    Press(char),
    /// Hangs up.
    HangUp,
    /// Loses its media socket, which may be reopened.
    Lose,
    /// Its telephone dies.
    Drop,
}

/// Words and how they are said.
#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    /// Words with the silences in them. The silence after the last part does not count.
    pub parts: Vec<Part>,
    /// Name of the voice; `None` is the callee's own.
    pub voice: Option<String>,
    /// Level relative to the usual one.
    pub gain_db: f64,
    /// Whether it is not meant to make the agent stop.
    pub aside: bool,
}

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Words of the part.
    pub text: String,
    /// Silence after the part.
    pub pause_ms: u64,
}

impl Words {
    /// Creates a sentence with silences in it.
    pub fn in_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self {
            parts: parts.into_iter().collect(),
            voice: None,
            gain_db: 0.0,
            aside: false,
        }
    }

    /// Returns all words, with a space for each silence.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().map(|part| part.text.as_str()).collect();
        texts.join(" ")
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self::in_parts([Part { text, pause_ms: 0 }])
    }
}

/// A sound other than speech.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sound {
    /// Tone of a mailbox.
    Beep,
    /// A key of the telephone.
    Key(char),
    /// A cough of 250 ms.
    Cough,
    /// Click of a switch.
    Click,
    /// 50 Hz and its harmonics.
    Hum {
        /// Duration.
        ms: u64,
        /// Level (root mean square).
        dbfs: f64,
    },
    /// Music on hold.
    Music {
        /// Duration.
        ms: u64,
        /// Level (root mean square).
        dbfs: f64,
    },
    /// Pink noise.
    Noise {
        /// Duration.
        ms: u64,
        /// Level (root mean square).
        dbfs: f64,
    },
}

impl Sound {
    /// Returns its name in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Beep => "beep",
            Self::Key(_) => "key",
            Self::Cough => "cough",
            Self::Click => "click",
            Self::Hum { .. } => "hum",
            Self::Music { .. } => "music",
            Self::Noise { .. } => "noise",
        }
    }
}

/// Events that a callee notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense<'a> {
    /// A frame of 20 ms has passed.
    Tick,
    /// The agent begins to talk.
    AgentStarted,
    /// The agent talks. Only sent to a behaviour that follows the agent.
    AgentSaying {
        /// Words so far; the last one may be half a word.
        words: &'a str,
        /// Milliseconds of silence up to now.
        silent_ms: u64,
    },
    /// The agent has fallen silent after saying this; parts may be missing.
    AgentSaid(&'a str),
    /// The agent pressed a key. Only sent to a behaviour that takes keys.
    Key(char),
    /// The callee's own words (or beep) have been sent.
    Spoken,
}

/// Behaviour of a callee. `now_ms` counts from the answer and never goes back.
pub trait Behaviour: Send {
    /// Handles an event and returns an action, if any.
    fn sense(&mut self, now_ms: u64, sense: Sense<'_>) -> Option<Act>;

    /// Returns whether it wants [`Sense::AgentSaying`] with every frame, which costs something.
    fn follows_the_agent(&self) -> bool {
        false
    }

    /// Returns whether it wants [`Sense::Key`], which costs something with every frame.
    fn takes_keys(&self) -> bool {
        false
    }
}
