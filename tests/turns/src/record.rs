//! A record of one call: what became of each turn and each overlap.

use crate::{
    grammar::OverlapKind,
    language::{Language, Third},
    voice::Voice,
};

/// The call of one conversation with one voice and one recogniser.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// Id of the conversation.
    pub id: String,
    /// Language of the conversation.
    pub language: Language,
    /// Third of the conversation.
    pub third: Third,
    /// Voice of the caller.
    pub voice: Voice,
    /// Name of the recogniser.
    pub recogniser: &'static str,
    /// Noise and echo of the line, in words.
    pub line: String,
    /// Whether there was noise.
    pub is_noisy: bool,
    /// Its turns.
    pub turns: Vec<TurnRecord>,
    /// Its overlaps.
    pub overlaps: Vec<OverlapRecord>,
    /// Number of the agent's speeches.
    pub speeches: usize,
    /// Number of the agent's speeches that were dropped although the caller was silent: noise or echo did it.
    pub stopped_by_line: usize,
}

/// A turn of the caller.
#[derive(Debug, Clone)]
pub struct TurnRecord {
    /// Kind of the turn.
    pub kind: String,
    /// Question of the agent.
    pub question: String,
    /// Words with the pauses in milliseconds.
    pub text: String,
    /// Its end.
    pub end: TurnEnd,
}

/// End of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// It was taken this many milliseconds after the caller's last sound.
    Taken(u64),
    /// It was taken while the caller had words to say.
    AnsweredInto(Cut),
    /// It was not taken within six seconds.
    Lost,
}

/// A turn taken too early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Words that the session took for the whole turn.
    pub taken: String,
    /// Milliseconds since the caller's last sound; 0 in the middle of speech.
    pub silent_ms: u64,
    /// Whether the words before the pause could be the end of the turn.
    pub whole: bool,
    /// Milliseconds until the caller went on.
    pub back_ms: u64,
}

/// A sound of the caller over the agent's voice.
#[derive(Debug, Clone)]
pub struct OverlapRecord {
    /// Its kind.
    pub kind: OverlapKind,
    /// Its words; none for a cough or laughter.
    pub text: String,
    /// Whether the session dropped the agent's speech for good because of it.
    pub stopped: bool,
    /// If it was stopped, milliseconds from the caller's first sound to the agent's last.
    pub silence_ms: Option<u64>,
    /// Number of times the agent's voice came back before it fell silent for good, or before the sound was over.
    pub stutters: usize,
    /// If the agent fell silent and came back, milliseconds from the end of the sound to the agent's voice. It is
    /// 0 if the voice came back earlier.
    pub back_ms: Option<u64>,
    /// Whether a turn of the caller was taken during the sound or after it.
    pub answered: bool,
}
