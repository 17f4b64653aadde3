//! Text of an uploaded file: checks that it is text, and marks its end for the CSV reader.

use std::io::{self, BufRead, Read};

/// First byte that is not UTF-8 text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotText {
    /// Position in the file, from 0.
    pub offset: u64,
    /// Line number, from 1.
    pub line: u64,
}

/// Searches the whole of `input` for a byte that is not UTF-8, or is NUL.
pub fn find_not_text(mut input: impl BufRead) -> io::Result<Option<NotText>> {
    let mut pending: Vec<u8> = Vec::new();
    let mut at = NotText { offset: 0, line: 1 };
    loop {
        let chunk = input.fill_buf()?;
        let (size, ended) = (chunk.len(), chunk.is_empty());
        pending.extend_from_slice(chunk);
        input.consume(size);
        let (sound, broken) = match std::str::from_utf8(&pending) {
            Ok(_) => (pending.len(), false),
            // A character cut at the end of the chunk may continue in the next one.
            Err(error) => (error.valid_up_to(), error.error_len().is_some() || ended),
        };
        let nul = pending[..sound].iter().position(|byte| *byte == 0);
        let until = nul.unwrap_or(sound);
        at.offset += until as u64;
        at.line += pending[..until].iter().filter(|byte| **byte == b'\n').count() as u64;
        if broken || nul.is_some() {
            return Ok(Some(at));
        }
        if ended {
            return Ok(None);
        }
        pending.drain(..sound);
    }
}

/// An extra record after the last line. It is not UTF-8, so no file that passed [`find_not_text`] contains
/// it. If the reader does not find it, an open quote has swallowed the rest of the file.
pub const END_MARK: &[u8] = b"\xff";

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Reader of a file without its byte order mark, with a line end after the last line, and then [`END_MARK`]. The
/// carriage return of a CRLF stays, as it may be inside a quoted cell; elsewhere it ends a cell and is trimmed.
pub struct Lines<R> {
    input: R,
    ready: Vec<u8>,
    served: usize,
    last: u8,
    ended: bool,
    /// Bytes that may still be read for the current record.
    allowed: usize,
    /// Last byte read.
    served_last: u8,
}

/// A record with too many bytes.
#[derive(Debug, thiserror::Error)]
#[error("a record has more than {RECORD_BYTES} bytes")]
pub struct RecordTooLong;

/// Maximum bytes of one record. This is more than its cells can have together, but far too little to fill the
/// memory. A file can be one record of tens of millions of cells.
pub const RECORD_BYTES: usize = 1024 * 1024;

impl<R: BufRead> Lines<R> {
    /// Starts at the beginning of a file.
    pub fn new(mut input: R) -> io::Result<Self> {
        let mut start = Vec::new();
        input.by_ref().take(BOM.len() as u64).read_to_end(&mut start)?;
        let mut lines = Self {
            input,
            ready: Vec::new(),
            served: 0,
            last: b'\n',
            ended: false,
            allowed: RECORD_BYTES,
            served_last: b'\n',
        };
        if start != BOM {
            lines.keep(&start);
        }
        Ok(lines)
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.ready.extend_from_slice(bytes);
        self.last = bytes.last().copied().unwrap_or(self.last);
    }

    /// Starts the next record.
    pub fn begin_record(&mut self) {
        self.allowed = RECORD_BYTES;
    }

    /// Counts bytes of the record. Blank lines belong to no record.
    fn charge(&mut self, served: &[u8]) -> io::Result<()> {
        let mut charged = 0;
        for &byte in served {
            charged += usize::from((byte, self.served_last) != (b'\n', b'\n'));
            self.served_last = byte;
        }
        match self.allowed.checked_sub(charged) {
            Some(rest) => {
                self.allowed = rest;
                Ok(())
            }
            None => Err(io::Error::other(RecordTooLong)),
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.served = 0;
        while self.ready.is_empty() && !self.ended {
            let chunk = self.input.fill_buf()?.to_vec();
            if chunk.is_empty() {
                self.end();
            } else {
                self.input.consume(chunk.len());
                self.keep(&chunk);
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        if self.last != b'\n' {
            self.ready.push(b'\n');
        }
        self.ready.extend_from_slice(END_MARK);
        self.ready.push(b'\n');
        self.ended = true;
    }
}

impl<R: BufRead> Read for Lines<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.served == self.ready.len() {
            self.refill()?;
        }
        let size = out.len().min(self.ready.len() - self.served);
        out[..size].copy_from_slice(&self.ready[self.served..][..size]);
        self.served += size;
        self.charge(&out[..size])?;
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn lines(bytes: &[u8], capacity: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let input = BufReader::with_capacity(capacity, bytes);
        Lines::new(input).unwrap().read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn lines_come_as_they_are_with_the_mark_behind_them() {
        assert_eq!(lines(b"\xef\xbb\xbfa\r\nb\n", 2), b"a\r\nb\n\xff\n");
        assert_eq!(lines(b"a\rb", 1), b"a\rb\n\xff\n");
        assert_eq!(lines(b"", 1), b"\xff\n");
    }

    #[test]
    fn the_line_of_the_first_bad_byte_is_found() {
        let at = |bytes: &[u8]| find_not_text(BufReader::with_capacity(1, bytes)).unwrap();
        assert_eq!(at("aé\n漢\n".as_bytes()), None);
        assert_eq!(at(b"a\nb\nc\xe4d\n"), Some(NotText { offset: 5, line: 3 }));
        assert_eq!(at(b"a\n\0"), Some(NotText { offset: 2, line: 2 }));
        assert_eq!(at(b"a\xe6\xbc"), Some(NotText { offset: 1, line: 1 }));
        assert_eq!(at(b"\xff\xfea\0"), Some(NotText { offset: 0, line: 1 }));
    }

    proptest! {
        #[test]
        fn what_is_found_agrees_with_the_standard_library(bytes: Vec<u8>, capacity in 1usize..8) {
            let found = find_not_text(BufReader::with_capacity(capacity, bytes.as_slice())).unwrap();
            let nul = bytes.iter().position(|b| *b == 0);
            let broken = std::str::from_utf8(&bytes).err().map(|e| e.valid_up_to());
            let first = nul.into_iter().chain(broken).min();
            prop_assert_eq!(found.map(|f| f.offset), first.map(|n| n as u64));
        }

        #[test]
        fn how_the_bytes_arrive_does_not_matter(bytes in prop::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'a')], 0..40), capacity in 1usize..8) {
            prop_assert_eq!(lines(&bytes, capacity), lines(&bytes, 1024));
        }
    }
}
