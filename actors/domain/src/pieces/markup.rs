//! Links, images and tags at the beginning of a text that may continue.

/// Parse result for the beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Markup of this many bytes with its text: a link's words, a tag's name.
    Markup { bytes: usize, text: String },
    /// Plain text.
    Text,
    /// More text is needed to decide.
    Open,
}

impl Found {
    /// Returns the result if more text is needed but the text may be over.
    fn unfinished(over: bool) -> Self {
        if over { Self::Text } else { Self::Open }
    }
}

/// Longest words, URL, tag and comment, in bytes. Anything longer is text.
const WORDS_BYTES: usize = 300;
const ADDRESS_BYTES: usize = 600;
const TAG_BYTES: usize = 300;
const COMMENT_BYTES: usize = 2_000;

/// Parses `[words](address)`, `[words][name]`, and a footnote's `[^1]`, which has no words.
pub(super) fn link(text: &str, over: bool) -> Found {
    let words = match closed(text, '[', ']', WORDS_BYTES) {
        Closed::At(end) => end,
        Closed::Never => return Found::Text,
        Closed::NotYet => return Found::unfinished(over),
    };
    let inner = &text[1..words];
    let behind = &text[words + 1..];
    let (open, close) = match behind.chars().next() {
        None if !over => return Found::Open,
        Some('(') => ('(', ')'),
        Some('[') => ('[', ']'),
        _ if inner.starts_with('^') => {
            return Found::Markup {
                bytes: words + 1,
                text: String::new(),
            };
        }
        _ => return Found::Text,
    };
    match closed(behind, open, close, ADDRESS_BYTES) {
        Closed::At(end) => Found::Markup {
            bytes: words + 1 + end + 1,
            text: inner.to_owned(),
        },
        Closed::Never => Found::Text,
        Closed::NotYet => Found::unfinished(over),
    }
}

/// Parses `![words](address)`.
pub(super) fn image(text: &str, over: bool) -> Found {
    match text[1..].chars().next() {
        None => Found::unfinished(over),
        Some('[') => match link(&text[1..], over) {
            Found::Markup { bytes, text } => Found::Markup { bytes: bytes + 1, text },
            other => other,
        },
        Some(_) => Found::Text,
    }
}

enum Closed {
    /// Offset of the closing bracket.
    At(usize),
    Never,
    NotYet,
}

/// Finds the end of the bracket at the beginning, in the same line and within this many bytes.
fn closed(text: &str, open: char, close: char, within: usize) -> Closed {
    let (mut depth, mut escaped) = (0_usize, false);
    for (at, c) in text.char_indices() {
        if at >= within || c == '\n' {
            return Closed::Never;
        }
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Closed::At(at);
            }
        }
    }
    Closed::NotYet
}

/// Parses a tag and returns its name, with `/` before it in an end tag. A comment or a model's own mark such
/// as `<|end|>` has no text; a URL in angle brackets is returned as `address …`.
pub(super) fn tag(text: &str, over: bool) -> Found {
    for (start, end, within) in [("<!--", "-->", COMMENT_BYTES), ("<|", "|>", TAG_BYTES)] {
        if text.starts_with(start) {
            return match text.find(end) {
                Some(at) if at <= within => Found::Markup {
                    bytes: at + end.len(),
                    text: String::new(),
                },
                None if text.len() < within + end.len() => Found::unfinished(over),
                _ => Found::Text,
            };
        }
        if start.starts_with(text) {
            return Found::unfinished(over);
        }
    }
    let mut tag = Tag::Start;
    let mut address = true;
    for (at, c) in text.char_indices().skip(1) {
        let inner = &text[1..at];
        if c == '>' && address && (inner.contains("://") || inner.contains('@')) {
            let text = format!("address {inner}");
            return Found::Markup { bytes: at + 1, text };
        }
        if c == '>' && tag.may_end() {
            let name = inner
                .split(|c: char| c.is_whitespace() || c == '=')
                .next()
                .unwrap_or_default();
            let name = name.trim_end_matches('/').to_owned();
            return Found::Markup {
                bytes: at + 1,
                text: name,
            };
        }
        tag = tag.after(c);
        address &= !c.is_whitespace() && c != '<' && c != '>' && (c.is_ascii_alphanumeric() || at > 1);
        if at >= TAG_BYTES || c == '\n' || (tag == Tag::Not && !address) {
            return Found::Text;
        }
    }
    Found::unfinished(over)
}

/// Progress in a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Start,
    EndStart,
    Name,
    Gap,
    Attribute,
    ValueStart,
    Value,
    Quoted(char),
    Slash,
    /// Not a tag, as in `a <b and c`.
    Not,
}

impl Tag {
    fn after(self, c: char) -> Self {
        let word = c.is_ascii_alphanumeric() || ":_.-".contains(c);
        match self {
            Self::Start if c == '/' => Self::EndStart,
            Self::Start | Self::EndStart if c.is_ascii_alphabetic() => Self::Name,
            Self::Name if word => Self::Name,
            Self::Name | Self::Attribute if c == '=' => Self::ValueStart,
            Self::Name | Self::Gap | Self::Value if c == ' ' => Self::Gap,
            Self::Name | Self::Gap if c == '/' => Self::Slash,
            Self::Gap if c.is_ascii_alphabetic() => Self::Attribute,
            Self::Attribute if word => Self::Attribute,
            Self::ValueStart if c == '"' || c == '\'' => Self::Quoted(c),
            Self::ValueStart | Self::Value if c != ' ' && c != '<' && c != '>' => Self::Value,
            Self::Quoted(quote) if c == quote => Self::Gap,
            Self::Quoted(quote) => Self::Quoted(quote),
            _ => Self::Not,
        }
    }

    fn may_end(self) -> bool {
        matches!(self, Self::Name | Self::Gap | Self::Value | Self::Slash)
    }
}
