//! Detects questions by the form of the words, because recognisers do not always hear a question mark.

use super::phrases;

/// Hindi question words, which seldom begin a sentence.
const ANYWHERE: [&str; 12] = [
    "कब",
    "कहाँ",
    "कहां",
    "कितना",
    "कितने",
    "कितनी",
    "क्या",
    "कैसे",
    "kitna",
    "kab",
    "kahan",
    "kaise",
];

/// Words before a question that are not part of it.
const BEFORE: [&str; 24] = [
    "and", "but", "so", "okay", "ok", "well", "um", "uh", "oh", "yes", "yeah", "no", "sorry", "please", "actually",
    "hi", "hello", "hey", "y", "et", "und", "ja", "aber", "first",
];

/// Questions whether anybody is there, which documents cannot answer.
const PRESENCE: [&str; 4] = ["you there", "you still there", "you hear me", "anybody there"];

/// Words that announce a request, in English.
const REQUESTS: [&str; 21] = [
    "a question",
    "another question",
    "some questions",
    "a problem",
    "an issue",
    "a complaint",
    "a request",
    "i need",
    "i want",
    "i'd like",
    "i would like",
    "i wanted",
    "i'm calling about",
    "i am calling about",
    "i'm calling because",
    "it's about",
    "this is about",
    "help with",
    "help me",
    "talk about",
    "speak about",
];

/// Returns whether the words make a request: a question, or a statement in place of one.
pub(super) fn requests(text: &str) -> bool {
    let words = phrases::plain(text);
    asks(text) || REQUESTS.iter().any(|request| phrases::contains(&words, request))
}

/// Returns whether the words ask a question.
pub(super) fn asks(text: &str) -> bool {
    let words = plain(text);
    if PRESENCE.iter().any(|presence| words.contains(presence)) {
        return false;
    }
    let sentences = text.split_inclusive(['.', '?', '!', ',', ';', '\u{964}']);
    let is_marked = text.contains('?') && words.split_whitespace().any(|word| !BEFORE.contains(&word));
    is_marked || sentences.into_iter().any(begins_as_question)
}

/// Returns the words in lower case, without the punctuation around them.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase().replace('\u{2019}', "'");
    let marks = |c: char| c.is_ascii_punctuation() || "\u{bf}\u{a1}\u{964}\u{ab}\u{bb}\u{2026}".contains(c);
    let words = lower.split_whitespace().map(|word| word.trim_matches(marks));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn begins_as_question(sentence: &str) -> bool {
    let words = plain(sentence);
    let mut rest = words.as_str();
    while let Some((_, after)) = rest.split_once(' ').filter(|(word, _)| BEFORE.contains(word)) {
        rest = after;
    }
    let begins = |beginning: &&str| {
        rest.strip_prefix(*beginning)
            .is_some_and(|after| after.is_empty() || after.starts_with(' '))
    };
    phrases::listed("beginnings").iter().any(begins) || rest.split(' ').any(|word| ANYWHERE.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_from_statements_also_without_a_mark() {
        for words in [
            "What are your opening hours?",
            "okay and how much is a cleaning",
            "Yes. Do you take cards",
            "Well, can I bring my dog",
            "I'd like to know when you open",
            "¿A qué hora abren",
            "Et combien coûte une nuit",
            "Ja, wann haben Sie geöffnet",
            "आप कब खुलते हैं",
            "aap ki dukaan kab khulti hai",
        ] {
            assert!(asks(words), "{words}");
        }
        for words in [
            "Monday.",
            "My name is Maria Lopez.",
            "Yes.",
            "I don't know.",
            "On the third, in the morning.",
            "",
            "No, that's all.",
            "Hello?",
            "Yes?",
            "Hello? Are you there?",
        ] {
            assert!(!asks(words), "{words}");
        }
    }

    #[test]
    fn requests_are_told_from_answers() {
        for words in [
            "I have a question about my bill.",
            "Um, I'd like to ask something",
            "Why is my bill so high?",
        ] {
            assert!(requests(words), "{words}");
        }
        for words in ["Tuesday.", "The third of May, please.", "A blue one.", "Ada Lovelace"] {
            assert!(!requests(words), "{words}");
        }
    }
}
