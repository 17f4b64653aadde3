//! Account of a self-hosted Asterisk: the address of its REST interface (ARI), credentials, and the paths of
//! calls and audio.

use std::net::SocketAddr;

use domain::phone_number::PhoneNumber;
use media::format::{Encoding, LineFormat};

use crate::kind::{
    Choice,
    variables::{SettingsError, Variables},
};
use net::key::Key;

/// Name of the carrier in settings, routes and stored rows.
pub const NAME: &str = "asterisk";
/// Default Stasis application.
pub const APP: &str = "ringback";
/// Default section of `websocket_client.conf`.
pub const WEBSOCKET_CLIENT: &str = "ringback";
/// Placeholder for a number in a template.
const NUMBER: &str = "{number}";
/// Placeholder for a number without its plus sign.
const DIGITS: &str = "{digits}";

/// Account of an Asterisk.
#[derive(Debug, Clone)]
pub struct AsteriskAccount {
    /// ARI URL: `http://`, host, port and `/ari`, without a trailing slash.
    pub ari_url: String,
    /// User in `ari.conf`.
    pub user: String,
    /// Password of the user.
    pub password: Key,
    /// Stasis application of this node, used by no other node.
    pub app: String,
    /// Endpoint template to dial a number.
    pub endpoint: Template,
    /// Template of a number's address in a SIP REFER. Without it, only SIP addresses can be transfer destinations.
    pub refer: Option<Template>,
    /// Caller ID if the agent has none.
    pub from: Option<PhoneNumber>,
    /// Transport of the audio.
    pub media: Media,
}

impl AsteriskAccount {
    /// Reads the account.
    pub(super) fn read(variables: &Variables<'_>) -> Result<Self, SettingsError> {
        variables.needed("ASTERISK_ARI_URL")?;
        let app = variables.get("ASTERISK_APP").unwrap_or_else(|| APP.to_owned());
        if !is_app(&app) {
            return Err("ASTERISK_APP: write 1 to 40 letters, digits, - and _".into());
        }
        let endpoint = Template::endpoint(&variables.needed("ASTERISK_ENDPOINT")?);
        let refer = variables.get("ASTERISK_REFER").map(|text| {
            Template::refer(&text).ok_or("ASTERISK_REFER: write an address such as sip:{number}@sip.example.com")
        });
        Ok(Self {
            ari_url: variables.address("ASTERISK_ARI_URL")?.unwrap_or_default(),
            user: variables.needed("ASTERISK_ARI_USER")?,
            password: variables.key("ASTERISK_ARI_PASSWORD")?,
            app,
            endpoint: endpoint
                .ok_or("ASTERISK_ENDPOINT: write how a number is dialed, with {number} once: PJSIP/{number}@trunk")?,
            refer: refer.transpose()?,
            from: variables.number("ASTERISK_PHONE_NUMBER")?,
            media: Media::read(variables)?,
        })
    }
}

/// Transport of the audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Media {
    /// Asterisk opens a WebSocket (`chan_websocket`).
    WebSocket {
        /// Section of `websocket_client.conf` with our address.
        client: String,
        /// Codec of the audio.
        codec: Codec,
    },
    /// Asterisk opens a TCP connection (`chan_audiosocket`), unauthenticated and unencrypted.
    AudioSocket {
        /// Address that this service listens on.
        listen: SocketAddr,
        /// Host and port that Asterisk connects to.
        reached_at: String,
    },
}

