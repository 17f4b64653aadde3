//! Tests of written and stored phone numbers.

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
fn what_is_written_is_the_number_or_no_number() {
    for (text, number) in [
        ("+49 (0) 30 1234567", "+49301234567"),
        ("+49(0)30 1234567", "+49301234567"),
        ("+49 030 1234567", "+49301234567"),
        ("+490301234567", "+49301234567"),
        ("0049 (0)30/1234567", "+49301234567"),
        ("+49 30 / 123 45 67", "+49301234567"),
        ("+49 33056 / 12345", "+493305612345"),
        ("(+49) 30 - 1234567", "+49301234567"),
        ("+44 (0)20 7946 0018", "+442079460018"),
        ("+44 (020) 7946 0018", "+442079460018"),
        ("+39 06 1234 5678", "+390612345678"),
        ("+7 8 (495) 123-45-67", "+74951234567"),
        ("+7 (800) 555-35-35", "+78005553535"),
        ("+36 (06) 1 234 5678", "+3612345678"),
        ("+1 (555) 010 - 0010", "+15550100010"),
        ("tel:+1-555-010-0010", "+15550100010"),
        ("\u{202d}+1 555 010 0010\u{202c}", "+15550100010"),
        ("+43 1 58858-22", "+4315885822"),
        ("+52 1 55 1234 5678", "+525512345678"),
        ("+52 55 1234 5678", "+525512345678"),
        ("+54 9 11 1234-5678", "+5491112345678"),
        ("+55 (0 11) 91234-5678", "+5511912345678"),
    ] {
        let read = PhoneNumber::parse(text)
            .map(String::from)
            .map_err(|error| error.to_string());
        assert_eq!(read, Ok(number.to_owned()), "{text}");
    }
    for (text, why) in [
        ("+43 1 58858\u{2013}22", "`22` behind the number"),
        ("+49 30 1234567\u{2013}68", "`68` behind the number"),
        ("+43 1 58858 - 22", "`22` behind the number is a second one"),
        ("+43 1 58858 (22)", "`22` behind the number"),
        ("+49 30 1234567 / 68", "`68` behind the number"),
        ("+49 30 1234567/1234568", "`1234568` behind the number"),
        ("+15550100010 x7", "`x7` behind the number"),
        ("+1 555 010 0010 ext. 5", "`ext. 5` behind the number"),
        ("tel:+15550100010;ext=12", "`;ext=12` behind the number"),
        ("+999 1234567", "no country has the code +999"),
        ("+1 555 010 0010 / 1234", "`1234` behind the number"),
        (
            "+1 555 010 0010 1234",
            "+1 numbers have ten digits after the 1; this has 14",
        ),
        ("+155501000", "+1 numbers have ten digits after the 1; this has 8"),
        ("+39 (0)6 1234 5678", "numbers of +39 have no (0)"),
        ("+0171 23456789", "no country code begins with 0"),
        ("000491712345678", "no country code begins with 0"),
        ("+4917123456789.0", "`.0` is a decimal"),
        ("+48 0 501 234 567", "numbers of +48 have no 0 in front"),
        ("+480501234567", "numbers of +48 have no 0 in front"),
        ("+91 80-23456789-21", "`21` behind the number"),
        ("0171 2345678", "`defaultCountry`"),
        (
            "\u{202d}12345\u{202c}",
            "`U+202D12345U+202C` is not a phone number: write +",
        ),
    ] {
        let error = PhoneNumber::parse(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn with_a_country_its_own_notation_is_read() {
    for (text, country, number) in [
        ("030 1234567", "DE", "+49301234567"),
        ("442079460018", "GB", "+442079460018"),
        ("390612345678", "IT", "+390612345678"),
        ("3912345678", "IT", "+393912345678"),
        ("74951234567", "RU", "+74951234567"),
        ("15550100010", "US", "+15550100010"),
        ("(030) 123 45 67", "DE", "+49301234567"),
        ("020 7946 0018", "GB", "+442079460018"),
        ("1-555-010-0010", "US", "+15550100010"),
        ("(555) 010-0010", "US", "+15550100010"),
        ("011 49 30 1234567", "US", "+49301234567"),
        ("00 1 555 010 0010", "DE", "+15550100010"),
        ("06 1234 5678", "IT", "+390612345678"),
        ("8 (495) 123-45-67", "RU", "+74951234567"),
        ("06 1 234 5678", "HU", "+3612345678"),
        ("+15550100010", "DE", "+15550100010"),
        // A spreadsheet took the 0 away.
        ("15123456789", "DE", "+4915123456789"),
        ("301234567", "DE", "+49301234567"),
        ("6641234567", "AT", "+436641234567"),
        ("9876543210", "IN", "+919876543210"),
        ("11 91234-5678", "BR", "+5511912345678"),
        ("447700900123", "GB", "+447700900123"),
        ("030 12345-12", "DE", "+49301234512"),
        ("0033 6 12 34 56 78", "SG", "+33612345678"),
        ("0057 321 123 4567", "CO", "+573211234567"),
        ("0091 98765 43210", "HK", "+919876543210"),
        ("0049 30 1234567", "CV", "+49301234567"),
        ("001 49 30 1234567", "SG", "+49301234567"),
        ("0011 49 30 1234567", "AU", "+49301234567"),
    ] {
        let read = PhoneNumber::parse_in(text, country.parse().ok()).map_err(|error| error.to_string());
        assert_eq!(read.map(String::from), Ok(number.to_owned()), "{text}");
    }
    for (text, country, why) in [
        ("43664123456", "DE", "with and without the country code 43"),
        ("447400123456", "DE", "with and without the country code 44"),
        ("491711234567", "AT", "with and without the country code 49"),
        ("33612345678", "IN", "with and without the country code 33"),
        ("12345", "DE", "no whole number without 0"),
        ("1234567", "DE", "no whole number without 0"),
        ("91234-5678", "BR", "no whole number without 0"),
        ("9123 4567", "AU", "no whole number without 0"),
        ("01.02.2024", "DE", "it is a date"),
        ("2024-01-15", "DE", "it is a date"),
        ("12/31/2023", "US", "it is a date"),
        ("15123456789.0", "DE", "`.0` is a decimal"),
        ("+0151 23456789", "DE", "no country code begins with 0"),
        ("080-23456789-21", "IN", "`21` behind the number"),
        ("0 501 234 567", "PL", "numbers of +48 have no 0 in front"),
        ("123-456-7890", "US", "this has 10"),
    ] {
        let error = PhoneNumber::parse_in(text, country.parse().ok()).unwrap_err();
        assert!(error.why().contains(why), "{text}: {error}");
    }
    // Leer in East Frisia has the area code 0491.
    let error = PhoneNumber::parse_in("49301234567", "DE".parse().ok()).unwrap_err();
    assert!(error.why().contains("with and without the country code 49"), "{error}");
    assert!(PhoneNumber::parse("030 1234567").is_err());
}

#[test]
fn a_carriers_number_may_lack_its_plus_and_be_an_address() {
    for text in [
        "+15550100077",
        "15550100077",
        "sip:15550100077@example.com",
        "sip:+15550100077;user=phone@pbx.example.com:5060",
        "<sips:+15550100077@example.com>",
        "tel:+15550100077",
    ] {
        assert_eq!(
            PhoneNumber::of_carrier(text).map(String::from).as_deref(),
            Some("+15550100077"),
            "{text}"
        );
    }
    for text in [
        "anonymous",
        "sip:anonymous@example.com",
        "",
        "12345",
        "sip:support@example.com",
    ] {
        assert_eq!(PhoneNumber::of_carrier(text), None, "{text}");
    }
}

#[test]
fn a_stored_number_of_the_earlier_rule_stays_and_has_the_spelling_of_today() {
    let old = PhoneNumber::stored("+490301234567").unwrap();
    assert_eq!(old.as_str(), "+490301234567");
    let today = PhoneNumber::parse("+49 30 1234567").unwrap();
    assert_eq!(old.spellings(), today.spellings());
    assert_eq!((old.dialed(), today.dialed()), (Some(today.clone()), Some(today)));
    let json = serde_json::to_string(&old).unwrap();
    assert_eq!(serde_json::from_str::<PhoneNumber>(&json).unwrap(), old);
    let impossible = PhoneNumber::stored("+99912345678").unwrap();
    assert_eq!(impossible.spellings(), ["+99912345678"]);
    assert_eq!(impossible.dialed(), None);
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
