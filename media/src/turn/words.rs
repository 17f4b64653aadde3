//! Classifies recognised words: closed or open, being spelled.

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

/// Punctuation that ends a sentence.
pub(crate) const STOPS: [char; 7] = ['.', '?', '!', '。', '？', '！', '।'];

/// Punctuation behind the last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// None.
    Nothing,
    /// A comma or dash: more follows.
    Comma,
    /// An ellipsis.
    Ellipsis,
    /// A full stop or exclamation mark.
    Stop,
    /// A question mark.
    Question,
}

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
    // German, Spanish, French and Hindi digits.
    "null",
    "eins",
    "zwei",
    "zwo",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "cero",
    "uno",
    "dos",
    "tres",
    "cuatro",
    "cinco",
    "seis",
    "siete",
    "ocho",
    "nueve",
    "zéro",
    "un",
    "deux",
    "trois",
    "quatre",
    "cinq",
    "sept",
    "huit",
    "neuf",
    "शून्य",
    "एक",
    "दो",
    "तीन",
    "चार",
    "पाँच",
    "पांच",
    "छह",
    "सात",
    "आठ",
    "नौ",
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

/// Returns the number of words in a token. Scripts without spaces put several words into a token: about two
/// characters a word.
pub(crate) fn word_count(token: &str) -> usize {
    let unspaced = token
        .chars()
        .filter(|c| matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{9fff}'));
    unspaced.count().div_ceil(2).max(1)
}

/// Returns the punctuation behind the last word.
pub fn mark(words: &str) -> Mark {
    match words.trim_end() {
        text if text.ends_with("...") || text.ends_with('…') => Mark::Ellipsis,
        text if text.ends_with(['?', '？']) => Mark::Question,
        text if closes(text) => Mark::Stop,
        text if text.ends_with([',', '-', '–', '—', ':', ';', '，']) => Mark::Comma,
        _ => Mark::Nothing,
    }
}

/// Returns whether a character is punctuation that a recogniser with punctuation writes.
pub fn is_mark(c: char) -> bool {
    matches!(c, '.' | ',' | '?' | '!' | '।' | '。' | '，' | '？' | '！')
}

fn closes(text: &str) -> bool {
    text.ends_with(STOPS) && !text.ends_with("...")
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
    unmarked(token).to_lowercase()
}

/// Returns the word without its punctuation.
pub(crate) fn unmarked(token: &str) -> &str {
    // Combining vowel signs are not letters but belong to the word, so only ASCII and full-width punctuation
    // is removed.
    token.trim_matches(|c: char| {
        c.is_ascii_punctuation() || matches!(c, '。' | '？' | '！' | '，' | '।' | '¿' | '¡' | '…' | '–' | '—')
    })
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
}
