//! Validation of e-mail addresses, wherever one is accepted.

use email_address::{EmailAddress, Options};

/// Maximum bytes of an address (RFC 5321: 256 with its angle brackets).
pub const EMAIL_BYTES: usize = 254;

/// Returns whether `text` is an address whose domain has a dot.
pub fn is_email(text: &str) -> bool {
    let options = Options::default()
        .with_required_tld()
        .without_domain_literal()
        .without_display_text();
    text.len() <= EMAIL_BYTES && EmailAddress::parse_with_options(text, options).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_a_local_part_and_a_domain_with_a_dot() {
        for good in ["a@b.co", "first.last+tag@sub.example.org", "ü@exämple.de"] {
            assert!(is_email(good), "{good}");
        }
        let long = format!("{}@{}.com", "a".repeat(60), "b".repeat(63).repeat(4));
        for bad in [
            "",
            "a",
            "a@",
            "@b.co",
            "a@b",
            "a b@c.de",
            "a@b..c",
            "Ada <a@b.co>",
            "a@[127.0.0.1]",
            &long,
        ] {
            assert!(!is_email(bad), "{bad}");
        }
    }
}
