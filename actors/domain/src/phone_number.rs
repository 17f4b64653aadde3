//! Phone numbers in E.164, and the rule by which a text becomes one.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A phone number in E.164, as it is stored and returned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(pattern = r"^\+[1-9][0-9]{6,14}$", example = "+15550100010")]
pub struct PhoneNumber(String);

/// Placeholder of an erased number. It is not in E.164, because the first digit is 0.
const ERASED: &str = "+0000000";
/// Placeholder of a withheld number. It is not in E.164 either.
const WITHHELD: &str = "+0000001";

/// A text that is not a phone number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a phone number: write + and 7 to 15 digits, such as +15551234567")]
pub struct InvalidPhoneNumber(pub String);

impl PhoneNumber {
    /// Normalises and validates a text. White space, hyphens and dashes, `.`, `(`, `)` and `/` are removed,
    /// and a leading `00` becomes `+`. Any other character is an error.
    pub fn parse(text: &str) -> Result<Self, InvalidPhoneNumber> {
        let invalid = || InvalidPhoneNumber(text.to_owned());
        // Most numbers already have this form, and a file may contain a million of them.
        if is_plain(text) {
            return Ok(Self(text.to_owned()));
        }
        let mut number: String = text.chars().filter(|c| !is_filler(*c)).collect();
        if let Some(rest) = number.strip_prefix("00") {
            number = format!("+{rest}");
        }
        if is_plain(&number) {
            Ok(Self(number))
        } else {
            Err(invalid())
        }
    }

    /// Returns the digits of a search text, with its `+` if it has one; none if it contains anything else.
    pub fn search_text(text: &str) -> Option<String> {
        let plain: String = text.chars().filter(|c| !is_filler(*c)).collect();
        // Two zeros may also occur within a number. A text as long as a whole number counts as one.
        let plain = match plain.strip_prefix("00") {
            Some(rest) if Self::parse(&format!("+{rest}")).is_ok() => format!("+{rest}"),
            _ => plain,
        };
        let digits = plain.strip_prefix('+').unwrap_or(&plain);
        let sound = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        sound.then_some(plain)
    }

    /// Returns the placeholder for an erased number. It belongs to nobody and cannot be entered.
    pub fn erased() -> Self {
        Self(ERASED.to_owned())
    }

    /// Returns whether the number was erased, so that nobody is called.
    pub fn is_erased(&self) -> bool {
        self.0 == ERASED
    }

    /// Returns the placeholder for an unknown caller's number. It belongs to nobody and cannot be entered.
    pub fn withheld() -> Self {
        Self(WITHHELD.to_owned())
    }

    /// Returns whether the caller's number is unknown.
    pub fn is_withheld(&self) -> bool {
        self.0 == WITHHELD
    }

    /// Returns whether the number was erased or withheld. Such a number is not shown, and nobody is called.
    pub fn is_nobodys(&self) -> bool {
        self.is_erased() || self.is_withheld()
    }

    /// Reads a stored number, or the placeholder of an erased or withheld number.
    pub fn stored(text: &str) -> Result<Self, InvalidPhoneNumber> {
        match text {
            ERASED => Ok(Self::erased()),
            WITHHELD => Ok(Self::withheld()),
            number => Self::parse(number),
        }
    }

    /// Returns the number with its `+`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number with all but the last two digits hidden, for logs.
    pub fn masked(&self) -> String {
        let shown = self.0.len() - 2;
        format!("+{}{}", "*".repeat(shown - 1), &self.0[shown..])
    }
}

/// Fewest consecutive digits that count as a phone number; shorter ones are error codes or times.
const FEWEST_DIGITS: usize = 7;

/// Masks every number in a text, such as a carrier's error, except for its last two digits.
pub fn with_numbers_masked(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let length = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (digits, after) = from.split_at(length);
        shown.push_str(before);
        if length < FEWEST_DIGITS {
            shown.push_str(digits);
        } else {
            shown.push_str(&"*".repeat(length - 2));
            shown.push_str(&digits[length - 2..]);
        }
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// Returns whether a text is `+` and digits in the stored form.
fn is_plain(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|digits| {
        (7..=15).contains(&digits.len()) && !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit())
    })
}

fn is_filler(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '-' | '.' | '(' | ')' | '/')
        // Hyphens, dashes and the minus sign that spreadsheets and word processors insert.
        || matches!(c, '\u{ad}' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}')
}

impl fmt::Display for PhoneNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PhoneNumber {
    type Err = InvalidPhoneNumber;

    fn from_str(text: &str) -> Result<Self, InvalidPhoneNumber> {
        Self::parse(text)
    }
}

impl TryFrom<String> for PhoneNumber {
    type Error = InvalidPhoneNumber;

    fn try_from(text: String) -> Result<Self, InvalidPhoneNumber> {
        Self::parse(&text)
    }
}

impl From<PhoneNumber> for String {
    fn from(number: PhoneNumber) -> Self {
        number.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn punctuation_is_removed_and_a_leading_00_becomes_plus() {
        for text in [
            "+1 (555) 123-4567",
            "0015551234567",
            "+1.555.123/4567",
            "+1\u{a0}555\u{2011}123\u{2013}4567",
        ] {
            assert_eq!(PhoneNumber::parse(text).unwrap().as_str(), "+15551234567", "{text}");
        }
    }

    #[test]
    fn anything_else_is_an_error() {
        for text in [
            "",
            "+",
            "15551234567",
            "+123456",
            "+1234567890123456",
            "+0123456789",
            "+1555123456x",
            "++15551234567",
            "+1555+1234567",
            "+1555,1234567",
            "+1555#1234",
            "+١٢٣٤٥٦٧٨",
            "00",
            "000123456789",
        ] {
            assert!(PhoneNumber::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_marks_of_numbers_that_are_nobodys_are_stored_and_never_given() {
        let (erased, withheld) = (PhoneNumber::erased(), PhoneNumber::withheld());
        assert!(erased.is_erased() && !erased.is_withheld());
        assert!(withheld.is_withheld() && !withheld.is_erased());
        for mark in [erased, withheld] {
            assert!(mark.is_nobodys());
            assert_eq!(PhoneNumber::stored(mark.as_str()), Ok(mark.clone()));
            assert!(PhoneNumber::parse(mark.as_str()).is_err());
        }
        assert!(!PhoneNumber::parse("+15551234567").unwrap().is_nobodys());
    }

    #[test]
    fn a_masked_number_shows_its_last_two_digits() {
        assert_eq!(PhoneNumber::parse("+15551234567").unwrap().masked(), "+*********67");
    }

    #[test]
    fn a_text_shows_numbers_by_their_last_two_digits() {
        assert_eq!(
            with_numbers_masked("error 21211: `+15551234567` is not sip:442071838750@desk at 17:05"),
            "error 21211: `+*********67` is not sip:**********50@desk at 17:05"
        );
    }

    proptest! {
        #[test]
        fn what_is_masked_has_its_length_and_no_long_number(text in "[0-9a-z+ \u{e9}]{0,40}") {
            let masked = with_numbers_masked(&text);
            prop_assert_eq!(masked.len(), text.len());
            prop_assert!(masked.split(|c: char| !c.is_ascii_digit()).all(|run| run.len() < FEWEST_DIGITS));
        }
    }
}
