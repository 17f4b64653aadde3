//! Makes a conversation audible: every turn and overlap as samples at 8 kHz, with the times of its words.

mod babble;
mod espeak;
pub mod noise;
mod sound;

use crate::{
    caller::Caller,
    chance::Chance,
    corpus::{Conversation, Item},
    grammar::OverlapKind,
    language::Language,
    sentence::{Part, Sentence, Word, ends_sentence},
};
pub use espeak::is_installed as espeak_is_installed;

/// Samples of a millisecond.
pub const PER_MS: usize = 8;

/// Blocks in which voice is looked for: 10 ms.
const BLOCK: usize = 10 * PER_MS;

/// Root mean square from which a block counts as voiced: 47 dB below full scale.
const VOICED_RMS: f64 = 150.0;

/// Share of the pauses before which the voice falls although the turn goes on.
const FALSE_FALLS: f64 = 0.2;

/// Share of the turns whose voice stays level at the end.
const LEVEL_ENDS: f64 = 0.15;

/// Kinds of voices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Voice {
    /// The babble of the simulated phones, in several pitches and rates.
    Babble,
    /// The voices of espeak-ng, if it is installed.
    Espeak,
}

impl Voice {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Babble => "babble",
            Self::Espeak => "espeak",
        }
    }
}

/// Error: speech that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum VoiceError {
    /// Babble refused the rate.
    #[error("babble: {0}")]
    Babble(#[from] media::babble::UnsupportedRate),
    /// espeak-ng could not be run, or refused the text.
    #[error("espeak-ng: {0}; install it, or measure with --voice babble")]
    Espeak(String),
}

/// The way in which a stretch of speech ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The pitch falls, as at the end of a statement.
    Falling,
    /// The pitch rises, as at the end of a question.
    Rising,
    /// The pitch stays level and the last syllable is long: more is to come.
    Level,
}

/// A word with its times in milliseconds from the start of the speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpokenWord {
    /// The word as it is written, with its punctuation.
    pub text: String,
    /// Whether it is a filled pause.
    pub filler: bool,
    /// Its start.
    pub from_ms: u64,
    /// Its end.
    pub to_ms: u64,
    /// Whether a pause or the end of the turn follows.
    pub before_pause: bool,
}

/// A pause with its times in milliseconds from the start of the speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpokenPause {
    /// Its start.
    pub from_ms: u64,
    /// Its end.
    pub to_ms: u64,
    /// Whether the words before it could be the end of the turn.
    pub whole: bool,
}

/// A sound of the caller. It begins and ends with voice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spoken {
    /// Samples at 8 kHz.
    pub samples: Vec<i16>,
    /// Its words, in order; none for a cough or laughter.
    pub words: Vec<SpokenWord>,
    /// Its pauses, in order.
    pub pauses: Vec<SpokenPause>,
}

impl Spoken {
    /// Returns its length in milliseconds.
    pub fn length_ms(&self) -> u64 {
        ms_of(self.samples.len())
    }
}

/// Makes the caller's part of each item of a conversation audible.
///
/// # Errors
/// Returns an error if espeak-ng is needed and does not work.
pub fn perform(conversation: &Conversation, voice: Voice) -> Result<Vec<Spoken>, VoiceError> {
    let mut chance = Chance::new(0, &format!("{} {}", conversation.id, voice.name()));
    let mut speaker = Speaker {
        voice,
        language: conversation.language,
        caller: &conversation.caller,
        chance: &mut chance,
    };
    let items = conversation.items.iter();
    items
        .map(|item| match item {
            Item::Overlap {
                kind: OverlapKind::Cough,
                ..
            } => Ok(speaker.sound(sound::cough)),
            Item::Overlap {
                kind: OverlapKind::Laughter,
                ..
            } => Ok(speaker.sound(sound::laughter)),
            Item::Turn { sentence, .. } | Item::Overlap { sentence, .. } => speaker.speak(sentence),
        })
        .collect()
}

/// A stretch of speech without pauses: its samples, and where each word begins and ends among them.
struct Stretch {
    samples: Vec<i16>,
    words: Vec<std::ops::Range<usize>>,
}

struct Speaker<'a> {
    voice: Voice,
    language: Language,
    caller: &'a Caller,
    chance: &'a mut Chance,
}

