//! How a file's cells are separated: as its first line or the form says, else by its content.

use std::io::{self, BufRead, Read, Seek};

use domain::agent::Problem;
use encoding_rs::{Encoding, UTF_8};

use super::{
    check::Options,
    columns::{self, Overrides},
    rows::{ReadError, Records},
    text::Decoded,
};

/// Records that are compared to find the separator.
const COMPARED: usize = 20;

/// Separators that are recognised, from the least to the most likely, with their names.
const KNOWN: [(u8, &str); 3] = [(b'\t', "tabs"), (b';', "semicolons"), (b',', "commas")];

/// The separator that a form asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Separator {
    /// The comma, unless the file says otherwise.
    #[default]
    Comma,
    /// The one that fits the content.
    Found,
    /// This one.
    Given(u8),
}

impl Separator {
    /// Parses a form's field.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Found),
            "tab" => Some(Self::Given(b'\t')),
            "," | ";" | "|" => Some(Self::Given(text.as_bytes()[0])),
            _ => None,
        }
    }
}

/// Encoding and separator with which a file's records are read.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Encoding of the text.
    pub encoding: &'static Encoding,
    /// Byte between cells.
    pub separator: u8,
    /// Whether the first line is `sep=` and the separator.
    pub has_sep_line: bool,
}

impl Layout {
    /// Finds the layout of a file in this encoding.
    pub fn find(
        input: &mut (impl BufRead + Seek),
        encoding: &'static Encoding,
        options: &Options,
    ) -> io::Result<Result<Self, Problem>> {
        let named = named_by_file(input, encoding)?;
        let layout = |separator| Self {
            encoding,
            separator,
            has_sep_line: named.is_some(),
        };
        match (named, options.separator) {
            (Some(separator), _) | (None, Separator::Given(separator)) => return Ok(Ok(layout(separator))),
            _ => {}
        }
        let mut best = (Fit::default(), KNOWN[0]);
        for known in KNOWN {
            let fit = Fit::of(&mut *input, layout(known.0), &options.overrides).unwrap_or_default();
            best = if fit >= best.0 { (fit, known) } else { best };
        }
        let (separator, name) = best.1;
        // The only UTF-16 that spreadsheets write has tabs.
        if separator != b',' && options.separator == Separator::Comma && encoding.is_ascii_compatible() {
            let message = format!(
                "the cells are separated by {name}; save the file with commas, set `separator` to `auto`, or put the \
                 line `sep={}` first",
                separator as char
            );
            return Ok(Err(Problem::new("file", "wrong_separator", message)));
        }
        Ok(Ok(layout(separator)))
    }

    /// Returns a warning about an encoding other than UTF-8.
    pub fn warning(&self) -> Option<String> {
        let advice = match self.encoding.is_ascii_compatible() {
            true => "; check letters with accents, or save the file as UTF-8",
            false => "",
        };
        let name = self.encoding.name();
        (self.encoding != UTF_8).then(|| format!("the file is not UTF-8 and was read as {name}{advice}"))
    }
}

/// Returns the separator that the first line names, as Excel writes and reads it.
fn named_by_file(input: &mut (impl BufRead + Seek), encoding: &'static Encoding) -> io::Result<Option<u8>> {
    input.rewind()?;
    let mut start = Vec::new();
    Decoded::new(input, encoding)
        .buffered()
        .take(16)
        .read_to_end(&mut start)?;
    let line = start
        .split(|byte| matches!(byte, b'\r' | b'\n'))
        .next()
        .unwrap_or_default();
    let bare = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\""));
    Ok(match bare.unwrap_or(line) {
        [s, e, p, b'=', separator] if [*s, *e, *p].eq_ignore_ascii_case(b"sep") => {
            let is_usable = separator.is_ascii_punctuation() || *separator == b'\t';
            (is_usable && *separator != b'"').then_some(*separator)
        }
        _ => None,
    })
}

/// How well a layout fits the first records; what comes first counts most.
#[derive(Default, PartialEq, PartialOrd)]
struct Fit {
    has_phone_column: bool,
    /// Rows as long as the header line.
    alike: usize,
    /// Separators in the header line.
    separators: usize,
}

impl Fit {
    fn of(input: impl BufRead + Seek, layout: Layout, overrides: &Overrides) -> Result<Self, ReadError> {
        let mut records = Records::new(input, layout)?;
        let Some(header) = records.next().transpose()? else {
            return Ok(Self::default());
        };
        let width = header.cells.len();
        let rows = records.take(COMPARED).map_while(Result::ok);
        Ok(Self {
            has_phone_column: columns::has_phone(&header.cells, overrides),
            alike: rows.filter(|row| width > 1 && row.cells.len() == width).count(),
            separators: width.saturating_sub(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn found(text: &str, asked: Separator) -> Result<(u8, bool), &'static str> {
        let options = Options {
            separator: asked,
            ..Options::default()
        };
        let layout = Layout::find(&mut Cursor::new(text), UTF_8, &options).unwrap();
        layout
            .map(|layout| (layout.separator, layout.has_sep_line))
            .map_err(|problem| problem.code)
    }

    #[test]
    fn the_separator_is_the_comma_unless_the_file_or_the_form_says_otherwise() {
        for (text, expected, by_content) in [
            ("", Ok((b',', false)), b','),
            ("phone", Ok((b',', false)), b','),
            ("phone,a;b\n+1,x;y", Ok((b',', false)), b','),
            ("a; b,c\n1; 2,3", Ok((b',', false)), b','),
            ("\"a; b\",Tel\nx; y,1", Ok((b',', false)), b','),
            ("a, b;phone\nx, y;1", Err("wrong_separator"), b';'),
            ("phone\tname", Err("wrong_separator"), b'\t'),
            ("Tel;Ort\n1;2", Err("wrong_separator"), b';'),
        ] {
            assert_eq!(found(text, Separator::Comma), expected, "{text:?}");
            assert_eq!(found(text, Separator::Found), Ok((by_content, false)), "{text:?}");
        }
        for (text, separator) in [("sep=;\na", b';'), ("SEP=\t\r\na", b'\t'), ("\"sep=|\"\ra", b'|')] {
            assert_eq!(found(text, Separator::Comma), Ok((separator, true)), "{text:?}");
        }
        for text in ["sep=\na", "sep=x\na", "sep=\"\na", "sep=;;\na"] {
            assert!(!found(text, Separator::Found).unwrap().1, "{text:?}");
        }
        assert_eq!(found("a,b", Separator::Given(b'|')), Ok((b'|', false)));
        assert_eq!(Separator::parse(";"), Some(Separator::Given(b';')));
        assert_eq!(Separator::parse("::"), None);
    }
}
