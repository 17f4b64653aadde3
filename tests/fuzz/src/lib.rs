//! Every reader of outside input, for `cargo fuzz` (`tests/fuzz`). Each accepts any bytes and must neither
//! panic nor break the assertions here.

mod carriers;

use std::collections::BTreeMap;

pub use self::carriers::{
    asterisk_events, asterisk_media, audiosocket, callbacks, carrier_answers, plain_media, signatures, telnyx_media,
    twilio_media, twilio_webhooks, vonage_media, vonage_tokens,
};
use domain::{
    callback_time,
    phone_number::PhoneNumber,
    ports::store::ScheduleText,
    schedule::Schedule,
    template::{self, Place},
};
pub use providers::fuzzed::{chat_stream, event_stream, message_stream, recognisers, voices};
pub use rest::fuzzed::{csv, cursor, email, strict_json};
pub use sim::exchange::fuzzed as exchange_protocol;

fn texts(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// Parses telephone numbers: an accepted number is accepted again, and is the same.
pub fn phone_number(data: &[u8]) {
    if let Some(Ok(number)) = texts(data).map(PhoneNumber::parse) {
        assert_eq!(PhoneNumber::parse(number.as_str()).as_ref(), Ok(&number));
    }
}

/// Parses texts with placeholders.
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

/// Parses times that callees ask to be called at.
pub fn spoken_times(data: &[u8]) {
    if let Some(text) = texts(data) {
        let _ = callback_time::parse_answer(text);
    }
}

/// Parses campaigns' schedules: start, end and zone, one per line.
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
