//! Every reader of what comes from outside, for `cargo fuzz` (`tests/fuzz`): each takes any bytes, and must not panic, nor
//! break what is asserted here.

use std::collections::BTreeMap;

use actors::{
    callback_time,
    campaign::Schedule,
    phone_number::PhoneNumber,
    ports::store::ScheduleText,
    template::{self, Place},
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::{
    carriers::{
        simulated, telnyx,
        twilio::{
            self,
            account::{Flavour, TwilioAccount},
            signature::Guard,
        },
        vonage,
        wire::{Event, MediaWire},
    },
    providers::settings::Key,
};

pub use crate::{
    exchange::fuzzed as exchange_wire,
    language::fuzzed::{chat_stream, event_stream, message_stream},
    rest::fuzzed::{csv, cursor, email, strict_json},
    speech::fuzzed::{recognisers, voices},
};

fn texts(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// Messages of one socket, a line each; what is no text comes as bytes.
fn media(mut wire: impl MediaWire, data: &[u8]) {
    for message in data.split(|byte| *byte == b'\n') {
        let event = match texts(message) {
            Some(text) => wire.read_text(text),
            None => wire.read_binary(message),
        };
        if let Ok(Event::Start(start)) = event {
            let mut messages = Vec::new();
            let mut writer = wire.writer(&start);
            writer.write(&actors::ports::media_leg::OutboundItem::Clear, &mut messages);
            writer.write(
                &actors::ports::media_leg::OutboundItem::Audio(message.to_vec()),
                &mut messages,
            );
        }
    }
}

/// Twilio's and the exchange's media messages.
pub fn twilio_media(data: &[u8]) {
    media(twilio::stream::TwilioWire, data);
}

/// Telnyx's media messages, in both of its codecs and byte orders.
pub fn telnyx_media(data: &[u8]) {
    use telnyx::line::{ByteOrder, Codec, LineChoice};
    let [codec, order] = [0, 1].map(|at| data.get(at).copied().unwrap_or_default());
    let line = LineChoice {
        codec: [Codec::Pcmu, Codec::Pcma, Codec::L16][usize::from(codec % 3)],
        order: [ByteOrder::Big, ByteOrder::Little][usize::from(order % 2)],
    };
    media(telnyx::stream::TelnyxWire::new(line), data.get(2..).unwrap_or_default());
}

/// Vonage's media messages.
pub fn vonage_media(data: &[u8]) {
    media(vonage::stream::VonageWire::default(), data);
}

/// The callbacks and webhooks of every carrier.
pub fn callbacks(data: &[u8]) {
    let _ = twilio::callback::parse(data);
    let _ = telnyx::webhook::parse(data);
    let _ = simulated::callback::parse(data);
    let _ = vonage::event::parse(data);
    let _ = vonage::event::announcement(data);
}

fn header(headers: &mut HeaderMap, name: &'static str, value: &[u8]) {
    if let Ok(value) = HeaderValue::from_bytes(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// The carriers' signatures: headers on the first lines, the body behind them. Nothing that is made up is taken.
pub fn signatures(data: &[u8]) {
    let mut lines = data.splitn(4, |byte| *byte == b'\n');
    let [first, second, path, body] = [(); 4].map(|()| lines.next().unwrap_or_default());
    let account = TwilioAccount {
        flavour: Flavour::Twilio,
        base_url: "https://api".into(),
        account: "AC1".into(),
        user: "AC1".into(),
        password: Key::new("x"),
        signing_key: Key::new("key-that-nobody-guesses"),
        shared_key: Some(Key::new("another-that-nobody-guesses")),
        from: None,
    };
    let mut headers = HeaderMap::new();
    header(&mut headers, "x-twilio-signature", first);
    header(&mut headers, "x-twilio-webhooks-signature-settings", second);
    let guard = Guard::new(&account, "https://a.example");
    let path = String::from_utf8_lossy(path);
    assert!(!guard.admits_form(&path, &headers, body) && !guard.admits_socket(&path, &headers));

    // The key of RFC 8032, section 7.1, whose secret is no part of it.
    if let Ok(key) = telnyx::signature::WebhookKey::parse("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=") {
        let [first, second] = [first, second].map(texts);
        let shown = |name: &'static str| match name {
            telnyx::signature::SIGNATURE_HEADER => first,
            _ => second,
        };
        let _ = key.verify(shown, body, 1_767_225_600);
    }
    let key = vonage::signature::WebhookKey::new("secret-that-nobody-guesses", "app");
    assert!(key.verify(texts(first), body, 1_767_225_600).is_err());
}

/// Telephone numbers: what is taken is taken again, and the same.
pub fn phone_number(data: &[u8]) {
    if let Some(Ok(number)) = texts(data).map(PhoneNumber::parse) {
        assert_eq!(PhoneNumber::parse(number.as_str()).as_ref(), Ok(&number));
    }
}

/// Texts with placeholders.
pub fn templates(data: &[u8]) {
    let Some(text) = texts(data) else { return };
    let variables: BTreeMap<String, String> = template::placeholders(text)
        .into_iter()
        .map(|name| (name.clone(), name))
        .collect();
    for place in [Place::Prompt, Place::Greeting, Place::VoicemailMessage] {
        let _ = template::render(place, text, &variables);
        let _ = template::render(place, text, &BTreeMap::new());
    }
}

/// Times that callees ask to be called at.
pub fn spoken_times(data: &[u8]) {
    if let Some(text) = texts(data) {
        let _ = callback_time::parse_answer(text);
    }
}

/// Campaigns' schedules: start, end and zone, a line each.
pub fn schedules(data: &[u8]) {
    let Some(text) = texts(data) else { return };
    let mut lines = text.lines().map(|line| (!line.is_empty()).then(|| line.to_owned()));
    let [start_time, end_time, timezone] = [(); 3].map(|()| lines.next().flatten());
    let _ = Schedule::parse(&ScheduleText {
        start_time,
        end_time,
        timezone,
    });
}
