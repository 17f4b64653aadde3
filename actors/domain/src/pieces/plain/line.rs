//! Markup at the beginning of a line: headings, lists, rules, rows of tables, fences.

use super::{LineKind, Plain, Step};

/// Longest first line of a code fence, in bytes.
const FENCE_BYTES: usize = 80;

impl Plain {
    /// Parses markup that can only be at the beginning of a line; none if the line simply begins.
    pub(super) fn line_start(&mut self, rest: &str, over: bool) -> Option<Step> {
        let c = rest.chars().next()?;
        let length = rest.find('\n');
        let line = &rest[..length.unwrap_or(rest.len())];
        let ended = over || length.is_some();
        match c {
            '\n' => None,
            ' ' | '\t' | '>' => Some(Step::Drop(1)),
            '#' => self.heading(line, ended),
            '-' | '*' | '_' | '=' | '+' if line.chars().all(|o| o == c || o == ' ' || o == '\t') => {
                let rule = line.matches(c).count() >= 3 || line.trim_end().len() == 1;
                match (ended, rule) {
                    (true, true) => Some(Step::Drop(line.len())),
                    (true, false) => self.bullet(c, line, ended),
                    (false, _) => Some(Step::More),
                }
            }
            '|' if line.chars().all(|o| "|-: \t".contains(o)) => match ended {
                true => Some(Step::Drop(line.len())),
                false => Some(Step::More),
            },
            '|' => {
                self.line = LineKind::Row;
                Some(Step::Drop(1))
            }
            '`' | '~' if line.starts_with([c; 3].iter().collect::<String>().as_str()) => match (ended, line.len()) {
                (_, FENCE_BYTES..) => None,
                (true, bytes) => Some(Step::Drop(bytes)),
                (false, _) => Some(Step::More),
            },
            '`' | '~' if !ended && line.chars().all(|o| o == c) => Some(Step::More),
            '0'..='9' => self.number(line, ended),
            '[' if self.line == LineKind::Item => checkbox(line, ended),
            _ => self.bullet(c, line, ended),
        }
    }

    fn heading(&mut self, line: &str, ended: bool) -> Option<Step> {
        let marks = line.len() - line.trim_start_matches('#').len();
        match line[marks..].chars().next() {
            None if !ended => Some(Step::More),
            Some(' ' | '\t') | None if marks <= 6 => {
                self.line = LineKind::Item;
                Some(Step::Drop(marks))
            }
            _ => {
                self.at_start = false;
                None
            }
        }
    }

    fn bullet(&mut self, c: char, line: &str, ended: bool) -> Option<Step> {
        let spaced = line[c.len_utf8()..].starts_with([' ', '\t']);
        match c {
            '-' | '*' | '+' | '–' | '·' if spaced => {
                self.line = LineKind::Item;
                Some(Step::Drop(c.len_utf8()))
            }
            '•' | '◦' | '▪' | '‣' | '●' | '○' | '■' => {
                self.line = LineKind::Item;
                Some(Step::Drop(c.len_utf8()))
            }
            '–' | '·' if line.len() == c.len_utf8() && !ended => Some(Step::More),
            _ => None,
        }
    }

    /// Keeps an item's number, as `1.`
    fn number(&mut self, line: &str, ended: bool) -> Option<Step> {
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mut behind = line[digits..].chars();
        let (mark, space) = (behind.next(), behind.next());
        if digits > 3 {
            return None;
        }
        match (mark, space) {
            (None, _) | (Some('.' | ')'), None) if !ended => Some(Step::More),
            (Some(mark @ ('.' | ')')), Some(' ' | '\t')) => {
                self.line = LineKind::Item;
                self.at_start = false;
                match mark {
                    ')' => Some(Step::Read(digits + 1, format!("{}.", &line[..digits]))),
                    _ => Some(Step::Say(digits + 1)),
                }
            }
            _ => None,
        }
    }
}

fn checkbox(line: &str, ended: bool) -> Option<Step> {
    for boxed in ["[ ] ", "[x] ", "[X] "] {
        if line.starts_with(boxed) {
            return Some(Step::Drop(boxed.len()));
        }
        if !ended && boxed.starts_with(line) {
            return Some(Step::More);
        }
    }
    None
}
