//! Check whether a body is raw audio, as requested. An encoded file or a web page would be noise to the caller.

use media::format::Encoding;

/// Number of bytes that the check needs.
pub(crate) const HEAD_BYTES: usize = 64;

/// First bytes of audio files. WAV files are only detected here, because some servers label raw audio as WAV.
const FILES: [(&[u8], &str); 6] = [
    (b"RIFF", "a WAV file"),
    (b"ID3", "an MP3 file"),
    (b"OggS", "an Ogg file"),
    (b"fLaC", "a FLAC file"),
    (b"\x1A\x45\xDF\xA3", "a WebM file"),
    (b"\0\0\0\x20ftyp", "an MP4 file"),
];

/// First bytes of web pages, in lower case. The first byte alone could also be a quiet sample.
const PAGES: [&[u8]; 5] = [b"<!doctype", b"<html", b"<?xml", b"<head", b"<body"];

/// Content types of encoded audio.
const CODED: [&str; 10] = [
    "mpeg", "mp3", "ogg", "opus", "aac", "flac", "webm", "mp4", "m4a", "3gpp",
];

/// Returns whether a content type is not raw audio.
pub(crate) fn is_other_kind(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    let (family, name) = essence.split_once('/').unwrap_or((essence, ""));
    let coded = matches!(family, "audio" | "video") && CODED.iter().any(|coded| name.contains(coded));
    coded || family == "text" || name.contains("json")
}

/// Returns the kind of a body, from its first bytes, if it is not raw audio.
pub(crate) fn other_than_raw(head: &[u8], encoding: Encoding) -> Option<&'static str> {
    if let Some((_, file)) = FILES.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(file);
    }
    if encoding == Encoding::Linear16 && is_mpeg_frame(head) {
        return Some("an MP3 file");
    }
    let text = head.trim_ascii_start();
    let begins = |page: &&[u8]| {
        text.get(..page.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(page))
    };
    if PAGES.iter().any(begins) {
        return Some("a page");
    }
    // A quoted name after the brace, and printable characters only. As samples this would be a sudden bang.
    let named = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let printable = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7E);
    let json = named.is_some_and(|rest| rest.starts_with(b"\"")) && text.iter().take(8).all(printable);
    json.then_some("JSON")
}

/// Returns whether the body begins with a frame header of MPEG audio, layer 3. In 16-bit audio this would be
/// a loud first sample, one of a few among 65,536 values. In mu-law it would be silence.
fn is_mpeg_frame(head: &[u8]) -> bool {
    let [0xFF, version, rates, _, ..] = head else {
        return false;
    };
    let layer_3 = matches!(version, 0xFA | 0xFB | 0xF2 | 0xF3 | 0xE2 | 0xE3);
    let (bits, frequency) = (rates >> 4, (rates >> 2) & 3);
    layer_3 && !matches!(bits, 0 | 15) && frequency != 3
}
