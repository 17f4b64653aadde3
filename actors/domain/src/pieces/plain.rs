//! Removes from a streamed text what is not spoken: markup, tags, emoji, thoughts. The output is the same
//! wherever the stream is split, because undecided text is held back.

mod line;

use std::sync::Arc;

use super::{
    directions::{Directions, VoiceTag},
    markup::{Found, image, link, tag},
    symbols::{is_emoji, is_silent},
};

/// Most nested voices that are tracked.
const MOST_NESTED: usize = 8;

/// A part of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bit {
    /// Words to be spoken.
    Words(String),
    /// The text after this is in this voice, which was just selected or is returned to.
    Voice {
        /// Index of the voice.
        voice: usize,
        /// Whether it is returned to.
        back: bool,
    },
    /// A direction for the voice at this point.
    Cue(String),
}

/// Tags whose content is not for the user.
const NOT_SPOKEN: [&str; 8] = [
    "think",
    "thinking",
    "reasoning",
    "thought",
    "tool_call",
    "function",
    "script",
    "style",
];

/// Tags that begin a new line.
const LINE_TAGS: [&str; 14] = [
    "br", "p", "li", "ul", "ol", "div", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6",
];

/// Kind of the line that is being read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LineKind {
    #[default]
    Plain,
    /// A heading or a list item; it gets a full stop.
    Item,
    /// A table row; its cells are separated by commas.
    Row,
}

/// State of a bare URL that is being read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Address {
    #[default]
    None,
    /// Host and path, which are spoken.
    Spoken,
    /// Parameters, which are not spoken.
    Skipped,
}

/// Step for the beginning of the held text.
enum Step {
    /// This many bytes are spoken.
    Say(usize),
    /// This many bytes are dropped.
    Drop(usize),
    /// This text is spoken instead.
    Put(usize, &'static str),
    /// This text is read instead.
    Read(usize, String),
    /// The line ends.
    EndLine(usize),
    /// Another voice may speak after this many bytes.
    Voice(usize, VoiceTag),
    /// This many bytes are a direction for the voice.
    Cue(usize, String),
    /// More text is needed to decide.
    More,
}

/// The reader; see [`Plain::push`].
#[derive(Debug, Clone)]
pub(super) struct Plain {
    directions: Arc<Directions>,
    /// Voices that were begun and not ended, the innermost last.
    voices: Vec<usize>,
    held: String,
    /// Whether this line contains only markup and white space so far.
    at_start: bool,
    line: LineKind,
    address: Address,
    /// End tag up to which everything is left out.
    skipped: Option<&'static str>,
    /// Last character of the output; a line end at the beginning.
    last: char,
    /// Last character that is not white space.
    last_solid: char,
    after_emoji: bool,
}

impl Default for Plain {
    fn default() -> Self {
        Self::new(Arc::default())
    }
}

/// Returns a whole text as it is spoken.
pub(super) fn plain(text: &str) -> String {
    let mut reader = Plain::default();
    let mut bits = reader.push(text);
    bits.extend(reader.finish());
    let words = bits.into_iter().filter_map(|bit| match bit {
        Bit::Words(words) => Some(words),
        Bit::Voice { .. } | Bit::Cue(_) => None,
    });
    words.collect()
}

impl Plain {
    /// Creates a reader for a text with this markup.
    pub(super) fn new(directions: Arc<Directions>) -> Self {
        Self {
            directions,
            voices: Vec::new(),
            held: String::new(),
            at_start: true,
            line: LineKind::Plain,
            address: Address::None,
            skipped: None,
            last: '\n',
            last_solid: '\n',
            after_emoji: false,
        }
    }

    /// Adds text and returns what must be spoken of it. Lines end with `\n`, and white space is single.
    pub(super) fn push(&mut self, text: &str) -> Vec<Bit> {
        self.held.push_str(text);
        self.read(false)
    }

    /// Ends the text.
    pub(super) fn finish(&mut self) -> Vec<Bit> {
        let spoken = self.read(true);
        *self = Self::new(self.directions.clone());
        spoken
    }

