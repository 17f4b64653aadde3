//! JSON with halves of surrogate pairs, from servers that cut a reply between the two `\u` escapes of one character.

use serde_json::Value;

/// First of the private characters that stand for the 2,048 halves until they are joined.
const FIRST: u32 = 0x10_f000;

/// Parses JSON. Halves, which serde refuses, stay in its texts until [`join`] puts them together.
pub(crate) fn read(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&kept(text)))
}

/// Returns a whole JSON text with its halves joined, and without those that lack the other one.
pub(crate) fn mended(text: &str) -> String {
    join(&kept(text), &mut None)
}

/// Joins the halves in the next piece of a text. `held` is the first half of a pair that the piece before ended with.
pub(crate) fn join(piece: &str, held: &mut Option<u32>) -> String {
    let joined = piece.chars().filter_map(|c| {
        let half = u32::from(c).checked_sub(FIRST).filter(|half| *half < 0x800);
        match (half, held.take()) {
            (None, _) => Some(c),
            (Some(half), Some(high)) if half >= 0x400 => char::from_u32(0x1_0000 + (high << 10) + half - 0x400),
            (Some(half), _) => {
                *held = (half < 0x400).then_some(half);
                None
            }
        }
    });
    joined.collect()
}

/// Replaces the escapes of halves without the other one by characters that stand for them.
fn kept(text: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let (first, second) = (half(rest), rest.get(6..).and_then(half));
        let end = match (first, second) {
            (Some(first), Some(second)) if first < 0x400 && second >= 0x400 => 12,
            (Some(half), _) => {
                kept.extend(char::from_u32(FIRST + half));
                rest = &rest[6..];
                continue;
            }
            (None, _) => rest.char_indices().nth(2).map_or(rest.len(), |(end, _)| end),
        };
        kept.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    kept + rest
}

/// Returns the half that a text begins with, as a number from 0.
fn half(text: &str) -> Option<u32> {
    let code = u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()?;
    code.checked_sub(0xd800).filter(|half| *half < 0x800)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_pair_are_joined_over_pieces_and_lone_ones_left_out() {
        let mut held = None;
        let mut said = String::new();
        for chunk in [
            r#"{"a":"Hi \ud83d"}"#,
            r#"{"a":""}"#,
            r#"{"a":"\ude00 é\\ud83d!"}"#,
            r#"{"a":"\ude00\ud83dx"}"#,
        ] {
            said += &join(read(chunk).unwrap()["a"].as_str().unwrap(), &mut held);
        }
        assert_eq!(said, "Hi \u{1f600} é\\ud83d!x");
        assert_eq!(
            mended(r#"{"a":"\ud83d\ude00\ud83d","b":"\\ude00"}"#),
            r#"{"a":"\ud83d\ude00","b":"\\ude00"}"#
        );
        assert!(read(r#"{"a":"\ud83d"#).is_err());
    }
}
