//! Checks a whole file before anything is saved.

use std::io::{self, BufRead, Seek};

use domain::{
    agent::{LANGUAGE_OVERRIDE, Problem},
    phone_number::PhoneNumber,
    ports::store::CampaignContact,
};
use serde_json::Map;

use super::{
    columns::{Columns, Overrides},
    lines::find_not_text,
    rows::{self, ReadError, Record, Records},
    seen::Seen,
};
use crate::{
    call_overrides::ContactChoices,
    contact_fields::EXTRA_BYTES,
    email::is_email,
    fields::NAME_CHARACTERS,
    row_report::{RowCode, RowProblem, RowReport, shown},
    safeguards::Destinations,
};

/// Maximum data rows of a file.
pub const ROWS: u64 = 1_000_000;

/// Maximum number of listed oversized cells.
const LISTED: usize = 100;

/// Reason why a file was rejected.
#[derive(Debug)]
pub enum Refusal {
    /// The file as a whole, its header line, or oversized cells.
    File(Vec<Problem>),
    /// Invalid rows, and possibly oversized cells.
    Rows(RowReport, Vec<Problem>),
    /// More rows than allowed.
    TooManyRows,
    /// The stored file cannot be read.
    Unreadable(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => Self::Unreadable(error),
            ReadError::TooLong(_) => Self::File(vec![Problem::new("file", "too_long", error.to_string())]),
            ReadError::OpenQuote(_) => Self::File(vec![Problem::new("file", "open_quote", error.to_string())]),
        }
    }
}

/// Rules of the agent and the account that every row must keep.
pub struct Rules<'a> {
    /// Choices that the agent allows; `None` if it is not known.
    pub choices: Option<&'a mut ContactChoices>,
    /// Destinations that the account's safeguards allow.
    pub destinations: &'a mut Destinations,
}

/// Contacts that are shown of a file.
pub const FIRST: usize = 5;

/// A file whose rows were checked.
pub struct Examined {
    /// Columns of the file.
    pub columns: Columns,
    /// Problems of the rows.
    pub report: RowReport,
    /// Oversized cells.
    pub limits: Vec<Problem>,
    /// Phone numbers of the file.
    pub seen: Seen,
    /// The first valid contacts, at most [`FIRST`]; none after an oversized cell.
    pub first: Vec<CampaignContact>,
}

impl Examined {
    /// Returns what an upload needs of the file, or why it is refused.
    pub fn sound(self) -> Result<Self, Refusal> {
        match (self.report.invalid_rows, self.limits.is_empty()) {
            (0, true) => Ok(Self {
                seen: Seen::default(),
                ..self
            }),
            (0, false) => Err(Refusal::File(self.limits)),
            _ => Err(Refusal::Rows(self.report, self.limits)),
        }
    }
}

/// Checks a whole file of at most `row_limit` rows. Returns its columns and the number of rows.
pub fn check(
    input: impl BufRead + Seek,
    overrides: &Overrides,
    row_limit: u64,
    rules: Rules<'_>,
) -> Result<(Columns, u64), Refusal> {
    let sound = examine(input, overrides, row_limit, rules)?.sound()?;
    Ok((sound.columns, sound.report.total_rows))
}

/// Checks all rows of a file, of which there must be one.
pub fn examine(
    mut input: impl BufRead + Seek,
    overrides: &Overrides,
    row_limit: u64,
    Rules { choices, destinations }: Rules<'_>,
) -> Result<Examined, Refusal> {
    let file = |code, message: String| Err(Refusal::File(vec![Problem::new("file", code, message)]));
    if let Some(at) = find_not_text(&mut input)? {
        let message = format!(
            "is not UTF-8 text: line {} (byte {}) cannot be read; save the file as UTF-8",
            at.line, at.offset
        );
        return file("not_utf8", message);
    }
    input.rewind()?;
    let mut records = Records::new(input)?;
    let Some(header) = records.next().transpose()? else {
        return file(
            "empty",
            "is empty: a header line and at least one row are needed".into(),
        );
    };
    let columns = Columns::read(header.cells, overrides).map_err(Refusal::File)?;
    let mut checker = Checker {
        columns: &columns,
        chosen: columns.choices(),
        choices,
        destinations,
        report: RowReport::default(),
        limits: Vec::new(),
        seen: Seen::default(),
    };
    let mut first = Vec::new();
    for record in records {
        if checker.report.total_rows == row_limit {
            return Err(Refusal::TooManyRows);
        }
        let (record, valid) = (record?, checker.report.valid_rows);
        checker.row(&columns.restored(&record));
        let is_sound = checker.report.valid_rows > valid && checker.limits.is_empty();
        if is_sound && first.len() < FIRST {
            first.extend(rows::contact(&record, &columns));
        }
    }
    let Checker {
        report, limits, seen, ..
    } = checker;
    if report.total_rows == 0 {
        return file("empty", "has a header line but no row".into());
    }
    Ok(Examined {
        columns,
        report,
        limits,
        seen,
        first,
    })
}