    fn read(&mut self, over: bool) -> Vec<Bit> {
        let mut held = std::mem::take(&mut self.held);
        let (mut at, mut spoken) = (0, Vec::new());
        while at < held.len() {
            let rest = &held[at..];
            match self.step(rest, over) {
                Step::Say(bytes) => {
                    rest[..bytes].chars().for_each(|c| self.give(c, &mut spoken));
                    at += bytes;
                }
                Step::Drop(bytes) => at += bytes,
                Step::Put(bytes, text) => {
                    text.chars().for_each(|c| self.give(c, &mut spoken));
                    at += bytes;
                }
                Step::Read(bytes, text) => {
                    held.replace_range(..at + bytes, &text);
                    at = 0;
                }
                Step::EndLine(bytes) => {
                    self.end_line(&mut spoken);
                    at += bytes;
                }
                Step::Voice(bytes, tag) => {
                    let back = matches!(tag, VoiceTag::Close(..));
                    spoken.extend(self.turn(tag).map(|voice| Bit::Voice { voice, back }));
                    at += bytes;
                }
                Step::Cue(bytes, tag) => {
                    spoken.push(Bit::Cue(tag));
                    at += bytes;
                }
                Step::More => break,
            }
        }
        held.drain(..at);
        self.held = held;
        spoken
    }

    /// Returns the voice after a tag, if the tag changes it.
    fn turn(&mut self, tag: VoiceTag) -> Option<usize> {
        match tag {
            VoiceTag::Open(_, voice) if self.voices.last() != Some(&voice) && self.voices.len() < MOST_NESTED => {
                self.voices.push(voice);
            }
            VoiceTag::Close(_, voice) => {
                let begun = self.voices.iter().rposition(|begun| *begun == voice)?;
                self.voices.truncate(begun);
            }
            VoiceTag::Open(..) | VoiceTag::Unknown(_) | VoiceTag::No | VoiceTag::More => return None,
        }
        Some(self.voices.last().copied().unwrap_or(0))
    }

    fn give(&mut self, c: char, spoken: &mut Vec<Bit>) {
        let c = if c.is_whitespace() && c != '\n' { ' ' } else { c };
        if c.is_whitespace() && (self.last == '\n' || self.last == c) {
            return;
        }
        match spoken.last_mut() {
            Some(Bit::Words(words)) => words.push(c),
            _ => spoken.push(Bit::Words(c.into())),
        }
        self.last = c;
        self.after_emoji = false;
        if !c.is_whitespace() {
            self.last_solid = c;
            self.at_start = false;
        }
    }

    fn end_line(&mut self, spoken: &mut Vec<Bit>) {
        let told = self.last_solid.is_alphanumeric() || matches!(self.last_solid, ')' | ']' | '"' | '”' | '\'' | '%');
        if self.line != LineKind::Plain && !self.at_start && told {
            self.give('.', spoken);
        }
        self.give('\n', spoken);
        self.line = LineKind::Plain;
        self.at_start = true;
    }

    fn step(&mut self, rest: &str, over: bool) -> Step {
        if let Some(name) = self.skipped {
            return self.skip(name, rest, over);
        }
        if self.address != Address::None
            && let Some(step) = self.address(rest, over)
        {
            return step;
        }
        if self.at_start
            && let Some(step) = self.line_start(rest, over)
        {
            return step;
        }
        self.inline(rest, over)
    }

    /// Leaves out everything up to the end tag.
    fn skip(&mut self, name: &str, rest: &str, over: bool) -> Step {
        let end = format!("</{name}>");
        if let Some(at) = rest.to_ascii_lowercase().find(&end) {
            self.skipped = None;
            return Step::Drop(at + end.len());
        }
        // The beginning of the end tag may be here already.
        let keep = if over { 0 } else { end.len() - 1 };
        let mut bytes = rest.len().saturating_sub(keep);
        while !rest.is_char_boundary(bytes) {
            bytes -= 1;
        }
        if bytes == 0 { Step::More } else { Step::Drop(bytes) }
    }

