//! Classifies recognised words: closed or open, being spelled, a mere backchannel.

/// The way in which a stretch of words ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Closing punctuation: nothing more is needed.
    Complete,
    /// No hint whether more follows.
    Plain,
    /// Digits or letters are being spelled.
    Spelling,
    /// A phrase that often needs an object.
    Open,
    /// A hesitation, a comma, or a word that ends no sentence: more follows.
    Hesitating,
}

/// Sounds and words that tell the speaker to go on.
const BACKCHANNELS: &[&str] = &[
    "mm",
    "mmm",
    "mhm",
    "mm-hm",
    "mm-hmm",
    "mmhmm",
    "hm",
    "hmm",
    "uh-huh",
    "uhuh",
    "aha",
    "ah",
    "oh",
    "ok",
    "okay",
    "yeah",
    "yep",
    "yup",
    "yes",
    "right",
    "sure",
    "fine",
    "good",
    "great",
    "nice",
    "cool",
    "alright",
    "really",
    "indeed",
    "exactly",
    "understood",
    "haan",
    "accha",
    "achha",
    "ji",
    "theek",
    "si",
    "sí",
    "vale",
    "claro",
    "bueno",
    "ja",
    "genau",
    "stimmt",
    "gut",
    "oui",
    "d'accord",
    "bien",
    "sim",
    "certo",
    "嗯",
    "好",
    "好的",
    "对",
    "是",
    "是的",
    "はい",
    "うん",
    "हाँ",
    "जी",
    "अच्छा",
];

/// Backchannels of two words.
const BACKCHANNEL_PAIRS: &[(&str, &str)] = &[
    ("i", "see"),
    ("got", "it"),
    ("all", "right"),
    ("of", "course"),
    ("go", "on"),
    ("uh", "huh"),
    ("mm", "hm"),
];

/// Words with which people pick up a telephone, besides backchannels.
const GREETINGS: &[&str] = &[
    "hello",
    "hallo",
    "hullo",
    "hi",
    "hey",
    "morning",
    "afternoon",
    "evening",
    "there",
    "hola",
    "diga",
    "dígame",
    "allo",
    "allô",
    "bonjour",
    "pronto",
    "alo",
    "alô",
    "olá",
    "namaste",
    "नमस्ते",
    "हैलो",
    "喂",
    "もしもし",
];

/// Last words after which more follows, even if a recogniser put a full stop after them.
const ALWAYS_OPEN: &[&str] = &[
    "um", "umm", "uh", "uhm", "er", "erm", "and", "or", "but", "because", "the", "a", "an", "my",
];

/// Words of [`ALWAYS_OPEN`] that close a German sentence: "Rufen Sie mich nicht an.", "Wer ist er?", "Wir ziehen um."
const GERMAN_ENDS: &[&str] = &["an", "er", "um"];

/// Words that identify a German sentence and occur in no English one.
const GERMAN: &[&str] = &[
    "ich", "du", "sie", "wir", "ihr", "ihn", "ihm", "mich", "mir", "dich", "dir", "uns", "euch", "ihnen", "nicht",
    "nie", "niemals", "kein", "keine", "mehr", "bitte", "wieder", "nochmal", "noch", "später", "morgen", "heute",
    "der", "das", "ist", "wer", "wie", "wo", "einfach", "jetzt", "gleich", "dann", "rufen", "rufe", "ruf", "anders",
];

/// Last words after which more follows, unless punctuation closes them.
const HESITATING: &[&str] = &[
    "to",
    "of",
    "with",
    "from",
    "your",
    "our",
    "their",
    "if",
    "i'm",
    "i'd",
    "i",
    "we",
    "they",
    "und",
    "oder",
    "y",
    "o",
    "et",
    "ou",
    "और",
    "लेकिन",
];

/// Last words after which more usually follows, unless punctuation closes them.
const OPEN: &[&str] = &[
    "is", "are", "was", "be", "been", "for", "at", "in", "on", "so", "that", "then", "well", "like", "about", "his",
    "her", "it's", "which", "who", "when",
];

