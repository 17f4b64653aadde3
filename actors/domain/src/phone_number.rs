//! Phone numbers in E.164, and the one rule by which text becomes one.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A phone number in E.164, as it is stored and read back.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(pattern = r"^\+[1-9][0-9]{6,14}$", example = "+15550100010")]
pub struct PhoneNumber(String);

/// Not E.164: its first digit is 0.
const ERASED: &str = "+0000000";
/// Neither is this.
const WITHHELD: &str = "+0000001";

/// A text that is not a phone number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a phone number: write + and 7 to 15 digits, such as +15551234567")]
pub struct InvalidPhoneNumber(pub String);

impl PhoneNumber {
    /// Normalises and checks: white space, hyphens and dashes, `.`, `(`, `)` and `/` are removed, a leading `00`
    /// becomes `+`; any other character is an error, not something to drop.
    pub fn parse(text: &str) -> Result<Self, InvalidPhoneNumber> {
        let invalid = || InvalidPhoneNumber(text.to_owned());
        // Most are spelled so already, and a file has a million of them.
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

    /// What a text typed to find numbers says: digits, perhaps behind a `+`; none if it says anything else.
    pub fn search_text(text: &str) -> Option<String> {
        let plain: String = text.chars().filter(|c| !is_filler(*c)).collect();
        // Two zeros may also stand within a number; what is as long as a whole one is taken for one.
        let plain = match plain.strip_prefix("00") {
            Some(rest) if Self::parse(&format!("+{rest}")).is_ok() => format!("+{rest}"),
            _ => plain,
        };
        let digits = plain.strip_prefix('+').unwrap_or(&plain);
        let sound = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        sound.then_some(plain)
    }

    /// What stands where a person's number was erased: no number of anybody, and nothing that can be typed in.
    pub fn erased() -> Self {
        Self(ERASED.to_owned())
    }

    /// Whether a person's number was erased here: nobody is called.
    pub fn is_erased(&self) -> bool {
        self.0 == ERASED
    }

    /// What stands where a caller's number is not known: no number of anybody, and nothing that can be typed in.
    pub fn withheld() -> Self {
        Self(WITHHELD.to_owned())
    }

    /// Whether the caller's number is not known here.
    pub fn is_withheld(&self) -> bool {
        self.0 == WITHHELD
    }

    /// Whether nobody has this number, as it was erased or withheld: it is not shown, and nobody is called.
    pub fn is_nobodys(&self) -> bool {
        self.is_erased() || self.is_withheld()
    }

    /// Reads what a store kept: a number, or the mark of one that was erased or withheld.
    pub fn stored(text: &str) -> Result<Self, InvalidPhoneNumber> {
        match text {
            ERASED => Ok(Self::erased()),
            WITHHELD => Ok(Self::withheld()),
            number => Self::parse(number),
        }
    }

    /// The number with its `+`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// All but the last two digits hidden, for logs.
    pub fn masked(&self) -> String {
        let shown = self.0.len() - 2;
        format!("+{}{}", "*".repeat(shown - 1), &self.0[shown..])
    }
}

/// Fewer digits in a row are an error's code, or a time.
const FEWEST_DIGITS: usize = 7;

/// A text, such as a carrier's refusal, with every number that stands in it masked but for its last two digits.
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

/// `+` and digits as they are stored.
fn is_plain(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|digits| {
        (7..=15).contains(&digits.len()) && !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit())
    })
}

fn is_filler(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '-' | '.' | '(' | ')' | '/')
        // Hyphens, dashes and the minus sign that spreadsheets and word processors put in.
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