struct Checker<'a> {
    columns: &'a Columns,
    /// Columns with overrides or the language of a call.
    chosen: Vec<(usize, String)>,
    choices: Option<&'a mut ContactChoices>,
    destinations: &'a mut Destinations,
    report: RowReport,
    limits: Vec<Problem>,
    seen: Seen,
}

impl Checker<'_> {
    fn row(&mut self, record: &Record) {
        let mut problems = Vec::new();
        let row = self.report.total_rows + 1;
        let mut complain = |column: Option<usize>, code, message: String| {
            problems.push(RowProblem {
                row,
                line: record.line,
                column: column.map(|index| self.columns.headers[index].clone()),
                value: column.map(|index| shown(&record.cells[index])),
                code,
                message,
            });
        };
        let (cells, headers) = (record.cells.len(), self.columns.headers.len());
        if cells != headers {
            let message = format!("has {cells} cells for {headers} headers");
            complain(None, RowCode::RaggedRow, message);
            self.report.add(problems);
            return;
        }
        let phone = self.columns.phone;
        if let Err((code, message)) = number(&mut self.seen, self.destinations, row, &record.cells[phone]) {
            complain(Some(phone), code, message);
        }
        let email = self.columns.email.filter(|index| {
            let cell = &record.cells[*index];
            !cell.is_empty() && !is_email(cell)
        });
        if let Some(index) = email {
            complain(Some(index), RowCode::InvalidEmail, "is not an e-mail address".into());
        }
        if let Some(choices) = self.choices.as_mut().filter(|_| !self.chosen.is_empty()) {
            let given = self.chosen.iter().filter(|(index, _)| !record.cells[*index].is_empty());
            let given: Map<_, _> = given
                .map(|(index, header)| (header.clone(), record.cells[*index].as_str().into()))
                .collect();
            for problem in choices.problems(&given) {
                let code = match problem.path == LANGUAGE_OVERRIDE {
                    true => RowCode::InvalidLanguage,
                    false => RowCode::InvalidOverride,
                };
                let column = self.chosen.iter().find(|(_, header)| *header == problem.path);
                complain(column.map(|(index, _)| *index), code, problem.message);
            }
        }
        self.report.add(problems);
        self.check_limits(record);
    }

    fn check_limits(&mut self, record: &Record) {
        let name = self
            .columns
            .name
            .filter(|index| record.cells[*index].chars().count() > NAME_CHARACTERS);
        let name = name.map(|index| {
            (
                self.columns.headers[index].as_str(),
                format!("{NAME_CHARACTERS} characters"),
            )
        });
        let extra = self
            .columns
            .extra()
            .filter(|(index, _)| record.cells[*index].len() > EXTRA_BYTES)
            .map(|(_, header)| (header, format!("{EXTRA_BYTES} bytes")));
        for (header, limit) in name.into_iter().chain(extra) {
            if self.limits.len() < LISTED {
                let message = format!("line {}, column `{header}`: a cell has more than {limit}", record.line);
                self.limits.push(Problem::new("file", "too_long", message));
            }
        }
    }
}

/// Returns whether a number is written like `1.555E+10`.
fn is_rounded(cell: &str) -> bool {
    let parts = cell.split_once(['e', 'E']);
    parts.is_some_and(|(_, exponent)| exponent.starts_with('+') && cell.parse::<f64>().is_ok())
}