/// Words that announce a name or number: "my number is".
const ANNOUNCED: &[&str] = &["number", "name", "email", "address", "code", "id"];

/// Spoken parts of something spelled, besides single letters and digits.
const SPELLED: &[&str] = &[
    "zero",
    "oh",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "double",
    "triple",
    "dash",
    "dot",
    "underscore",
    "hyphen",
    "plus",
    "hash",
];

/// Returns how `words` end.
pub fn ending(words: &str) -> Ending {
    let text = words.trim_end();
    let mut tokens = text.split_whitespace().rev().map(bare);
    let (Some(last), before) = (tokens.next(), tokens.next()) else {
        return Ending::Plain;
    };
    let closed = closes(text);
    let announced = last == "is" && before.as_deref().is_some_and(|word| ANNOUNCED.contains(&word));
    if text.ends_with([',', '-', '–', '—', '…', ':', ';']) || text.ends_with("...") {
        return Ending::Hesitating;
    }
    let always_open = ALWAYS_OPEN.contains(&last.as_str()) && !is_german_end(text, &last);
    if !text.ends_with(['?', '!']) && (always_open || announced) {
        return Ending::Hesitating;
    }
    if is_spelled(&last, before.as_deref()) {
        return if closed { Ending::Plain } else { Ending::Spelling };
    }
    match closed {
        true => Ending::Complete,
        false if HESITATING.contains(&last.as_str()) => Ending::Hesitating,
        false if OPEN.contains(&last.as_str()) => Ending::Open,
        false => Ending::Plain,
    }
}

/// Returns whether the last word, which is a hesitation in English, ends a German sentence.
fn is_german_end(text: &str, last: &str) -> bool {
    let german = |token: &str| GERMAN.contains(&bare(token).as_str());
    // Without a full stop, "um" is a hesitation in German too.
    let ends = GERMAN_ENDS.contains(&last) && (last != "um" || closes(text));
    ends && text.split_whitespace().any(german)
}

/// Returns whether there is any word, not only marks for missing words.
pub fn any(words: &str) -> bool {
    words.contains(char::is_alphanumeric)
}

/// Returns whether the words are nothing but a backchannel. No words are not a backchannel.
pub fn is_backchannel(words: &str) -> bool {
    let mut any = false;
    let telling = count_telling(words, |_| any = true, |_| false);
    any && telling == 0
}

/// Returns how many words are not backchannels. A last word that may become one does not count yet.
pub fn telling_words(words: &str) -> usize {
    count_telling(words, |_| (), begins_backchannel)
}

/// Returns whether the words are only such with which people pick up: "Hello?", "Yes, good morning." No words
/// count too.
pub fn is_pick_up(words: &str) -> bool {
    let mut tokens = words.split_whitespace().map(bare).filter(|token| !token.is_empty());
    tokens.all(|token| GREETINGS.contains(&token.as_str()) || BACKCHANNELS.contains(&token.as_str()))
}

fn count_telling(words: &str, mut each: impl FnMut(&str), excuse_last: impl Fn(&str) -> bool) -> usize {
    let tokens: Vec<String> = words.split_whitespace().map(bare).filter(|t| !t.is_empty()).collect();
    let (mut count, mut at) = (0, 0);
    while let Some(token) = tokens.get(at) {
        each(token);
        let next = tokens.get(at + 1);
        if next.is_some_and(|next| BACKCHANNEL_PAIRS.contains(&(token, next))) {
            at += 2;
            continue;
        }
        let excused = next.is_none() && excuse_last(token);
        if !excused && !BACKCHANNELS.contains(&token.as_str()) {
            count += weight(token);
        }
        at += 1;
    }
    count
}

fn begins_backchannel(token: &str) -> bool {
    BACKCHANNELS.iter().any(|word| word.starts_with(token))
        || BACKCHANNEL_PAIRS.iter().any(|(first, _)| first.starts_with(token))
}

