//! Makes providers' texts fit for answers and logs: removes keys and control characters and limits the length.

use std::sync::{Mutex, PoisonError};

use domain::{
    secrets::{HIDDEN, without_tokens},
    text::is_odd,
};

/// Longest text that is passed on, in characters.
const MOST: usize = 300;

/// Keys shorter than this may be part of any word, so they are hidden only where they stand alone. In bytes.
const SHORT: usize = 6;

/// All keys of this process; a provider may send ours back.
static KEYS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Registers a text that must never be passed on.
pub fn hide(key: &str) {
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    if !key.is_empty() && !keys.iter().any(|known| known == key) {
        keys.push(key.to_owned());
        // A key may be a prefix of another, so longer keys come first.
        keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
    }
}

/// Returns a provider's text in a form that may be shown.
pub fn fit(words: &str) -> String {
    let plain: String = words.chars().map(|c| if is_odd(c) { ' ' } else { c }).collect();
    without_secrets(&plain)
        .chars()
        .take(MOST)
        .collect::<String>()
        .trim()
        .to_owned()
}

/// Removes this process's keys and anything that looks like a key from a text.
pub fn without_secrets(words: &str) -> String {
    let mut words = words.to_owned();
    for key in KEYS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        if words.contains(key.as_str()) {
            words = without(&words, key);
        }
    }
    without_tokens(&words)
}

fn without(words: &str, key: &str) -> String {
    let (mut rest, mut shown) = (words, String::with_capacity(words.len()));
    while let Some((before, after)) = rest.split_once(key) {
        shown.push_str(before);
        let in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let alone = !in_word(shown.chars().next_back()) && !in_word(after.chars().next());
        shown.push_str(if alone || key.len() >= SHORT { HIDDEN } else { key });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;

    #[test]
    fn keys_control_characters_and_length_do_not_get_through() {
        let _key = Key::new("sk-canary-1234567890");
        let told = format!(
            "{}sk-canary-1234567890 is\nwrong\u{1b}[31m {}",
            "x".repeat(290),
            "y".repeat(900)
        );
        let shown = fit(&told);
        assert!(!shown.contains("canary") && shown.contains("***"), "{shown}");
        assert!(!shown.contains(char::is_control));
        assert!(shown.chars().count() <= MOST);
    }

    #[test]
    fn a_short_key_is_hidden_where_it_stands_alone() {
        let _key = Key::new("zq-7");
        assert_eq!(fit("key zq-7, 'zq-7' and Bearer:zq-7"), "key ***, '***' and Bearer:***");
        assert_eq!(fit("model zq-70b of xzq-7"), "model zq-70b of xzq-7");
    }

    #[test]
    fn what_proves_something_is_hidden_and_words_are_not() {
        let proof = "0123456789abcdef".repeat(4);
        for (told, shown) in [
            ("sent Basic QUMxOmNhbmFyeQ==", "sent Basic ***"),
            (
                "\"authorization\":\"bearer KEY017f\"}",
                "\"authorization\":\"bearer ***\"}",
            ),
            ("Basic authentication failed.", "Basic authentication failed."),
            ("Bearer: eyJ", "Bearer: ***"),
            (
                "token eyJhbGciOiJSUzI1NiJ9.eyJpYXQiOjF9.c2ln expired",
                "token *** expired",
            ),
            ("eyJ is short", "eyJ is short"),
            (
                &format!("at /media/019a.{proof} and {proof}0"),
                "at /media/019a.*** and ***",
            ),
            (&proof[1..], &proof[1..]),
        ] {
            assert_eq!(without_secrets(told), shown);
            assert_eq!(without_secrets(shown), shown);
        }
    }

    #[test]
    fn an_odd_sign_in_a_key_does_not_carry_it_through() {
        let _key = Key::new("canary 4711 canary");
        assert_eq!(fit("canary\u{2028}4711 canary"), "***");
    }

    #[test]
    fn no_sign_begins_a_line_or_turns_one_round() {
        let told = "a\r\nb\u{85}c\u{2028}d\u{2029}e\u{202e}f\u{2066}g\u{0}h\u{7f}";
        assert_eq!(fit(told), "a  b c d e f g h");
    }
}
