//! Numbering plans of the countries: lengths, trunk prefixes, patterns, from the metadata of libphonenumber.

use std::{collections::HashMap, sync::LazyLock};

use phonenumber::metadata::{DATABASE, Descriptor, Metadata};

/// The plan behind a country code, which several countries may share.
pub(super) struct Plan {
    /// The country code.
    pub(super) code: u16,
    /// Bit n is set if a national number may have n digits.
    lengths: u32,
    /// Digits that are dialed before a national number within the country.
    pub(super) trunk_prefix: Option<&'static str>,
}

/// Country code, bits of the lengths in hexadecimal, and trunk prefix of each plan: what is needed for a number in its
/// usual form. Reading the whole metadata takes a while, so it is left until a number has another form.
const TABLE: &str = include_str!("plans.txt");

/// Plans by country code.
static PLANS: LazyLock<HashMap<u16, Plan>> = LazyLock::new(|| {
    let plan = |line: &'static str| {
        let mut fields = line.split(' ');
        let code = fields.next()?.parse().ok()?;
        let lengths = u32::from_str_radix(fields.next()?, 16).ok()?;
        let trunk_prefix = fields.next();
        Some((
            code,
            Plan {
                code,
                lengths,
                trunk_prefix,
            },
        ))
    };
    TABLE.lines().filter_map(plan).collect()
});

/// Returns the plan at the beginning of international digits. No country code begins with another one, or with 0.
pub(super) fn of_digits(digits: &str) -> Option<&'static Plan> {
    if digits.starts_with('0') {
        return None;
    }
    (1..=3).find_map(|length| PLANS.get(&digits.get(..length)?.parse().ok()?))
}

/// Returns the plan of a country by its ISO 3166 code of two letters.
pub(super) fn of_country(country: &str) -> Option<&'static Plan> {
    PLANS.get(&DATABASE.by_id(country)?.country_code())
}

fn kinds(region: &Metadata) -> impl Iterator<Item = &Descriptor> {
    let all = region.descriptors();
    [
        all.fixed_line(),
        all.mobile(),
        all.toll_free(),
        all.premium_rate(),
        all.shared_cost(),
        all.personal_number(),
        all.voip(),
        all.pager(),
        all.uan(),
        all.voicemail(),
    ]
    .into_iter()
    .flatten()
}

fn matches(descriptor: &Descriptor, national: &str) -> bool {
    let found = descriptor.national_number().find(national);
    found.is_some_and(|found| found.start() == 0 && found.end() == national.len())
}

impl Plan {
    /// Returns where the national number begins in the digits of an international one.
    pub(super) fn national_from(&self) -> usize {
        self.code.to_string().len()
    }

    /// Returns where the national number begins in digits without a plus: behind the country's own code, if they have it.
    /// None if they are a number with and without it, and not the same one.
    pub(super) fn national_from_at_home(&self, digits: &str) -> Option<usize> {
        let whole = |national: &str| Some(self.without_trunk_prefix_of(national)).filter(|number| self.assigns(number));
        let behind = digits.strip_prefix(&self.code.to_string()).and_then(whole);
        match (behind, whole(digits)) {
            (Some(behind), Some(all)) if behind != all => None,
            (Some(_), None) => Some(self.national_from()),
            (None, None) if self.is_only_with_code(digits) => Some(self.national_from()),
            _ => Some(0),
        }
    }

    /// Returns whether digits have a length of the plan behind its country code, and none as they are.
    fn is_only_with_code(&self, digits: &str) -> bool {
        let behind = digits.strip_prefix(&self.code.to_string());
        behind.is_some_and(|national| self.has_length(national.len())) && !self.has_length(digits.len())
    }

