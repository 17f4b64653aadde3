//! Cuts a document into passages: at headings, then paragraphs, then sentences, each of bounded length.

use std::ops::Range;

use super::{Document, sentence};

/// The longest passage. Some 180 tokens: long enough for an answer with what belongs to it, short enough that six of them
/// cost little.
pub const MOST_CHARACTERS: usize = 700;

/// From this length on a passage ends with its paragraph.
const ENOUGH_CHARACTERS: usize = 350;

/// A last sentence up to this length begins the next passage too: what it speaks of may go on there.
const OVERLAP_CHARACTERS: usize = 140;

/// A line that is longer is no heading, unless it is marked as one.
const HEADING_CHARACTERS: usize = 60;

/// A longer heading is kept as far as this.
const HEADING_KEPT: usize = 120;

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The document's place in its list.
    pub document: usize,
    /// The heading it stands under; empty where there is none.
    pub heading: String,
    /// Its bytes in the document's text.
    pub range: Range<usize>,
}

impl Passage {
    /// Its words.
    pub fn text<'a>(&self, documents: &'a [Document]) -> &'a str {
        let text = documents.get(self.document).map(|document| document.text.as_str());
        text.and_then(|text| text.get(self.range.clone())).unwrap_or_default()
    }
}

/// A document's passages in its order. Every word is in one of them, and each is of [`MOST_CHARACTERS`] at most.
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

/// What stands under one heading, the heading's own line included.
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
    // The last section has nothing but its heading so far.
    let mut is_bare = false;
    for line in text.split_inclusive('\n') {
        if let Some(heading) = heading(line, after_blank) {
            match sections.last_mut() {
                // A title above it belongs to it: alone it would be found for its words, and answer nothing.
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

/// The heading that a line is: marked as Markdown does, or a short line of its own that ends without a stop.
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

/// What is not cut any further: a sentence, or as much of one as a passage holds.
struct Unit {
    range: Range<usize>,
    characters: usize,
    /// A paragraph ends with it.
    ends_paragraph: bool,
}

fn units(text: &str, section: Range<usize>) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let words = text.get(section.clone()).unwrap_or_default();
    for (at, sentence) in sentence::bounds(words) {
        if sentence.trim().is_empty() {
            // A line without words.
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

/// A sentence that is longer than a passage, cut at its last white space within the bound, else anywhere.
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

/// Without white space at its ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let words = text.get(range.clone()).unwrap_or_default();
    let start = range.start + (words.len() - words.trim_start().len());
    start..start + words.trim().len()
}
