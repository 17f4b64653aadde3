//! Markup that a model may write for its voices: `<Label>…</Label>` for words in another voice, and audio
//! tags in square brackets. It is never spoken.

use crate::agent::Agent;

/// Longest audio tag and longest name of a voice, in bytes. Anything longer is text.
const TAG_BYTES: usize = 48;
const NAME_BYTES: usize = 80;

/// Most words of an audio tag, and of an unknown voice's name.
const MOST_WORDS: usize = 3;

/// Sounds in audio tags. A short tag with one of these is not meant to be spoken, whatever the agent's settings.
const SOUNDS: [&str; 62] = [
    "laugh",
    "laughs",
    "laughing",
    "laughter",
    "chuckle",
    "chuckles",
    "chuckling",
    "giggle",
    "giggles",
    "giggling",
    "sigh",
    "sighs",
    "sighing",
    "whisper",
    "whispers",
    "whispering",
    "whispered",
    "gasp",
    "gasps",
    "gasping",
    "exhale",
    "exhales",
    "inhale",
    "inhales",
    "breath",
    "breathes",
    "breathing",
    "throat",
    "cough",
    "coughs",
    "coughing",
    "sniff",
    "sniffs",
    "sniffles",
    "snort",
    "snorts",
    "groan",
    "groans",
    "gulp",
    "gulps",
    "yawn",
    "yawns",
    "hum",
    "hums",
    "humming",
    "sings",
    "singing",
    "crying",
    "cries",
    "sob",
    "sobs",
    "sobbing",
    "shouts",
    "shouting",
    "pause",
    "pauses",
    "pausing",
    "applause",
    "smiles",
    "smiling",
    "grins",
    "winks",
];

/// Moods and manners. A tag that consists of these is not meant to be spoken either.
const MOODS: [&str; 58] = [
    "excited",
    "excitedly",
    "happy",
    "happily",
    "sad",
    "sadly",
    "angry",
    "angrily",
    "curious",
    "curiously",
    "sarcastic",
    "sarcastically",
    "mischievous",
    "mischievously",
    "nervous",
    "nervously",
    "calm",
    "calmly",
    "cheerful",
    "cheerfully",
    "warm",
    "warmly",
    "gentle",
    "gently",
    "soft",
    "softly",
    "quiet",
    "quietly",
    "loudly",
    "slow",
    "slowly",
    "quickly",
    "surprised",
    "thoughtful",
    "thoughtfully",
    "serious",
    "seriously",
    "friendly",
    "empathetic",
    "sympathetic",
    "apologetic",
    "reassuring",
    "confident",
    "hesitant",
    "hesitates",
    "tired",
    "annoyed",
    "frustrated",
    "relieved",
    "playful",
    "playfully",
    "enthusiastic",
    "enthusiastically",
    "amused",
    "concerned",
    "deadpan",
    "voice",
    "tone",
];

/// Markup that is recognised in one call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directions {
    /// Names of the voices in lower case; the first is voice 1.
    labels: Vec<String>,
    /// Suggested tags, in lower case.
    tags: Vec<String>,
    /// Whether tags are passed to the voice; otherwise they are only removed.
    expressive: bool,
}

/// Markup in angle brackets at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VoiceTag {
    /// Length in bytes; the text after it is in this voice.
    Open(usize, usize),
    /// Length in bytes; the text after it is no longer in this voice.
    Close(usize, usize),
    /// Length in bytes of a similar tag with an unknown name.
    Unknown(usize),
    /// Not a voice tag.
    No,
    /// More text is needed to decide.
    More,
}

