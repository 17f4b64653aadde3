//! Checks a whole file before anything is saved.

use std::io::{self, BufRead, Seek};

use domain::{
    agent::{LANGUAGE_OVERRIDE, Problem},
    phone_number::Country,
    ports::store::CampaignContact,
};
use serde_json::Map;

use super::{
    columns::{Columns, Overrides},
    layout::{Layout, Separator},
    rows::{self, ReadError, Record, Records},
    seen::Seen,
    text::encoding_of,
};
use crate::{
    request::{call_overrides::ContactChoices, contact_fields::EXTRA_BYTES, email::is_email, fields::NAME_CHARACTERS},
    resources::account::safeguards::Destinations,
    response::row_report::{CsvPreview, RowCode, RowProblem, RowReport, shown},
};

/// Maximum data rows of a file.
pub const ROWS: u64 = 1_000_000;

/// Maximum number of listed oversized cells.
const LISTED: usize = 100;

/// Reason why a file was rejected.
#[derive(Debug)]
pub enum Refusal {
    /// The file as a whole, or oversized cells.
    File(Vec<Problem>),
    /// The header line.
    Columns(Vec<Problem>, CsvPreview),
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

/// How a file is to be read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Headers of the columns with a role.
    pub overrides: Overrides,
    /// Separator of the cells.
    pub separator: Separator,
    /// Country by whose plan numbers without a plus are read.
    pub country: Option<Country>,
    /// Whether invalid rows are left out, rather than the file being refused.
    pub skips_invalid: bool,
}

/// Rows and contacts that are shown of a file.
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
    /// The first rows.
    pub preview: CsvPreview,
    layout: Layout,
    /// Indexes of the rows that are left out.
    left_out: Vec<u32>,
}

impl Examined {
    /// Returns what an upload needs of the file, or why it is refused.
    pub fn sound(self) -> Result<Self, Refusal> {
        let has_rows = self.left_out.is_empty() || self.report.valid_rows > 0;
        let is_sound = self.report.invalid_rows == self.left_out.len() as u64;
        match (is_sound && has_rows, self.limits.is_empty()) {
            (true, true) => Ok(Self {
                seen: Seen::default(),
                ..self
            }),
            (true, false) => Err(Refusal::File(self.limits)),
            _ => Err(Refusal::Rows(self.report, self.limits)),
        }
    }

    /// Returns warnings about how the file was read.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let (report, count) = (&self.report, self.left_out.len());
        let skipped = [(report.skipped_rows, "row"), (report.skipped_columns, "column")];
        let skipped: Vec<String> = skipped
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| counted(*n, what))
            .collect();
        let skipped = (!skipped.is_empty()).then(|| format!("{} without content skipped", skipped.join(" and ")));
        let total = counted(report.total_rows, "row");
        let left_out = (count > 0).then(|| format!("{count} of {total} left out because they are invalid"));
        self.layout.warning().into_iter().chain(skipped).chain(left_out)
    }

    /// Reads the file's contacts, without the rows that are left out.
    pub fn contacts<R: BufRead + Seek>(
        self,
        input: R,
    ) -> Result<impl Iterator<Item = Result<CampaignContact, ReadError>>, ReadError> {
        let mut records = Records::new(input, self.layout)?;
        // Skips the header line.
        records.next();
        let mut left_out = self.left_out.into_iter().peekable();
        Ok((0_u32..).zip(records).filter_map(move |(row, record)| match record {
            Ok(_) if left_out.next_if_eq(&row).is_some() => None,
            Ok(record) => rows::contact(&record, &self.columns).map(Ok),
            Err(error) => Some(Err(error)),
        }))
    }
}

fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Checks all rows of a file, of which there must be one and at most `row_limit`.
pub fn examine(
    mut input: impl BufRead + Seek,
    options: &Options,
    row_limit: u64,
    Rules { choices, destinations }: Rules<'_>,
) -> Result<Examined, Refusal> {
    let whole = |problem| Refusal::File(vec![problem]);
    let empty = |message: &str| whole(Problem::new("file", "empty", message));
    let encoding = encoding_of(&mut input)?.map_err(whole)?;
    let layout = Layout::find(&mut input, encoding, options)?.map_err(whole)?;
    let mut records = Records::new(input, layout)?;
    let Some(mut header) = records.next().transpose()? else {
        return Err(empty("is empty: a header line and at least one row are needed"));
    };
    let mut skipped = header.trim_to(0);
    let mut preview = CsvPreview::of(&header.cells);
    let columns = match Columns::read(header.cells, &options.overrides) {
        Ok(columns) => columns.in_country(options.country),
        Err(problems) => {
            let rows = records.by_ref().take(FIRST).map_while(Result::ok);
            rows.for_each(|row| preview.add(&row.cells));
            return Err(Refusal::Columns(problems, preview));
        }
    };
    let mut checker = Checker {
        columns: &columns,
        chosen: columns.choices(),
        choices,
        destinations,
        skips_invalid: options.skips_invalid,
        report: RowReport::default(),
        limits: Vec::new(),
        seen: Seen::default(),
    };
    let (mut first, mut left_out) = (Vec::new(), Vec::new());
    for (row, record) in (0_u32..).zip(records.by_ref()) {
        if checker.report.total_rows == row_limit {
            return Err(Refusal::TooManyRows);
        }
        let (mut record, valid) = (record?, checker.report.valid_rows);
        skipped = skipped.max(record.trim_to(columns.headers.len()));
        if (row as usize) < FIRST {
            preview.add(&record.cells);
        }
        checker.row(&columns.restored(&record));
        let is_valid = checker.report.valid_rows > valid;
        if options.skips_invalid && !is_valid {
            left_out.push(row);
        }
        if is_valid && checker.limits.is_empty() && first.len() < FIRST {
            first.extend(rows::contact(&record, &columns));
        }
    }
    let Checker {
        mut report,
        limits,
        seen,
        ..
    } = checker;
    if report.total_rows == 0 {
        return Err(empty("has a header line but no row: add a line for each contact"));
    }
    (report.skipped_rows, report.skipped_columns) = (records.blank, skipped as u64);
    Ok(Examined {
        columns,
        report,
        limits,
        seen,
        first,
        preview,
        layout,
        left_out,
    })
}

struct Checker<'a> {
    columns: &'a Columns,
    /// Columns with overrides or the language of a call.
    chosen: Vec<(usize, String)>,
    choices: Option<&'a mut ContactChoices>,
    destinations: &'a mut Destinations,
    skips_invalid: bool,
    report: RowReport,
    limits: Vec<Problem>,
    seen: Seen,
}

impl Checker<'_> {
    fn row(&mut self, record: &Record) {
        let mut problems = Vec::new();
        let row = self.report.total_rows + 1;
        let problem = |column: Option<usize>, code, message: String| RowProblem {
            row,
            line: record.line,
            column: column.map(|index| self.columns.headers[index].clone()),
            value: column.map(|index| shown(&record.cells[index])),
            code,
            message,
        };
        let mut complain = |column, code, message| problems.push(problem(column, code, message));
        let (cells, headers) = (record.cells.len(), self.columns.headers.len());
        if cells != headers {
            let message = format!("has {cells} cells for {headers} headers");
            complain(None, RowCode::RaggedRow, message);
            self.report.add(problems);
            return;
        }
        let phone = self.columns.phone;
        let number = number(self.columns, self.destinations, &record.cells[phone]);
        if let Err((code, message)) = &number {
            complain(Some(phone), *code, message.clone());
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
        for (column, limit) in self.oversized(record) {
            let message = format!("a cell has more than {limit}");
            if self.skips_invalid {
                complain(Some(column), RowCode::TooLong, message);
            } else if self.limits.len() < LISTED {
                let header = &self.columns.headers[column];
                let message = format!("line {}, column `{header}`: {message}", record.line);
                self.limits.push(Problem::new("file", "too_long", message));
            }
        }
        if let Ok(digits) = number
            && (problems.is_empty() || !self.skips_invalid)
            && let Some(first) = self.seen.note(digits, u32::try_from(record.line).unwrap_or(u32::MAX))
        {
            let message = format!("repeats the number of line {first}");
            problems.insert(0, problem(Some(phone), RowCode::DuplicateNumber, message));
        }
        self.report.add(problems);
    }

    /// Returns the columns with more than a contact's field can hold, with the limit.
    fn oversized(&self, record: &Record) -> Vec<(usize, String)> {
        let is_long = |index: &usize| record.cells[*index].chars().count() > NAME_CHARACTERS;
        let name = self.columns.name.filter(is_long);
        let name = name.map(|index| (index, format!("{NAME_CHARACTERS} characters")));
        let extra = self.columns.extra().map(|(index, _)| index);
        let extra = extra.filter(|index| record.cells[*index].len() > EXTRA_BYTES);
        let extra = extra.map(|index| (index, format!("{EXTRA_BYTES} bytes")));
        name.into_iter().chain(extra).collect()
    }
}

