//! The one rule for e-mail addresses, the same everywhere one is accepted.

use email_address::{EmailAddress, Options};

/// Longest address, in characters.
pub const MAX_CHARS: usize = 254;

/// Whether the text is an e-mail address: `local@domain` by RFC 5321 and 5322, at most 254 characters, the domain a
/// name with a dot (no address literal), no display name.
pub fn is_valid(text: &str) -> bool {
    let options = Options::default()
        .with_minimum_sub_domains(2)
        .without_domain_literal()
        .without_display_text();
    text.chars().count() <= MAX_CHARS && EmailAddress::parse_with_options(text, options).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
