//! Recognises by their phrases what people say on the phone besides answers.

use std::{collections::BTreeMap, sync::LazyLock};

use crate::{
    callback_time::{self, SpokenTime},
    opt_out::{self, Wish},
};

/// The longer lists of phrases, by name: before an answer and behind it (`lead_ins`, `lead_outs`), at the beginning of
/// a question in English, Spanish, French, German and Hindi (`beginnings`), and for some intents.
static LISTS: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let lines = include_str!("phrases.txt")
        .lines()
        .filter_map(|line| line.split_once(": "));
    lines
        .map(|(name, phrases)| (name, phrases.split(" | ").collect()))
        .collect()
});

/// Returns the phrases of a list.
pub(super) fn listed(name: &str) -> &'static [&'static str] {
    LISTS.get(name).map_or(&[], Vec::as_slice)
}

/// Intent of an utterance that is not an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Intent {
    /// Never wants to be called again.
    OptOut,
    /// The number belongs to somebody else.
    WrongNumber,
    /// Declines.
    NotInterested,
    /// Wants to be called at another time.
    CallBack,
    /// Asks who calls and why.
    WhoIsThis,
    /// Did not hear or understand.
    Repeat,
    /// Needs a moment.
    HoldOn,
    /// Cannot or will not answer.
    Refusal,
    /// Wants to talk to a person.
    Person,
    /// Says goodbye.
    Goodbye,
}

/// Longest utterance, in words, that only asks for time or refuses; a longer one says more.
const ASIDE_WORDS: usize = 8;

const WRONG_NUMBER: [&str; 6] = [
    "wrong number",
    "wrong person",
    "no one by that name",
    "nobody by that name",
    "no one here by",
    "doesn't live here",
];
const NOT_INTERESTED: [&str; 8] = [
    "not interested",
    "no interest",
    "leave me alone",
    "go away",
    "not buying",
    "don't want any",
    "don't want this",
    "no longer interested",
];
/// Wishes for a person as a whole utterance.
const PERSON_ALONE: [&str; 9] = [
    "operator",
    "operator please",
    "agent",
    "agent please",
    "human",
    "representative",
    "representative please",
    "reception",
    "reception please",
];
const CALL_BACK: [&str; 17] = [
    "call me later",
    "call me back",
    "call back",
    "call later",
    "call again later",
    "call me again",
    "call me tomorrow",
    "another time",
    "bad time",
    "not a good time",
    "i'm busy",
    "busy right now",
    "can't talk",
    "cannot talk",
    "i'm driving",
    "in a meeting",
    "try again later",
];
/// Words that make a time before the wish the end of a period in which the person is busy.
const NOT_FREE: [&str; 7] = ["busy", "meeting", "driving", "until", "till", "can't", "cannot"];
const DECLINES: [&str; 6] = ["don't", "dont", "didn't", "not", "never", "stop"];
const REPEAT: [&str; 18] = [
    "are you there",
    "are you still there",
    "anybody there",
    "anyone there",
    "say that again",
    "say it again",
    "repeat that",
    "can you repeat",
    "could you repeat",
    "please repeat",
    "didn't catch",
    "didn't hear",
    "didn't get that",
    "what did you say",
    "what was that",
    "what do you mean",
    "can't hear you",
    "come again",
];
const REPEAT_ALONE: [&str; 12] = [
    "what",
    "sorry",
    "pardon",
    "pardon me",
    "huh",
    "excuse me",
    "i don't understand",
    "i didn't understand",
    "sorry i don't understand",
    "sorry what",
    "what sorry",
    "i'm sorry",
];
const HOLD_ON: [&str; 12] = [
    "hold on",
    "hang on",
    "one moment",
    "one second",
    "just a second",
    "just a moment",
    "just a minute",
    "just a sec",
    "wait a",
    "give me a",
    "let me check",
    "let me think",
];
const REFUSAL: [&str; 16] = [
    "don't know",
    "do not know",
    "no idea",
    "not sure",
    "rather not",
    "prefer not",
    "don't want to say",
    "won't say",
    "skip that",
    "skip this",
    "skip it",
    "none of your business",
    "no comment",
    "i don't have one",
    "i don't have any",
    "don't remember",
];
const GOODBYE: [&str; 12] = [
    "goodbye",
    "good bye",
    "bye",
    "hang up",
    "hanging up",
    "gotta go",
    "have to go",
    "got to go",
    "talk to you later",
    "see you",
    "have a nice day",
    "have a good day",
];

/// Returns the intent of an utterance, if there is one; of several the most important.
pub fn intent(text: &str) -> Option<Intent> {
    let plain = plain(text);
    let short = plain.split(' ').count() <= ASIDE_WORDS;
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| contains(&plain, phrase));
    let rules = [
        (opt_out::wish(text) == Some(Wish::Clear), Intent::OptOut),
        (has(&WRONG_NUMBER), Intent::WrongNumber),
        (has(&NOT_INTERESTED), Intent::NotInterested),
        (has(&CALL_BACK) || call_back_time(text).is_some(), Intent::CallBack),
        (
            has(listed("person")) || PERSON_ALONE.contains(&plain.as_str()),
            Intent::Person,
        ),
        (has(listed("who_is_this")), Intent::WhoIsThis),
        (has(&REPEAT) || REPEAT_ALONE.contains(&plain.as_str()), Intent::Repeat),
        (short && has(&HOLD_ON), Intent::HoldOn),
        (short && has(&REFUSAL), Intent::Refusal),
        (has(&GOODBYE), Intent::Goodbye),
    ];
    rules.into_iter().find_map(|(holds, intent)| holds.then_some(intent))
}

