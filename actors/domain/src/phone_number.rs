//! Phone numbers in E.164, and the rule by which a text becomes one.

mod country;
mod notation;
mod plan;
mod reason;

use std::{fmt, str::FromStr};

pub use country::{Country, UnknownCountry};
pub use notation::shown;
use notation::{Written, is_layout};
use plan::Plan;
use reason::Reason;

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
#[error("`{}` is not a phone number: {why}", shown(text))]
pub struct InvalidPhoneNumber {
    text: String,
    why: Reason,
}

/// Fewest national digits before a separator for a short rest to be an extension, in a plan with numbers of many lengths.
const WHOLE: usize = 7;
/// Most digits of an extension.
const EXTENSION: usize = 5;

impl InvalidPhoneNumber {
    /// Returns the reason, with the way out.
    pub fn why(&self) -> String {
        self.why.to_string()
    }
}

impl PhoneNumber {
    /// Reads a text with a plus or `00` and the country code. See [`parse_in`](Self::parse_in).
    pub fn parse(text: &str) -> Result<Self, InvalidPhoneNumber> {
        Self::parse_in(text, None)
    }

    /// Reads a phone number as people write it. A number without a plus is read by the plan of `country`; without a
    /// country it is an error. Layout and the trunk prefix before the national number, such as `(0)`, are removed. A
    /// second number, a range or an extension is an error, and so is a length or country code that does not exist, by
    /// the metadata of libphonenumber.
    pub fn parse_in(text: &str, country: Option<Country>) -> Result<Self, InvalidPhoneNumber> {
        // Most numbers already have this form, and a file may contain a million of them.
        if is_plain(text) && is_usual(&text[1..]) {
            return Ok(Self(text.to_owned()));
        }
        read(text, country).map(Self).map_err(|why| InvalidPhoneNumber {
            text: text.to_owned(),
            why,
        })
    }

