//! Parsers of settings. Their errors say what to write instead.

use std::{ffi::OsStr, fmt, net::SocketAddr, ops::RangeInclusive, str::FromStr};

use clap::{
    Arg, Command,
    builder::{BoolishValueParser, PossibleValue, TypedValueParser},
};

/// A text that is no whole number in the range of its setting.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("write a whole number from {} to {}", .0.start(), .0.end())]
pub struct OutOfRange<T: fmt::Debug + fmt::Display>(RangeInclusive<T>);

/// Returns a parser of whole numbers in a range.
pub fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, OutOfRange<T>> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + fmt::Debug + fmt::Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| OutOfRange(range.clone()))
    }
}

/// Parses the address that a server listens on.
///
/// # Errors
///
/// Returns an error if the text is not an IP address with a port.
pub fn listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse()
        .map_err(|_| "write IP:PORT, such as 127.0.0.1:8080 or 0.0.0.0:8080")
}

/// Parser of a setting that is true or false.
#[derive(Debug, Clone, Copy)]
pub struct TrueOrFalse;

impl TypedValueParser for TrueOrFalse {
    type Value = bool;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<bool, clap::Error> {
        let refuse = |_: &str| Err::<bool, _>("write true or false");
        BoolishValueParser::new()
            .parse_ref(command, arg, value)
            .or_else(|_| refuse.parse_ref(command, arg, value))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(["true", "false"].into_iter().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_number_is_told_its_range() {
        let parse = whole(1..=100_000_u32);
        assert_eq!((parse("1"), parse("100000")), (Ok(1), Ok(100_000)));
        for wrong in ["0", "100001", "-1", "lots", "5m", "1.5", "", "99999999999999999999"] {
            let error = parse(wrong).unwrap_err();
            assert_eq!(error.to_string(), "write a whole number from 1 to 100000", "{wrong}");
        }
    }

    #[test]
    fn an_address_without_an_ip_or_a_port_is_refused_with_an_example() {
        assert_eq!(listen_address("[::1]:80").map(|address| address.port()), Ok(80));
        for wrong in ["8080", ":8080", "localhost:8080", "127.0.0.1"] {
            assert!(listen_address(wrong).unwrap_err().contains("127.0.0.1:8080"), "{wrong}");
        }
    }

    #[test]
    fn the_usual_spellings_of_true_and_false_are_taken() {
        let parse = |text: &str| TrueOrFalse.parse_ref(&Command::new("x"), None, OsStr::new(text));
        assert!(parse("yes").unwrap() && parse("1").unwrap() && !parse("false").unwrap());
        assert!(parse("maybe").unwrap_err().to_string().contains("write true or false"));
    }
}