impl Media {
    fn read(variables: &Variables<'_>) -> Result<Self, SettingsError> {
        let way = variables
            .get("ASTERISK_MEDIA")
            .unwrap_or_else(|| "websocket".to_owned());
        match &*way {
            "websocket" => Ok(Self::WebSocket {
                client: websocket_client(variables)?,
                codec: variables.choice("ASTERISK_CODEC")?,
            }),
            "audiosocket" => {
                let listen = variables
                    .of("audio by AudioSocket")
                    .needed("ASTERISK_AUDIOSOCKET_LISTEN")?;
                let listen: SocketAddr = listen.parse().map_err(|_| {
                    "ASTERISK_AUDIOSOCKET_LISTEN: write an IP address and a port, such as 10.0.0.5:9092".to_owned()
                })?;
                let reached_at = variables.get("ASTERISK_AUDIOSOCKET_ADDRESS");
                if reached_at.is_none() && listen.ip().is_unspecified() {
                    let name = "ASTERISK_AUDIOSOCKET_ADDRESS";
                    return Err(format!(
                        "{name} is not set: set it to the host and port at which Asterisk reaches {listen}"
                    )
                    .into());
                }
                Ok(Self::AudioSocket {
                    listen,
                    reached_at: reached_at.unwrap_or_else(|| listen.to_string()),
                })
            }
            _ => Err("ASTERISK_MEDIA: write websocket or audiosocket".into()),
        }
    }
}

fn websocket_client(variables: &Variables<'_>) -> Result<String, SettingsError> {
    let client = variables
        .get("ASTERISK_WEBSOCKET_CLIENT")
        .unwrap_or_else(|| WEBSOCKET_CLIENT.to_owned());
    match is_app(&client) {
        true => Ok(client),
        false => Err("ASTERISK_WEBSOCKET_CLIENT: write the name of a section of websocket_client.conf".into()),
    }
}

/// Codec of a media WebSocket.
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

impl Choice for Codec {
    const ALL: &'static [(&'static str, Self)] = &[
        ("slin16", Self::Slin16),
        ("slin", Self::Slin),
        ("ulaw", Self::Ulaw),
        ("alaw", Self::Alaw),
    ];
}

impl Codec {
    /// Returns the line format with this codec.
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

/// Text with one placeholder for a number: `{number}` with its plus sign, or `{digits}` without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    /// Parses an endpoint template: a technology, a slash, and text with a placeholder for the number.
    pub fn endpoint(text: &str) -> Option<Self> {
        let (technology, rest) = text.split_once('/')?;
        let named = !technology.is_empty() && technology.bytes().all(|b| b.is_ascii_alphanumeric());
        (named && !rest.is_empty()).then(|| Self::parse(text)).flatten()
    }

    /// Parses a REFER template: a `sip:`, `sips:` or `tel:` address.
    pub fn refer(text: &str) -> Option<Self> {
        let address = ["sip:", "sips:", "tel:"].iter().any(|scheme| text.starts_with(scheme));
        address.then(|| Self::parse(text)).flatten()
    }

    fn parse(text: &str) -> Option<Self> {
        let places = text.matches(NUMBER).count() + text.matches(DIGITS).count();
        let plain = text.bytes().all(|b| b.is_ascii_graphic());
        (places == 1 && plain).then(|| Self(text.to_owned()))
    }

    /// Returns the text with this number.
    pub fn with(&self, number: &PhoneNumber) -> String {
        let number = number.as_str();
        self.0
            .replace(NUMBER, number)
            .replace(DIGITS, number.trim_start_matches('+'))
    }

