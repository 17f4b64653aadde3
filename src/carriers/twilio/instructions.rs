//! What a call does once it is answered, in TwiML: it is connected to our media socket, and ends when that is closed.
//! Pure.
//!
//! Source: <https://www.twilio.com/docs/voice/twiml/stream>

/// Instructions that connect a call to the socket at `address`. `token` is shown when it is opened, by carriers that do
/// not sign that request.
pub fn connect(address: &str, token: Option<&str>) -> String {
    let address = escaped(address);
    let token = token.map_or_else(String::new, |token| {
        format!(r#" authBearerToken="{}" codec="PCMU@8000h""#, escaped(token))
    });
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="{address}"{token}/></Connect></Response>"#
    )
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_connected_to_its_socket() {
        assert_eq!(
            connect("wss://a.example/carriers/twilio/media/x.y", None),
            r#"<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="wss://a.example/carriers/twilio/media/x.y"/></Connect></Response>"#
        );
        let signalwire = connect("wss://a/b", Some("t+/="));
        assert!(
            signalwire.contains(r#"authBearerToken="t+/=" codec="PCMU@8000h"/>"#),
            "{signalwire}"
        );
    }

    #[test]
    fn no_address_breaks_out_of_its_attribute() {
        let text = connect(r#"wss://a/"/><Hangup/>&"#, None);
        assert!(text.contains(r#"url="wss://a/&quot;/>&lt;Hangup/>&amp;"/>"#), "{text}");
    }
}
