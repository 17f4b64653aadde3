//! Messages that no carrier sends.

use rand::{Rng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::protocols::Protocol;

/// Maximum size of a message, in bytes.
const LARGEST: usize = 64 * 1024;

/// A hostile message.
#[derive(Clone)]
pub enum Blow {
    Message {
        message: Message,
        /// When the message must close the socket.
        closes: Closes,
        /// Expected close codes; any refusal code if empty.
        closes_with: Vec<u16>,
    },
    /// Bytes that break WebSocket's own rules.
    Raw(Vec<u8>),
}

impl std::fmt::Debug for Blow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, bytes) = match self {
            Self::Message { message, .. } => (message.is_text().to_string(), message.clone().into_data().to_vec()),
            Self::Raw(bytes) => ("raw".to_owned(), bytes.clone()),
        };
        let shown: String = String::from_utf8_lossy(&bytes).chars().take(300).collect();
        write!(f, "{what} {} bytes {shown}", bytes.len())
    }
}

/// Condition under which a message closes its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closes {
    Always,
    Perhaps,
    /// Only in the middle of a stream.
    OnceBegun,
}

impl Blow {
    /// Returns whether the message must close a socket whose stream has begun, or has not.
    pub fn must_close(&self, begun: bool) -> bool {
        match self {
            Self::Message { closes, .. } => match closes {
                Closes::Always => true,
                Closes::Perhaps => false,
                Closes::OnceBegun => begun,
            },
            Self::Raw(_) => true,
        }
    }
}

fn always(message: Message, code: u16) -> Blow {
    Blow::Message {
        message,
        closes: Closes::Always,
        closes_with: vec![code],
    }
}

fn perhaps(message: Message) -> Blow {
    Blow::Message {
        message,
        closes: Closes::Perhaps,
        closes_with: Vec::new(),
    }
}

fn text(text: impl Into<String>) -> Message {
    Message::Text(text.into().into())
}

/// Returns a random hostile message.
pub fn hostile(protocol: Protocol, random: &mut StdRng) -> Blow {
    match random.random_range(0..16) {
        // Unknown words are ignored, and cut words may still be known ones.
        0 if protocol.takes_words() => perhaps(text(junk(random))),
        0 => always(text(junk(random)), 1007),
        1 if protocol == Protocol::AsteriskWords => perhaps(text(cut(&sound(protocol, random), random))),
        1 => always(text(cut(&sound(protocol, random), random)), 1007),
        2 => damaged(protocol, random),
        3..6 if protocol == Protocol::AsteriskWords => perhaps(text(other_words(protocol, random))),
        3 => perhaps(text(retyped(protocol, random).to_string())),
        4 => perhaps(text(retyped(protocol, random).to_string())),
        5 => perhaps(text(shortened(protocol, random).to_string())),
        6 => deep(protocol, random),
        7 => perhaps(text(huge_number(protocol, random))),
        8 => oversized(protocol, random),
        9 => wrong_kind(protocol, random),
        10 => Blow::Message {
            message: protocol.start(),
            closes: Closes::OnceBegun,
            closes_with: vec![1008],
        },
        11 => {
            let key = protocol.key(["E", "12", "", "\u{0}", "é"].choose(random).unwrap());
            // Keys that no telephone has are ignored if a carrier reports them.
            match protocol {
                Protocol::Plain => always(key, 1007),
                _ => perhaps(key),
            }
        }
        12 => perhaps(text(twice_the_same_key(protocol, random))),
        13 => perhaps(control(random)),
        14 => perhaps(text(
            json!({ "event": junk(random), "media": [], "start": 7 }).to_string(),
        )),
        _ => Blow::Raw(below_the_rules(random)),
    }
}

fn sound(protocol: Protocol, random: &mut StdRng) -> String {
    let message = match random.random_range(0..3) {
        0 => protocol.start(),
        1 if !protocol.is_binary() => protocol.audio(1, &protocol.frame(1)),
        _ => protocol.mark("u1"),
    };
    message.into_text().unwrap().to_string()
}

