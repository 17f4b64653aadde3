//! Rules for texts of an agent. Each returns the normal form to store, or describes the problem.

use chrono_tz::Tz;
use serde_json::Value;
use url::Url;

use super::shape::shown;
use crate::{email, phone_number::PhoneNumber};

fn quoted(text: &str) -> String {
    shown(&Value::from(text))
}

/// Accepts any text, even a blank one.
pub(super) fn any(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

/// Accepts any text except a blank one.
pub(super) fn not_blank(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("must not be blank; leave it out (or set it to null) to use the default".into())
    } else {
        Ok(text.to_owned())
    }
}

/// Accepts an IANA time zone.
pub(super) fn timezone(text: &str) -> Result<String, String> {
    match text.parse::<Tz>() {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!(
            "{} is not an IANA time zone name, such as \"Europe/Berlin\"",
            quoted(text)
        )),
    }
}

/// Accepts a BCP 47 language code such as `en` or `pt-BR`. It must start with two or three letters, because
/// longer first parts are reserved and none was ever assigned. So the name of a language is not accepted.
pub(super) fn language(text: &str) -> Result<String, String> {
    let mut parts = text.split('-');
    let first = parts.next().unwrap_or_default();
    let sound = (2..=3).contains(&first.len())
        && first.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts.all(|part| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    if sound {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "{} is not a language code, such as \"en\" or \"pt-BR\"",
            quoted(text)
        ))
    }
}

/// Accepts a phone number and normalises it to E.164.
pub(super) fn phone_number(text: &str) -> Result<String, String> {
    PhoneNumber::parse(text)
        .map(String::from)
        .map_err(|error| error.to_string())
}

/// Accepts a label that can mark a voice in the model's markup, as in `<Ana>…</Ana>`.
pub(super) fn voice_label(text: &str) -> Result<String, String> {
    match text.chars().find(|c| "<>&\"'".contains(*c)) {
        None => Ok(text.to_owned()),
        Some(sign) => Err(format!(
            "{} contains {sign}; the model uses the label as markup, so leave out <, >, & and quotes",
            quoted(text)
        )),
    }
}

/// Accepts the beginning of phone numbers: `+` and 1 to 15 digits.
pub(super) fn prefix(text: &str) -> Result<String, String> {
    let plain: String = text
        .chars()
        .filter(|c| !matches!(c, ' ' | '-' | '(' | ')' | '.'))
        .collect();
    let digits = plain.strip_prefix('+').unwrap_or_default();
    let sound = (1..=15).contains(&digits.len())
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    if sound {
        Ok(plain)
    } else {
        Err(format!(
            "{} is not the beginning of a phone number: write + and 1 to 15 digits, such as \"+1212\"",
            quoted(text)
        ))
    }
}

/// Accepts an `http` or `https` URL.
pub(super) fn web_address(text: &str) -> Result<String, String> {
    let text = text.trim();
    // The URL parser skips characters that do not belong in a URL.
    let is_plain = text.contains("://") && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    match Url::parse(text) {
        Ok(url) if !url.username().is_empty() || url.password().is_some() => Err(
            "has a user name or a password before its host: leave them out, because deliveries are signed, or use a key in the query"
                .into(),
        ),
        Ok(url) if is_plain && matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(text.to_owned()),
        Ok(_) | Err(_) => Err(format!(
            "{} is not a web address: it must begin with https:// or http:// and name a host",
            quoted(text)
        )),
    }
}

/// Returns whether a SIP address can be part of a carrier's instructions.
pub(super) fn can_be_dialed(address: &str) -> bool {
    address
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"\"<>\\".contains(&byte))
}

/// Accepts a SIP address.
pub(super) fn sip_uri(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("sip:").or_else(|| text.strip_prefix("sips:"));
    match rest {
        Some(rest) if !rest.is_empty() && can_be_dialed(text) => Ok(text.to_owned()),
        Some(_) | None => Err(format!(
            "{} is not a SIP address, such as \"sip:desk@example.com\"",
            quoted(text)
        )),
    }
}

/// Accepts an e-mail address.
pub(super) fn email_address(text: &str) -> Result<String, String> {
    if email::is_valid(text) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "{} is not an e-mail address, such as \"ada@example.com\"",
            quoted(text)
        ))
    }
}
