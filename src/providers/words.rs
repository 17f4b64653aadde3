//! Providers' own words, made fit for answers and logs: no key in them, no control character, not too long.

use std::sync::{Mutex, PoisonError};

/// The longest words that are passed on, in characters.
const MOST: usize = 300;

/// A key this short is no secret, and may be a part of anything.
const SHORTEST: usize = 6;

/// Every key of this process; a provider may send ours back.
static KEYS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// From now on this text is never passed on.
pub(super) fn hide(key: &str) {
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    if key.len() >= SHORTEST && !keys.iter().any(|known| known == key) {
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
            words = words.replace(key.as_str(), "***");
        }
    }
    let plain = words.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(MOST).collect::<String>().trim().to_owned()
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
}
