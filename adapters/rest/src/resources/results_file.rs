//! Columns and cells of `results.csv`, written so that the file can be uploaded again as contacts.

use std::collections::{BTreeMap, BTreeSet};

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse, Response},
};

use crate::request::{
    contact_fields::header_refusal,
    query::{Parameters, RawQuery},
};

/// Headers of the result. Those of the collected values and the contacts' own columns follow.
pub const HEADERS: [&str; 9] = [
    "phoneNumber",
    "name",
    "contactId",
    "status",
    "errorMessage",
    "attempts",
    "lastConversationId",
    "voiceMailDetected",
    "dataCollected",
];

/// Header of the numbers.
pub const PHONE_NUMBER: &str = HEADERS[0];
/// Header of the names.
pub const NAME: &str = HEADERS[1];
/// Header of the e-mail addresses.
pub const EMAIL: &str = "email";

/// Beginning of the header of a contact's field whose plain name would mean something else in an upload.
const FIELD: &str = "field.";

/// Beginning of the header of a collected value.
const COLLECTED: &str = "collected.";

/// Mark with which spreadsheets recognise UTF-8.
const BOM: &str = "\u{feff}";

/// Parameters of a file.
#[derive(Debug, Clone, Copy)]
pub struct FileParameters {
    bom: bool,
}

impl Parameters for FileParameters {
    const NAMES: &'static [&'static str] = &["bom"];

    fn read(query: &mut RawQuery) -> Self {
        let bom = query.boolean("bom").unwrap_or(true);
        Self { bom }
    }
}

/// Lines of a piece of a file.
#[derive(Debug, Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// Creates the first piece of a file.
    pub fn first(parameters: FileParameters) -> Self {
        Self(if parameters.bom { BOM.into() } else { Vec::new() })
    }

    /// Adds a line. With a semicolon in it every cell is quoted, since spreadsheets may split at semicolons too.
    pub fn add(&mut self, cells: impl IntoIterator<Item = String>) -> Result<(), csv::Error> {
        let cells = csv::StringRecord::from_iter(cells);
        let style = match cells.iter().any(|cell| cell.contains(';')) {
            true => csv::QuoteStyle::Always,
            false => csv::QuoteStyle::Necessary,
        };
        let mut writer = csv::WriterBuilder::new().quote_style(style).from_writer(&mut self.0);
        writer.write_record(&cells)?;
        Ok(writer.flush()?)
    }

    /// Returns the bytes of the lines.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Names of the collected values that have a column each.
#[derive(Debug, Default)]
pub struct CollectedColumns(BTreeSet<String>);

impl CollectedColumns {
    /// Adds names.
    pub fn add<'a>(&mut self, names: impl IntoIterator<Item = &'a String>) {
        self.0.extend(names.into_iter().cloned());
    }

    /// Returns the headers.
    pub fn headers(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|name| harmless(format!("{COLLECTED}{name}")))
    }

    /// Returns the cells of a row with these values.
    pub fn cells(&self, values: &BTreeMap<&str, &str>) -> impl Iterator<Item = String> {
        let value = move |name: &String| values.get(&**name).copied().unwrap_or_default().to_owned();
        self.0.iter().map(move |name| harmless(value(name)))
    }
}

/// Returns the number of columns that a file of results has before the contacts' own; 0 for another file.
pub fn result_columns(headers: &[String]) -> usize {
    if !headers.starts_with(&HEADERS.map(str::to_owned)) {
        return 0;
    }
    let collected = headers[HEADERS.len()..].iter();
    HEADERS.len() + collected.take_while(|header| header.starts_with(COLLECTED)).count()
}

/// Returns the header of a contact's field.
pub fn header_of(field: &str) -> String {
    let is_refused = header_refusal(field).is_some();
    let collides = HEADERS.contains(&field) || field == EMAIL || is_refused;
    let collides = collides || [FIELD, COLLECTED].iter().any(|start| field.starts_with(start));
    harmless(match collides {
        true => format!("{FIELD}{field}"),
        false => field.to_owned(),
    })
}

/// Returns the field whose header this is, and whether it was written with `field.`.
pub fn field_of(header: &str) -> (String, bool) {
    let header = restored(header);
    match header.strip_prefix(FIELD) {
        Some(field) => (field.to_owned(), true),
        None => (header, false),
    }
}

/// Prevents a cell from being read as a formula: if it begins like one, an apostrophe is put before it. One is also
/// put before apostrophes that stand there already, so that [`restored`] finds the cell again.
///
/// Where the comma separates decimals, spreadsheets split files at semicolons and line breaks, also between quotation marks.
/// There each part of the cell becomes a cell.
pub fn harmless(cell: String) -> String {
    if !cell.split(['\n', ';']).any(is_formula) {
        return cell;
    }
    in_parts(&cell, |part| match is_formula(part) {
        true => format!("'{part}"),
        false => part.to_owned(),
    })
}

/// Returns the cell as it was before [`harmless`].
pub fn restored(cell: &str) -> String {
    in_parts(cell, |part| {
        let rest = part.strip_prefix('\'').filter(|rest| is_formula(rest));
        rest.unwrap_or(part).to_owned()
    })
}

fn in_parts(cell: &str, change: impl Fn(&str) -> String) -> String {
    let line = |line: &str| line.split(';').map(&change).collect::<Vec<_>>().join(";");
    cell.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn is_formula(part: &str) -> bool {
    // Some spreadsheets convert the wide forms into the plain ones.
    let formula = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];
    let part = part.trim_start_matches('\'');
    part.starts_with(formula) && !is_number(part)
}

/// Returns whether a cell is a number with its sign, such as a phone number.
fn is_number(cell: &str) -> bool {
    let digits = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = cell.strip_prefix(['+', '-']);
    unsigned.is_some_and(|number| number.split(['.', ',']).all(digits))
}

/// Returns a response whose streamed body clients save as a file with this name.
pub fn attachment(body: Body, content_type: &str, name: &str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    (headers, body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_begins_like_a_formula_is_escaped_and_found_again() {
        for (cell, expected) in [
            ("=1+1", "'=1+1"),
            ("+15550100010", "+15550100010"),
            ("-1,234.50", "-1,234.50"),
            ("+1+1", "'+1+1"),
            ("-1-555", "'-1-555"),
            ("-", "'-"),
            ("+1e9", "'+1e9"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("＝1", "'＝1"),
            ("'=1", "''=1"),
            ("'-1", "'-1"),
            ("'tis", "'tis"),
            ("a=1", "a=1"),
            ("a;=1;b", "a;'=1;b"),
            ("a\n+x;'@b\n", "a\n'+x;''@b\n"),
            ("a;b\n\nc; d", "a;b\n\nc; d"),
            ("'", "'"),
            ("", ""),
        ] {
            assert_eq!(harmless(cell.to_owned()), expected);
            assert_eq!(restored(expected), cell);
        }
    }

    #[test]
    fn a_line_with_a_semicolon_is_quoted_as_a_whole() {
        let mut lines = Lines::default();
        for line in [["a", "b c"], ["a;b", "c\"d"], ["", "a,b"]] {
            lines.add(line.map(str::to_owned)).unwrap();
        }
        assert_eq!(lines.into_bytes(), b"a,b c\n\"a;b\",\"c\"\"d\"\n,\"a,b\"\n");
    }
}