    fn inline(&mut self, rest: &str, over: bool) -> Step {
        let Some(c) = rest.chars().next() else {
            return Step::More;
        };
        let bytes = c.len_utf8();
        match c {
            '\n' => Step::EndLine(1),
            '\r' => Step::Drop(1),
            ' ' | '\t' | '|' if self.line == LineKind::Row => Self::row_border(rest, over),
            _ if c.is_whitespace() => Step::Say(bytes),
            '*' | '_' | '~' => self.emphasis(c, rest, over),
            '`' => match run(c, rest) {
                marks if marks == rest.len() && !over => Step::More,
                marks => Step::Drop(marks),
            },
            '\\' => escape(rest, over),
            '!' => found(image(rest, over), 1),
            '[' => self.bracket(rest, over),
            '<' => self.tag(rest, over),
            '&' => entity(rest, over),
            '\u{200d}' if self.after_emoji => Step::Drop(bytes),
            _ if is_emoji(c) => {
                self.after_emoji = true;
                Step::Drop(bytes)
            }
            _ if is_silent(c) => Step::Drop(bytes),
            'h' | 'H' | 'w' | 'W' if !self.last.is_alphanumeric() => self.address_start(rest, over),
            _ if c.is_alphanumeric() => {
                let word = rest.find(|c: char| !c.is_alphanumeric() || is_emoji(c));
                Step::Say(word.unwrap_or(rest.len()))
            }
            _ => Step::Say(bytes),
        }
    }

    /// Ignores white space between the cells of a row, and the border after the last cell.
    fn row_border(rest: &str, over: bool) -> Step {
        let blank = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
        let before = blank(rest);
        let Some(behind) = rest[before..].strip_prefix('|') else {
            return match rest[before..].chars().next() {
                None if !over => Step::More,
                None | Some('\n') => Step::Drop(before),
                Some(_) if before > 0 => Step::Put(before, " "),
                Some(c) => Step::Say(c.len_utf8()),
            };
        };
        let bytes = before + 1 + blank(behind);
        match rest[bytes..].chars().next() {
            None if !over => Step::More,
            None | Some('\n') => Step::Drop(bytes),
            Some(_) => Step::Put(bytes, ", "),
        }
    }

    /// Drops marks around words; marks with a meaning of their own stay.
    fn emphasis(&self, c: char, rest: &str, over: bool) -> Step {
        let marks = run(c, rest);
        let next = match rest[marks..].chars().next() {
            None if !over => return Step::More,
            next => next.unwrap_or('\n'),
        };
        let (before, after) = (self.last, next);
        let alone = before.is_whitespace() && after.is_whitespace();
        let means_something = match (c, marks) {
            ('~', marks) => marks == 1,
            ('_', 3..) => false,
            ('_', _) => alone || (before.is_alphanumeric() && after.is_alphanumeric()),
            (_, 1) => {
                // Keep `3*4`, and a phone's key as in `*67` and `press *.`
                let inside = before.is_alphanumeric() && after.is_alphanumeric();
                let key = before.is_whitespace() && (after.is_ascii_digit() || ".,;:!?".contains(after));
                alone || inside || key
            }
            _ => alone || (before.is_ascii_digit() && after.is_ascii_digit()),
        };
        if means_something {
            Step::Say(marks)
        } else {
            Step::Drop(marks)
        }
    }

    /// Parses an audio tag, a link, or a bracket.
    fn bracket(&self, rest: &str, over: bool) -> Step {
        let end = rest.find([']', '\n']);
        let inner = &rest[1..end.unwrap_or(rest.len())];
        let closed = end.is_some_and(|at| rest[at..].starts_with(']'));
        let Some(tag) = self.directions.tag(inner).filter(|_| closed || (over && end.is_none())) else {
            return found(link(rest, over), 1);
        };
        let bytes = end.map_or(rest.len(), |at| at + usize::from(closed));
        // It may be a link with these words.
        let address = rest[bytes..].starts_with('(').then(|| link(rest, over));
        match (address, rest.len() > bytes || over) {
            (_, false) => Step::More,
            (Some(link), _) if link != Found::Text => found(link, 1),
            _ if self.directions.is_expressive() && closed => Step::Cue(bytes, tag),
            _ => Step::Drop(bytes),
        }
    }