/// Returns the number of words in a token. Scripts without spaces put several words into a token: about two
/// characters a word.
fn weight(token: &str) -> usize {
    let unspaced = token
        .chars()
        .filter(|c| matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{9fff}'));
    unspaced.count().div_ceil(2).max(1)
}

fn closes(text: &str) -> bool {
    text.ends_with(['.', '?', '!', '。', '？', '！', '।']) && !text.ends_with("...")
}

fn is_spelled(last: &str, before: Option<&str>) -> bool {
    let digits = last.len() >= 3 && last.chars().all(|c| c.is_ascii_digit());
    digits || (is_unit(last) && before.is_some_and(is_unit))
}

pub(crate) fn is_unit(token: &str) -> bool {
    let mut chars = token.chars();
    let single = chars.next().is_some_and(char::is_alphanumeric) && chars.next().is_none();
    single || SPELLED.contains(&token) || (!token.is_empty() && token.chars().all(|c| c.is_ascii_digit()))
}

/// Returns the word without its punctuation, in lower case.
pub(crate) fn bare(token: &str) -> String {
    // Combining vowel signs are not letters but belong to the word, so only ASCII and full-width punctuation
    // is removed.
    token
        .trim_matches(|c: char| {
            c.is_ascii_punctuation() || matches!(c, '。' | '？' | '！' | '，' | '।' | '…' | '–' | '—')
        })
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_tell_closed_from_open() {
        for (words, expected) in [
            ("", Ending::Plain),
            ("Yes.", Ending::Complete),
            ("What is it for?", Ending::Complete),
            ("tomorrow at noon", Ending::Plain),
            ("I want to", Ending::Hesitating),
            ("my number is", Ending::Hesitating),
            ("My number is.", Ending::Hesitating),
            ("That is what it is.", Ending::Complete),
            ("what it is", Ending::Open),
            ("um", Ending::Hesitating),
            ("It would be", Ending::Open),
            ("Well, um.", Ending::Hesitating),
            ("Call me an.", Ending::Hesitating),
            ("Rufen Sie mich nicht mehr an.", Ending::Complete),
            ("Rufen Sie mich nicht mehr an", Ending::Plain),
            ("Dann rufen Sie bitte morgen an,", Ending::Hesitating),
            ("Das ist er.", Ending::Complete),
            ("Wir ziehen um.", Ending::Complete),
            ("Ich möchte, um", Ending::Hesitating),
            ("Rufen Sie mich an und", Ending::Hesitating),
            ("first of all,", Ending::Hesitating),
            ("and then...", Ending::Hesitating),
            ("five five one", Ending::Spelling),
            ("b o b", Ending::Spelling),
            ("it is 555", Ending::Spelling),
            ("5 5 5.", Ending::Plain),
            ("at five", Ending::Plain),
        ] {
            assert_eq!(ending(words), expected, "{words:?}");
        }
    }

    #[test]
    fn backchannels_are_told_from_words() {
        for words in [
            "mm-hm",
            "Okay.",
            "yeah, yeah",
            "I see.",
            "Uh huh",
            "right, got it",
            "好的。",
        ] {
            assert!(is_backchannel(words), "{words:?}");
            assert_eq!(telling_words(words), 0, "{words:?}");
        }
        for (words, telling) in [
            ("no wait", 2),
            ("okay stop now", 2),
            ("stop", 1),
            ("I see a dog", 2),
            ("请停一下", 2),
        ] {
            assert!(!is_backchannel(words), "{words:?}");
            assert_eq!(telling_words(words), telling, "{words:?}");
        }
        assert!(!is_backchannel(""));
    }

    #[test]
    fn a_greeting_alone_is_a_pick_up() {
        for words in ["", "Hello?", "Yes, hello?", "Hi there.", "Good morning!", "Hola"] {
            assert!(is_pick_up(words), "{words:?}");
        }
        for words in ["Hello, Maria Miller speaking.", "Who is this?", "No."] {
            assert!(!is_pick_up(words), "{words:?}");
        }
    }

    #[test]
    fn a_half_recognised_word_may_become_a_backchannel() {
        assert!(telling_words("ok ye") == 0 && !is_backchannel("ok ye"));
        assert_eq!(telling_words("no ye"), 1);
        assert_eq!(telling_words("okay sto"), 1);
    }
}