/// Returns whether a number is written like `1.555E+10`.
fn is_rounded(cell: &str) -> bool {
    let parts = cell.split_once(['e', 'E']);
    parts.is_some_and(|(_, exponent)| exponent.starts_with('+') && cell.replace(',', ".").parse::<f64>().is_ok())
}

/// Checks a number. Returns its digits.
fn number(columns: &Columns, destinations: &mut Destinations, cell: &str) -> Result<u64, (RowCode, String)> {
    if cell.is_empty() {
        return Err((RowCode::MissingPhone, "has no phone number".into()));
    }
    let number = columns.number(cell).map_err(|error| {
        let mut message = format!("is not a phone number: {}", error.why());
        if is_rounded(cell) {
            message.push_str("; a spreadsheet has rounded it: format the column as text");
        }
        (RowCode::InvalidPhone, message)
    })?;
    match destinations.refuses(&number) {
        Some(message) => Err((RowCode::DestinationNotAllowed, message)),
        // At most 15 digits, the first of them not 0, so that the number represents them all.
        None => Ok(number.as_str()[1..].parse().unwrap_or(0)),
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

    fn check(text: &[u8], row_limit: u64) -> Result<Examined, Refusal> {
        let rules = &mut Destinations::any();
        examine(Cursor::new(text), &Options::default(), row_limit, any(rules))?.sound()
    }

    fn refused(text: &[u8]) -> Refusal {
        check(text, ROWS).err().unwrap()
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
        let found = check(text.as_bytes(), ROWS).ok().unwrap();
        let rows = found.report.valid_rows;
        assert_eq!((found.columns.phone, found.columns.name, rows), (0, Some(1), 2));
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
        assert!(report.rows[2].message.contains("line 3"));
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
        let Refusal::File(problems) = refused(b"phone\n\x81") else {
            panic!("accepted");
        };
        assert!(
            problems[0].message.ends_with("; save the file as UTF-8"),
            "{problems:?}"
        );
        assert_eq!(code(b"\n\n"), "empty");
        assert_eq!(code(b"phone\n"), "empty");
        assert_eq!(code(b"phone\n\x81"), "not_utf8");
        assert_eq!(code(b"phone,note\n+15551234567,\"x\n+15551234568,y\n"), "open_quote");
        let long = format!("phone,note\n+15551234567,{}\n", "x".repeat(5_000));
        assert_eq!(code(long.as_bytes()), "too_long");
    }

    #[test]
    fn as_many_rows_as_the_limit_are_taken_and_one_more_is_not() {
        let checked = |text: &str| check(text.as_bytes(), 2);
        let found = checked("phone\n+15550000001\n\n+15550000002\n").ok().unwrap();
        assert_eq!(found.report.valid_rows, 2);
        let more = checked("phone\n+15550000001\nbad\n+15550000003\n");
        assert!(matches!(more, Err(Refusal::TooManyRows)));
    }
}
