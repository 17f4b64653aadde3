//! Ends of sentences, and periods that do not end one: abbreviations, initials, ordinals.

/// Marks that end a sentence only if white space follows, so that `3.5`, `9.30` and URLs stay whole.
const MARKS: [char; 4] = ['.', '?', '!', '…'];

/// Marks of scripts that need no white space after them, or that have no other meaning.
const SURE_MARKS: [char; 12] = ['。', '！', '？', '｡', '।', '॥', '؟', '۔', '։', '።', '។', '။'];

/// Quotes and brackets that stay with the sentence before them.
const CLOSERS: [char; 16] = [
    '"', '\'', '”', '’', '»', '«', '›', ')', ']', '}', '」', '』', '）', '】', '》', '〉',
];

/// Abbreviations that never end a sentence, without their periods.
const ALWAYS: [&str; 58] = [
    "mr", "mrs", "ms", "mx", "dr", "prof", "rev", "gen", "capt", "sgt", "lt", "st", "mt", "hon", "sen", "rep", "gov",
    "messrs", "mme", "mlle", "sr", "sra", "srta", "dra", "eg", "ie", "cf", "vs", "viz", "approx", "ca", "al", "bzw",
    "vgl", "bspw", "ggf", "inkl", "zzgl", "evtl", "dipl", "ing", "hr", "fr", "tel", "str", "ext", "dept", "fig", "vol",
    "eds", "pp", "nº", "núm", "art", "av", "smt", "shri", "डॉ",
];

/// Abbreviations that do not end a sentence if a number follows.
const BEFORE_NUMBERS: [&str; 18] = [
    "no", "nr", "sec", "ch", "p", "n", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "oct", "nov", "dec",
    "min",
];

/// Abbreviations that end a sentence only if a new one seems to begin.
const SOMETIMES: [&str; 12] = [
    "a.m", "p.m", "etc", "usw", "inc", "ltd", "co", "corp", "jr", "bros", "ecc", "usf",
];

/// Capitalised words that do not begin a sentence after those.
const NAMES: [&str; 29] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
    "EST",
    "EDT",
    "CST",
    "CDT",
    "MST",
    "MDT",
    "PST",
    "PDT",
    "GMT",
    "UTC",
];

/// Months after an ordinal with a period, as in `am 3. Mai`.
const MONTHS: [&str; 13] = [
    "Januar",
    "Jänner",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
];

/// Whether a sentence ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Yes,
    No,
    /// It depends on the text that follows.
    Perhaps,
}

pub(super) fn is_sure_mark(c: char) -> bool {
    SURE_MARKS.contains(&c)
}

pub(super) fn is_mark(c: char) -> bool {
    MARKS.contains(&c) || is_sure_mark(c)
}

pub(super) fn is_closer(c: char) -> bool {
    CLOSERS.contains(&c)
}

/// Returns whether this text ends with the end of a sentence.
pub(super) fn is_whole(text: &str) -> bool {
    text.trim_end().trim_end_matches(is_closer).ends_with(is_mark)
}

/// Returns whether a sentence ends with `before`, which is followed by white space and then `after`, as far
/// as it is known.
pub(super) fn end(before: &str, after: &str) -> End {
    let bare = before.trim_end_matches(is_closer);
    let Some(mark) = bare.chars().next_back().filter(|c| is_mark(*c)) else {
        return End::No;
    };
    if mark == '…' || bare.ends_with("...") || bare.len() < before.len() {
        return unless_lower_case(after);
    }
    if mark != '.' {
        return End::Yes;
    }
    let sentence = &bare[..bare.len() - 1];
    let word = sentence.rsplit(char::is_whitespace).next().unwrap_or_default();
    let first = word.len() == sentence.trim_start().len();
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    after_point(word, first, after)
}

/// Returns whether a period after `word` ends the sentence; `first` is true for its first word.
fn after_point(word: &str, first: bool, after: &str) -> End {
    let known = word.to_lowercase();
    let known = known.as_str();
    if !word.is_empty() && word.len() <= 3 && word.bytes().all(|b| b.is_ascii_digit()) {
        return match first {
            true => End::No,
            false if word.len() == 3 => End::Yes,
            false => ordinal(after),
        };
    }
    if SOMETIMES.contains(&known) {
        return unless_it_goes_on(after);
    }
    if BEFORE_NUMBERS.contains(&known) {
        return match after.chars().next() {
            None => End::Perhaps,
            Some(c) if c.is_numeric() => End::No,
            Some(_) => End::Yes,
        };
    }
    let mut letters = word.chars();
    let initial = letters.next().is_some_and(char::is_uppercase) && letters.next().is_none() && word != "I";
    let parts = word.contains('.') && word.split('.').all(|part| part.chars().count() <= 2);
    match initial || parts || ALWAYS.contains(&known) {
        true => End::No,
        false => End::Yes,
    }
}

fn unless_lower_case(after: &str) -> End {
    match after.chars().next() {
        None => End::Perhaps,
        Some(c) if c.is_lowercase() => End::No,
        Some(_) => End::Yes,
    }
}

fn ordinal(after: &str) -> End {
    match next_word(after) {
        _ if unless_lower_case(after) != End::Yes => unless_lower_case(after),
        Some(word) if MONTHS.contains(&word) => End::No,
        Some(_) => End::Yes,
        None => End::Perhaps,
    }
}

fn unless_it_goes_on(after: &str) -> End {
    match after.chars().next() {
        None => End::Perhaps,
        Some(c) if c.is_lowercase() || c.is_numeric() => End::No,
        Some(_) => match next_word(after) {
            None => End::Perhaps,
            Some(word) if NAMES.contains(&word) => End::No,
            Some(_) => End::Yes,
        },
    }
}

/// Returns the first word, once its end is known.
fn next_word(after: &str) -> Option<&str> {
    after.find(|c: char| !c.is_alphanumeric()).map(|end| &after[..end])
}
