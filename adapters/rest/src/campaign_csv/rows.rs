//! Data rows: read as a stream, with trimmed cells, and each with its line in the file.

use std::io::{self, BufRead};

use csv::{ByteRecord, ErrorKind, ReaderBuilder, Terminator};
use domain::{phone_number::PhoneNumber, ports::store::CampaignContact};
use serde_json::{Map, Value};

use super::{
    columns::Columns,
    lines::{END_MARK, Lines, RECORD_BYTES, RecordTooLong},
};

/// A record of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Line of its start, from 1.
    pub line: u64,
    /// Trimmed cells.
    pub cells: Vec<String>,
}

/// Reason why reading stopped.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stored file cannot be read.
    #[error("cannot read the upload: {0}")]
    Io(#[from] io::Error),
    /// A quote that starts in the record at this line is never closed.
    #[error("the quote that opens in the record at line {0} is never closed")]
    OpenQuote(u64),
    /// The record at this line is too long.
    #[error("the record that reaches line {0} has more than {RECORD_BYTES} bytes")]
    TooLong(u64),
}

/// Records of a file, without blank lines.
pub struct Records<R> {
    reader: csv::Reader<Lines<R>>,
    record: ByteRecord,
    ended: bool,
}

impl<R: BufRead> Records<R> {
    /// Starts at the beginning of a file, which must be UTF-8.
    pub fn new(input: R) -> Result<Self, ReadError> {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(Lines::new(input)?);
        Ok(Self {
            reader,
            record: ByteRecord::new(),
            ended: false,
        })
    }

    fn read(&mut self) -> Result<Option<Record>, ReadError> {
        loop {
            self.reader.get_mut().begin_record();
            let more = self
                .reader
                .read_byte_record(&mut self.record)
                .map_err(|error| self.failed(error))?;
            let breaks: usize = self.record.iter().map(line_breaks).sum();
            // The reader is after the record's line end. The record started as many lines earlier as it has
            // line breaks.
            let line = self.reader.position().line().saturating_sub(1 + breaks as u64);
            let single = if self.record.len() == 1 {
                self.record.get(0)
            } else {
                None
            };
            if !more || self.record.iter().any(|cell| cell.ends_with(MARK_IN_QUOTES)) {
                // The mark was swallowed: this record ended with the file, not with its own line end.
                return Err(ReadError::OpenQuote(line + 1));
            }
            if single == Some(END_MARK) {
                self.ended = true;
                return Ok(None);
            }
            if single.is_none_or(|cell| !cell.trim_ascii().is_empty()) {
                let cells = self
                    .record
                    .iter()
                    .map(|cell| String::from_utf8_lossy(cell).trim().to_owned());
                return Ok(Some(Record {
                    line,
                    cells: cells.collect(),
                }));
            }
        }
    }
}

impl<R: BufRead> Records<R> {
    fn failed(&self, error: csv::Error) -> ReadError {
        match error.into_kind() {
            ErrorKind::Io(error)
                if error
                    .get_ref()
                    .is_some_and(<dyn std::error::Error + Send + Sync>::is::<RecordTooLong>) =>
            {
                ReadError::TooLong(self.reader.position().line())
            }
            ErrorKind::Io(error) => ReadError::Io(error),
            other => ReadError::Io(io::Error::other(format!("{other:?}"))),
        }
    }
}

/// The end mark with its line end, at the end of a cell with an open quote.
const MARK_IN_QUOTES: &[u8] = b"\xff\n";

fn line_breaks(cell: &[u8]) -> usize {
    cell.iter().filter(|byte| **byte == b'\n').count()
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.read();
        self.ended |= read.is_err();
        read.transpose()
    }
}

/// Returns the contact in a checked record, or `None` if it has no phone number after all.
pub fn contact(record: &Record, columns: &Columns) -> Option<CampaignContact> {
    let record = columns.restored(record);
    let cell = |index: usize| {
        record
            .cells
            .get(index)
            .map(String::as_str)
            .filter(|cell| !cell.is_empty())
    };
    let phone_number = PhoneNumber::parse(cell(columns.phone)?).ok()?;
    let extra: Map<String, Value> = columns
        .extra()
        .filter_map(|(index, header)| Some((header.to_owned(), Value::from(cell(index)?))))
        .collect();
    Some(CampaignContact {
        phone_number,
        contact: None,
        name: columns.name.and_then(cell).map(str::to_owned),
        email: columns.email.and_then(cell).map(str::to_owned),
        extra,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Vec<(u64, Vec<String>)> {
        let records = Records::new(text.as_bytes()).unwrap();
        records.map(|r| r.map(|r| (r.line, r.cells)).unwrap()).collect()
    }

    fn row(line: u64, cells: &[&str]) -> (u64, Vec<String>) {
        (line, cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    #[test]
    fn every_record_knows_its_line() {
        for end in ["\n", "\r\n"] {
            let text = ["a,b", "", "1,\"x", "y\"", "  ", "2,\" z \"", ""].join(end);
            let expected = [
                row(1, &["a", "b"]),
                row(3, &["1", &format!("x{end}y")]),
                row(6, &["2", "z"]),
            ];
            assert_eq!(all(&text), expected, "{end:?}");
        }
        assert_eq!(all("a\n1"), [row(1, &["a"]), row(2, &["1"])]);
        assert_eq!(all(""), []);
        assert_eq!(all("\u{feff}a\n"), [row(1, &["a"])]);
    }

    #[test]
    fn an_open_quote_is_found_at_the_record_where_it_opens() {
        for text in ["a,b\n1,\"x\n2,y\n3,z\n", "a,b\n1,\"x\n2,y", "a,b\n1,\""] {
            let last = Records::new(text.as_bytes()).unwrap().last().unwrap();
            assert!(matches!(last, Err(ReadError::OpenQuote(2))), "{text:?}: {last:?}");
        }
        assert_eq!(all("a\n\"x\n\"\n"), [row(1, &["a"]), row(2, &["x"])]);
        assert_eq!(
            all("a\n\"say \"\"hi\"\"\"\n"),
            [row(1, &["a"]), row(2, &["say \"hi\""])]
        );
    }

    proptest! {
        #[test]
        fn what_a_writer_wrote_is_read_back(rows in prop::collection::vec(prop::collection::vec("[a-z,\"\n ]{0,6}", 2), 1..8)) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            for row in &rows {
                writer.write_record(row).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let expected: Vec<Vec<String>> = rows
                .iter()
                .map(|row| row.iter().map(|cell| cell.trim().to_owned()).collect())
                .collect();
            let found: Vec<Vec<String>> = all(&text).into_iter().map(|(_, cells)| cells).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn every_line_number_points_at_the_record(rows in prop::collection::vec("(|[a-z]{1,3},[a-z]{0,3}|\"[a-z]\n[a-z]\",q)", 0..12)) {
            let text = rows.join("\n");
            let starts: Vec<u64> = rows
                .iter()
                .scan(1, |line, row| {
                    let start = *line;
                    *line += 1 + row.matches('\n').count() as u64;
                    Some((start, row.is_empty()))
                })
                .filter(|(_, blank)| !blank)
                .map(|(start, _)| start)
                .collect();
            let found: Vec<u64> = all(&text).into_iter().map(|(line, _)| line).collect();
            prop_assert_eq!(found, starts);
        }

        #[test]
        fn no_text_panics_and_all_end(text in "[a,\"\r\n\\PC]{0,60}") {
            let count = Records::new(text.as_bytes()).unwrap().count();
            prop_assert!(count <= text.len() + 1);
        }
    }
}
