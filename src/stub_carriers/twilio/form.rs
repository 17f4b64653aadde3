//! Forms as Twilio sends and signs them, and the attributes of its instructions. Pure.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use hmac::{Hmac, Mac};
use sha1::Sha1;

/// Base64 of the HMAC-SHA1 of the address and all fields by name.
pub(super) fn sign(key: &str, address: &str, form: &BTreeMap<String, String>) -> String {
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(key.as_bytes()) else {
        return String::new();
    };
    mac.update(address.as_bytes());
    for (name, value) in form {
        mac.update(name.as_bytes());
        mac.update(value.as_bytes());
    }
    BASE64.encode(mac.finalize().into_bytes())
}

/// The `<Stream>` that a call is connected to: an attribute of it.
pub(super) fn stream_attribute(twiml: &str, name: &str) -> Option<String> {
    let (_, stream) = twiml.split_once("<Connect><Stream ")?;
    let (attributes, _) = stream.split_once("/></Connect></Response>")?;
    let (_, value) = attributes.split_once(&format!("{name}=\""))?;
    let (value, _) = value.split_once('"')?;
    Some(value.replace("&quot;", "\"").replace("&lt;", "<").replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_signed_as_twilio_does() {
        let fields = [
            ("CallSid", "CA1234567890ABCDE"),
            ("From", "+14155550100"),
            ("To", "+14155550199"),
            ("CallStatus", "completed"),
            ("Digits", ""),
        ];
        let form = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let signature = sign("12345", "https://example.com/voice/status?tenant=7", &form.into());
        assert_eq!(signature, "XDLeLhpus51zBR7iDDWnIyWtWNg=");
    }

    #[test]
    fn instructions_are_read() {
        let twiml = r#"<Response><Connect><Stream url="ws://a/b&amp;c" x="1"/></Connect></Response>"#;
        assert_eq!(stream_attribute(twiml, "url").as_deref(), Some("ws://a/b&c"));
        assert_eq!(stream_attribute(twiml, "y"), None);
        assert_eq!(stream_attribute("<Response><Hangup/></Response>", "url"), None);
    }
}
