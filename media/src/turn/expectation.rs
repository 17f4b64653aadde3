//! The kind of answer that the agent's last words ask for, and whether the user's words so far are such an
//! answer. If they are, the turn may end sooner; a dictation is waited for.

use super::words::{bare, is_unit};

/// Digits of a telephone number without its country code, in most plans.
const PHONE_DIGITS: usize = 10;

/// Fewest digits of a telephone number: a subscriber's number without area code in the North American plan.
const FEWEST_PHONE_DIGITS: usize = 7;

/// The answer the agent expects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Expectation {
    /// Unknown.
    #[default]
    Any,
    /// Yes or no.
    YesNo,
    /// One of the named alternatives, which these words distinguish.
    Choice(Vec<String>),
    /// A number, a time, a day.
    Figure,
    /// Words of the user's own: the question is not answered with yes and names no alternatives.
    Words,
    /// Something that is dictated piece by piece.
    Dictation(Dictated),
}

/// Kind of dictation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dictated {
    /// A number or code of this many digits and letters.
    Units(usize),
    /// A number or code of unknown length, or a name that is spelled.
    Unknown,
    /// An email address, complete with a dot after an at sign.
    Email,
}

/// Progress of the words so far towards the expected answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It is complete.
    Whole,
    /// It is given, and a more precise word may follow, such as a time after a day.
    Given,
    /// It may be complete, and may be longer.
    Enough,
    /// It has begun and is incomplete.
    Begun,
    /// It has begun, and is too short to be complete.
    Short,
    /// Unknown.
    Unknown,
}

/// First words of questions that ask for yes or no: English, then Spanish, French and German.
const ASKS_YES_NO: &[&str] = &[
    "is",
    "are",
    "was",
    "were",
    "do",
    "does",
    "did",
    "can",
    "could",
    "would",
    "will",
    "shall",
    "should",
    "may",
    "have",
    "has",
    "am",
    "isn't",
    "aren't",
    "don't",
    "doesn't",
    "won't",
    "es",
    "está",
    "puede",
    "quiere",
    "tiene",
    "est-ce",
    "êtes-vous",
    "avez-vous",
    "pouvez-vous",
    "voulez-vous",
    "ist",
    "sind",
    "haben",
    "möchten",
    "können",
    "passt",
    "wollen",
    "darf",
    "soll",
];

/// Fillers before them.
const BEFORE_QUESTION: &[&str] = &[
    "and", "so", "ok", "okay", "great", "thanks", "well", "then", "now", "but", "also",
];

/// Other questions that ask for yes or no, in scripts without spaces and others.
const YES_NO_ENDINGS: &[&str] = &[
    "吗？",
    "吗?",
    "吧？",
    "ですか？",
    "ますか？",
    "correct?",
    "right?",
    "okay?",
    "क्या?",
];

/// Words for yes or no at the start of an answer.
const YES_NO: &[&str] = &[
    "yes",
    "yeah",
    "yep",
    "yup",
    "yah",
    "no",
    "nope",
    "nah",
    "sure",
    "correct",
    "right",
    "exactly",
    "absolutely",
    "definitely",
    "certainly",
    "never",
    "ok",
    "okay",
    "fine",
    "si",
    "sí",
    "claro",
    "oui",
    "non",
    "ja",
    "nein",
    "genau",
    "haan",
    "nahin",
    "हाँ",
    "नहीं",
    "जी",
    "是",
    "是的",
    "对",
    "好",
    "好的",
    "不",
    "不是",
    "はい",
    "いいえ",
];

/// Words that mean yes, rather than only attention.
const PLAIN_YES: &[&str] = &[
    "yes",
    "yep",
    "yup",
    "yeah",
    "sure",
    "exactly",
    "si",
    "sí",
    "claro",
    "oui",
    "ja",
    "genau",
    "sim",
    "haan",
    "हाँ",
    "是",
    "是的",
    "はい",
];

/// Words of a request rather than a question.
const REQUESTS: &[&str] = &[
    "give", "tell", "spell", "say", "share", "repeat", "leave", "provide", "confirm", "dictate", "get", "take", "what",
    "what's", "which", "please",
];

/// Words for things dictated in pieces; `number` with one of [`NUMBERS_OF`].
const NUMBERS_OF: &[&str] = &[
    "phone",
    "telephone",
    "mobile",
    "cell",
    "callback",
    "contact",
    "account",
    "order",
    "tracking",
    "reference",
    "card",
    "serial",
    "customer",
    "policy",
    "booking",
    "confirmation",
    "membership",
    "invoice",
    "case",
    "ticket",
    "security",
];

/// Names of codes.
const CODES: &[&str] = &["code", "postcode", "zip", "pin", "iban", "password", "digits", "id"];

