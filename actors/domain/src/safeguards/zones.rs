//! Time zones in which a number may ring, by its first digits, from libphonenumber's data.

use std::{collections::HashMap, sync::LazyLock};

use chrono_tz::Tz;

use crate::phone_number::PhoneNumber;

/// Lines of digits and zones; created by `phone_zones.py` in the same folder.
const TABLE: &str = include_str!("../../data/phone_zones.txt");

struct Table {
    zones: HashMap<&'static str, Vec<Tz>>,
    longest: usize,
}

static PARSED: LazyLock<Table> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let zones: HashMap<&str, Vec<Tz>> = lines
        .filter_map(|line| {
            let (prefix, names) = line.split_once(' ')?;
            Some((prefix, names.split(' ').filter_map(|name| name.parse().ok()).collect()))
        })
        .collect();
    let longest = zones.keys().map(|prefix| prefix.len()).max().unwrap_or(0);
    Table { zones, longest }
});

/// Returns all zones that the number may be in; none if its first digits identify no place.
pub fn zones_of(number: &PhoneNumber) -> &'static [Tz] {
    let table = &*PARSED;
    let digits = number.as_str().trim_start_matches('+');
    (1..=table.longest.min(digits.len()))
        .rev()
        .find_map(|length| table.zones.get(digits.get(..length)?))
        .map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(number: &str) -> Vec<&'static str> {
        let number = PhoneNumber::parse(number).unwrap();
        zones_of(&number).iter().map(|zone| zone.name()).collect()
    }

    #[test]
    fn every_line_is_read_and_every_zone_is_known() {
        let mut lines = 0;
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let (prefix, zones) = line.split_once(' ').unwrap();
            assert!(prefix.bytes().all(|byte| byte.is_ascii_digit()), "{line}");
            for zone in zones.split(' ') {
                assert!(zone.parse::<Tz>().is_ok(), "{line}: {zone}");
            }
            lines += 1;
        }
        assert!(lines > 1_000 && PARSED.zones.len() == lines);
    }

    #[test]
    fn an_area_code_tells_its_zone() {
        assert_eq!(names("+12125550100"), ["America/New_York"]);
        assert_eq!(names("+12135550100"), ["America/Los_Angeles"]);
        assert_eq!(names("+18085550100"), ["Pacific/Honolulu"]);
        assert_eq!(names("+12425550100"), ["America/Nassau"]);
        assert_eq!(names("+4930123456"), ["Europe/Berlin"]);
        assert_eq!(names("+919812345678"), ["Asia/Kolkata"]);
        assert_eq!(names("+61893001234"), ["Australia/Adelaide", "Australia/Perth"]);
    }

    #[test]
    fn an_unknown_exchange_may_be_in_any_zone_of_its_area_code() {
        for (number, expected) in [
            ("+14235550100", ["America/Chicago", "America/New_York"]),
            ("+13085550100", ["America/Chicago", "America/Denver"]),
            ("+18505550100", ["America/Chicago", "America/New_York"]),
            ("+18125550100", ["America/Chicago", "America/New_York"]),
            ("+12705550100", ["America/Chicago", "America/New_York"]),
            ("+19065550100", ["America/Chicago", "America/New_York"]),
            ("+15415550100", ["America/Denver", "America/Los_Angeles"]),
            ("+18075550100", ["America/Toronto", "America/Winnipeg"]),
        ] {
            let mut zones = names(number);
            zones.sort_unstable();
            assert_eq!(zones, expected, "{number}");
        }
    }

    #[test]
    fn a_number_of_no_certain_place_has_every_zone_of_its_country() {
        // A mobile number in Australia, a toll-free number in North America.
        let australia = names("+61412345678");
        assert!(
            australia.contains(&"Australia/Perth") && australia.contains(&"Australia/Sydney"),
            "{australia:?}"
        );
        let america = names("+18005550100");
        for zone in ["America/New_York", "Pacific/Honolulu", "Pacific/Guam"] {
            assert!(america.contains(&zone), "{america:?}");
        }
        let russia = names("+79161234567");
        assert!(
            russia.contains(&"Europe/Moscow") && russia.contains(&"Asia/Vladivostok"),
            "{russia:?}"
        );
    }

    #[test]
    fn a_number_of_no_country_has_none() {
        // The international toll-free code.
        assert!(names("+80012345678").is_empty());
    }
}
