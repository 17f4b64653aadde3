//! Readers of messages from carriers, and from clients that pretend to be one.

use std::collections::BTreeSet;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use domain::{
    id::AttemptId,
    ports::{
        carrier::{CallProgress, TransferKind},
        media_leg::OutboundItem,
    },
};
use ring::hmac;
use sha2::{Digest, Sha256};

use super::texts;
use carriers::{
    asterisk::{
        self,
        account::Codec,
        audiosocket::frame::{self, Decoder, Frame},
        call::{CallState, Happening, Listed, Step},
        event::{Channel, News},
        inbound,
        names::Names,
    },
    http::Refusal,
    kind::Choice,
    plain, simulated, telnyx,
    twilio::{
        self,
        account::{Flavour, TwilioAccount},
        fields::Fields,
        signature::Guard,
    },
    vonage,
    protocol::{Event, MediaProtocol},
};
use net::key::Key;

/// Reads messages of one socket, one per line; a line that is not text is passed as bytes.
fn media(mut protocol: impl MediaProtocol, data: &[u8]) {
    for message in data.split(|byte| *byte == b'\n') {
        let event = match texts(message) {
            Some(text) => protocol.read_text(text),
            None => protocol.read_binary(message),
        };
        if let Ok(Event::Start(start)) = event {
            let mut messages = Vec::new();
            let mut writer = protocol.writer(&start);
            writer.begin(&mut messages);
            for item in [
                OutboundItem::Clear,
                OutboundItem::Audio(message.to_vec()),
                OutboundItem::Mark("m1".to_owned()),
            ] {
                writer.write(&item, &mut messages);
            }
        }
    }
}

/// Reads media messages of Twilio and of the exchange.
pub fn twilio_media(data: &[u8]) {
    media(
        twilio::stream::TwilioProtocol {
            presses_keys: data.first().is_some_and(|first| first % 2 == 1),
        },
        data,
    );
}

/// Reads Telnyx's media messages, in all of its codecs and byte orders.
pub fn telnyx_media(data: &[u8]) {
    use telnyx::line::{ByteOrder, Codec, LineChoice};
    let [codec, order] = [0, 1].map(|at| data.get(at).copied().unwrap_or_default());
    let line = LineChoice {
        codec: [Codec::Pcmu, Codec::Pcma, Codec::L16][usize::from(codec % 3)],
        order: [ByteOrder::Big, ByteOrder::Little][usize::from(order % 2)],
    };
    media(telnyx::stream::TelnyxProtocol::new(line), data.get(2..).unwrap_or_default());
}

/// Reads Vonage's media messages.
pub fn vonage_media(data: &[u8]) {
    media(vonage::stream::VonageProtocol, data);
}

/// Reads callbacks and webhooks of every carrier.
pub fn callbacks(data: &[u8]) {
    let _ = twilio::callback::parse(data);
    let _ = telnyx::event::parse(data);
    let _ = simulated::callback::parse(data);
    let _ = vonage::event::parse(data);
    let _ = vonage::event::announcement(data);
    if let Some(text) = texts(data) {
        let _ = telnyx::mark::attempt(text);
        if let Some((attempt, try_no)) = telnyx::mark::destination(text) {
            let again = telnyx::mark::destination_state(attempt, try_no);
            assert_eq!(telnyx::mark::destination(&again), Some((attempt, try_no)));
        }
    }
}

