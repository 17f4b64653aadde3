//! Sanitises error texts from carriers before they are stored and shown. An error that repeats our request
//! must not reveal its key or the proof in an address to readers of a call's outcome.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::text::{is_format, is_odd};

use net::{
    key::Key,
    redact::{hide, without_secrets},
};

/// Adds the Basic credentials, a user name and password encoded together, to the texts that are redacted.
pub fn hide_pair(user: &str, password: &Key) {
    hide(&BASE64.encode(format!("{user}:{}", password.secret())));
}

/// Removes secrets, then applies [`domain::ports::carrier::plain_words`].
pub fn plain_words(said: &str) -> String {
    let marks = |c: &char| !is_odd(*c) && !is_format(*c);
    // Redact before the text is cut, because the cut could leave half a key. Remove odd characters first,
    // because they could split a key.
    let plain: String = said.chars().filter(marks).collect();
    domain::ports::carrier::plain_words(&without_secrets(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_request_is_shown_without_its_key() {
        let key = Key::new("canary-of-a-carrier");
        hide_pair("AC1", &key);
        for (said, shown) in [
            ("no: canary-of-a-carrier", "no: ***"),
            ("no: canary-\u{200b}of-a-car\0rier", "no: ***"),
            ("sent QUMxOmNhbmFyeS1vZi1hLWNhcnJpZXI= to us", "sent *** to us"),
            ("Authorization: Basic QUMxOmNhbmFyeS1vZg==", "Authorization: Basic ***"),
        ] {
            assert_eq!(plain_words(said), shown);
        }
        let cut = format!("{} canary-of-a-carrier", "x".repeat(190));
        assert!(!plain_words(&cut).contains("canary"));
    }
}
