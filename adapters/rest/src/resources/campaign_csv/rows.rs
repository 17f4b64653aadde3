//! Data rows: read as a stream, with trimmed cells, and each with its line in the file.

use std::io::{self, BufRead, BufReader, Seek};

use csv_core::{ReadRecordResult, ReaderBuilder};
use domain::ports::store::CampaignContact;
use serde_json::{Map, Value};

use super::{
    columns::Columns,
    layout::Layout,
    text::{Decoded, Lines},
};

/// Maximum bytes of one record. This is more than its cells can have together, but far too little to fill the
/// memory. A file can be one record of tens of millions of cells.
pub const RECORD_BYTES: usize = 1024 * 1024;

/// A record of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Line of its start, from 1.
    pub line: u64,
    /// Trimmed cells.
    pub cells: Vec<String>,
}

impl Record {
    /// Removes the blank cells behind the last of `columns`. Returns their number.
    pub fn trim_to(&mut self, columns: usize) -> usize {
        let width = self.cells.len();
        let content = self.cells.iter().rposition(|cell| !cell.is_empty());
        self.cells.truncate(content.map_or(0, |last| last + 1).max(columns));
        width - self.cells.len()
    }
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

/// Records of a file, without those that have no content.
pub struct Records<R> {
    input: BufReader<Decoded<R>>,
    parser: csv_core::Reader,
    lines: Lines,
    cells: Vec<u8>,
    /// End of each cell in `cells`.
    ends: Vec<usize>,
    ended: bool,
    /// Records so far that had blank cells only.
    pub blank: u64,
}

impl<R: BufRead + Seek> Records<R> {
    /// Starts at the beginning of a file.
    pub fn new(mut input: R, layout: Layout) -> Result<Self, ReadError> {
        input.rewind()?;
        let mut records = Self {
            input: Decoded::new(input, layout.encoding).buffered(),
            parser: ReaderBuilder::new().delimiter(layout.separator).build(),
            lines: Lines::default(),
            cells: vec![0; 1024],
            ends: vec![0; 64],
            ended: false,
            blank: 0,
        };
        if layout.has_sep_line {
            records.read()?;
        }
        Ok(records)
    }

    fn read(&mut self) -> Result<Option<Record>, ReadError> {
        self.skip_line_ends()?;
        let line = self.lines.line;
        let (mut size, mut filled, mut count) = (0, 0, 0);
        loop {
            let chunk = self.input.fill_buf()?;
            let is_over = chunk.is_empty();
            if is_over && size == 0 {
                return Ok(None);
            }
            // A line end closes the last record, unless a quote is open.
            let chunk = if is_over { &b"\n"[..] } else { chunk };
            let (cells, ends) = (&mut self.cells[filled..], &mut self.ends[count..]);
            let (result, read, wrote, ended) = self.parser.read_record(chunk, cells, ends);
            (size, filled, count) = (size + read, filled + wrote, count + ended);
            if !is_over {
                chunk[..read].iter().for_each(|byte| self.lines.pass(*byte));
                self.input.consume(read);
            }
            if size > RECORD_BYTES {
                return Err(ReadError::TooLong(self.lines.line));
            }
            match result {
                ReadRecordResult::InputEmpty if is_over => return Err(ReadError::OpenQuote(line)),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.cells.resize(self.cells.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(None),
            }
        }
        let mut start = 0;
        let cells = self.ends[..count].iter().map(|&end| {
            let cell = String::from_utf8_lossy(&self.cells[start..end]).trim().to_owned();
            start = end;
            cell
        });
        let cells = cells.collect();
        Ok(Some(Record { line, cells }))
    }

    /// Passes over empty lines, so that the next record knows its line.
    fn skip_line_ends(&mut self) -> io::Result<()> {
        loop {
            let chunk = self.input.fill_buf()?;
            let ends = chunk.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
            let (size, count) = (chunk.len(), ends.inspect(|byte| self.lines.pass(**byte)).count());
            self.input.consume(count);
            if count < size || size == 0 {
                return Ok(());
            }
        }
    }
}

impl<R: BufRead + Seek> Iterator for Records<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let read = self.read();
            if let Ok(Some(record)) = &read
                && record.cells.iter().all(String::is_empty)
            {
                self.blank += 1;
                continue;
            }
            self.ended = !matches!(read, Ok(Some(_)));
            return read.transpose();
        }
        None
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
    let phone_number = columns.number(cell(columns.phone)?).ok()?;
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
    use std::io::Cursor;

    use encoding_rs::UTF_8;
    use proptest::prelude::*;

    use super::*;

    fn records(text: &str) -> Records<Cursor<&str>> {
        let (separator, has_sep_line) = (b',', false);
        let layout = Layout {
            encoding: UTF_8,
            separator,
            has_sep_line,
        };
        Records::new(Cursor::new(text), layout).unwrap()
    }

    fn all(text: &str) -> Vec<(u64, Vec<String>)> {
        records(text).map(|r| r.map(|r| (r.line, r.cells)).unwrap()).collect()
    }

    fn row(line: u64, cells: &[&str]) -> (u64, Vec<String>) {
        (line, cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    #[test]
    fn every_record_knows_its_line() {
        for end in ["\n", "\r\n", "\r"] {
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
        assert_eq!(
            all("a\r\n\n\r\rb\n\"\r\",x\rc"),
            [row(1, &["a"]), row(5, &["b"]), row(6, &["", "x"]), row(8, &["c"])]
        );
    }

    #[test]
    fn records_without_content_are_passed_over_and_counted() {
        let mut records = records("a,b\n,\n \n\n\"\",\u{a0}\n1,\n\t\n");
        let lines: Vec<u64> = records.by_ref().map(|record| record.unwrap().line).collect();
        assert_eq!((lines, records.blank), (vec![1, 6], 4));
    }

    #[test]
    fn blank_cells_behind_the_columns_are_removed() {
        for (cells, columns, expected, removed) in [
            (&["a", "", "b", "", ""][..], 1, 3, 2),
            (&["a", "", ""], 2, 2, 1),
            (&["a"], 3, 1, 0),
            (&["", ""], 0, 0, 2),
        ] {
            let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
            let mut record = Record { line: 1, cells };
            assert_eq!(record.trim_to(columns), removed);
            assert_eq!(record.cells.len(), expected);
        }
    }

    #[test]
    fn an_open_quote_is_found_at_the_record_where_it_opens() {
        for text in ["a,b\n1,\"x\n2,y\n3,z\n", "a,b\n1,\"x\n2,y", "a,b\n1,\""] {
            let last = records(text).last().unwrap();
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
                .filter(|row: &Vec<String>| row.iter().any(|cell| !cell.is_empty()))
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
            let count = records(&text).count();
            prop_assert!(count <= text.len() + 1);
        }
    }
}