fn header(headers: &mut HeaderMap, name: &'static str, value: &[u8]) {
    if let Ok(value) = HeaderValue::from_bytes(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// Verifies the carriers' signatures: headers on the first lines, the body after them. Nothing made up may be accepted.
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
    assert!(!guard.admits(&path, &headers, body) && !guard.admits_socket(&path, &headers));
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    assert!(!guard.admits(&path, &headers, body));

    // Public key of RFC 8032, section 7.1; its secret is not part of it.
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
    let shown = texts(first).unwrap_or_default();
    let (telnyx, vonage) = (
        telnyx::mark::stream_tokens("key-that-nobody-guesses"),
        vonage::account::stream_tokens("key-that-nobody-guesses"),
    );
    assert!(!telnyx.matches(AttemptId::new(), shown) && !vonage.matches(AttemptId::new(), shown));
}

/// Reads media messages of the plain endpoint.
pub fn plain_media(data: &[u8]) {
    media(plain::stream::PlainProtocol::default(), data);
}

/// Reads messages of Asterisk's `chan_websocket`, in plain words and in JSON, for any codec.
pub fn asterisk_media(data: &[u8]) {
    let codec = Codec::ALL[usize::from(data.first().copied().unwrap_or_default() % 4)].1;
    media(
        asterisk::stream::AsteriskProtocol::new(codec),
        data.get(1..).unwrap_or_default(),
    );
}

/// Reads AudioSocket's frames: the result does not depend on how the bytes are split, and our own frames are
/// read as they were written.
pub fn audiosocket(data: &[u8]) {
    let Some((piece, bytes)) = data.split_first() else {
        return;
    };
    let decoded = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
        for piece in pieces {
            decoder.push(piece);
            while let Some(frame) = decoder.take()? {
                frames.push(frame);
            }
        }
        Ok::<_, frame::FrameError>(frames)
    };
    let whole = decoded(&mut std::iter::once(bytes));
    assert_eq!(decoded(&mut bytes.chunks(usize::from(*piece).max(1))), whole);
    let samples = &bytes[..bytes.len() / 2 * 2];
    let mut ours = Vec::new();
    frame::audio(samples, &mut ours);
    let read = decoded(&mut std::iter::once(&*ours));
    assert_eq!(read, Ok(vec![Frame::Audio(samples.to_vec())]));
}

/// Passes Asterisk's events and listings, one per line, to the call that they are about. The call ends once.
/// After that it only sends away those who come too late.
pub fn asterisk_events(data: &[u8]) {
    let Some(text) = texts(data) else { return };
    let names = Names::new("ringback");
    let (mut line, mut ended) = (CallState::new(), 0);
    for text in text.lines() {
        let was_over = line.is_over();
        for step in happening(text, &names, &mut line).map_or_else(Vec::new, |happening| line.on(happening)) {
            ended += usize::from(matches!(step, Step::Report(CallProgress::Ended(_))));
            assert!(!was_over || matches!(step, Step::HangUp(_)), "{step:?}");
        }
    }
    assert_eq!(ended, usize::from(line.is_over()));
}

fn happening(text: &str, names: &Names, line: &mut CallState) -> Option<Happening> {
    let part = |id: &str| names.read(id).map(|(_, part)| part);
    match text {
        "placed" => return Some(Happening::Placed),
        "hang up" => return Some(Happening::HangingUp),
        "media" => return Some(Happening::MediaWanted),
        "refer" => return Some(Happening::Referred),
        "blind" => return line.hand_on(TransferKind::Blind).ok().map(Happening::PeerPlaced),
        "conference" => return line.hand_on(TransferKind::Conference).ok().map(Happening::PeerRefused),
        _ => {}
    }
    if let Ok(channels) = serde_json::from_str::<Vec<Channel>>(text) {
        let parts = channels
            .iter()
            .filter_map(|channel| Some((part(&channel.id)?, channel.is_up())));
        return Some(Happening::Listed(Listed {
            channels: parts.collect(),
        }));
    }
    Some(match asterisk::event::parse(text).ok()? {
        News::Entered { channel, args } => {
            let _ = (inbound::announced(&channel, &args), channel.in_app("ringback"));
            Happening::Entered(part(&channel.id)?)
        }
        News::Changed(channel) if channel.is_ringing() => Happening::Dial(part(&channel.id)?, "RINGING".to_owned()),
        News::Dial { peer, status } => Happening::Dial(part(&peer)?, status),
        News::Destroyed { id, gone } => Happening::Gone(part(&id)?, gone),
        News::Changed(_) | News::Replaced | News::Nothing => return None,
    })
}

