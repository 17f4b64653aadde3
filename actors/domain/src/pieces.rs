//! Turns a streamed reply into pieces worth speaking: markup left out, sentence by sentence, the first one early.

mod directions;
mod markup;
mod plain;
mod sentence;
mod symbols;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod voices_tests;

use std::sync::Arc;

pub use directions::{Directions, bare_tag, is_callable};
use media::session::{Cue, Manner};
use plain::{Bit, Plain};
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

/// A piece of a reply: words without any markup, and how they are to be spoken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// The words.
    pub text: String,
    /// In which voice, and what it is to do.
    pub manner: Manner,
}

impl From<String> for Piece {
    fn from(text: String) -> Self {
        let manner = Manner::default();
        Self { text, manner }
    }
}

/// Collects text and gives it back in pieces that can be spoken, each in one voice. The pieces together are the text
/// without its markup, however it was streamed.
#[derive(Debug, Clone, Default)]
pub struct PieceCutter {
    directions: Arc<Directions>,
    plain: Plain,
    held: String,
    /// Directions within what is held.
    cues: Vec<Cue>,
    voice: usize,
    /// What is held ends with the marks that follow, and then another voice speaks.
    turning: Option<usize>,
    cut_before: bool,
    read_bytes: usize,
    spoken_bytes: usize,
}

impl PieceCutter {
    /// At the start of a text with this markup.
    pub fn new(directions: Arc<Directions>) -> Self {
        Self {
            plain: Plain::new(directions.clone()),
            directions,
            ..Self::default()
        }
    }

    /// Takes more words; returns the pieces that are complete now.
    pub fn push(&mut self, text: &str) -> Vec<Piece> {
        self.read_bytes += text.len();
        let mut pieces = Vec::new();
        for bit in self.plain.push(text) {
            let words = matches!(bit, Bit::Words(_));
            self.take(bit, &mut pieces);
            if words && self.turning.is_none() {
                self.cut(&mut pieces);
            }
        }
        pieces
    }

    /// Whether this is more than anybody wants to hear: the rest is to be dropped.
    pub fn is_too_long(&self) -> bool {
        self.spoken_bytes > MOST_SPOKEN_BYTES || self.read_bytes > MOST_READ_BYTES
    }

    /// The text is over: what is left, perhaps nothing. What is not closed ends here.
    pub fn finish(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for bit in self.plain.finish() {
            self.take(bit, &mut pieces);
        }
        self.turn(&mut pieces);
        *self = Self::new(self.directions.clone());
        pieces
    }

    fn take(&mut self, bit: Bit, pieces: &mut Vec<Piece>) {
        match bit {
            Bit::Words(words) => {
                let mut rest = words.as_str();
                if self.turning.is_some() {
                    // Marks stay with the words before them, whose voice says them with its melody.
                    rest = words.trim_start_matches(is_trailing);
                    self.held.push_str(&words[..words.len() - rest.len()]);
                    if rest.is_empty() {
                        return;
                    }
                    self.turn(pieces);
                }
                self.held.push_str(rest);
            }
            Bit::Voice { voice, back } => {
                self.turning = Some(voice);
                if !back {
                    self.turn(pieces);
                }
            }
            Bit::Cue(tag) => {
                if self.turning.is_some() {
                    self.turn(pieces);
                }
                let at = self.held.len();
                self.cues.push(Cue { at, tag });
            }
        }
    }

    /// Gives out what is held as it is; another voice may follow.
    fn turn(&mut self, pieces: &mut Vec<Piece>) {
        self.trim();
        let end = self.held.len();
        pieces.extend(Some(self.piece(end)).filter(|piece| !piece.text.is_empty()));
        self.cues.clear();
        self.voice = self.turning.take().unwrap_or(self.voice);
    }

    /// Gives out what is complete.
    fn cut(&mut self, pieces: &mut Vec<Piece>) {
        loop {
            self.trim();
            let Some(end) = self.piece_end() else { break };
            pieces.push(self.piece(end));
        }
    }

    /// Drops the white space before what is held.
    fn trim(&mut self) {
        let blank = self.held.len() - self.held.trim_start().len();
        self.held.drain(..blank);
        for cue in &mut self.cues {
            cue.at = cue.at.saturating_sub(blank);
        }
    }

    /// Takes so many bytes of what is held. A cue at its end belongs to what follows, if anything does.
    fn piece(&mut self, end: usize) -> Piece {
        let rest = self.held.split_off(end);
        let text = std::mem::replace(&mut self.held, rest);
        let last = self.held.is_empty();
        let (cues, later) = std::mem::take(&mut self.cues)
            .into_iter()
            .partition(|cue| cue.at < end || last);
        self.cues = later;
        for cue in &mut self.cues {
            cue.at -= end;
        }
        self.spoken_bytes += text.len();
        self.cut_before |= !text.is_empty();
        let voice = self.voice;
        Piece {
            text: text.replace('\n', " "),
            manner: Manner { voice, cues },
        }
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

/// Whether a mark belongs to the words before it.
fn is_trailing(c: char) -> bool {
    sentence::is_mark(c) || sentence::is_closer(c) || ",;:，、；：،؛".contains(c)
}
