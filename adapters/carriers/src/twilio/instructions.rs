//! Instructions for calls in TwiML, with the addresses for the carrier's requests. Pure.
//!
//! Sources: <https://www.twilio.com/docs/voice/twiml/stream>, <https://www.twilio.com/docs/voice/twiml/dial>

use std::sync::Arc;

use actors::call::GoesOn;
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{Destination, WayBack},
};

use super::{account::Flavour, signature::Guard};
use crate::webhooks::{addresses::Addresses, conferences::RINGS_SECONDS, handovers::Try};

/// Pause before a call opens its next socket, from the second time on, in seconds.
const PAUSE_SECONDS: u64 = 1;

/// Maximum times that a call asks again while its state is unknown, with a pause each time. This lasts longer
/// than a dead node counts as alive, but not for ever.
const MOST_ASKED_AGAIN: u32 = 40;

/// Fragment that has Twilio retry a request five times if the service is unreachable or fails. Otherwise the
/// first failure would end the call. Twilio does not send this part of an address.
/// <https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides>
pub const ASKS_AGAIN: &str = "#rc=5&rp=5xx,ct,rt";

/// Instructions that end a call.
pub const HANG_UP: &str = r#"<?xml version="1.0" encoding="UTF-8"?><Response><Hangup/></Response>"#;

/// Writer of instructions for one account's calls at a node.
#[derive(Debug, Clone)]
pub struct Instructions {
    /// Provider of the account.
    pub flavour: Flavour,
    pub(crate) addresses: Addresses,
    /// Guard that creates the tokens of SignalWire's media sockets.
    pub guard: Arc<Guard>,
}

impl Instructions {
    /// Connects the call with its media socket. When that is lost, the carrier asks for further instructions.
    /// Any node may receive the request, because the call's own node may be down.
    pub fn stream(&self, attempt: AttemptId, media_token: &str) -> String {
        response(&self.connect(attempt, media_token))
    }

