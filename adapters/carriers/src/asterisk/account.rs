//! An Asterisk of one's own: where its REST interface (ARI) is, who asks, and how calls and their audio go.

use std::net::SocketAddr;

use domain::phone_number::PhoneNumber;
use media::format::{Encoding, LineFormat};

use net::key::Key;

/// The application that calls are handed to when nothing else is said.
pub const APP: &str = "ringback";
/// The section of `websocket_client.conf` when nothing else is said.
pub const WEBSOCKET_CLIENT: &str = "ringback";
/// Where a number goes in a template.
const NUMBER: &str = "{number}";
/// The same without its plus sign.
const DIGITS: &str = "{digits}";

/// An Asterisk.
#[derive(Debug, Clone)]
pub struct AsteriskAccount {
    /// `http://`, host, port and `/ari`, without a slash at the end.
    pub ari_url: String,
    /// A user of `ari.conf`.
    pub user: String,
    /// Its password.
    pub password: Key,
    /// The Stasis application of this node, and of no other.
    pub app: String,
    /// How a number is dialed.
    pub endpoint: Template,
    /// What a number is called in a SIP REFER; none where only SIP addresses can be handed on to.
    pub refer: Option<Template>,
    /// Caller ID where the agent has none.
    pub from: Option<PhoneNumber>,
    /// How audio comes and goes.
    pub media: Media,
}

/// How audio comes and goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Media {
    /// Asterisk opens a WebSocket (`chan_websocket`).
    WebSocket {
        /// The section of `websocket_client.conf` that says where.
        client: String,
        /// What it carries.
        codec: Codec,
    },
    /// Asterisk opens a TCP connection (`chan_audiosocket`), without a password and in the clear.
    AudioSocket {
        /// Where this service listens.
        listen: SocketAddr,
        /// What Asterisk connects to, host and port.
        reached_at: String,
    },
}

/// What a media WebSocket carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Codec {
    /// Linear 16-bit at 16 kHz.
    #[default]
    Slin16,
    /// Linear 16-bit at 8 kHz.
    Slin,
    /// Mu-law at 8 kHz.
    Ulaw,
    /// A-law at 8 kHz.
    Alaw,
}

impl Codec {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Slin16, Self::Slin, Self::Ulaw, Self::Alaw];

    /// Asterisk's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slin16 => "slin16",
            Self::Slin => "slin",
            Self::Ulaw => "ulaw",
            Self::Alaw => "alaw",
        }
    }

    /// The one of this name, in either case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|codec| codec.name().eq_ignore_ascii_case(name))
    }

    /// The line's format with this codec.
    pub fn format(self) -> LineFormat {
        let (encoding, sample_rate) = match self {
            Self::Slin16 => (Encoding::Linear16, 16_000),
            Self::Slin => (Encoding::Linear16, 8_000),
            Self::Ulaw => (Encoding::MuLaw, 8_000),
            Self::Alaw => (Encoding::ALaw, 8_000),
        };
        LineFormat { encoding, sample_rate }
    }
}

/// Text with one place for a number: `{number}` with its plus sign, `{digits}` without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    /// How a number is dialed: a technology, a slash, and a place for the number.
    pub fn endpoint(text: &str) -> Option<Self> {
        let (technology, rest) = text.split_once('/')?;
        let named = !technology.is_empty() && technology.bytes().all(|b| b.is_ascii_alphanumeric());
        (named && !rest.is_empty()).then(|| Self::parse(text)).flatten()
    }

    /// What a number is called in a REFER: a `sip:`, `sips:` or `tel:` address.
    pub fn refer(text: &str) -> Option<Self> {
        let address = ["sip:", "sips:", "tel:"].iter().any(|scheme| text.starts_with(scheme));
        address.then(|| Self::parse(text)).flatten()
    }

    fn parse(text: &str) -> Option<Self> {
        let places = text.matches(NUMBER).count() + text.matches(DIGITS).count();
        let plain = text.bytes().all(|b| b.is_ascii_graphic());
        (places == 1 && plain).then(|| Self(text.to_owned()))
    }

    /// The text with this number.
    pub fn with(&self, number: &PhoneNumber) -> String {
        let number = number.as_str();
        self.0
            .replace(NUMBER, number)
            .replace(DIGITS, number.trim_start_matches('+'))
    }

    /// What dials a SIP address where this dials a number: by the same trunk, where the template names one
    /// (`PJSIP/{number}@trunk` and `PJSIP/trunk/sip:{number}@host` become `PJSIP/trunk/sip:…`).
    pub fn with_sip(&self, address: &str) -> String {
        let rest = self.0.strip_prefix("PJSIP/").unwrap_or_default();
        let by = match (rest.split_once('/'), rest.rsplit_once('@')) {
            (Some((trunk, _)), _) | (None, Some((_, trunk))) => trunk,
            (None, None) => "",
        };
        if by.is_empty() || by.contains('{') {
            return format!("PJSIP/{address}");
        }
        format!("PJSIP/{by}/{address}")
    }
}

/// Whether an application may have this name: it is part of channels' names and of addresses.
pub fn is_app(name: &str) -> bool {
    let plain = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    (1..=40).contains(&name.len()) && plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_one_place_for_the_number() {
        let number = PhoneNumber::parse("+14155550100").unwrap();
        for (text, dialed) in [
            ("PJSIP/{number}@trunk", "PJSIP/+14155550100@trunk"),
            (
                "PJSIP/trunk/sip:{digits}@sip.example.com",
                "PJSIP/trunk/sip:14155550100@sip.example.com",
            ),
            ("Local/{digits}@outbound", "Local/14155550100@outbound"),
        ] {
            assert_eq!(Template::endpoint(text).unwrap().with(&number), dialed);
        }
        for wrong in [
            "",
            "PJSIP",
            "PJSIP/trunk",
            "/{number}",
            "P J/{number}",
            "PJSIP/{number}{digits}",
            "PJSIP/{number} ",
        ] {
            assert_eq!(Template::endpoint(wrong), None, "{wrong}");
        }
        assert!(Template::refer("sip:{number}@sip.example.com").is_some());
        assert!(Template::refer("PJSIP/{number}@trunk").is_none());
    }

    #[test]
    fn a_sip_address_goes_by_the_same_trunk() {
        for (template, dialed) in [
            ("PJSIP/{number}@trunk", "PJSIP/trunk/sip:ada@example.com"),
            (
                "PJSIP/trunk/sip:{digits}@example.net",
                "PJSIP/trunk/sip:ada@example.com",
            ),
            ("PJSIP/{number}", "PJSIP/sip:ada@example.com"),
            ("Local/{digits}@outbound", "PJSIP/sip:ada@example.com"),
        ] {
            let template = Template::endpoint(template).unwrap();
            assert_eq!(template.with_sip("sip:ada@example.com"), dialed);
        }
    }

    #[test]
    fn names_are_plain() {
        assert!(is_app("ringback") && is_app("node_2-b"));
        for wrong in ["", "a.b", "a b", "a/b", "é"] {
            assert!(!is_app(wrong), "{wrong}");
        }
        for codec in Codec::ALL {
            assert_eq!(Codec::named(&codec.name().to_uppercase()), Some(codec));
        }
        assert_eq!(Codec::named("opus"), None);
    }
}