/// Number words of counts: "the last four digits".
const COUNTS: &[&str] = &["three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// Words of questions for a number, a time or a day.
const ASKS_FIGURE: &[&str] = &[
    "when", "time", "day", "date", "old", "many", "much", "o'clock", "wann", "cuándo", "quand",
];

/// Words that answer those questions.
const FIGURES: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "today",
    "tomorrow",
    "tonight",
    "noon",
    "midday",
    "midnight",
    "o'clock",
    "am",
    "pm",
    "ten",
    "eleven",
    "twelve",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "hundred",
    "half",
    "quarter",
    "none",
];

/// Words that refuse an answer.
const REFUSALS: &[&str] = &[
    "no", "not", "don't", "can't", "won't", "why", "sorry", "none", "without",
];

/// Words of a choice that distinguish nothing.
const COMMON: &[&str] = &[
    "or", "the", "a", "an", "in", "on", "at", "to", "is", "it", "be", "do", "you", "would", "prefer", "like", "better",
    "rather", "should", "which", "we", "i", "for", "your", "of", "and", "by", "can",
];

impl Expectation {
    /// Returns the answer that these last words of the agent ask for.
    pub fn of(agent_words: &str) -> Self {
        let sentence = last_sentence(agent_words);
        let words: Vec<String> = sentence.split_whitespace().map(bare).collect();
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        let question = sentence.ends_with(['?', '？']);
        let first = words.iter().find(|word| !BEFORE_QUESTION.contains(&word.as_str()));
        let yes_no = question && first.is_some_and(|first| ASKS_YES_NO.contains(&first.as_str()));
        if let Some(dictated) = dictated(&words)
            && (has(REQUESTS) || !yes_no)
            && (has(REQUESTS) || question)
        {
            return Self::Dictation(dictated);
        }
        if question && has(&["or"]) {
            let telling = words.iter().filter(|word| !COMMON.contains(&word.as_str()));
            return Self::Choice(telling.cloned().collect());
        }
        if yes_no || YES_NO_ENDINGS.iter().any(|ending| sentence.ends_with(ending)) {
            return Self::YesNo;
        }
        match question {
            true if has(ASKS_FIGURE) => Self::Figure,
            true => Self::Words,
            false => Self::Any,
        }
    }

    /// Returns whether a backchannel that began before the agent had finished may be the answer. A question that
    /// asks for yes or no accepts one word only if it is a plain yes. Several words ("Okay, that's fine.") say more
    /// than a nod, whatever the question seemed to ask for.
    pub fn takes_backchannel(&self, words: &str) -> bool {
        let mut spoken = words.split_whitespace();
        let is_one = spoken.clone().nth(1).is_none();
        match self {
            Self::Any => true,
            Self::YesNo => !is_one || spoken.any(|word| PLAIN_YES.contains(&bare(word).as_str())),
            Self::Choice(_) | Self::Figure | Self::Words => !is_one,
            Self::Dictation(_) => false,
        }
    }

    /// Returns a number for the kind of answer.
    pub(super) fn kind(&self) -> i16 {
        match self {
            Self::Any => 0,
            Self::Words => 1,
            Self::YesNo => 2,
            Self::Choice(_) => 3,
            Self::Figure => 4,
            Self::Dictation(Dictated::Email) => 5,
            Self::Dictation(Dictated::Unknown) => 6,
            Self::Dictation(Dictated::Units(_)) => 7,
        }
    }

    /// Returns the number of digits and letters of the answer, if it is known.
    pub(super) fn units_wanted(&self) -> Option<usize> {
        match self {
            Self::Dictation(Dictated::Units(wanted)) => Some(*wanted),
            _ => None,
        }
    }

    /// Returns how far these words are the answer.
    pub fn progress(&self, words: &str) -> Progress {
        let words: Vec<String> = words
            .split_whitespace()
            .map(bare)
            .filter(|word| !word.is_empty())
            .collect();
        let has = |wanted: &dyn Fn(&str) -> bool| words.iter().any(|word| wanted(word));
        match self {
            Self::YesNo if words.first().is_some_and(|word| YES_NO.contains(&word.as_str())) => Progress::Whole,
            Self::Choice(options) if has(&|word| options.iter().any(|option| option == word)) => Progress::Whole,
            Self::Figure if (0..words.len()).any(|at| is_figure(&words, at)) => Progress::Given,
            Self::Dictation(dictated) => dictated.progress(&words),
            Self::Any | Self::Words | Self::YesNo | Self::Choice(_) | Self::Figure => Progress::Unknown,
        }
    }
}

