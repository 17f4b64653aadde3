//! Splits a document into passages: at headings, then paragraphs, then sentences, each of limited length.

use std::ops::Range;

use super::sentence;

/// A document with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Name for people.
    pub name: String,
    /// Whole text.
    pub text: String,
}

/// Longest passage, in characters. It is about 180 tokens: long enough for an answer with its context, and
/// short enough that six of them cost little.
pub const MOST_CHARACTERS: usize = 700;

/// Length from which a passage ends with its paragraph, in characters.
const ENOUGH_CHARACTERS: usize = 350;

/// Longest last sentence, in characters, that is repeated at the beginning of the next passage, which may refer to it.
const OVERLAP_CHARACTERS: usize = 140;

/// Longest unmarked heading, in characters.
const HEADING_CHARACTERS: usize = 60;

/// Length to which a heading is shortened, in characters.
const HEADING_KEPT: usize = 120;

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Index of the document in its list.
    pub document: usize,
    /// Heading above it; empty if there is none.
    pub heading: String,
    /// Byte range in the document's text.
    pub range: Range<usize>,
}

impl Passage {
    /// Returns its text.
    pub fn text<'a>(&self, documents: &'a [Document]) -> &'a str {
        let text = documents.get(self.document).map(|document| document.text.as_str());
        text.and_then(|text| text.get(self.range.clone())).unwrap_or_default()
    }
}

/// Splits a document into passages in order. Each word is in one of them, and none exceeds [`MOST_CHARACTERS`].
pub fn passages(document: usize, text: &str) -> Vec<Passage> {
    let mut cut = Vec::new();
    for section in sections(text) {
        let heading = section.heading;
        let ranges = packed(text, &units(text, section.range));
        cut.extend(ranges.into_iter().map(|range| Passage {
            document,
            heading: heading.clone(),
            range,
        }));
    }
    cut
}

/// A heading's line and the text below it.
struct Section {
    heading: String,
    range: Range<usize>,
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections = vec![Section {
        heading: String::new(),
        range: 0..0,
    }];
    let mut at = 0;
    let mut after_blank = true;
    // Whether the last section contains only its heading so far.
    let mut is_bare = false;
    for line in text.split_inclusive('\n') {
        if let Some(heading) = heading(line, after_blank) {
            match sections.last_mut() {
                // A title above belongs to this heading. As a passage of its own it would match by its words
                // and answer nothing.
                Some(title) if is_bare && !title.heading.is_empty() => title.heading = heading,
                _ => sections.push(Section { heading, range: at..at }),
            }
            is_bare = true;
        } else if !line.trim().is_empty() {
            is_bare = false;
        }
        after_blank = line.trim().is_empty();
        at += line.len();
        if let Some(section) = sections.last_mut() {
            section.range.end = at;
        }
    }
    sections
}

/// Returns the heading in a line: marked as in Markdown, or a short line of its own that does not end with a full stop.
fn heading(line: &str, after_blank: bool) -> Option<String> {
    let line = line.trim();
    let marked = line.trim_start_matches('#');
    let level = line.len() - marked.len();
    let is_marked = (1..=6).contains(&level) && marked.starts_with(' ');
    let words = marked.trim().trim_matches(['*', '_', ':']).trim();
    let is_short = after_blank
        && line.chars().count() <= HEADING_CHARACTERS
        && words.starts_with(char::is_alphanumeric)
        && words.contains(char::is_alphabetic)
        && !words.ends_with(['.', ',', ';', '!', '\u{964}'])
        && !words.contains(['|', '\t'])
        && !line.contains(": ");
    let heading = (is_marked || is_short) && !words.is_empty();
    heading.then(|| words.chars().take(HEADING_KEPT).collect())
}

/// A piece that is not split any further: a sentence, or as much of one as fits in a passage.
struct Unit {
    range: Range<usize>,
    characters: usize,
    /// Whether a paragraph ends with it.
    ends_paragraph: bool,
}

fn units(text: &str, section: Range<usize>) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let words = text.get(section.clone()).unwrap_or_default();
    for (at, sentence) in sentence::bounds(words) {
        if sentence.trim().is_empty() {
            // A blank line.
            if let Some(last) = units.last_mut() {
                last.ends_paragraph = true;
            }
            continue;
        }
        for piece in pieces(sentence) {
            let begin = section.start + at + piece.start;
            units.push(Unit {
                range: begin..begin + piece.len(),
                characters: sentence.get(piece).map_or(0, |words| words.chars().count()),
                ends_paragraph: false,
            });
        }
    }
    units
}

/// Splits a sentence that is too long for a passage, at its last white space within the limit, otherwise anywhere.
fn pieces(sentence: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while let Some(rest) = sentence.get(start..).filter(|rest| !rest.is_empty()) {
        let Some((bound, _)) = rest.char_indices().nth(MOST_CHARACTERS) else {
            pieces.push(start..sentence.len());
            break;
        };
        let head = rest.get(..bound).unwrap_or(rest);
        let end = head.rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(bound);
        pieces.push(start..start + end);
        start += end;
    }
    pieces
}

fn packed(text: &str, units: &[Unit]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut held: Option<Range<usize>> = None;
    let mut last: Option<&Unit> = None;
    for unit in units {
        let with = held.clone().map(|held| held.start..unit.range.end);
        held = match with.filter(|with| characters(text, with) <= MOST_CHARACTERS) {
            Some(with) => Some(with),
            None => {
                ranges.extend(held.take());
                let overlapping = last.filter(|last| last.characters <= OVERLAP_CHARACTERS && !last.ends_paragraph);
                let with = overlapping.map(|last| last.range.start..unit.range.end);
                let with = with.filter(|with| characters(text, with) <= MOST_CHARACTERS);
                Some(with.unwrap_or_else(|| unit.range.clone()))
            }
        };
        let enough = |held: &Range<usize>| characters(text, held) >= ENOUGH_CHARACTERS;
        if unit.ends_paragraph && held.as_ref().is_some_and(enough) {
            ranges.extend(held.take());
        }
        last = Some(unit);
    }
    ranges.extend(held);
    ranges.into_iter().map(|range| trimmed(text, range)).collect()
}

fn characters(text: &str, range: &Range<usize>) -> usize {
    text.get(range.clone()).map_or(0, |words| words.trim().chars().count())
}

/// Returns the range without white space at its ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let words = text.get(range.clone()).unwrap_or_default();
    let start = range.start + (words.len() - words.trim_start().len());
    start..start + words.trim().len()
}