/// Returns a tag in its comparable form: without brackets, in lower case.
pub fn bare_tag(tag: &str) -> String {
    let tag = tag.trim().trim_matches(['[', ']']);
    tag.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns whether markup can select a voice of this name.
pub fn is_callable(label: &str) -> bool {
    let plain = |c: char| !c.is_control() && !"<>/\"'=".contains(c);
    !label.trim().is_empty() && label.len() <= NAME_BYTES && label.chars().all(plain)
}

impl Directions {
    /// Creates the directions of an agent.
    pub fn of(agent: &Agent) -> Self {
        let tts = &agent.conversation_config.tts;
        let label = |label: &Option<String>| {
            let label = label.as_deref().filter(|label| is_callable(label));
            label.unwrap_or_default().trim().to_lowercase()
        };
        let tags = tts.suggested_audio_tags.iter().filter_map(|tag| tag.tag.as_deref());
        Self {
            labels: tts.supported_voices.iter().map(|voice| label(&voice.label)).collect(),
            tags: tags.map(bare_tag).filter(|tag| !tag.is_empty()).collect(),
            expressive: tts.expressive_mode,
        }
    }

    /// Returns whether audio tags are passed to the voice.
    pub(super) fn is_expressive(&self) -> bool {
        self.expressive
    }

    /// Returns the audio tag within square brackets, if it is one and not text to be spoken.
    pub(super) fn tag(&self, inner: &str) -> Option<String> {
        let tag = bare_tag(inner);
        if self.tags.contains(&tag) {
            return Some(tag);
        }
        let words: Vec<&str> = tag.split([' ', '-']).collect();
        let letters = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic() || c == '\'');
        if tag.len() > TAG_BYTES || words.len() > MOST_WORDS || !words.iter().all(letters) {
            return None;
        }
        let is_sound = words.iter().any(|word| SOUNDS.contains(word));
        let is_mood = words.iter().all(|word| MOODS.contains(word));
        let is_like_one = self.expressive && tag.len() > 2 && !inner.contains(char::is_uppercase);
        (is_sound || is_mood || is_like_one).then_some(tag)
    }

    /// Parses a voice tag at the beginning of a text that may continue.
    pub(super) fn voice_tag(&self, text: &str, over: bool) -> VoiceTag {
        if self.labels.iter().all(String::is_empty) {
            return VoiceTag::No;
        }
        let start = if text.starts_with("</") { 2 } else { 1 };
        let inner = text.get(start..).unwrap_or_default();
        for (at, c) in inner.char_indices() {
            if c == '>' {
                let name = inner.get(..at).unwrap_or_default().trim().to_lowercase();
                let bytes = start + at + 1;
                let known = self.labels.iter().position(|label| !name.is_empty() && *label == name);
                return match known {
                    Some(voice) if start == 2 => VoiceTag::Close(bytes, voice + 1),
                    Some(voice) => VoiceTag::Open(bytes, voice + 1),
                    None if name.is_empty() => VoiceTag::No,
                    None => VoiceTag::Unknown(bytes),
                };
            }
            let name = inner.get(..at + c.len_utf8()).unwrap_or_default();
            if !self.may_be_name(name) {
                return VoiceTag::No;
            }
        }
        if over { VoiceTag::No } else { VoiceTag::More }
    }

    /// Returns whether a name may begin like this: a known name, or a few plain words.
    fn may_be_name(&self, name: &str) -> bool {
        if name.len() > NAME_BYTES {
            return false;
        }
        let lower = name.trim_start().to_lowercase();
        if self.labels.iter().any(|label| label.starts_with(lower.trim_end())) {
            return true;
        }
        let plain = |c: char| c.is_alphanumeric() || c == ' ' || c == '_' || c == '-';
        name.starts_with(char::is_alphabetic) && name.chars().all(plain) && name.split(' ').count() <= MOST_WORDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_told_from_words_in_brackets_by_their_form() {
        let plain = Directions::default();
        let expressive = Directions {
            tags: vec!["like a pirate at sea 9".into()],
            expressive: true,
            ..Directions::default()
        };
        for tag in [
            "laughs",
            "Laughs",
            "laughs softly",
            "clears throat",
            "sad",
            " whispers ",
            "calm voice",
        ] {
            assert!(plain.tag(tag).is_some() && expressive.tag(tag).is_some(), "{tag}");
        }
        for tag in ["warm tone", "french accent", "rushed", "Like a pirate at sea 9"] {
            assert!(expressive.tag(tag).is_some(), "{tag}");
        }
        for words in ["kept", "french accent", "happy birthday"] {
            assert!(plain.tag(words).is_none(), "{words}");
        }
        for words in [
            "a",
            "Bob",
            "1",
            "see page 3",
            "this is a sentence",
            "",
            "a, b",
            "x1",
            "Your Name",
        ] {
            assert!(plain.tag(words).is_none() && expressive.tag(words).is_none(), "{words}");
        }
    }
}
