//! Rules for texts of an agent. Each returns the normal form to store, or how the text breaks it.

use chrono_tz::Tz;
use serde_json::Value;
use url::Url;

use crate::{
    email,
    phone_number::{InvalidPhoneNumber, PhoneNumber},
    problem::shown,
};

/// Longest SIP address, in characters.
pub(crate) const SIP_CHARS: usize = 512;

/// How a text breaks its rule.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("must not be blank; leave it out (or set it to null) to use the default")]
    Blank,
    #[error("{0} is not an IANA time zone name, such as \"Europe/Berlin\"")]
    Timezone(String),
    #[error("{0} is not a language code, such as \"en\" or \"pt-BR\"")]
    Language(String),
    #[error(transparent)]
    PhoneNumber(#[from] InvalidPhoneNumber),
    #[error("{0} contains {1}; the model uses the label as markup, so leave out <, >, & and quotes")]
    VoiceLabel(String, char),
    #[error("{0} is not the beginning of a phone number: write + and 1 to 15 digits, such as \"+1212\"")]
    Prefix(String),
    #[error(
        "has a user name or a password before its host: leave them out, because deliveries are signed, or use a key in the query"
    )]
    Password,
    #[error("{0} is not a web address: it must begin with https:// or http:// and name a host")]
    WebAddress(String),
    #[error("{0} is not a SIP address, such as \"sip:desk@example.com\"")]
    SipUri(String),
    #[error("{0} is not an e-mail address, such as \"ada@example.com\"")]
    EmailAddress(String),
}

/// Returns the text if it obeys its rule, and otherwise the error with the text as messages show it.
fn checked(text: &str, obeys: bool, broken: fn(String) -> Broken) -> Result<String, Broken> {
    match obeys {
        true => Ok(text.to_owned()),
        false => Err(broken(shown(&Value::from(text)))),
    }
}

/// Accepts any text, even a blank one.
pub(crate) fn any(text: &str) -> Result<String, Broken> {
    Ok(text.to_owned())
}

/// Accepts any text except a blank one.
pub(crate) fn not_blank(text: &str) -> Result<String, Broken> {
    checked(text, !text.trim().is_empty(), |_| Broken::Blank)
}

/// Accepts an IANA time zone.
pub(crate) fn timezone(text: &str) -> Result<String, Broken> {
    checked(text, text.parse::<Tz>().is_ok(), Broken::Timezone)
}

/// Accepts a BCP 47 language code such as `en` or `pt-BR`. It must start with two or three letters, because
/// longer first parts are reserved and none was ever assigned. So the name of a language is not accepted.
pub(crate) fn language(text: &str) -> Result<String, Broken> {
    let mut parts = text.split('-');
    let first = parts.next().unwrap_or_default();
    let sound = (2..=3).contains(&first.len())
        && first.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts.all(|part| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    checked(text, sound, Broken::Language)
}

/// Accepts a phone number and normalises it to E.164.
pub(crate) fn phone_number(text: &str) -> Result<String, Broken> {
    Ok(PhoneNumber::parse(text)?.into())
}

/// Accepts a label that can mark a voice in the model's markup, as in `<Ana>…</Ana>`.
pub(crate) fn voice_label(text: &str) -> Result<String, Broken> {
    match text.chars().find(|c| "<>&\"'".contains(*c)) {
        None => Ok(text.to_owned()),
        Some(sign) => Err(Broken::VoiceLabel(shown(&Value::from(text)), sign)),
    }
}

/// Accepts the beginning of phone numbers: `+` and 1 to 15 digits.
pub(crate) fn prefix(text: &str) -> Result<String, Broken> {
    let plain: String = text
        .chars()
        .filter(|c| !matches!(c, ' ' | '-' | '(' | ')' | '.'))
        .collect();
    let digits = plain.strip_prefix('+').unwrap_or_default();
    let sound = (1..=15).contains(&digits.len())
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    checked(text, sound, Broken::Prefix).map(|_| plain)
}

/// Accepts an `http` or `https` URL.
pub(crate) fn web_address(text: &str) -> Result<String, Broken> {
    let text = text.trim();
    // The URL parser skips characters that do not belong in a URL.
    let is_plain = text.contains("://") && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    let url = Url::parse(text);
    if let Ok(url) = &url
        && (!url.username().is_empty() || url.password().is_some())
    {
        return Err(Broken::Password);
    }
    let sound = url.is_ok_and(|url| is_plain && matches!(url.scheme(), "http" | "https") && url.has_host());
    checked(text, sound, Broken::WebAddress)
}

/// Returns whether a SIP address can be part of a carrier's instructions.
pub(crate) fn can_be_dialed(address: &str) -> bool {
    address
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"\"<>\\".contains(&byte))
}

/// Accepts a SIP address.
pub(crate) fn sip_uri(text: &str) -> Result<String, Broken> {
    let rest = text.strip_prefix("sip:").or_else(|| text.strip_prefix("sips:"));
    let sound = rest.is_some_and(|rest| !rest.is_empty()) && can_be_dialed(text);
    checked(text, sound, Broken::SipUri)
}

/// Accepts an e-mail address.
pub(crate) fn email_address(text: &str) -> Result<String, Broken> {
    checked(text, email::is_valid(text), Broken::EmailAddress)
}