fn junk(random: &mut StdRng) -> String {
    let letters = "{}[]\":,\\ é\u{0}\u{7f}\u{202e}😀nulltrue0123456789.eE+-";
    let letters: Vec<char> = letters.chars().collect();
    // No JSON begins like this.
    std::iter::once('?')
        .chain((0..random.random_range(0..200)).map(|_| *letters.choose(random).unwrap()))
        .collect()
}

fn cut(text: &str, random: &mut StdRng) -> String {
    let at = random.random_range(1..text.len());
    text.chars().take(at).collect()
}

/// Changes one byte of a valid message.
fn damaged(protocol: Protocol, random: &mut StdRng) -> Blow {
    let mut bytes = sound(protocol, random).into_bytes();
    let at = random.random_range(0..bytes.len());
    bytes[at] = random.random();
    match String::from_utf8(bytes) {
        Ok(damaged) => perhaps(text(damaged)),
        // Not valid text.
        Err(error) => {
            let mut frame = vec![0x81];
            masked(&mut frame, &error.into_bytes());
            Blow::Raw(frame)
        }
    }
}

/// Replaces one of the message's values.
fn retyped(protocol: Protocol, random: &mut StdRng) -> Value {
    let mut value: Value = serde_json::from_str(&sound(protocol, random)).unwrap();
    let others = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e308),
        json!(u64::MAX),
        json!(""),
        json!("x".repeat(5_000)),
        json!("\u{0}"),
        json!([]),
        json!([[[{}]]]),
        json!({}),
        json!({ "name": {}, "payload": [], "digit": null }),
    ];
    let other = others.choose(random).unwrap().clone();
    *any_place(&mut value, random) = other;
    value
}

fn any_place<'a>(value: &'a mut Value, random: &mut StdRng) -> &'a mut Value {
    let go_in = match value {
        Value::Object(fields) => !fields.is_empty() && random.random_bool(0.8),
        _ => false,
    };
    if !go_in {
        return value;
    }
    let fields = value.as_object_mut().unwrap();
    let at = random.random_range(0..fields.len());
    any_place(fields.values_mut().nth(at).unwrap(), random)
}

/// Replaces, repeats or removes one of the words.
fn other_words(protocol: Protocol, random: &mut StdRng) -> String {
    let sound = sound(protocol, random);
    let mut words: Vec<String> = sound.split(' ').map(str::to_owned).collect();
    let at = random.random_range(0..words.len());
    let name = words[at].split(':').next().unwrap_or_default().to_owned();
    match random.random_range(0..4) {
        0 => drop(words.remove(at)),
        1 => words.insert(at, words[at].clone()),
        2 => words[at] = junk(random),
        _ => {
            let others = [
                "",
                "-1",
                "slin",
                "opus",
                "null",
                "0",
                "640,640",
                "18446744073709551616",
                ":",
                "\u{0}",
            ];
            words[at] = format!("{name}:{}", others.choose(random).unwrap());
        }
    }
    words.join(" ")
}

/// Appends another field to a valid message.
fn with_more(sound: &str, more: &str) -> String {
    match sound.strip_suffix('}') {
        Some(open) => format!("{open},\"more\":{more}}}"),
        None => format!("{sound} more:{more}"),
    }
}

/// Removes a field.
fn shortened(protocol: Protocol, random: &mut StdRng) -> Value {
    let mut value: Value = serde_json::from_str(&sound(protocol, random)).unwrap();
    let inner = value.as_object_mut().unwrap();
    let names: Vec<String> = inner.keys().cloned().collect();
    let name = names.choose(random).unwrap();
    match inner.get_mut(name) {
        Some(Value::Object(fields)) if random.random_bool(0.7) && !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            fields.remove(names.choose(random).unwrap());
        }
        _ => drop(inner.remove(name)),
    }
    value
}

fn deep(protocol: Protocol, random: &mut StdRng) -> Blow {
    let depth = random.random_range(200..20_000);
    let (open, close) = *[("[", "]"), ("{\"event\":", "}")].choose(random).unwrap();
    let nested = format!("{}0{}", open.repeat(depth), close.repeat(depth));
    let nested: String = nested.chars().take(LARGEST / 2).collect();
    match random.random_range(0..2) {
        0 if protocol.takes_words() && open == "[" => perhaps(text(nested)),
        0 => always(text(nested), 1007),
        _ => perhaps(text(with_more(&sound(protocol, random), &nested))),
    }
}