    /// Returns the endpoint that dials a SIP address, through the same trunk if the template names one
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

/// Returns whether a name is valid for an application. It becomes part of channel names and URLs.
pub fn is_app(name: &str) -> bool {
    let plain = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    (1..=40).contains(&name.len()) && plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        asterisk::KIND,
        kind::variables::tests::{account, changed, refused},
    };

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
        for (_, codec) in Codec::ALL.iter().copied() {
            assert_eq!(Codec::named(&codec.name().to_uppercase()), Some(codec));
        }
        assert_eq!(Codec::named("opus"), None);
    }

    const ASTERISK: [(&str, &str); 4] = [
        ("ASTERISK_ARI_URL", "http://10.0.0.7:8088/ari/"),
        ("ASTERISK_ARI_USER", "ringback"),
        ("ASTERISK_ARI_PASSWORD", "tell-nobody"),
        ("ASTERISK_ENDPOINT", "PJSIP/{number}@trunk"),
    ];

    #[test]
    fn an_asterisk_is_read() {
        let asterisk = account(AsteriskAccount::read, &ASTERISK).unwrap();
        assert!(!format!("{asterisk:?}").contains("tell-nobody"));
        assert_eq!(
            (&*asterisk.ari_url, &*asterisk.app),
            ("http://10.0.0.7:8088/ari", "ringback")
        );
        let client = "ringback".to_owned();
        let codec = Codec::Slin16;
        assert_eq!(asterisk.media, Media::WebSocket { client, codec });
        let more = [
            ("ASTERISK_APP", "node-2"),
            ("ASTERISK_MEDIA", "audiosocket"),
            ("ASTERISK_AUDIOSOCKET_LISTEN", "0.0.0.0:9092"),
            ("ASTERISK_AUDIOSOCKET_ADDRESS", "ringback.lan:9092"),
            ("ASTERISK_PHONE_NUMBER", "+15550000001"),
            ("ASTERISK_REFER", "sip:{number}@sip.example.com"),
        ];
        let asterisk = account(AsteriskAccount::read, &[&ASTERISK[..], &more].concat()).unwrap();
        assert!(asterisk.refer.is_some() && asterisk.from.is_some() && asterisk.app == "node-2");
        let listen = "0.0.0.0:9092".parse().unwrap();
        let reached_at = "ringback.lan:9092".to_owned();
        assert_eq!(asterisk.media, Media::AudioSocket { listen, reached_at });
    }

    #[test]
    fn what_is_wrong_of_asterisk_is_named() {
        for (name, value, named) in [
            ("ASTERISK_ARI_URL", "", "ASTERISK_ARI_URL is not set"),
            ("ASTERISK_ARI_URL", "10.0.0.7:8088", "ASTERISK_ARI_URL: "),
            ("ASTERISK_ARI_USER", "", "ASTERISK_ARI_USER is not set"),
            ("ASTERISK_ARI_PASSWORD", "", "ASTERISK_ARI_PASSWORD is not set"),
            ("ASTERISK_ENDPOINT", "", "ASTERISK_ENDPOINT is not set"),
            ("ASTERISK_ENDPOINT", "PJSIP/trunk", "ASTERISK_ENDPOINT: write how"),
            ("ASTERISK_REFER", "{number}", "ASTERISK_REFER: write an address"),
            ("ASTERISK_APP", "a.b", "ASTERISK_APP: write 1 to 40"),
            (
                "ASTERISK_MEDIA",
                "rtp",
                "ASTERISK_MEDIA: write websocket or audiosocket",
            ),
            (
                "ASTERISK_MEDIA",
                "audiosocket",
                "ASTERISK_AUDIOSOCKET_LISTEN is not set",
            ),
            ("ASTERISK_CODEC", "opus", "ASTERISK_CODEC: write slin16"),
            ("ASTERISK_WEBSOCKET_CLIENT", "a/b", "ASTERISK_WEBSOCKET_CLIENT: write"),
        ] {
            let why = refused(&KIND, &changed(&ASTERISK, &[(name, value)]));
            assert!(why.starts_with(named), "{why}");
        }
        for (listen, named) in [
            ("9092", "ASTERISK_AUDIOSOCKET_LISTEN: write an IP address"),
            ("[::]:9092", "ASTERISK_AUDIOSOCKET_ADDRESS is not set"),
        ] {
            let more = [
                ("ASTERISK_MEDIA", "audiosocket"),
                ("ASTERISK_AUDIOSOCKET_LISTEN", listen),
            ];
            let why = refused(&KIND, &[&ASTERISK[..], &more].concat());
            assert!(why.starts_with(named), "{why}");
        }
    }
}