    /// Does the same for a call that came back: at once, but with a pause if sockets break repeatedly.
    pub fn stream_again(&self, goes_on: &GoesOn) -> String {
        let connect = self.connect(goes_on.back.attempt, &goes_on.back.media_token);
        match goes_on.asked_before {
            0 => response(&connect),
            _ => response(&format!(r#"<Pause length="{PAUSE_SECONDS}"/>{connect}"#)),
        }
    }

    /// Has a call pause and ask again. `asked` counts the earlier times. Returns `None` after too many.
    pub fn ask_again(&self, token: &str, asked: u32) -> Option<String> {
        let asked = asked.checked_add(1).filter(|asked| *asked <= MOST_ASKED_AGAIN)?;
        let back = self.asked_back(&format!("{token}/{asked}"));
        Some(response(&format!(
            r#"<Pause length="{PAUSE_SECONDS}"/><Redirect method="POST">{back}</Redirect>"#
        )))
    }

    /// Returns the escaped address at which a call asks for further instructions.
    fn asked_back(&self, token: &str) -> String {
        let again = match self.flavour {
            Flavour::Twilio => ASKS_AGAIN,
            Flavour::SignalWire => "",
        };
        escaped(&format!("{}{again}", self.addresses.at(&format!("back/{token}"))))
    }

    fn connect(&self, attempt: AttemptId, media_token: &str) -> String {
        let token = format!("{attempt}.{media_token}");
        let address = escaped(&self.addresses.media(attempt, media_token));
        let shown = match self.flavour {
            // Twilio signs the request that opens the socket.
            Flavour::Twilio => String::new(),
            Flavour::SignalWire => {
                let bearer = escaped(&self.guard.bearer(&self.addresses.path(&format!("media/{token}"))));
                format!(r#" authBearerToken="{bearer}" codec="PCMU@8000h""#)
            }
        };
        let back = self.asked_back(&token);
        format!(r#"<Connect><Stream url="{address}"{shown}/></Connect><Redirect method="POST">{back}</Redirect>"#)
    }

    /// Transfers the call. The carrier reports when the destination answers. At the end it asks for
    /// instructions, which bring the caller back if nobody answered.
    pub fn handed_on(&self, back: &WayBack, to: &Destination, from: Option<&PhoneNumber>) -> String {
        let action = escaped(&self.addresses.transfer(back));
        let answered = escaped(&self.addresses.reports("handed", back));
        let caller_id = from.map_or_else(String::new, |from| format!(r#" callerId="{}""#, escaped(from.as_str())));
        let noun = match to {
            Destination::Phone(_) => "Number",
            Destination::Sip(_) => "Sip",
        };
        let called = escaped(to.as_str());
        response(&format!(
            r#"<Dial timeout="{RINGS_SECONDS}"{caller_id} action="{action}" method="POST"><{noun} statusCallbackEvent="answered" statusCallback="{answered}" statusCallbackMethod="POST">{called}</{noun}></Dial>"#
        ))
    }

    /// Has the call's SIP peer call an address by itself. At the end the carrier asks for instructions, as after
    /// [`Self::handed_on`].
    pub fn referred(&self, back: &WayBack, address: &str) -> String {
        let (action, address) = (escaped(&self.addresses.transfer(back)), escaped(address));
        response(&format!(
            r#"<Refer action="{action}" method="POST"><Sip>{address}</Sip></Refer>"#
        ))
    }

    /// Joins a call with the others in the try's conference, which ends when one of them leaves. Waiting
    /// participants hear silence.
    pub(crate) fn conference(&self, Try { attempt, number }: Try) -> String {
        response(&format!(
            r#"<Dial><Conference beep="false" waitUrl="" startConferenceOnEnter="true" endConferenceOnExit="true">ringback-{attempt}-{number}</Conference></Dial>"#
        ))
    }
}

/// Refuses an inbound call; `reason` is `busy` or `rejected`.
pub fn reject(reason: &'static str) -> String {
    response(&format!(r#"<Reject reason="{reason}"/>"#))
}

fn response(verbs: &str) -> String {
    format!(r#"<?xml version="1.0" encoding="UTF-8"?><Response>{verbs}</Response>"#)
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
    use crate::twilio::account::TwilioAccount;
    use net::key::Key;

    use super::*;

    fn instructions(flavour: Flavour, public: &str) -> Instructions {
        let account = TwilioAccount {
            flavour,
            base_url: "https://api".into(),
            account: "AC1".into(),
            user: "AC1".into(),
            password: Key::new("x"),
            signing_key: Key::new("k-1"),
            shared_key: None,
            from: None,
        };
        Instructions {
            flavour,
            addresses: Addresses::new(public, flavour.name()).unwrap(),
            guard: Arc::new(Guard::new(&account, public)),
        }
    }

    fn back() -> WayBack {
        WayBack {
            attempt: AttemptId::new(),
            status_token: "5".repeat(64),
            media_token: "a".repeat(64),
        }
    }

    #[test]
    fn a_call_is_connected_to_its_socket_and_asks_behind_it_how_it_goes_on() {
        let attempt = AttemptId::new();
        let text = instructions(Flavour::Twilio, "https://a.example/x").stream(attempt, "proof");
        assert_eq!(
            text,
            format!(
                r#"<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="wss://a.example/x/carriers/twilio/media/{attempt}.proof"/></Connect><Redirect method="POST">https://a.example/x/carriers/twilio/back/{attempt}.proof#rc=5&amp;rp=5xx,ct,rt</Redirect></Response>"#
            )
        );
        let goes_on = |asked_before| GoesOn {
            back: WayBack {
                attempt,
                status_token: "status".into(),
                media_token: "proof".into(),
            },
            asked_before,
        };
        let own = instructions(Flavour::Twilio, "https://a.example/x");
        assert_eq!(own.stream_again(&goes_on(0)), text);
        let later = text.replace("<Connect>", r#"<Pause length="1"/><Connect>"#);
        assert_eq!(own.stream_again(&goes_on(1)), later);
        let again = own.ask_again(&format!("{attempt}.proof"), 0).unwrap();
        let asks = format!(
            r#"<Response><Pause length="1"/><Redirect method="POST">https://a.example/x/carriers/twilio/back/{attempt}.proof/1#rc=5&amp;rp=5xx,ct,rt</Redirect></Response>"#
        );
        assert!(again.ends_with(&asks), "{again}");
        assert!(own.ask_again("token", MOST_ASKED_AGAIN - 1).is_some());
        for asked in [MOST_ASKED_AGAIN, u32::MAX] {
            assert_eq!(own.ask_again("token", asked), None, "{asked}: not for ever");
        }
        let text = instructions(Flavour::SignalWire, "https://a.example").stream(attempt, "proof");
        assert!(
            text.contains(r#" authBearerToken=""#) && text.contains(r#"=" codec="PCMU@8000h"/></Connect><Redirect"#),
            "{text}"
        );
    }

    #[test]
    fn a_destination_is_rung_for_half_a_minute_and_reported() {
        let (instructions, back) = (instructions(Flavour::Twilio, "https://a.example"), back());
        let phone = Destination::Phone("+15550000002".parse().unwrap());
        let text = instructions.handed_on(&back, &phone, Some(&"+15550000001".parse().unwrap()));
        let attempt = back.attempt;
        for part in [
            r#"<Dial timeout="30" callerId="+15550000001" action="#.to_owned(),
            format!(
                "/carriers/twilio/transfer/{attempt}.{}/{}\"",
                back.media_token, back.status_token
            ),
            format!("/carriers/twilio/handed/{attempt}/{}\"", back.status_token),
            r#" statusCallbackMethod="POST">+15550000002</Number></Dial>"#.to_owned(),
        ] {
            assert!(text.contains(&part), "{part}: {text}");
        }
        let sip = Destination::Sip("sip:desk@example.com;a=\"<&".into());
        let text = instructions.handed_on(&back, &sip, None);
        assert!(
            text.contains(">sip:desk@example.com;a=&quot;&lt;&amp;</Sip></Dial>"),
            "{text}"
        );
        assert!(!text.contains("callerId"), "{text}");
        let text = instructions.conference(Try { attempt, number: 2 });
        assert!(text.contains(&format!(">ringback-{attempt}-2</Conference>")), "{text}");
    }

    #[test]
    fn the_longest_instructions_fit() {
        // Maximum length of the instructions in a request, in characters.
        // <https://www.twilio.com/docs/voice/api/call-resource#create-a-call-resource>
        let most = 4_000;
        let public = format!("https://{}.example", "a".repeat(240));
        for flavour in [Flavour::Twilio, Flavour::SignalWire] {
            let (instructions, back) = (instructions(flavour, &public), back());
            let sip = Destination::Sip(format!("sip:{}", "<".repeat(250)));
            assert!(instructions.handed_on(&back, &sip, None).len() < most);
            assert!(instructions.referred(&back, sip.as_str()).len() < most);
            assert!(instructions.stream(back.attempt, &back.media_token).len() < most);
        }
    }

    #[test]
    fn no_address_breaks_out_of_its_attribute() {
        let instructions = instructions(Flavour::Twilio, r#"https://a/"/><Hangup/>&"#);
        let text = instructions.stream(AttemptId::new(), "proof");
        let url = r#"url="wss://a/%22/%3E%3CHangup/%3E&amp;/carriers"#;
        assert!(text.contains(url), "{text}");
        let text = instructions.referred(&back(), r#"sip:a"/><Hangup/>&"#);
        assert!(text.contains("<Sip>sip:a&quot;/>&lt;Hangup/>&amp;</Sip>"), "{text}");
    }
}