    /// Returns the metadata of the code's countries, the main one first.
    fn regions(&self) -> Vec<&'static Metadata> {
        DATABASE.by_code(&self.code).unwrap_or_default()
    }

    fn main(&self) -> Option<&'static Metadata> {
        self.regions().first().copied()
    }

    /// Returns whether national numbers of this length exist. Where the metadata tells none, any length may.
    pub(super) fn has_length(&self, length: usize) -> bool {
        self.lengths == 0 || (length < 32 && self.lengths & (1 << length) != 0)
    }

    /// Returns whether the national number is one that the plan assigns, to its full length.
    pub(super) fn assigns(&self, national: &str) -> bool {
        let of_kind =
            |kind: &Descriptor| kind.possible_length().contains(&(national.len() as u16)) && matches(kind, national);
        self.regions().iter().any(|region| kinds(region).any(of_kind))
    }

    /// Returns whether the national number is a mobile one. Those have narrower patterns than fixed lines.
    pub(super) fn assigns_mobile(&self, national: &str) -> bool {
        let is_mobile = |region: &&Metadata| {
            region
                .descriptors()
                .mobile()
                .is_some_and(|kind| matches(kind, national))
        };
        self.regions().iter().any(is_mobile)
    }

    /// Returns whether numbers within the country begin with a digit that is not dialed from abroad. In North America they
    /// are written without it.
    pub(super) fn demands_trunk_prefix(&self) -> bool {
        self.trunk_prefix.is_some_and(|prefix| prefix != "1")
    }

    /// Returns the digits behind the country's prefix for calls abroad.
    pub(super) fn after_prefix_abroad<'t>(&self, digits: &'t str) -> Option<&'t str> {
        let found = self.main()?.international_prefix()?.find(digits)?;
        (found.start() == 0).then(|| &digits[found.end()..])
    }

    /// Returns the national number without the prefix that is dialed before it within the country, if it has one.
    pub(super) fn without_trunk_prefix_of(&self, national: &str) -> String {
        let has_prefix = self.trunk_prefix.is_some_and(|prefix| national.starts_with(prefix));
        match has_prefix || !self.has_length(national.len()) {
            true => self.without_trunk_prefix(national),
            false => national.to_owned(),
        }
    }

    /// Drops the prefix as libphonenumber does: not if the number is one of the plan with the prefix and none without it.
    fn without_trunk_prefix(&self, national: &str) -> String {
        let Some(main) = self.main() else {
            return national.to_owned();
        };
        let Some(prefix) = main.national_prefix_for_parsing() else {
            let plain = self.trunk_prefix.and_then(|prefix| national.strip_prefix(prefix));
            return better_of(main, national, plain);
        };
        let Some(found) = prefix.captures(national) else {
            return national.to_owned();
        };
        let end = match found.get(0) {
            Some(whole) if whole.start() == 0 && whole.end() > 0 => whole.end(),
            _ => return national.to_owned(),
        };
        let last = found.get(found.len() - 1).filter(|_| found.len() > 1);
        let rest = match (main.national_prefix_transform_rule(), last) {
            (Some(rule), Some(_)) => prefix.replace(national, rule).into_owned(),
            _ => national[end..].to_owned(),
        };
        better_of(main, national, Some(&rest))
    }

    /// Returns the possible lengths in words, such as "7 to 13 digits".
    pub(super) fn lengths_in_words(&self) -> String {
        let lengths: Vec<u32> = (0..32).filter(|length| self.lengths & (1 << length) != 0).collect();
        match lengths.as_slice() {
            [] => "another number of digits".to_owned(),
            [only] => format!("{} digits", in_words(*only)),
            [first, .., last] if last - first + 1 == lengths.len() as u32 => format!("{first} to {last} digits"),
            [several @ .., last] => {
                let several: Vec<String> = several.iter().map(u32::to_string).collect();
                format!("{} or {last} digits", several.join(", "))
            }
        }
    }
}

fn better_of(main: &Metadata, national: &str, stripped: Option<&str>) -> String {
    let general = main.descriptors().general();
    let better = stripped.filter(|stripped| !matches(general, national) || matches(general, stripped));
    better.unwrap_or(national).to_owned()
}

fn in_words(count: u32) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    ];
    WORDS
        .get(count as usize)
        .map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prefixes of numbers that were written before a plan changed, which the metadata no longer has.
    const FORMER_PREFIXES: [(u16, &str); 1] = [(52, "1")];

    /// Makes a line of the table from the metadata.
    fn line(code: u16) -> String {
        let regions = DATABASE.by_code(&code).unwrap();
        // Some islands of North America have shorter numbers, which nobody else can dial.
        let regions = if code == 1 { &regions[..1] } else { &regions[..] };
        let kinds = regions.iter().flat_map(|region| kinds(region));
        let lengths = kinds.flat_map(Descriptor::possible_length);
        let bits = lengths.fold(0_u32, |all, length| {
            all | 1_u32.checked_shl((*length).into()).unwrap_or(0)
        });
        let former = FORMER_PREFIXES.iter().find(|(of, _)| *of == code);
        let prefix = regions[0].national_prefix().or(former.map(|(_, prefix)| *prefix));
        let prefix = prefix.map(|prefix| format!(" {prefix}"));
        format!("{code} {bits:x}{}\n", prefix.unwrap_or_default())
    }

    #[test]
    fn the_table_is_that_of_the_metadata() {
        let codes = (1..1_000).filter(|code: &u16| DATABASE.by_code(code).is_some());
        let table: String = codes.map(line).collect();
        if std::env::var_os("UPDATE_PLANS").is_some() {
            std::fs::write("src/phone_number/plans.txt", &table).unwrap();
        }
        assert!(table == TABLE, "run this test with UPDATE_PLANS=1");
    }
}
