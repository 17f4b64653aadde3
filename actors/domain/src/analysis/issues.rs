//! Rules that find issues of a call from the person's point of view.

use super::moments;
use crate::{
    interviewer::phrases::{self, Intent},
    ports::{
        language_model::Speaker,
        store::{KeyMoment, TurnFact},
    },
};

/// Number of requests to repeat something from which the agent counts as hard to understand.
const OFTEN: usize = 3;

/// Longest quotation, in characters.
const QUOTED_CHARS: usize = 160;

/// Returns the issues, each as one sentence in English.
pub(super) fn find(turns: &[TurnFact], found: &[KeyMoment], put_through: bool) -> Vec<String> {
    let mut issues = Vec::new();
    let complaints = found.iter().filter(|moment| moment.label == moments::OBJECTION);
    issues.extend(complaints.map(|moment| {
        let words = super::summary::shortened(&moment.text, QUOTED_CHARS);
        format!("the user objected at {}: \"{words}\"", moment.timestamp)
    }));
    if found.iter().any(|moment| moment.label == moments::WRONG_NUMBER) {
        issues.push("it was the wrong number".to_owned());
    }
    let asked = |intent: Intent| {
        let of_user = turns.iter().filter(|turn| turn.speaker == Speaker::User);
        of_user
            .filter(|turn| phrases::intent(&turn.text) == Some(intent) && !offers_keys(&turn.text))
            .count()
    };
    if asked(Intent::Person) > 0 && !put_through {
        issues.push("the user asked for a person and was not put through".to_owned());
    }
    let again = asked(Intent::Repeat);
    if again >= OFTEN {
        issues.push(format!("the user asked {again} times to hear it again"));
    }
    issues
}

/// Returns whether this is the text of a phone menu, which names its keys and makes no request itself.
fn offers_keys(text: &str) -> bool {
    const KEYS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "star", "pound", "hash",
    ];
    let plain = phrases::plain(text);
    let words: Vec<&str> = plain.split(' ').collect();
    words.windows(2).any(|pair| {
        let [verb, key] = pair else { return false };
        let is_digit = key.len() == 1 && key.bytes().all(|byte| byte.is_ascii_digit());
        matches!(*verb, "press" | "dial" | "pressing" | "push") && (is_digit || KEYS.contains(key))
    })
}