/// Returns the time at which somebody asks to be called, if it is said with that wish.
pub fn call_back_time(text: &str) -> Option<SpokenTime> {
    let text = text.to_lowercase().replace(['\u{2019}', '\u{2bc}'], "'");
    let wish = listed("asks_for_a_call")
        .iter()
        .filter_map(|phrase| place(&text, phrase))
        .min()?;
    let (before, after) = text.split_at(wish);
    let plain_before = plain(before);
    if DECLINES
        .iter()
        .any(|word| plain_before.split(' ').next_back() == Some(word))
    {
        return None;
    }
    let free = || !NOT_FREE.iter().any(|word| contains(&plain_before, word));
    callback_time::parse(after).or_else(|| callback_time::parse(before).filter(|_| free()))
}

/// Returns where the phrase occurs as whole words in a lower-case text.
fn place(text: &str, phrase: &str) -> Option<usize> {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut places = text.match_indices(phrase);
    let whole = |at: usize| {
        let end = at + phrase.len();
        !letter(text[..at].chars().next_back()) && !letter(text[end..].chars().next())
    };
    places.find_map(|(at, _)| whole(at).then_some(at))
}

/// Returns whether the text contains a goodbye, whatever else it says.
pub fn says_goodbye(text: &str) -> bool {
    let plain = plain(text);
    GOODBYE.iter().any(|phrase| contains(&plain, phrase))
}

/// Returns the words in lower case with single spaces between, without punctuation except apostrophes.
pub fn plain(text: &str) -> String {
    let lower = text.to_lowercase().replace(['\u{2019}', '\u{2bc}'], "'");
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words = words
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Returns whether the phrase occurs as whole words in `plain` text.
pub fn contains(plain: &str, phrase: &str) -> bool {
    plain.match_indices(phrase).any(|(at, _)| {
        let end = at + phrase.len();
        (at == 0 || plain[..at].ends_with(' ')) && (end == plain.len() || plain[end..].starts_with(' '))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_tell_what_an_utterance_is_about() {
        for (text, expected) in [
            ("Please don't call me again.", Some(Intent::OptOut)),
            ("Stop calling!", Some(Intent::OptOut)),
            ("Don\u{2019}t call this number", Some(Intent::OptOut)),
            ("Don't call me before noon", None),
            ("Don't call me in the evening", None),
            ("Don't call me at all", Some(Intent::OptOut)),
            ("Do not call me at this number.", Some(Intent::OptOut)),
            ("Please don't call us in the future", Some(Intent::OptOut)),
            (
                "Don't call me now, and don't call me any other day",
                Some(Intent::OptOut),
            ),
            ("Don't call me in the future before noon", None),
            ("I'd rather you didn't phone me any more.", Some(Intent::OptOut)),
            ("I would prefer it if you did not call me again", Some(Intent::OptOut)),
            ("I'd rather you didn't call me before noon", None),
            ("I'd rather you called me tomorrow", None),
            ("You have the wrong number", Some(Intent::WrongNumber)),
            ("I'm not interested, bye", Some(Intent::NotInterested)),
            ("Could you call me back tomorrow?", Some(Intent::CallBack)),
            ("Ring me in half an hour", Some(Intent::CallBack)),
            ("The appointment is at three", None),
            ("Can I speak to a person, please?", Some(Intent::Person)),
            ("Please transfer me to sales", Some(Intent::Person)),
            ("Operator!", Some(Intent::Person)),
            ("Kya main kisi insaan se baat kar sakta hoon?", Some(Intent::Person)),
            ("Quiero hablar con una persona, por favor.", Some(Intent::Person)),
            ("Je voudrais parler \u{e0} quelqu\u{2019}un.", Some(Intent::Person)),
            ("Verbinden Sie mich bitte.", Some(Intent::Person)),
            ("My cat is an operator of sorts", None),
            ("Who is this?", Some(Intent::WhoIsThis)),
            ("Sorry?", Some(Intent::Repeat)),
            ("Hang on", Some(Intent::HoldOn)),
            ("I don't know", Some(Intent::Refusal)),
            ("Okay, goodbye", Some(Intent::Goodbye)),
            ("Ada Lovelace", None),
            ("Abyeville", None),
            ("", None),
        ] {
            assert_eq!(intent(text), expected, "{text}");
        }
    }

    #[test]
    fn the_time_of_a_call_is_the_one_that_is_asked_for() {
        for (text, expected) in [
            ("Call me in ten minutes", Some("in 10 minutes")),
            ("Could you ring me tomorrow at three, please?", Some("tomorrow at 3")),
            ("I'm busy this morning, call me at 15:30", Some("at 15:30")),
            ("I'm in a meeting until four, could you call back later?", None),
            ("Tomorrow at noon you can call me again", Some("tomorrow at noon")),
            ("Can we talk on Monday morning?", Some("on Monday in the morning")),
            ("Please don't call me tomorrow at three", None),
            ("Call me later", None),
            ("I was born in 1980 and they recall me", None),
        ] {
            let time = call_back_time(text).map(|time| time.to_string());
            assert_eq!(time.as_deref(), expected, "{text}");
        }
    }
}
