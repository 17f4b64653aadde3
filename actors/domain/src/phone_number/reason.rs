//! Reasons why a text is not a phone number, each with the way out.

/// Why a text is not a phone number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Reason {
    #[error("write + and 7 to 15 digits, such as +15551234567")]
    NoNumber,
    #[error("`.{0}` is a decimal that a program added; format the column as text, and {way}", way = WRITE_CODE)]
    Decimals(String),
    #[error("it is a date; {way}", way = WRITE_CODE)]
    Date,
    #[error("`{0}` behind the number is a second one, a range or an extension; leave it out")]
    More(String),
    #[error("it has no country code; write + and the code first, such as +15551234567, or set `defaultCountry`")]
    NoCode,
    #[error("no country code begins with 0; {way}", way = WRITE_CODE)]
    CodeOfZero,
    #[error("no country has the code +{0}")]
    UnknownCode(String),
    #[error("it can be read with and without the country code {0}; {way}", way = WRITE_CODE)]
    BothWays(u16),
    #[error("+{code} numbers have {lengths} after the {code}; this has {has}")]
    Length { code: u16, lengths: String, has: usize },
    #[error("numbers of +{0} have no 0 in front; leave it out")]
    ZeroInFront(u16),
    #[error("numbers of +{0} have no (0); leave it out, or write the digit without parentheses")]
    MarkedZero(u16),
    #[error("it is no whole number without {0} in front; write the area code, or + and the country code")]
    NoAreaCode(&'static str),
}

/// The way out for digits that may have another country code.
const WRITE_CODE: &str = "write + and the country code first";

impl Reason {
    /// Returns the reason for a text that has more behind its number.
    pub(super) fn more(rest: &str) -> Self {
        Self::More(rest.trim().chars().take(20).collect())
    }
}
