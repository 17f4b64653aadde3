//! Columns and cells of `results.csv`, written so that the file can be uploaded again as contacts.

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse, Response},
};

use crate::contact_fields::header_refusal;

/// Headers of the result. The contacts' own columns follow.
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

/// Returns whether these are the headers of a file of results.
pub fn is_results(headers: &[String]) -> bool {
    headers.len() >= HEADERS.len() && headers.iter().zip(HEADERS).all(|(header, own)| header == own)
}

/// Returns the header of a contact's field.
pub fn header_of(field: &str) -> String {
    let is_refused = header_refusal(field).is_some();
    let collides = HEADERS.contains(&field) || field == EMAIL || field.starts_with(FIELD) || is_refused;
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
    part.trim_start_matches('\'').starts_with(formula)
}

/// Returns a response whose streamed body clients save as a file with this name.
pub fn attachment(body: Body, content_type: &str, name: &str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    (headers, body).into_response()
}

/// Returns the bytes that were written.
pub fn written(writer: csv::Writer<Vec<u8>>) -> Result<Vec<u8>, csv::Error> {
    writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_begins_like_a_formula_is_escaped_and_found_again() {
        for (cell, expected) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("＝1", "'＝1"),
            ("'=1", "''=1"),
            ("-1", "'-1"),
            ("'tis", "'tis"),
            ("a=1", "a=1"),
            ("a;=1;b", "a;'=1;b"),
            ("a\n+1;'@b\n", "a\n'+1;''@b\n"),
            ("a;b\n\nc; d", "a;b\n\nc; d"),
            ("'", "'"),
            ("", ""),
        ] {
            assert_eq!(harmless(cell.to_owned()), expected);
            assert_eq!(restored(expected), cell);
        }
    }
}