/// Checks a number and records that it occurs in `row`.
fn number(seen: &mut Seen, destinations: &mut Destinations, row: u64, cell: &str) -> Result<(), (RowCode, String)> {
    if cell.is_empty() {
        return Err((RowCode::MissingPhone, "has no phone number".into()));
    }
    let number = PhoneNumber::parse(cell).map_err(|error| {
        let mut message = format!("is not a phone number: {}", error.why());
        if is_rounded(cell) {
            message.push_str("; a spreadsheet has rounded it: format the column as text");
        }
        (RowCode::InvalidPhone, message)
    })?;
    // At most 15 digits, the first of them not 0, so that the number represents them all.
    let digits: u64 = number.as_str()[1..].parse().unwrap_or(0);
    let row = u32::try_from(row).unwrap_or(u32::MAX);
    if let Some(first) = seen.note(digits, row) {
        return Err((RowCode::DuplicateNumber, format!("repeats the number of row {first}")));
    }
    match destinations.refuses(&number) {
        Some(message) => Err((RowCode::DestinationNotAllowed, message)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn any(destinations: &mut Destinations) -> Rules<'_> {
        let choices = None;
        Rules { choices, destinations }
    }

    fn refused(text: &[u8]) -> Refusal {
        check(
            Cursor::new(text),
            &Overrides::default(),
            ROWS,
            any(&mut Destinations::any()),
        )
        .unwrap_err()
    }

    fn report(text: &str) -> RowReport {
        match refused(text.as_bytes()) {
            Refusal::Rows(report, _) => report,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_sound_file_gives_its_columns() {
        let text = "\u{feff}Phone,Name,City\r\n+1 555 123 4567,Ada,Bonn\r\n\r\n0015551234568, ,\r\n";
        let (columns, rows) = check(
            Cursor::new(text),
            &Overrides::default(),
            ROWS,
            any(&mut Destinations::any()),
        )
        .unwrap();
        assert_eq!((columns.phone, columns.name, rows), (0, Some(1), 2));
    }

    #[test]
    fn every_problem_of_every_row_is_reported() {
        let text = "phone,email\n,x\n+15551234567,a@b.co\n+1 (555) 123-4567,nope\nabc,\n+15551234568\n";
        let report = report(text);
        assert_eq!((report.total_rows, report.valid_rows, report.invalid_rows), (5, 1, 4));
        let found: Vec<_> = report
            .rows
            .iter()
            .map(|p| (p.row, p.line, p.column.as_deref(), p.value.as_deref(), p.code))
            .collect();
        assert_eq!(
            found,
            [
                (1, 2, Some("phone"), Some(""), RowCode::MissingPhone),
                (1, 2, Some("email"), Some("x"), RowCode::InvalidEmail),
                (3, 4, Some("phone"), Some("+1 (555) 123-4567"), RowCode::DuplicateNumber),
                (3, 4, Some("email"), Some("nope"), RowCode::InvalidEmail),
                (4, 5, Some("phone"), Some("abc"), RowCode::InvalidPhone),
                (5, 6, None, None, RowCode::RaggedRow),
            ]
        );
        assert!(report.rows[2].message.contains("row 2"));
    }

    #[test]
    fn a_number_that_a_spreadsheet_has_rounded_is_told_apart() {
        let report = report("phone\n1.555E+10\n+1.5\n");
        let way_out = "; a spreadsheet has rounded it: format the column as text";
        let told: Vec<_> = report.rows.iter().map(|p| p.message.ends_with(way_out)).collect();
        assert_eq!(told, [true, false]);
    }

    #[test]
    fn a_report_lists_a_thousand_problems_and_says_that_there_are_more() {
        let text = format!("phone\n{}", "x\n".repeat(1_500));
        let report = report(&text);
        assert_eq!(
            (report.rows.len(), report.truncated, report.invalid_rows),
            (1_000, true, 1_500)
        );
    }

    #[test]
    fn a_file_that_is_no_table_is_refused_as_a_whole() {
        let code = |text: &[u8]| match refused(text) {
            Refusal::File(problems) => problems[0].code,
            other => panic!("{other:?}"),
        };
        assert_eq!(code(b""), "empty");
        let Refusal::File(problems) = refused(b"phone\n\xff") else {
            panic!("accepted");
        };
        assert!(
            problems[0].message.ends_with("; save the file as UTF-8"),
            "{problems:?}"
        );
        assert_eq!(code(b"\n\n"), "empty");
        assert_eq!(code(b"phone\n"), "empty");
        assert_eq!(code(b"phone\n\xff"), "not_utf8");
        assert_eq!(code(b"phone,note\n+15551234567,\"x\n+15551234568,y\n"), "open_quote");
        let long = format!("phone,note\n+15551234567,{}\n", "x".repeat(5_000));
        assert_eq!(code(long.as_bytes()), "too_long");
    }

    #[test]
    fn as_many_rows_as_the_limit_are_taken_and_one_more_is_not() {
        let checked = |text: &str| {
            check(
                Cursor::new(text.to_owned()),
                &Overrides::default(),
                2,
                any(&mut Destinations::any()),
            )
        };
        assert_eq!(checked("phone\n+15550000001\n\n+15550000002\n").unwrap().1, 2);
        let more = checked("phone\n+15550000001\nbad\n+15550000003\n");
        assert!(matches!(more, Err(Refusal::TooManyRows)));
    }
}
