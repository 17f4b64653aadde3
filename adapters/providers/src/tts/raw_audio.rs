//! Whether a body is raw audio, as it was asked for: a file of sound, or a page, would be noise in somebody's ear.

use media::format::Encoding;

/// So many bytes of a body tell.
pub(super) const HEAD_BYTES: usize = 64;

/// What files of sound begin with. A WAV file is told by this alone: some servers call raw audio WAV.
const FILES: [(&[u8], &str); 6] = [
    (b"RIFF", "a WAV file"),
    (b"ID3", "an MP3 file"),
    (b"OggS", "an Ogg file"),
    (b"fLaC", "a FLAC file"),
    (b"\x1A\x45\xDF\xA3", "a WebM file"),
    (b"\0\0\0\x20ftyp", "an MP4 file"),
];

/// What pages begin with, in small letters. The first byte alone would be a quiet sample too.
const PAGES: [&[u8]; 5] = [b"<!doctype", b"<html", b"<?xml", b"<head", b"<body"];

/// Content types of sound that is coded in another way.
const CODED: [&str; 10] = [
    "mpeg", "mp3", "ogg", "opus", "aac", "flac", "webm", "mp4", "m4a", "3gpp",
];

/// What a content type says it is, if that is not raw audio.
pub(super) fn is_other_kind(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    let (family, name) = essence.split_once('/').unwrap_or((essence, ""));
    let coded = matches!(family, "audio" | "video") && CODED.iter().any(|coded| name.contains(coded));
    coded || family == "text" || name.contains("json")
}

/// What a body is by its first bytes, if that is not raw audio.
pub(super) fn other_than_raw(head: &[u8], encoding: Encoding) -> Option<&'static str> {
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
    // A name behind the brace, and printable signs only: as samples that would be a bang from nothing.
    let named = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let printable = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7E);
    let json = named.is_some_and(|rest| rest.starts_with(b"\"")) && text.iter().take(8).all(printable);
    json.then_some("JSON")
}

/// Whether it begins with the header of a frame of MPEG audio, layer 3. In 16 bits that would be a loud first sample, of
/// a few out of 65,536 values; in mu-law it would be silence.
fn is_mpeg_frame(head: &[u8]) -> bool {
    let [0xFF, version, rates, _, ..] = head else {
        return false;
    };
    let layer_3 = matches!(version, 0xFA | 0xFB | 0xF2 | 0xF3 | 0xE2 | 0xE3);
    let (bits, frequency) = (rates >> 4, (rates >> 2) & 3);
    layer_3 && !matches!(bits, 0 | 15) && frequency != 3
}