impl Speaker<'_> {
    fn sound(&mut self, make: fn(&Caller, &mut Chance) -> Vec<i16>) -> Spoken {
        let samples = make(self.caller, self.chance);
        Spoken {
            samples: scaled(trimmed(&samples), self.caller.gain),
            ..Spoken::default()
        }
    }

    fn speak(&mut self, sentence: &Sentence) -> Result<Spoken, VoiceError> {
        let mut spoken = Spoken::default();
        let mut parts = sentence.parts.as_slice();
        while !parts.is_empty() {
            let words: Vec<&Word> = parts.iter().map_while(word_of).collect();
            let (_, rest) = parts.split_at(words.len());
            self.stretch(&words, rest.is_empty(), &mut spoken)?;
            if let Some(Part::Pause { ms, whole }) = rest.first() {
                let from_ms = spoken.length_ms();
                spoken.samples.resize(spoken.samples.len() + *ms as usize * PER_MS, 0);
                let to_ms = spoken.length_ms();
                spoken.pauses.push(SpokenPause {
                    from_ms,
                    to_ms,
                    whole: *whole,
                });
            }
            parts = rest.get(1..).unwrap_or_default();
        }
        Ok(spoken)
    }

    fn stretch(&mut self, words: &[&Word], is_last: bool, into: &mut Spoken) -> Result<(), VoiceError> {
        let ending = self.ending(words, is_last);
        let Stretch { samples, words: spans } = match self.voice {
            Voice::Babble => babble::speak(words, ending, self.caller, self.chance)?,
            Voice::Espeak => espeak::speak(words, ending, self.caller, self.language)?,
        };
        let start = into.samples.len();
        let count = words.len();
        for (at, (word, span)) in words.iter().zip(spans).enumerate() {
            into.words.push(SpokenWord {
                text: word.text.clone(),
                filler: word.filler,
                from_ms: ms_of(start + span.start),
                to_ms: ms_of(start + span.end),
                before_pause: at + 1 == count,
            });
        }
        into.samples.extend(scaled(&samples, self.caller.gain));
        // Every part lasts whole milliseconds.
        let whole = into.samples.len().next_multiple_of(PER_MS);
        into.samples.resize(whole, 0);
        Ok(())
    }

    /// Returns how the voice ends. It tells something about what follows, and it misleads now and then.
    fn ending(&mut self, words: &[&Word], is_last: bool) -> Ending {
        let last = words.last().map_or("", |word| word.text.as_str());
        let honest = match last {
            last if last.ends_with('?') => Ending::Rising,
            last if is_last || ends_sentence(last) => Ending::Falling,
            _ => Ending::Level,
        };
        match honest {
            Ending::Level if self.chance.happens(FALSE_FALLS) => Ending::Falling,
            Ending::Falling if self.chance.happens(LEVEL_ENDS) => Ending::Level,
            honest => honest,
        }
    }
}

fn word_of(part: &Part) -> Option<&Word> {
    match part {
        Part::Word(word) => Some(word),
        Part::Pause { .. } => None,
    }
}

/// Returns the milliseconds of a number of samples.
pub fn ms_of(samples: usize) -> u64 {
    (samples / PER_MS) as u64
}

/// Returns the root mean square of samples.
pub fn rms(samples: &[i16]) -> f64 {
    let sum: f64 = samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
    (sum / samples.len().max(1) as f64).sqrt()
}

/// Returns whether a block is voiced.
pub fn is_voiced(block: &[i16]) -> bool {
    rms(block) >= VOICED_RMS
}

/// Returns samples without the silence before and behind.
fn trimmed(samples: &[i16]) -> &[i16] {
    let blocks = || samples.chunks(BLOCK).enumerate().filter(|(_, block)| is_voiced(block));
    let (Some((first, _)), Some((last, _))) = (blocks().next(), blocks().next_back()) else {
        return &[];
    };
    let to = ((last + 1) * BLOCK).min(samples.len());
    &samples[first * BLOCK..to]
}

fn scaled(samples: &[i16], gain: f64) -> Vec<i16> {
    samples
        .iter()
        .map(|sample| (f64::from(*sample) * gain).clamp(-32_000.0, 32_000.0) as i16)
        .collect()
}

/// Returns where each word begins and ends if each takes as long as it has characters.
fn by_length(words: &[&Word], samples: usize) -> Vec<std::ops::Range<usize>> {
    let weight = |word: &Word| word.text.chars().count() + 1;
    let total: usize = words.iter().map(|word| weight(word)).sum();
    let mut done = 0;
    let place = |done: usize| samples * done / total.max(1);
    words
        .iter()
        .map(|word| {
            let from = place(done);
            done += weight(word);
            from..place(done)
        })
        .collect()
}