    fn tag(&mut self, rest: &str, over: bool) -> Step {
        let voice = self.directions.voice_tag(rest, over);
        match voice {
            VoiceTag::Open(bytes, _) | VoiceTag::Close(bytes, _) => return Step::Voice(bytes, voice),
            VoiceTag::More => return Step::More,
            VoiceTag::Unknown(_) | VoiceTag::No => {}
        }
        let (bytes, name) = match (tag(rest, over), voice) {
            (Found::Markup { bytes, text }, _) => (bytes, text),
            (_, VoiceTag::Unknown(bytes)) => return Step::Drop(bytes),
            (other, _) => return found(other, 1),
        };
        if let Some(address) = name.strip_prefix("address ") {
            return Step::Read(bytes, address.to_owned());
        }
        let name = name.to_ascii_lowercase();
        let empty = rest[..bytes].ends_with("/>");
        self.skipped = NOT_SPOKEN.into_iter().find(|known| *known == name && !empty);
        if LINE_TAGS.contains(&name.trim_start_matches('/')) {
            return Step::EndLine(bytes);
        }
        Step::Drop(bytes)
    }

    /// Drops `https://` and `www.` at the beginning of a URL.
    fn address_start(&mut self, rest: &str, over: bool) -> Step {
        let lower: String = rest.chars().take(13).collect::<String>().to_ascii_lowercase();
        for start in ["https://www.", "http://www.", "https://", "http://", "www."] {
            if lower.starts_with(start) {
                self.address = Address::Spoken;
                return Step::Drop(start.len());
            }
            if !over && start.starts_with(&lower) {
                return Step::More;
            }
        }
        let word = rest.find(|c: char| !c.is_alphanumeric());
        Step::Say(word.unwrap_or(rest.len()))
    }

    /// Continues a bare URL; none when it is over.
    fn address(&mut self, rest: &str, over: bool) -> Option<Step> {
        let mut chars = rest.chars();
        let c = chars.next()?;
        let next = chars.next();
        let ends = |c: Option<char>| c.is_none_or(|c| !c.is_ascii() || c.is_whitespace() || "()[]<>\"'*`|".contains(c));
        if ends(Some(c)) {
            self.address = Address::None;
            return None;
        }
        if next.is_none() && !over && "/?#.,;:!".contains(c) {
            return Some(Step::More);
        }
        let last = ends(next);
        Some(match (self.address, c) {
            (_, '.' | ',' | ';' | ':' | '!' | '?') if last => Step::Say(1),
            (Address::Skipped, _) => Step::Drop(1),
            (_, '/') if last || next.is_some_and(|next| "?#.,;:!".contains(next)) => Step::Drop(1),
            (_, '?' | '#') => {
                self.address = Address::Skipped;
                Step::Drop(1)
            }
            _ => Step::Say(1),
        })
    }
}

fn run(c: char, text: &str) -> usize {
    text.len() - text.trim_start_matches(c).len()
}

/// Returns the step for a parse result; plain text gives its first character.
fn found(found: Found, first: usize) -> Step {
    match found {
        Found::Markup { bytes, text } if text.is_empty() => Step::Drop(bytes),
        Found::Markup { bytes, text } => Step::Read(bytes, text),
        Found::Text => Step::Say(first),
        Found::Open => Step::More,
    }
}

fn escape(rest: &str, over: bool) -> Step {
    match rest[1..].chars().next() {
        None if !over => Step::More,
        // The escaped character is one byte and is spoken as it is.
        Some(c) if c.is_ascii_punctuation() => {
            let said = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
            let at = said.find(c).unwrap_or(0);
            Step::Put(2, &said[at..=at])
        }
        _ => Step::Drop(1),
    }
}

fn entity(rest: &str, over: bool) -> Step {
    const ENTITIES: [(&str, &str); 8] = [
        ("&amp;", "&"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&nbsp;", " "),
        ("&hellip;", "…"),
    ];
    for (entity, means) in ENTITIES {
        if rest.starts_with(entity) {
            return Step::Put(entity.len(), means);
        }
        if !over && entity.starts_with(rest) {
            return Step::More;
        }
    }
    Step::Say(1)
}
