//! Providers' own words, made fit for answers and logs: no key in them, no control character, not too long.

use std::sync::{Mutex, PoisonError};

use actors::text::is_odd;

/// The longest words that are passed on, in characters.
const MOST: usize = 300;

/// A key shorter than this may be a part of any word, and is hidden only where it stands alone.
const SHORT: usize = 6;

/// Every key of this process; a provider may send ours back.
static KEYS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// From now on this text is never passed on.
pub(super) fn hide(key: &str) {
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    if !key.is_empty() && !keys.iter().any(|known| known == key) {
        keys.push(key.to_owned());
        // One key may be the beginning of another.
        keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
    }
}

/// A provider's words as they may be shown.
pub fn fit(words: &str) -> String {
    let mut words = words.to_owned();
    for key in KEYS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        if words.contains(key.as_str()) {
            words = without(&words, key);
        }
    }
    let plain = words.chars().map(|c| if is_odd(c) { ' ' } else { c });
    plain.take(MOST).collect::<String>().trim().to_owned()
}

fn without(words: &str, key: &str) -> String {
    let (mut rest, mut shown) = (words, String::with_capacity(words.len()));
    while let Some((before, after)) = rest.split_once(key) {
        shown.push_str(before);
        let in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let alone = !in_word(shown.chars().next_back()) && !in_word(after.chars().next());
        shown.push_str(if alone || key.len() >= SHORT { "***" } else { key });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::settings::Key;

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
    fn no_sign_begins_a_line_or_turns_one_round() {
        let told = "a\r\nb\u{85}c\u{2028}d\u{2029}e\u{202e}f\u{2066}g\u{0}h\u{7f}";
        assert_eq!(fit(told), "a  b c d e f g h");
    }
}
