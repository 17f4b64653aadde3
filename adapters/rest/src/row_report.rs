//! The row report of a file that was refused.

use serde::Serialize;
use utoipa::ToSchema;

/// Entries listed at most.
pub const ENTRIES: usize = 1_000;

/// Characters of a cell that are shown.
const SHOWN: usize = 200;

/// What is wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowCode {
    /// The phone cell is blank.
    MissingPhone,
    /// The phone cell is no phone number.
    InvalidPhone,
    /// The e-mail cell is no address.
    InvalidEmail,
    /// The number stands in an earlier row.
    DuplicateNumber,
    /// Not as many cells as headers.
    RaggedRow,
    /// The account's safeguards never allow the number.
    DestinationNotAllowed,
}

/// One problem of one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct RowProblem {
    /// Data rows count from 1.
    pub row: u64,
    /// Lines of the file count from 1.
    pub line: u64,
    /// The header's text; `null` when the row as a whole is meant.
    #[schema(required)]
    pub column: Option<String>,
    /// The cell.
    #[schema(required)]
    pub value: Option<String>,
    /// What is wrong.
    pub code: RowCode,
    /// For people.
    pub message: String,
}

/// What is wrong with the rows of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RowReport {
    /// Data rows.
    pub total_rows: u64,
    /// Rows without a problem.
    pub valid_rows: u64,
    /// Rows with one or more.
    pub invalid_rows: u64,
    /// More problems were found than the 1,000 that are listed.
    pub truncated: bool,
    /// The problems in the order of the file.
    pub rows: Vec<RowProblem>,
}

impl RowReport {
    /// Counts a row with what is wrong with it.
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

/// A cell's text as far as it is shown.
pub fn shown(cell: &str) -> String {
    cell.chars().take(SHOWN).collect()
}
