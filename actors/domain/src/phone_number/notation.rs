//! How people write a number: digits, their layout, and what may be a second number or an extension.

use super::reason::Reason;

/// Fewest digits before a separator for what follows to be called an extension.
const FEWEST_BEFORE: usize = 6;

/// A text of digits and layout.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// Whether a plus comes first.
    pub(super) has_plus: bool,
    pub(super) digits: String,
    /// Digits in parentheses, as ranges of `digits`.
    pub(super) groups: Vec<std::ops::Range<usize>>,
    /// Places in `digits` where another number, the end of a range or an extension may begin.
    pub(super) splits: Vec<usize>,
    /// Places in `digits` where a hyphen may begin an extension, if the plan has no number with it.
    pub(super) hyphens: Vec<usize>,
}

/// Reads a text. Returns the reason if it contains anything but a number's digits and layout.
pub(super) fn read(text: &str) -> Result<Written, Reason> {
    let visible: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    let visible = visible.trim();
    let scheme = visible.get(..4).filter(|scheme| scheme.eq_ignore_ascii_case("tel:"));
    let visible = &visible[scheme.map_or(0, str::len)..];
    if let Some(why) = is_something_else(visible) {
        return Err(why);
    }
    let mut written = Written::default();
    let mut open = None;
    let mut spaced = false;
    let mut characters = visible.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            '0'..='9' => written.digits.push(c),
            '+' if written.digits.is_empty() && !written.has_plus => written.has_plus = true,
            '(' => open = Some(written.digits.len()),
            ')' => written.close(open.take(), visible[at + 1..].chars().all(is_layout)),
            '/' => written.split(),
            _ if is_dash(c) => {
                let next_is_space = characters.peek().is_some_and(|(_, next)| next.is_whitespace());
                match is_range(c) || (spaced && next_is_space) {
                    true => written.split(),
                    false => written.hyphens.push(written.digits.len()),
                }
            }
            _ if is_layout(c) => {}
            _ => return Err(written.foreign(&visible[at..], c)),
        }
        spaced = c.is_whitespace();
    }
    Ok(written)
}

impl Written {
    fn split(&mut self) {
        self.splits.push(self.digits.len());
    }

    /// Ends digits in parentheses. Behind a number they are an extension.
    fn close(&mut self, open: Option<usize>, is_last: bool) {
        let Some(open) = open else { return };
        self.groups.push(open..self.digits.len());
        if is_last {
            self.splits.push(open);
        }
    }

    fn foreign(&self, rest: &str, c: char) -> Reason {
        if self.digits.len() >= FEWEST_BEFORE && (c.is_ascii_alphabetic() || matches!(c, '#' | ';' | ',' | '*' | ':')) {
            Reason::more(rest)
        } else {
            Reason::NoNumber
        }
    }

    /// Removes digits that are not dialed.
    pub(super) fn remove(&mut self, range: std::ops::Range<usize>) {
        let length = range.len();
        for split in self.splits.iter_mut().chain(&mut self.hyphens) {
            if *split >= range.end {
                *split -= length;
            }
        }
        self.digits.drain(range);
    }
}

/// Returns the reason if a text is a date, or a number with decimals as programs write it.
fn is_something_else(text: &str) -> Option<Reason> {
    let parts: Vec<&str> = text.split(['.', '-', '/']).collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let within = |part: &str, most: u32| part.len() <= 2 && part.parse().is_ok_and(|value| (1..=most).contains(&value));
    let is_year = |part: &str| part.len() == 4 && (part.starts_with("19") || part.starts_with("20"));
    match parts.as_slice() {
        [whole, decimals] if text.contains('.') && decimals.bytes().all(|b| b == b'0') => {
            let digits = whole.strip_prefix('+').unwrap_or(whole);
            let is_float = digits.len() >= FEWEST_BEFORE && is_number(&digits) && (1..=2).contains(&decimals.len());
            is_float.then(|| Reason::Decimals((*decimals).to_owned()))
        }
        [a, b, c] if parts.iter().all(is_number) => {
            let days_first = (within(a, 31) && within(b, 12) || within(a, 12) && within(b, 31)) && is_year(c);
            let is_date = days_first || is_year(a) && within(b, 12) && within(c, 31);
            is_date.then_some(Reason::Date)
        }
        _ => None,
    }
}

/// Returns whether a character only separates or marks digits.
pub(super) fn is_layout(c: char) -> bool {
    c.is_whitespace() || matches!(c, '.' | '(' | ')' | '/') || is_dash(c)
}

/// Hyphens, dashes and the minus sign that spreadsheets and word processors insert.
fn is_dash(c: char) -> bool {
    matches!(
        c,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}'
    )
}

/// Returns whether a dash is one that marks ranges, also without spaces.
fn is_range(dash: char) -> bool {
    matches!(dash, '\u{2013}'..='\u{2015}')
}

/// Returns whether a character is not seen: marks of direction and width that copied texts contain, and controls.
fn is_invisible(c: char) -> bool {
    let is_mark = matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}');
    is_mark || (c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
}

/// Returns a text as a message shows it: characters that are not seen by their code, such as `U+202D`.
pub fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_invisible(c) {
            true => shown.push_str(&format!("U+{:04X}", u32::from(c))),
            false => shown.push(c),
        }
    }
    shown
}
