//! Splits a streamed reply into pieces for speech: without markup, sentence by sentence, and the first one early.

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

/// Length from which the first piece may end at a comma, in bytes.
const EARLY_BYTES: usize = 24;

/// Length from which a sentence is cut at its last comma, otherwise at its last space, in bytes: about 15 s of speech.
const LONG_BYTES: usize = 240;

/// Least length of a part of a long sentence that is cut at a comma, in bytes.
const PART_BYTES: usize = 60;

/// Length from which a text without spaces is cut anywhere, in bytes.
const ENDLESS_BYTES: usize = 480;

/// Most bytes of one reply that are spoken, and that are read including thoughts and markup.
const MOST_SPOKEN_BYTES: usize = 8_000;
const MOST_READ_BYTES: usize = 64_000;

/// Returns a whole text as it is spoken: without markup and emoji.
pub fn spoken(text: &str) -> String {
    let text = plain::plain(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a piece ends with its sentence.
pub fn is_whole(piece: &str) -> bool {
    sentence::is_whole(piece)
}

/// Returns whether a piece contains anything to speak.
pub fn has_words(piece: &str) -> bool {
    piece.chars().any(char::is_alphanumeric)
}

/// A piece of a reply: plain words, and how to speak them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// Words to speak, without markup.
    pub text: String,
    /// Voice and directions.
    pub manner: Manner,
}

impl From<String> for Piece {
    fn from(text: String) -> Self {
        let manner = Manner::default();
        Self { text, manner }
    }
}

/// Collects text and returns it in pieces for speech, each in one voice. Together the pieces are the text
/// without its markup, however it was streamed.
#[derive(Debug, Clone, Default)]
pub struct PieceCutter {
    directions: Arc<Directions>,
    plain: Plain,
    held: String,
    /// Directions within the held text.
    cues: Vec<Cue>,
    voice: usize,
    /// Next voice. The held text still takes the punctuation that follows, then this voice speaks.
    turning: Option<usize>,
    cut_before: bool,
    read_bytes: usize,
    spoken_bytes: usize,
}

impl PieceCutter {
    /// Creates a cutter for a text with this markup.
    pub fn new(directions: Arc<Directions>) -> Self {
        Self {
            plain: Plain::new(directions.clone()),
            directions,
            ..Self::default()
        }
    }

    /// Adds text and returns the pieces that are complete now.
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

    /// Returns whether this is more than anybody wants to hear, so that the rest must be dropped.
    pub fn is_too_long(&self) -> bool {
        self.spoken_bytes > MOST_SPOKEN_BYTES || self.read_bytes > MOST_READ_BYTES
    }

    /// Ends the text and returns the remaining pieces, perhaps none. Unclosed markup ends here.
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
                    // Punctuation stays with the words before it, because their voice gives it its intonation.
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

    /// Releases the held text as it is; another voice may follow.
    fn turn(&mut self, pieces: &mut Vec<Piece>) {
        self.trim();
        let end = self.held.len();
        pieces.extend(Some(self.piece(end)).filter(|piece| !piece.text.is_empty()));
        self.cues.clear();
        self.voice = self.turning.take().unwrap_or(self.voice);
    }

    /// Releases the complete pieces.
    fn cut(&mut self, pieces: &mut Vec<Piece>) {
        loop {
            self.trim();
            let Some(end) = self.piece_end() else { break };
            pieces.push(self.piece(end));
        }
    }

    /// Removes white space at the beginning of the held text.
    fn trim(&mut self) {
        let blank = self.held.len() - self.held.trim_start().len();
        self.held.drain(..blank);
        for cue in &mut self.cues {
            cue.at = cue.at.saturating_sub(blank);
        }
    }

    /// Takes this many bytes of the held text. A cue at its end belongs to the text after it, if there is any.
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

    /// Returns the byte offset after the first piece and its white space.
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

/// Returns whether the text before `at` ends with a mark that needs no white space, and another sentence
/// begins after it.
fn after_sure_mark(text: &str, at: usize, c: char) -> bool {
    let before = text[..at].trim_end_matches(sentence::is_closer);
    before.ends_with(sentence::is_sure_mark) && !sentence::is_closer(c) && !sentence::is_mark(c)
}

/// Returns the offset after a comma or a similar mark, if `c` at `at` confirms that it is one.
fn clause_end(before: char, c: char, at: usize) -> Option<usize> {
    match before {
        ',' | ';' | ':' | '—' | '–' | '،' | '؛' if c.is_whitespace() => Some(at + c.len_utf8()),
        '，' | '、' | '；' | '：' if c.is_whitespace() => Some(at + c.len_utf8()),
        '，' | '、' | '；' | '：' if !sentence::is_closer(c) => Some(at),
        _ => None,
    }
}

/// Returns whether a mark belongs to the words before it.
fn is_trailing(c: char) -> bool {
    sentence::is_mark(c) || sentence::is_closer(c) || ",;:，、；：،؛".contains(c)
}