/// Reads webhooks of Twilio and SignalWire at all of their addresses, as a form and as JSON.
pub fn twilio_webhooks(data: &[u8]) {
    let mut json = HeaderMap::new();
    json.insert(
        "content-type",
        HeaderValue::from_static("application/json; charset=utf-8"),
    );
    for headers in [HeaderMap::new(), json] {
        let fields = Fields::read(&headers, data);
        let _ = twilio::callback::report(&fields);
        let _ = twilio::callback::machine(&fields);
        let _ = twilio::callback::dialed(&fields);
        let _ = twilio::callback::announcement(&fields);
    }
}

/// Verifies Vonage's webhooks with a correct signature: header and claims of the token on the first lines,
/// the body after them. Only a token for this body, this application and this time may be accepted.
pub fn vonage_tokens(data: &[u8]) {
    const NOW: i64 = 1_767_225_600;
    let mut lines = data.splitn(3, |byte| *byte == b'\n');
    let [header, claims, body] = [(); 3].map(|()| lines.next().unwrap_or_default());
    let message = format!("{}.{}", BASE64URL.encode(header), BASE64URL.encode(claims));
    let secret = hmac::Key::new(hmac::HMAC_SHA256, b"secret");
    let tag = hmac::sign(&secret, message.as_bytes());
    let shown = format!("Bearer {message}.{}", BASE64URL.encode(tag));
    let key = vonage::signature::WebhookKey::new("secret", "app");
    if key.verify(Some(&shown), body, NOW).is_ok() {
        let claims = String::from_utf8_lossy(claims).to_ascii_lowercase();
        let hash = hex::encode(Sha256::digest(body));
        // A hash may be written with escapes.
        assert!(claims.contains(&hash) || claims.contains("\\u"), "{claims}");
        assert!(key.verify(Some(&shown), &[body, b"x"].concat(), NOW).is_err());
        assert!(key.verify(Some(&shown), body, NOW + 601).is_err());
    }
}

/// Reads responses of the carriers' APIs: errors and lists.
pub fn carrier_answers(data: &[u8]) {
    let (twilio, telnyx) = (
        twilio::refusal::ErrorAnswer::read(data),
        telnyx::refusal::ErrorAnswer::read(data),
    );
    let vonage = vonage::refusal::ErrorAnswer::read(data);
    for status in [400, 401, 403, 404, 409, 422, 429, 500, 503] {
        let Ok(status) = StatusCode::from_u16(status) else {
            continue;
        };
        let _ = (twilio.of_dial(status, None), twilio.of_wish(status));
        let _ = (telnyx.of_dial(status, None), telnyx.of_wish(status));
        let _ = (vonage.of_dial(status, None), vonage.of_wish(status));
    }
    if let Ok(list) = serde_json::from_slice::<vonage::answers::CallList>(data) {
        for call in list.calls() {
            let _ = (call.is_over(), call.is_older_than(domain::time::Timestamp(0)));
            if let Some(listed) = call.listed("+15550000002") {
                assert!(!listed.call.0.is_empty());
            }
        }
    }
    let _ = serde_json::from_slice::<Vec<asterisk::ari::Bridge>>(data);
    if let Ok(channels) = serde_json::from_slice::<Vec<Channel>>(data) {
        let names = Names::new("ringback");
        let known: BTreeSet<String> = channels
            .iter()
            .filter_map(|channel| names.read(&channel.id))
            .map(|(attempt, part)| names.channel(attempt, part))
            .collect();
        // A name that can be read is one that is written.
        assert!(
            known
                .iter()
                .all(|name| channels.iter().any(|channel| channel.id == *name))
        );
    }
}