    /// Reads what a carrier calls a number: with or without a plus, or as the address `sip:NUMBER@HOST` or `tel:NUMBER`.
    pub fn of_carrier(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('<').trim_end_matches('>');
        let scheme = ["sip:", "sips:", "tel:"].into_iter().find(|scheme| {
            text.get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        let address = &text[scheme.map_or(0, str::len)..];
        let user = address.split(['@', ';']).next().unwrap_or_default();
        let parsed = Self::parse(user).ok();
        let with_plus = format!("+{user}");
        // A switchboard's own numbers need not fit the plan of any country.
        let own = || is_plain(&with_plus).then(|| Self(with_plus.clone()));
        parsed.or_else(|| Self::parse(&with_plus).ok()).or_else(own)
    }

    /// Returns the number that is dialed: one that was stored with its trunk prefix under an earlier rule loses it. None
    /// if the number cannot exist.
    pub fn dialed(&self) -> Option<Self> {
        Self::parse(&self.0).ok()
    }

    /// Returns all forms in which the number may stand in the database: as it is, as it is dialed, and with the trunk
    /// prefix that was kept earlier.
    pub fn spellings(&self) -> Vec<String> {
        let mut spellings = vec![self.0.clone()];
        let Some(dialed) = self.dialed() else {
            return spellings;
        };
        let digits = &dialed.0[1..];
        if let Some(plan) = plan::of_digits(digits)
            && let Some(prefix) = plan.trunk_prefix
        {
            let (code, national) = digits.split_at(plan.national_from());
            spellings.push(format!("+{code}{prefix}{national}"));
        }
        spellings.push(dialed.0);
        spellings.sort_unstable();
        spellings.dedup();
        spellings
    }

    /// Returns the digits of a search text, with its `+` if it has one; none if it contains anything else.
    pub fn search_text(text: &str) -> Option<String> {
        let plain: String = text.chars().filter(|c| !is_layout(*c)).collect();
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

    /// Reads a stored number, or the placeholder of an erased or withheld number. A number that was stored under an
    /// earlier rule stays as it is.
    pub fn stored(text: &str) -> Result<Self, InvalidPhoneNumber> {
        match text {
            ERASED | WITHHELD => Ok(Self(text.to_owned())),
            number if is_plain(number) => Ok(Self(number.to_owned())),
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

/// Returns whether international digits are a number as it is: of a length that its plan has, and without a trunk prefix or
/// another 0 in front.
fn is_usual(digits: &str) -> bool {
    plan::of_digits(digits).is_some_and(|plan| {
        let national = &digits[plan.national_from()..];
        let has_prefix = plan.trunk_prefix.is_some_and(|prefix| national.starts_with(prefix));
        plan.has_length(national.len()) && !has_prefix && !national.starts_with('0')
    })
}

fn read(text: &str, country: Option<Country>) -> Result<String, Reason> {
    let mut written = notation::read(text)?;
    let home = country.and_then(Country::plan);
    let Some((plan, national_from)) = plan_of(&written, home)? else {
        let has_no_code = home.is_none() && !written.has_plus && (7..=15).contains(&written.digits.len());
        return Err(if has_no_code { Reason::NoCode } else { Reason::NoNumber });
    };
    without_marked_prefix(&mut written, plan, national_from)?;
    let has = written.digits.len() - national_from;
    let national = plan.without_trunk_prefix_of(&written.digits[national_from..]);
    for &split in &written.splits {
        let (before, rest) = written.digits.split_at(split);
        let before = plan.without_trunk_prefix_of(before.get(national_from..).unwrap_or_default());
        let is_whole = before.len() >= WHOLE && rest.len() <= EXTENSION && plan.has_length(before.len());
        if !rest.is_empty() && (is_whole || plan.assigns(&before)) {
            return Err(Reason::more(rest));
        }
    }
    let number = format!("+{}{national}", plan.code);
    if !plan.has_length(national.len()) {
        let (code, lengths) = (plan.code, plan.lengths_in_words());
        return Err(Reason::Length { code, lengths, has });
    }
    // The patterns of a plan take long, and most numbers have neither.
    let may_be_more = written.digits[national_from..].starts_with('0') || !written.hyphens.is_empty();
    if may_be_more && !plan.assigns(&national) {
        unassigned(&written, plan, national_from)?;
    }
    match is_plain(&number) {
        true => Ok(number),
        false => Err(Reason::NoNumber),
    }
}

/// Returns an error if digits that the plan does not assign are a number that it assigns with something more.
fn unassigned(written: &Written, plan: &Plan, national_from: usize) -> Result<(), Reason> {
    let national = &written.digits[national_from..];
    if national.strip_prefix('0').is_some_and(|rest| plan.assigns(rest)) {
        return Err(Reason::ZeroInFront(plan.code));
    }
    for &hyphen in &written.hyphens {
        let (before, rest) = written.digits.split_at(hyphen);
        let before = plan.without_trunk_prefix_of(before.get(national_from..).unwrap_or_default());
        if (1..=EXTENSION).contains(&rest.len()) && plan.assigns(&before) {
            return Err(Reason::more(rest));
        }
    }
    Ok(())
}

/// How well international digits are a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    None,
    Possible,
    Assigned,
}

fn fit(international: &str) -> Fit {
    let Some(plan) = plan::of_digits(international) else {
        return Fit::None;
    };
    let national = &international[plan.national_from()..];
    match plan.has_length(national.len()) {
        true if plan.without_trunk_prefix_of(national) == national && plan.assigns(national) => Fit::Assigned,
        true => Fit::Possible,
        false => Fit::None,
    }
}

/// Returns the digits behind `00`, or behind the prefix for calls abroad of the home plan if that leaves a better number.
fn abroad<'t>(digits: &'t str, home: Option<&Plan>) -> Option<&'t str> {
    let usual = digits.strip_prefix("00");
    let own = home.and_then(|home| home.after_prefix_abroad(digits));
    match (usual, own) {
        (Some(usual), Some(own)) if fit(own) <= fit(usual) => Some(usual),
        _ => own.or(usual),
    }
}

/// Returns where the national part of digits without a country code begins. Digits that may be another country's number, or
/// only a part of one, are an error.
fn at_home(digits: &str, home: &Plan) -> Result<usize, Reason> {
    let from = home.national_from_at_home(digits).ok_or(Reason::BothWays(home.code))?;
    let prefix = home.trunk_prefix.unwrap_or_default();
    if from > 0 || (home.demands_trunk_prefix() && digits.starts_with(prefix)) {
        return Ok(from);
    }
    let national = home.without_trunk_prefix_of(digits);
    if fit(digits) == Fit::Assigned && !home.assigns_mobile(&national) {
        let code = plan::of_digits(digits).map_or(home.code, |plan| plan.code);
        return Err(Reason::BothWays(code));
    }
    match home.demands_trunk_prefix() && (national.len() <= WHOLE || !home.assigns(&national)) {
        true => Err(Reason::NoAreaCode(prefix)),
        false => Ok(from),
    }
}

/// Returns the plan of a written number, and where its national part begins. None without a country code.
fn plan_of(written: &Written, home: Option<&'static Plan>) -> Result<Option<(&'static Plan, usize)>, Reason> {
    let digits = written.digits.as_str();
    let abroad = match written.has_plus {
        true => Some(digits),
        false => abroad(digits, home),
    };
    let Some(abroad) = abroad else {
        let Some(home) = home else { return Ok(None) };
        return at_home(digits, home).map(|from| Some((home, from)));
    };
    if abroad.len() < 7 {
        return Ok(None);
    }
    match plan::of_digits(abroad) {
        Some(plan) => Ok(Some((plan, digits.len() - abroad.len() + plan.national_from()))),
        None if abroad.starts_with('0') => Err(Reason::CodeOfZero),
        None => Err(Reason::UnknownCode(abroad[..3].to_owned())),
    }
}

/// Removes a trunk prefix in parentheses behind the country code, as in `+49 (0) 30`.
fn without_marked_prefix(written: &mut Written, plan: &Plan, national_from: usize) -> Result<(), Reason> {
    let marked = written
        .groups
        .iter()
        .find(|group| group.start == national_from)
        .cloned();
    let Some(marked) = marked.filter(|_| national_from > 0) else {
        return Ok(());
    };
    match &written.digits[marked.clone()] {
        prefix if plan.trunk_prefix == Some(prefix) => {
            written.remove(marked);
            Ok(())
        }
        "0" => Err(Reason::MarkedZero(plan.code)),
        _ => Ok(()),
    }
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

    /// Reads what was stored: texts from clients are read by [`PhoneNumber::parse`].
    fn try_from(text: String) -> Result<Self, InvalidPhoneNumber> {
        Self::stored(&text)
    }
}

impl From<PhoneNumber> for String {
    fn from(number: PhoneNumber) -> Self {
        number.0
    }
}

#[cfg(test)]
mod tests;
