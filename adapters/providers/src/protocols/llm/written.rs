//! Reader of a model's text as its family writes it: tells speech from thoughts and tool calls, wherever it is cut.

use domain::prompt::Tool;

use crate::{
    failure::Failure,
    protocols::llm::{
        format::Format,
        reply_stream::{MOST_TEXT, in_all},
        written_call::{self, Calls},
    },
};

/// Part of a reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Speech(String),
    Thought,
    /// A call is being written, or may be.
    Call,
}

/// Mark that begins something. `marks.txt` explains the fields.
#[derive(Debug, Clone)]
struct Mark {
    text: String,
    /// `empty`, `thought`, `token`, `tag`, or `json` for a call that ends with its last bracket.
    kind: &'static str,
    /// `any`, `first`, `word` (not within one), or `capital` (first, before a capital letter).
    place: &'static str,
    ends: Vec<String>,
}

/// Reader of one reply.
#[derive(Debug)]
pub(crate) struct Written {
    marks: Vec<Mark>,
    tools: Vec<Tool>,
    within: Option<Mark>,
    /// Whether the text so far is a thought only if its end follows, since the server writes the beginning.
    is_opened: bool,
    /// Text that is not decided yet.
    held: String,
    /// Last character of the speech so far.
    last: Option<char>,
    /// Whether a mark was just left out, with the white space around it.
    is_after: bool,
    /// Calls so far, those of unknown tools too.
    calls: Calls,
}

impl Written {
    /// Creates a reader. Without tools, JSON is speech.
    pub(crate) fn new(format: Format, tools: &[Tool]) -> Self {
        let is_opened = format == Format::Thinking;
        Self {
            marks: marks(format, tools),
            tools: tools.to_vec(),
            within: is_opened.then(|| mark("", "thought", "any", &["</think>"])),
            is_opened,
            held: String::new(),
            last: None,
            is_after: false,
            calls: Calls::new(),
        }
    }

    /// Takes the text for speech, because the thoughts are elsewhere or did not end.
    pub(crate) fn without_thoughts(&mut self) {
        if std::mem::take(&mut self.is_opened) {
            self.within = None;
        }
    }

    /// Returns the calls of offered tools, or those of unknown tools if the reply has nothing else.
    pub(crate) fn take_calls(&mut self, is_silent: bool) -> Calls {
        let calls = std::mem::take(&mut self.calls).into_iter();
        let is_offered = |(name, _): &(String, _)| self.tools.iter().any(|tool| tool.name == *name);
        let (offered, unknown): (Calls, Calls) = calls.partition(is_offered);
        if offered.is_empty() && is_silent {
            unknown
        } else {
            offered
        }
    }

    /// Adds a piece of text, or ends the text if there is none.
    pub(crate) fn push(&mut self, piece: Option<&str>) -> Result<Vec<Part>, Failure> {
        self.held.push_str(piece.unwrap_or_default());
        let mut parts = Vec::new();
        let mut more = true;
        while more && !self.held.is_empty() {
            more = match self.within.clone() {
                Some(mark) if mark.kind == "thought" => self.read_thought(&mark, &mut parts),
                Some(mark) => self.read_call(&mark, piece.is_none(), &mut parts),
                None => self.read_speech(piece.is_none(), &mut parts),
            };
        }
        in_all(self.held.len()).map(|()| parts)
    }

    /// Reads speech up to the next mark. Returns whether more can be read, as the other readers do.
    fn read_speech(&mut self, is_end: bool, parts: &mut Vec<Part>) -> bool {
        let mut places = self.held.char_indices();
        let found = places.find_map(|(at, _)| Some((at, self.mark_at(at, is_end)?)));
        let (at, mark) = found.unwrap_or((self.held.len(), None));
        let speech = self.take(at);
        self.speak(&speech, parts);
        let Some(mark) = mark else { return false };
        if mark.kind != "json" {
            self.take(mark.text.len());
            self.is_after = true;
        }
        self.within = (mark.kind != "empty").then_some(mark);
        true
    }

    /// Returns the mark at a place of the text, or `Some(None)` if more text must come to tell.
    fn mark_at(&self, at: usize, is_end: bool) -> Option<Option<Mark>> {
        let (before, rest) = self.held.split_at(at);
        let is_first = self.last.is_none() && before.trim().is_empty();
        let last = before.chars().next_back().or(self.last);
        let fitting = self.marks.iter().filter(|mark| match mark.place {
            "any" => true,
            "word" => !last.is_some_and(|c| c.is_alphanumeric() || c == '_'),
            "capital" => {
                is_first
                    && rest
                        .get(mark.text.len()..)
                        .is_none_or(|rest| !rest.starts_with(|c: char| !c.is_uppercase()))
            }
            _ => is_first,
        });
        let mut longer = fitting
            .clone()
            .filter(|mark| mark.text.len() + usize::from(mark.place == "capital") > rest.len());
        if !is_end && longer.any(|mark| mark.text.starts_with(rest)) {
            return Some(None);
        }
        let whole = fitting
            .filter(|mark| rest.starts_with(&mark.text))
            .max_by_key(|mark| mark.text.len());
        whole.cloned().map(Some)
    }