impl Dictated {
    fn progress(self, words: &[String]) -> Progress {
        let (begun, whole) = match self {
            Self::Email => email(words),
            Self::Units(_) | Self::Unknown => (units(words) > 0, false),
        };
        match self {
            Self::Units(wanted) if units(words) >= wanted => Progress::Enough,
            Self::Units(wanted) if begun && units(words) < fewest(wanted) => Progress::Short,
            _ if whole => Progress::Whole,
            _ if begun => Progress::Begun,
            _ => Progress::Unknown,
        }
    }
}

/// Returns the fewest units that may be a complete answer if `wanted` units are expected: a telephone
/// number's length varies, a code's length is known.
fn fewest(wanted: usize) -> usize {
    match wanted {
        PHONE_DIGITS => FEWEST_PHONE_DIGITS,
        counted => counted,
    }
}

/// Returns whether the word at this place is a number, a time or a day; the one in "I am" is not.
fn is_figure(words: &[String], at: usize) -> bool {
    let word = words.get(at).map_or("", String::as_str);
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    let figure = FIGURES.contains(&word) || word.contains(|c: char| c.is_ascii_digit());
    figure && !(word == "am" && before.is_some_and(|before| before == "i"))
}

/// Returns the kind of dictation that the agent asks for.
fn dictated(words: &[String]) -> Option<Dictated> {
    let at = |list: &[&str]| words.iter().position(|word| list.contains(&word.as_str()));
    if at(&["email", "e-mail", "mail"]).is_some() {
        return Some(Dictated::Email);
    }
    let number = at(&["number", "nummer", "número", "numéro"]);
    let phone = at(&[
        "phone",
        "telephone",
        "mobile",
        "cell",
        "callback",
        "telefonnummer",
        "teléfono",
        "téléphone",
    ]);
    if (phone.is_some() && number.is_some()) || at(&["telefonnummer"]).is_some() {
        return Some(Dictated::Units(PHONE_DIGITS));
    }
    let numbered = number.is_some() && (at(NUMBERS_OF).is_some() || words.len() <= 6);
    let spelled = at(&["spell", "buchstabieren", "deletrear", "épeler"]).is_some();
    (numbered || spelled || at(CODES).is_some()).then(|| count(words).map_or(Dictated::Unknown, Dictated::Units))
}

/// Returns the count in "six-digit", "four digits", "4 digits".
fn count(words: &[String]) -> Option<usize> {
    let at = words
        .iter()
        .position(|word| word.ends_with("digit") || word.ends_with("digits"))?;
    let own = words.get(at)?.split('-').next()?;
    let before = at
        .checked_sub(1)
        .and_then(|before| words.get(before))
        .map_or("", String::as_str);
    [own, before].into_iter().find_map(|word| {
        let spelled = COUNTS.iter().position(|count| *count == word).map(|at| at + 3);
        spelled.or_else(|| word.parse().ok().filter(|count| (3..=20).contains(count)))
    })
}

/// Returns the number of digits and single letters in the words.
fn units(words: &[String]) -> usize {
    let mut count = 0;
    let mut times = 1;
    for word in words {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        match word.as_str() {
            "double" => times = 2,
            "triple" => times = 3,
            // Usually a word, and a letter only among others.
            "a" | "i" if count == 0 => {}
            _ if digits > 0 => count += digits * std::mem::replace(&mut times, 1),
            _ if is_unit(word) => count += std::mem::replace(&mut times, 1),
            _ => times = 1,
        }
    }
    count
}

/// Returns whether an address has begun, and whether it is complete: something after a dot after an at sign.
fn email(words: &[String]) -> (bool, bool) {
    if words.iter().any(|word| REFUSALS.contains(&word.as_str())) {
        return (false, false);
    }
    let written = words
        .iter()
        .any(|word| word.split_once('@').is_some_and(|(_, host)| host.contains('.')));
    let mut rest = words.iter().skip_while(|word| *word != "at" && !word.contains('@'));
    let dot = rest.any(|word| word == "dot" || word == "point" || word == "punkt");
    (!words.is_empty(), written || (dot && rest.next().is_some()))
}

/// Returns the last sentence, with its closing mark.
fn last_sentence(text: &str) -> &str {
    let text = text.trim();
    let closing = ['.', '?', '!', '。', '？', '！', '।'];
    let body = text.trim_end_matches(closing);
    let mut ends = body.char_indices().filter(|(at, c)| {
        let after = body.get(at + c.len_utf8()..).unwrap_or_default();
        closing.contains(c) && (!c.is_ascii() || after.starts_with(char::is_whitespace))
    });
    let start = ends.next_back().map_or(0, |(at, c)| at + c.len_utf8());
    text.get(start..).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests;
