//! The rule for e-mail addresses, used wherever one is accepted.

use email_address::{EmailAddress, Options};

/// Longest address, in characters.
pub const MAX_CHARS: usize = 254;

/// Returns whether the text is an e-mail address: `local@domain` by RFC 5321 and 5322, at most 254
/// characters, with a dot in the domain (no address literal) and without a display name.
pub fn is_valid(text: &str) -> bool {
    let options = Options::default()
        .with_minimum_sub_domains(2)
        .without_domain_literal()
        .without_display_text();
    text.chars().count() <= MAX_CHARS && EmailAddress::parse_with_options(text, options).is_ok()
}

/// Returns the address in a spoken or recognised text: "ada dot l at example dot com". None if two words
/// stand side by side without a sign between them, because it is unclear which of them belong to the address.
pub fn spoken(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('.').to_lowercase();
    let mut address = String::new();
    let mut after_word = false;
    for word in text.split_whitespace() {
        let sign = match word {
            "at" => Some("@"),
            "dot" | "period" => Some("."),
            "dash" | "hyphen" | "minus" => Some("-"),
            "underscore" => Some("_"),
            "plus" => Some("+"),
            _ => None,
        };
        let is_word = sign.is_none() && word.chars().count() > 1;
        if is_word && after_word {
            return None;
        }
        after_word = is_word;
        address.push_str(sign.unwrap_or(word));
    }
    Some(address).filter(|address| is_valid(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_spoken() {
        for (text, expected) in [
            ("Maria at example dot com", Some("maria@example.com")),
            ("maria@example.com", Some("maria@example.com")),
            (
                "m a r i a dot l at mail dot example dot com.",
                Some("maria.l@mail.example.com"),
            ),
            (
                "ada underscore 1 at ex dash ample dot co dot uk",
                Some("ada_1@ex-ample.co.uk"),
            ),
            ("my address is maria at example dot com", None),
            ("maria at example", None),
            ("", None),
        ] {
            assert_eq!(spoken(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_address_with_a_dotted_domain_is_one() {
        for text in [
            "ada@example.com",
            "a.b+c@mail.example.co.uk",
            "x_1@xn--bcher-kva.example",
        ] {
            assert!(is_valid(text), "{text}");
        }
    }

    #[test]
    fn anything_else_is_not() {
        let long = format!("{}@example.com", "a".repeat(250));
        for text in [
            "",
            "ada",
            "ada@",
            "@example.com",
            "ada@localhost",
            "a@b@example.com",
            "ada@example..com",
            "ada @example.com",
            "Ada <ada@example.com>",
            "ada@[127.0.0.1]",
            "ada@example.com ",
            "ada@.com",
            "ada@example.com.",
            "ada@-a.com",
            &long,
        ] {
            assert!(!is_valid(text), "{text}");
        }
    }
}