    fn read_thought(&mut self, mark: &Mark, parts: &mut Vec<Part>) -> bool {
        parts.push(Part::Thought);
        if let Some((at, end)) = self.end_of(mark) {
            self.take(at);
            self.leave(end);
            return true;
        }
        // A longer text cannot be a reply.
        self.is_opened &= self.held.len() <= MOST_TEXT;
        if !self.is_opened {
            let kept = mark.ends.iter().map(|end| beginning_of(end, &self.held)).max();
            self.take(self.held.len() - kept.unwrap_or(0));
        }
        false
    }

    fn read_call(&mut self, mark: &Mark, is_end: bool, parts: &mut Vec<Part>) -> bool {
        parts.push(Part::Call);
        let is_json = mark.kind == "json";
        let end = match is_json {
            true => written_call::closed(&self.held).map(|end| (end, "")),
            false => self.end_of(mark),
        };
        let may_be = match mark.kind {
            "json" => mark.text.len() > 1 || written_call::is_json(&self.held, &self.tools).is_some(),
            kind => kind == "token" || !is_prose(&self.held),
        };
        if !may_be {
            self.within = None;
            let begin = if is_json {
                self.take(mark.text.len())
            } else {
                mark.text.clone()
            };
            self.speak(&begin, parts);
            return true;
        }
        let Some((at, end)) = end.or(is_end.then_some((self.held.len(), ""))) else {
            return false;
        };
        let block = self.take(at);
        let calls = written_call::read(&block, &self.tools);
        if calls.is_none() && !is_meant(mark, &block, &self.tools) {
            self.speak(&format!("{}{block}", if is_json { "" } else { &mark.text }), parts);
        }
        self.calls.extend(calls.unwrap_or_default());
        self.leave(end);
        true
    }

    /// Returns where the text within a mark ends, and by which end.
    fn end_of<'m>(&self, mark: &'m Mark) -> Option<(usize, &'m str)> {
        let ends = mark
            .ends
            .iter()
            .filter_map(|end| Some((self.held.find(end)?, end.as_str())));
        ends.min_by_key(|(at, _)| *at)
    }

    /// Leaves a mark at its end. An end that means something outside, too, is read again there.
    fn leave(&mut self, end: &str) {
        let is_known = self.marks.iter().any(|mark| mark.text == end && mark.kind != "tag");
        self.take(if is_known { 0 } else { end.len() });
        (self.within, self.is_opened, self.is_after) = (None, false, true);
    }

    /// Removes the first bytes of the text and returns them.
    fn take(&mut self, bytes: usize) -> String {
        let rest = self.held.split_off(bytes);
        std::mem::replace(&mut self.held, rest)
    }

    fn speak(&mut self, text: &str, parts: &mut Vec<Part>) {
        let is_apart = self.last.is_none_or(char::is_whitespace);
        let text = if self.is_after && is_apart {
            text.trim_start()
        } else {
            text
        };
        if !text.is_empty() {
            self.is_after = false;
            // White space at the beginning is no beginning of the speech.
            self.last = text
                .chars()
                .next_back()
                .filter(|_| self.last.is_some() || !text.trim().is_empty());
            parts.push(Part::Speech(text.to_owned()));
        }
    }
}

/// Returns whether words follow a mark, and no call.
fn is_prose(text: &str) -> bool {
    let text = text.trim_start();
    let after = text.trim_start_matches(|c: char| c.is_alphanumeric() || "_-.,".contains(c));
    after.len() < text.len() && after.starts_with(' ')
}

/// Returns whether a block that holds no call that can be read is plainly meant as one.
fn is_meant(mark: &Mark, block: &str, tools: &[Tool]) -> bool {
    match mark.kind {
        "json" => written_call::is_json(block, tools) == Some(true) && written_call::closed(block).is_none(),
        "tag" => !mark.text.starts_with('`') && (block.contains(['{', '<', '(']) || !block.contains(' ')),
        _ => true,
    }
}

fn mark(text: &str, kind: &'static str, place: &'static str, ends: &[&str]) -> Mark {
    let words = |text: &str| text.replace('~', " ");
    Mark {
        text: words(text),
        kind,
        place,
        ends: ends.iter().map(|end| words(end)).collect(),
    }
}

/// Returns the marks of a format.
fn marks(format: Format, tools: &[Tool]) -> Vec<Mark> {
    let of_line = |line: &'static str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [of, kind, place, text, ends @ ..] = words.as_slice() else {
            return None;
        };
        let is_of = match format {
            Format::Plain => *of == "plain",
            Format::Harmony => *of != "#",
            _ => matches!(*of, "plain" | "marked"),
        };
        is_of.then(|| mark(text, kind, place, ends))
    };
    let mut marks: Vec<Mark> = include_str!("marks.txt").lines().filter_map(of_line).collect();
    if format != Format::Plain && !tools.is_empty() {
        marks.extend(["{", "["].map(|text| mark(text, "json", "any", &[])));
        let forms = tools.iter().flat_map(|Tool { name, .. }| {
            let calls = ["", "[", "functions.", "default_api."].map(|before| format!("{before}{name}("));
            calls
                .into_iter()
                .chain([format!("{name}{{"), format!("Action: {name}")])
        });
        marks.extend(forms.map(|text| mark(&text, "json", "word", &[])));
    }
    marks
}

/// Returns how many bytes at the end of a text are the beginning of a mark.
fn beginning_of(mark: &str, text: &str) -> usize {
    let mut lengths = mark.char_indices().map(|(at, _)| at).rev();
    lengths.find(|length| text.ends_with(&mark[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests;
