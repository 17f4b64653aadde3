//! Turns a streamed reply into pieces worth speaking: markup left out, sentence by sentence, the first one early.

mod markup;
mod plain;
mod sentence;
mod symbols;
#[cfg(test)]
mod tests;

use plain::Plain;
use sentence::End;

/// The first piece may end at a comma once it is this long, in bytes.
const EARLY_BYTES: usize = 24;

/// A sentence is cut at its last comma, or else its last space, once it is this long, in bytes: about 15 s of speech.
const LONG_BYTES: usize = 240;

/// A part cut off a long sentence has at least so many bytes, if it ends at a comma.
const PART_BYTES: usize = 60;

/// A text without any space is cut anywhere once it is this long, in bytes.
const ENDLESS_BYTES: usize = 480;

/// Of one reply, what is spoken and what is read at most, thoughts and markup included, in bytes.
const MOST_SPOKEN_BYTES: usize = 8_000;
const MOST_READ_BYTES: usize = 64_000;

/// A whole text as it is spoken: without markup and emoji.
pub fn spoken(text: &str) -> String {
    let text = plain::plain(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a piece ends with its sentence.
pub fn is_whole(piece: &str) -> bool {
    sentence::is_whole(piece)
}

/// Whether there is anything to speak in it.
pub fn has_words(piece: &str) -> bool {
    piece.chars().any(char::is_alphanumeric)
}

/// Collects text and gives it back in pieces that can be spoken. The pieces together are the text without its markup,
/// however it was streamed.
#[derive(Debug, Clone, Default)]
pub struct PieceCutter {
    plain: Plain,
    held: String,
    cut_before: bool,
    read_bytes: usize,
    spoken_bytes: usize,
}

impl PieceCutter {
    /// Takes more words; returns the pieces that are complete now.
    pub fn push(&mut self, text: &str) -> Vec<String> {
        self.read_bytes += text.len();
        self.held.push_str(&self.plain.push(text));
        let mut pieces = Vec::new();
        loop {
            if self.held.starts_with(char::is_whitespace) {
                self.held = self.held.trim_start().to_owned();
            }
            let Some(end) = self.piece_end() else { break };
            let rest = self.held.split_off(end);
            let piece = std::mem::replace(&mut self.held, rest);
            self.spoken_bytes += piece.len();
            pieces.push(piece.replace('\n', " "));
            self.cut_before = true;
        }
        pieces
    }

    /// Whether this is more than anybody wants to hear: the rest is to be dropped.
    pub fn is_too_long(&self) -> bool {
        self.spoken_bytes > MOST_SPOKEN_BYTES || self.read_bytes > MOST_READ_BYTES
    }

    /// The text is over: what is left, perhaps nothing.
    pub fn finish(&mut self) -> String {
        let Self { mut plain, held, .. } = std::mem::take(self);
        let rest = held + &plain.finish();
        rest.trim_start().replace('\n', " ")
    }

    /// Byte offset one past the first piece and the white space behind it.
    fn piece_end(&self) -> Option<usize> {
        let text = self.held.as_str();
        let (mut comma, mut space) = (None, None);
        let (mut before, mut words) = (' ', false);
        for (at, c) in text.char_indices() {
            let next = at + c.len_utf8();
            if words && !c.is_whitespace() && after_sure_mark(text, at, c) {
                return Some(at);
            }
            if words && c.is_whitespace() {
                if c == '\n' {
                    return Some(next);
                }
                match sentence::end(&text[..at], text[next..].trim_start()) {
                    End::Yes => return Some(next),
                    End::No => {}
                    End::Perhaps => return None,
                }
                space = Some(next);
            }
            if let Some(end) = clause_end(before, c, at) {
                if !self.cut_before && at >= EARLY_BYTES {
                    return Some(end);
                }
                comma = Some(end).filter(|end| *end >= PART_BYTES).or(comma);
            }
            let long = (at >= LONG_BYTES).then(|| comma.or(space)).flatten();
            if long.is_some() || at >= ENDLESS_BYTES {
                return long.or(Some(at));
            }
            words |= c.is_alphanumeric();
            before = c;
        }
        None
    }
}

/// Whether the text before `at` ends with a mark that needs no white space, and what follows begins another sentence.
fn after_sure_mark(text: &str, at: usize, c: char) -> bool {
    let before = text[..at].trim_end_matches(sentence::is_closer);
    before.ends_with(sentence::is_sure_mark) && !sentence::is_closer(c) && !sentence::is_mark(c)
}

/// One past a comma or its like, when `c` at `at` shows that it is one.
fn clause_end(before: char, c: char, at: usize) -> Option<usize> {
    match before {
        ',' | ';' | ':' | '—' | '–' | '،' | '؛' if c.is_whitespace() => Some(at + c.len_utf8()),
        '，' | '、' | '；' | '：' if c.is_whitespace() => Some(at + c.len_utf8()),
        '，' | '、' | '；' | '：' if !sentence::is_closer(c) => Some(at),
        _ => None,
    }
}
