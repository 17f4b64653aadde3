//! Preview and row report of a file of contacts: its first rows, and the problems of its rows.

use domain::phone_number;
use serde::Serialize;
use utoipa::ToSchema;

/// Maximum number of listed problems.
pub const ENTRIES: usize = 1_000;

/// Maximum characters of a cell that are shown.
const SHOWN: usize = 200;

/// Maximum columns of a preview.
const COLUMNS: usize = 200;

/// Headers and first rows of a file, as far as they are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CsvPreview {
    /// Headers, in the order of the file; at most 200.
    pub headers: Vec<String>,
    /// Cells under these headers in the first rows with content, at most 5.
    pub first_rows: Vec<Vec<String>>,
}

impl CsvPreview {
    /// Creates a preview without rows.
    pub fn of(headers: &[String]) -> Self {
        Self {
            headers: headers.iter().take(COLUMNS).cloned().collect(),
            first_rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn add(&mut self, cells: &[String]) {
        let cells = cells.iter().take(self.headers.len()).map(|cell| shown(cell));
        self.first_rows.push(cells.collect());
    }
}

/// Problem of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowCode {
    /// The phone cell is blank.
    MissingPhone,
    /// The phone cell is not a phone number.
    InvalidPhone,
    /// The e-mail cell is not an address.
    InvalidEmail,
    /// The number occurs in an earlier row.
    DuplicateNumber,
    /// The number of cells differs from the number of headers.
    RaggedRow,
    /// The agent does not have the language.
    InvalidLanguage,
    /// The agent does not allow the override, or its value is invalid.
    InvalidOverride,
    /// The account's safeguards never allow the number.
    DestinationNotAllowed,
    /// A cell is too long; told only if invalid rows are left out.
    TooLong,
}

/// One problem of one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct RowProblem {
    /// Number of the data row, from 1.
    pub row: u64,
    /// Line in the file, from 1.
    pub line: u64,
    /// Text of the header; `null` if the problem concerns the whole row.
    #[schema(required)]
    pub column: Option<String>,
    /// Content of the cell.
    #[schema(required)]
    pub value: Option<String>,
    /// Kind of problem.
    pub code: RowCode,
    /// Explanation for people.
    pub message: String,
}

/// Problems in the rows of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RowReport {
    /// Number of data rows.
    pub total_rows: u64,
    /// Number of rows without a problem.
    pub valid_rows: u64,
    /// Number of rows with at least one problem.
    pub invalid_rows: u64,
    /// Number of rows that were skipped because all their cells are blank; they are not in `totalRows`.
    pub skipped_rows: u64,
    /// Number of columns at the end that were skipped because they have neither header nor values.
    pub skipped_columns: u64,
    /// Whether there are more problems than the 1,000 that are listed.
    pub truncated: bool,
    /// Problems, in the order of the file.
    pub rows: Vec<RowProblem>,
}

impl RowReport {
    /// Counts a row and its problems.
    pub fn add(&mut self, problems: Vec<RowProblem>) {
        self.total_rows += 1;
        if problems.is_empty() {
            self.valid_rows += 1;
        } else {
            self.invalid_rows += 1;
        }
        for problem in problems {
            if self.rows.len() < ENTRIES {
                self.rows.push(problem);
            } else {
                self.truncated = true;
            }
        }
    }
}

/// Returns the part of a cell's text that is shown.
pub fn shown(cell: &str) -> String {
    let part: String = cell.chars().take(SHOWN).collect();
    phone_number::shown(&part)
}
