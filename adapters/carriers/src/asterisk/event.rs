//! ARI's events and channels, with the fields that we use. Parsed tolerantly, because versions differ. Pure.
//!
//! Source: `rest-api/api-docs/events.json` and `channels.json` of Asterisk.

use serde::Deserialize;
use serde_json::Value;

use super::cause::Gone;

/// A channel, as in events and lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Channel {
    /// Id of the channel.
    pub id: String,
    /// State: `Down`, `Rsrved`, `OffHook`, `Dialing`, `Ring`, `Ringing`, `Up`, `Busy` …
    pub state: String,
    /// Calling party.
    pub caller: Party,
    /// Current position in the dialplan.
    pub dialplan: Dialplan,
}

/// A party of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Party {
    /// Number of the party; empty if it is withheld.
    pub number: String,
}

/// A position in the dialplan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Dialplan {
    /// Extension: the number that was called.
    pub exten: String,
    /// Application that runs there.
    pub app_name: String,
    /// Arguments of the application.
    pub app_data: String,
}

impl Channel {
    /// Returns whether the channel is answered.
    pub fn is_up(&self) -> bool {
        self.state == "Up"
    }

    /// Returns whether the far end rings.
    pub fn is_ringing(&self) -> bool {
        self.state == "Ringing"
    }

    /// Returns the dialplan's arguments to our application after its name, if the channel is in it.
    pub fn in_app(&self, app: &str) -> Option<Vec<String>> {
        let mut data = self.dialplan.app_data.split(',').map(str::to_owned);
        let ours = self.dialplan.app_name == "Stasis" && data.next()? == app;
        ours.then(|| data.collect())
    }
}

/// Information in an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A channel is under our control.
    Entered {
        /// The channel.
        channel: Box<Channel>,
        /// Arguments from the dialplan.
        args: Vec<String>,
    },
    /// A channel's state changed.
    Changed(Box<Channel>),
    /// Progress of a channel's dial.
    Dial {
        /// Id of the channel that is called.
        peer: String,
        /// Dial status: `RINGING`, `PROGRESS`, `ANSWER`, `BUSY`, `NOANSWER`, `CANCEL`, `CONGESTION` or
        /// `CHANUNAVAIL`; empty at first.
        status: String,
    },
    /// A channel no longer exists.
    Destroyed {
        /// Id of the channel.
        id: String,
        /// Cause of its end.
        gone: Gone,
    },
    /// Another program has replaced us: an application has one socket.
    Replaced,
    /// Nothing that matters here.
    Nothing,
}

/// A malformed event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed event: {0}")]
pub struct EventError(String);

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    args: Option<Vec<String>>,
    #[serde(default)]
    channel: Option<Channel>,
    #[serde(default)]
    peer: Option<Channel>,
    #[serde(default)]
    dialstatus: Option<String>,
    #[serde(default)]
    cause: Value,
    #[serde(default)]
    cause_txt: Option<String>,
    #[serde(default)]
    tech_cause: Value,
}

/// Reads a number, written as one or as text.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    }
}

