//! What a callee can do: say words in some manner, make a sound, leave.

/// What a callee does.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Begins to say this.
    Say(String),
    /// Begins to say something in a particular manner.
    Speak(Words),
    /// Begins to make a sound.
    Sound(Sound),
    /// Presses a key of the telephone, which the carrier tells beside the audio.
    Press(char),
    /// Hangs up.
    HangUp,
    /// Its line is gone, and may come back.
    Lose,
    /// Its telephone dies.
    Drop,
}

/// Words and how they are said.
#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    /// What is said, with the silences in it. The silence behind the last part does not count.
    pub parts: Vec<Part>,
    /// Whose voice it is; none is the callee's own.
    pub voice: Option<String>,
    /// Louder or softer than usual.
    pub gain_db: f64,
    /// Not meant to make the agent stop.
    pub aside: bool,
}

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its words.
    pub text: String,
    /// The silence behind it.
    pub pause_ms: u64,
}

impl Words {
    /// A sentence with silences in it.
    pub fn in_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self {
            parts: parts.into_iter().collect(),
            voice: None,
            gain_db: 0.0,
            aside: false,
        }
    }

    /// All of it, with a space for each silence.
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

/// A sound that is no word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sound {
    /// A mailbox's tone.
    Beep,
    /// A key of the telephone.
    Key(char),
    /// 250 ms.
    Cough,
    /// A switch.
    Click,
    /// 50 Hz and its harmonics.
    Hum {
        /// How long.
        ms: u64,
        /// Root mean square.
        dbfs: f64,
    },
    /// Music on hold.
    Music {
        /// How long.
        ms: u64,
        /// Root mean square.
        dbfs: f64,
    },
    /// Pink noise.
    Noise {
        /// How long.
        ms: u64,
        /// Root mean square.
        dbfs: f64,
    },
}

impl Sound {
    /// Its name on record.
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