fn huge_number(protocol: Protocol, random: &mut StdRng) -> String {
    let digits = "9".repeat(random.random_range(20..5_000));
    let number = match random.random_range(0..4) {
        0 => digits,
        1 => format!("-{digits}"),
        2 => format!("1e{}", &digits[..5]),
        _ => format!("0.{digits}"),
    };
    let sound = protocol.start().into_text().unwrap().to_string();
    let places: Vec<usize> = sound
        .match_indices(|c: char| c.is_ascii_digit())
        .map(|(at, _)| at)
        .collect();
    let at = *places.choose(random).unwrap();
    format!("{}{number}{}", &sound[..at], &sound[at + 1..])
}

fn oversized(protocol: Protocol, random: &mut StdRng) -> Blow {
    let length = LARGEST + random.random_range(1..LARGEST);
    match random.random_range(0..3) {
        0 => always(Message::Binary(vec![0; length].into()), 1009),
        1 => always(text("x".repeat(length)), 1009),
        _ => {
            let more = format!("\"{}\"", "y".repeat(length));
            always(text(with_more(&sound(protocol, random), &more)), 1009)
        }
    }
}

/// Returns bytes where text is expected, or bytes that are not samples.
fn wrong_kind(protocol: Protocol, random: &mut StdRng) -> Blow {
    let bytes: Vec<u8> = (0..random.random_range(1..400) * 2 - 1)
        .map(|_| random.random())
        .collect();
    if protocol == Protocol::AsteriskJson {
        perhaps(Message::Binary(bytes.into()))
    } else if protocol.has_wide_samples() {
        always(Message::Binary(bytes.into()), 1007)
    } else {
        always(Message::Binary(bytes.into()), 1003)
    }
}

fn twice_the_same_key(protocol: Protocol, random: &mut StdRng) -> String {
    let sound = sound(protocol, random);
    match sound.strip_prefix('{') {
        Some(rest) => format!("{{\"event\":\"stop\",{rest}"),
        None => format!("MEDIA_START {sound}"),
    }
}

fn control(random: &mut StdRng) -> Message {
    let bytes: Vec<u8> = (0..random.random_range(0..126)).map(|_| random.random()).collect();
    match random.random_range(0..2) {
        0 => Message::Ping(bytes.into()),
        _ => Message::Pong(bytes.into()),
    }
}

/// Appends the length and the content of a frame, masked as clients do.
fn masked(frame: &mut Vec<u8>, content: &[u8]) {
    match u8::try_from(content.len()) {
        Ok(length @ 0..126) => frame.push(0x80 | length),
        _ => {
            frame.push(0x80 | 126);
            frame.extend(u16::try_from(content.len()).unwrap().to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(content);
}

fn below_the_rules(random: &mut StdRng) -> Vec<u8> {
    let mut frame = Vec::new();
    match random.random_range(0..8) {
        // Undefined frame types.
        0 => {
            frame.push(0x80 | random.random_range(3..8));
            masked(&mut frame, b"x");
        }
        // Reserved bits.
        1 => {
            frame.push(0xf1);
            masked(&mut frame, b"{}");
        }
        // An unmasked frame.
        2 => frame.extend(*b"\x81\x02{}"),
        // Invalid UTF-8.
        3 => {
            frame.push(0x81);
            masked(&mut frame, &[0xff, 0xfe, 0xc0, 0x80]);
        }
        // A huge length.
        4 => {
            frame.extend([0x81, 0xff]);
            frame.extend((1_u64 << 62).to_be_bytes());
            frame.extend([0; 4]);
        }
        // A continuation of nothing.
        5 => {
            frame.push(0x80);
            masked(&mut frame, b"x");
        }
        // A ping that is too long.
        6 => {
            frame.push(0x89);
            masked(&mut frame, &[7; 126]);
        }
        // A close frame of one byte.
        _ => {
            frame.push(0x88);
            masked(&mut frame, &[3]);
        }
    }
    frame
}
