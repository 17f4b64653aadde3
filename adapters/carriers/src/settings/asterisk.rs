//! Variables of Asterisk.

use std::net::SocketAddr;

use super::{SettingsError, Variables};
use crate::asterisk::account::{APP, AsteriskAccount, Codec, Media, Template, WEBSOCKET_CLIENT, is_app};

impl Variables<'_> {
    pub(super) fn asterisk(&self) -> Result<Option<AsteriskAccount>, SettingsError> {
        if !self.any(&["ASTERISK_ARI_URL", "ASTERISK_ARI_USER", "ASTERISK_ARI_PASSWORD"]) {
            return Ok(None);
        }
        self.needed("ASTERISK_ARI_URL", "Asterisk")?;
        let app = self.get("ASTERISK_APP").unwrap_or_else(|| APP.to_owned());
        if !is_app(&app) {
            return Err("ASTERISK_APP: write 1 to 40 letters, digits, - and _".into());
        }
        let endpoint = Template::endpoint(&self.needed("ASTERISK_ENDPOINT", "Asterisk")?);
        let refer = self.get("ASTERISK_REFER").map(|text| {
            Template::refer(&text).ok_or("ASTERISK_REFER: write an address such as sip:{number}@sip.example.com")
        });
        Ok(Some(AsteriskAccount {
            ari_url: self.address("ASTERISK_ARI_URL")?.unwrap_or_default(),
            user: self.needed("ASTERISK_ARI_USER", "Asterisk")?,
            password: self.key("ASTERISK_ARI_PASSWORD", "Asterisk")?,
            app,
            endpoint: endpoint
                .ok_or("ASTERISK_ENDPOINT: write how a number is dialed, with {number} once: PJSIP/{number}@trunk")?,
            refer: refer.transpose()?,
            from: self.number("ASTERISK_PHONE_NUMBER")?,
            media: self.asterisk_media()?,
        }))
    }

    fn asterisk_media(&self) -> Result<Media, SettingsError> {
        let way = self.get("ASTERISK_MEDIA").unwrap_or_else(|| "websocket".to_owned());
        match &*way {
            "websocket" => Ok(Media::WebSocket {
                client: self.websocket_client()?,
                codec: self.choice("ASTERISK_CODEC", Codec::named, "slin16, slin, ulaw or alaw")?,
            }),
            "audiosocket" => {
                let listen = self.needed("ASTERISK_AUDIOSOCKET_LISTEN", "audio by AudioSocket")?;
                let listen: SocketAddr = listen.parse().map_err(|_| {
                    "ASTERISK_AUDIOSOCKET_LISTEN: write an IP address and a port, such as 10.0.0.5:9092".to_owned()
                })?;
                let reached_at = self.get("ASTERISK_AUDIOSOCKET_ADDRESS");
                if reached_at.is_none() && listen.ip().is_unspecified() {
                    let name = "ASTERISK_AUDIOSOCKET_ADDRESS";
                    return Err(format!(
                        "{name} is not set: set it to the host and port at which Asterisk reaches {listen}"
                    )
                    .into());
                }
                Ok(Media::AudioSocket {
                    listen,
                    reached_at: reached_at.unwrap_or_else(|| listen.to_string()),
                })
            }
            _ => Err("ASTERISK_MEDIA: write websocket or audiosocket".into()),
        }
    }

    fn websocket_client(&self) -> Result<String, SettingsError> {
        let client = self
            .get("ASTERISK_WEBSOCKET_CLIENT")
            .unwrap_or_else(|| WEBSOCKET_CLIENT.to_owned());
        match is_app(&client) {
            true => Ok(client),
            false => Err("ASTERISK_WEBSOCKET_CLIENT: write the name of a section of websocket_client.conf".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::CarrierSettings;

    fn read(variables: &[(&str, &str)]) -> Result<CarrierSettings, SettingsError> {
        CarrierSettings::read(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const ASTERISK: [(&str, &str); 4] = [
        ("ASTERISK_ARI_URL", "http://10.0.0.7:8088/ari/"),
        ("ASTERISK_ARI_USER", "ringback"),
        ("ASTERISK_ARI_PASSWORD", "tell-nobody"),
        ("ASTERISK_ENDPOINT", "PJSIP/{number}@trunk"),
    ];

    #[test]
    fn an_asterisk_is_read() {
        let settings = read(&ASTERISK).unwrap();
        assert!(!format!("{settings:?}").contains("tell-nobody"));
        let asterisk = settings.asterisk.unwrap();
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
        let asterisk = read(&[&ASTERISK[..], &more].concat()).unwrap().asterisk.unwrap();
        assert!(asterisk.refer.is_some() && asterisk.from.is_some() && asterisk.app == "node-2");
        let listen = "0.0.0.0:9092".parse().unwrap();
        let reached_at = "ringback.lan:9092".to_owned();
        assert_eq!(asterisk.media, Media::AudioSocket { listen, reached_at });
    }

    #[test]
    fn what_is_wrong_of_asterisk_is_named() {
        for (changed, value, named) in [
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
            let mut variables = ASTERISK.to_vec();
            variables.retain(|(name, _)| *name != changed);
            variables.push((changed, value));
            let why = read(&variables).unwrap_err().to_string();
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
            let why = read(&[&ASTERISK[..], &more].concat()).unwrap_err().to_string();
            assert!(why.starts_with(named), "{why}");
        }
    }
}
