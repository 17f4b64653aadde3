//! A carrier's own words, made fit to be kept and shown: an error that repeats our request must not give its key, or the
//! proof in an address, to whoever reads the outcome of a call.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::text::{is_format, is_odd};

use net::{
    key::Key,
    redact::{hide, without_secrets},
};

/// A name and its password, as they are sent together, are never passed on.
pub fn hide_pair(user: &str, password: &Key) {
    hide(&BASE64.encode(format!("{user}:{}", password.secret())));
}

/// [`domain::ports::carrier::plain_words`] without secrets.
pub fn plain_words(said: &str) -> String {
    let marks = |c: &char| !is_odd(*c) && !is_format(*c);
    // Before the cut, which could leave the half of a key; and without the signs that could part one.
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