/// Parses an event.
/// An unknown kind of event is [`News::Nothing`].
pub fn parse(text: &str) -> Result<News, EventError> {
    let event: Event = serde_json::from_str(text).map_err(|error| EventError(error.to_string()))?;
    let channel = |event: &mut Event| {
        let channel = event.channel.take().filter(|channel| !channel.id.is_empty());
        channel.ok_or_else(|| EventError(format!("`{}` without its channel", event.kind)))
    };
    let mut event = event;
    Ok(match &*event.kind {
        "StasisStart" => News::Entered {
            channel: Box::new(channel(&mut event)?),
            args: event.args.unwrap_or_default(),
        },
        "ChannelStateChange" => News::Changed(Box::new(channel(&mut event)?)),
        "Dial" => {
            let peer = event.peer.take().filter(|peer| !peer.id.is_empty());
            let peer = peer.ok_or_else(|| EventError("`Dial` without its peer".to_owned()))?;
            News::Dial {
                peer: peer.id,
                status: event.dialstatus.unwrap_or_default(),
            }
        }
        "ChannelDestroyed" => News::Destroyed {
            id: channel(&mut event)?.id,
            gone: Gone {
                cause: number(&event.cause).unwrap_or_default(),
                words: event.cause_txt.unwrap_or_default(),
                technical: number(&event.tech_cause).filter(|cause| *cause > 0),
            },
        },
        "ApplicationReplaced" => News::Replaced,
        _ => News::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn channel(state: &str) -> Value {
        json!({
            "id": "1700000000.12", "name": "PJSIP/trunk-00000001", "state": state, "protocol_id": "x",
            "caller": { "name": "", "number": "+14155550100" }, "connected": { "name": "", "number": "" },
            "accountcode": "", "creationtime": "2026-01-01T00:00:00.000+0000", "language": "en",
            "dialplan": { "context": "from-trunk", "exten": "+15550000001", "priority": 3, "app_name": "Stasis", "app_data": "ringback,a,b" },
        })
    }

    fn read(event: &Value) -> News {
        parse(&event.to_string()).unwrap()
    }

    #[test]
    fn what_counts_is_read() {
        let News::Entered { channel: entered, args } = read(
            &json!({ "type": "StasisStart", "application": "ringback", "args": ["a"], "channel": channel("Ring") }),
        ) else {
            panic!("not entered");
        };
        assert_eq!(
            (&*entered.id, &*entered.state, args),
            ("1700000000.12", "Ring", vec!["a".to_owned()])
        );
        assert_eq!(
            (&*entered.caller.number, &*entered.dialplan.exten),
            ("+14155550100", "+15550000001")
        );
        assert_eq!(entered.in_app("ringback"), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(entered.in_app("other"), None);
        let dial = json!({ "type": "Dial", "peer": channel("Ringing"), "dialstring": "x", "dialstatus": "RINGING" });
        let (peer, status) = ("1700000000.12".to_owned(), "RINGING".to_owned());
        assert_eq!(read(&dial), News::Dial { peer, status });
        for (tech_cause, technical) in [
            (json!(486), Some(486)),
            (json!("486"), Some(486)),
            (json!(0), None),
            (json!(null), None),
        ] {
            let gone = json!({
                "type": "ChannelDestroyed", "cause": 17, "cause_txt": "User busy", "tech_cause": tech_cause,
                "channel": channel("Busy"),
            });
            let told = Gone {
                cause: 17,
                words: "User busy".to_owned(),
                technical,
            };
            let id = "1700000000.12".to_owned();
            assert_eq!(read(&gone), News::Destroyed { id, gone: told });
        }
        assert_eq!(
            read(&json!({ "type": "ApplicationReplaced", "application": "ringback" })),
            News::Replaced
        );
        for other in ["StasisEnd", "ChannelDtmfReceived", "PlaybackFinished", "Weather"] {
            assert_eq!(read(&json!({ "type": other, "channel": channel("Up") })), News::Nothing);
        }
    }

    #[test]
    fn a_damaged_event_is_an_error() {
        for text in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"type":7}"#,
            r#"{"type":"StasisStart"}"#,
            r#"{"type":"StasisStart","channel":{}}"#,
            r#"{"type":"StasisStart","channel":{"id":"1"},"args":"x"}"#,
            r#"{"type":"Dial"}"#,
            r#"{"type":"ChannelDestroyed","cause":17}"#,
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in "\\PC{0,200}", at in any::<prop::sample::Index>(), with in any::<u8>()) {
            let _ = parse(&text);
            let whole = json!({ "type": "ChannelDestroyed", "cause": 17, "cause_txt": "x", "channel": channel("Up") });
            let mut damaged = whole.to_string().into_bytes();
            let at = at.index(damaged.len());
            damaged[at] = with;
            let _ = parse(&String::from_utf8_lossy(&damaged));
        }
    }
}
