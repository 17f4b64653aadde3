//! Text of an uploaded file: its format and encoding, and its characters as UTF-8.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

use domain::agent::Problem;
use encoding_rs::{Decoder, DecoderResult, Encoding, MACINTOSH, UTF_8, WINDOWS_1252};

/// Byte in place of what cannot be decoded. No UTF-8 text contains it.
const NOT_TEXT: u8 = 0xff;

/// Bytes at the start and end of a file that tell its format.
const TELLING: u64 = 64 * 1024;

/// Formats by what their files contain.
type Formats<T> = [(&'static [&'static T], &'static str)];

/// By their first bytes.
const BINARY: &Formats<[u8]> = &[
    (&[b"\xd0\xcf\x11\xe0"], "an old Office document, such as XLS"),
    (&[b"\x09\x08", b"\x09\x04", b"\x09\x02"], "an old Excel workbook (XLS)"),
    (&[b"%PDF-"], "a PDF document"),
    (&[b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!"], "an archive (gzip, 7z or RAR)"),
    (&[b"\x89PNG", b"\xff\xd8\xff", b"GIF8"], "an image"),
    (&[b"SQLite format 3"], "a SQLite database"),
    (&[b"PAR1"], "a Parquet file"),
];

/// By names in a ZIP archive.
const ZIPPED: &Formats<[u8]> = &[
    (&[b"xl/workbook.bin"], "an Excel workbook (XLSB)"),
    (&[b"xl/"], "an Excel workbook (XLSX)"),
    (&[b"opendocument.spreadsheet"], "an OpenDocument spreadsheet (ODS)"),
    (&[b".iwa"], "an Apple Numbers spreadsheet"),
    (&[b"word/"], "a Word document (DOCX)"),
];

/// By their first characters, without white space and in lower case.
const MARKED_UP: &Formats<str> = &[
    (&["<?xml"], "an XML document"),
    (&["<!doctype", "<html", "<head", "<meta", "<table"], "an HTML page"),
    (&["{\\rtf"], "an RTF document"),
    (&["{\"", "[{", "[["], "a JSON document"),
    (&["begin:vcard"], "a vCard file"),
    (&["begin:vcalendar"], "a calendar file"),
];

/// Returns the name of the first format with a mark that fits.
fn named<T: ?Sized>(formats: &Formats<T>, fits: impl Fn(&T) -> bool) -> Option<&'static str> {
    let found = formats.iter().find(|(marks, _)| marks.iter().any(|mark| fits(mark)));
    found.map(|(_, name)| *name)
}

/// Returns the file's encoding, or why the file cannot be read.
pub fn encoding_of(input: &mut (impl BufRead + Seek)) -> io::Result<Result<&'static Encoding, Problem>> {
    let (head, tail) = ends(input)?;
    let marked = Encoding::for_bom(&head).map(|(encoding, _)| encoding);
    let encoding = marked.unwrap_or(UTF_8);
    if let Some(name) = foreign_format(&head, &tail, encoding) {
        let message =
            format!("is {name}, not a CSV file; open it with the program that made it, and save it as CSV UTF-8");
        return Ok(Err(Problem::new("file", "wrong_format", message)));
    }
    input.rewind()?;
    let survey = Survey::of(Decoded::new(&mut *input, encoding))?;
    let Some(line) = survey.first_bad else {
        return Ok(Ok(encoding));
    };
    if marked.is_none() && !survey.has_nul && !survey.has_accents {
        input.rewind()?;
        if let Some(older) = older_encoding(input)? {
            return Ok(Ok(older));
        }
    }
    let message = match survey.has_nul {
        true => format!("line {line} holds a NUL, as in binary files and UTF-16 without a byte order mark"),
        false if marked.is_some() => format!("line {line} is not {} text", encoding.name()),
        false => format!("line {line} is neither UTF-8 nor windows-1252 text"),
    };
    let message = format!("{message}; save the file as UTF-8");
    Ok(Err(Problem::new("file", "not_utf8", message)))
}

/// Reads the first and the last bytes.
fn ends(input: &mut (impl BufRead + Seek)) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    input.rewind()?;
    input.take(TELLING).read_to_end(&mut head)?;
    let size = input.seek(SeekFrom::End(0))?;
    input.seek(SeekFrom::Start(size.saturating_sub(TELLING)))?;
    input.read_to_end(&mut tail)?;
    Ok((head, tail))
}

/// Returns the name of a format that is not CSV.
fn foreign_format(head: &[u8], tail: &[u8], encoding: &'static Encoding) -> Option<&'static str> {
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        let has = |name: &[u8]| {
            [head, tail]
                .iter()
                .any(|part| part.windows(name.len()).any(|bytes| bytes == name))
        };
        return named(ZIPPED, has).or(Some("a ZIP archive"));
    }
    let (text, _) = encoding.decode_with_bom_removal(&head[..head.len().min(1024)]);
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let text = text.to_lowercase();
    named(BINARY, |mark| head.starts_with(mark)).or_else(|| named(MARKED_UP, |mark| text.starts_with(mark)))
}

/// Returns the one-byte encoding of a file that is not UTF-8; none if no known one fits.
fn older_encoding(input: impl BufRead) -> io::Result<Option<&'static Encoding>> {
    let mut counts = [0_u64; 256];
    for byte in input.bytes() {
        counts[usize::from(byte?)] += 1;
    }
    let among = |bytes: &[usize]| bytes.iter().any(|byte| counts[*byte] > 0);
    // Small letters with accents are the first high bytes in MacRoman and the last ones in windows-1252.
    let is_macintosh = counts[0x80..0xa0].iter().any(|n| *n > 0) && counts[0xe0..].iter().all(|n| *n == 0);
    if is_macintosh && among(&[0x0d]) && !among(&[0x0a]) {
        return Ok(Some(MACINTOSH));
    }
    let is_windows = !among(&[0x81, 0x8d, 0x8f, 0x90, 0x9d]);
    Ok(is_windows.then_some(WINDOWS_1252))
}

/// Properties of a whole file that decide its encoding.
#[derive(Debug, Default)]
struct Survey {
    /// Line of the first NUL, else of the first byte that is no text.
    first_bad: Option<u64>,
    has_nul: bool,
    /// Whether any character is beyond ASCII.
    has_accents: bool,
}

impl Survey {
    /// Reads up to the first NUL.
    fn of(text: Decoded<impl BufRead>) -> io::Result<Self> {
        let (mut lines, mut found) = (Lines::default(), Self::default());
        for byte in text.buffered().bytes() {
            let byte = byte?;
            match byte {
                0 => {
                    let (first_bad, has_nul) = (Some(lines.line), true);
                    return Ok(Self {
                        first_bad,
                        has_nul,
                        ..found
                    });
                }
                NOT_TEXT => found.first_bad = found.first_bad.or(Some(lines.line)),
                0x80.. => found.has_accents = true,
                _ => {}
            }
            lines.pass(byte);
        }
        Ok(found)
    }
}

/// Counter of lines that end with CR, LF or CRLF.
#[derive(Debug)]
pub struct Lines {
    /// Line of the next byte, from 1.
    pub line: u64,
    last: u8,
}

impl Default for Lines {
    fn default() -> Self {
        Self { line: 1, last: 0 }
    }
}

impl Lines {
    /// Counts a byte.
    pub fn pass(&mut self, byte: u8) {
        let is_end = byte == b'\r' || (byte == b'\n' && self.last != b'\r');
        self.line += u64::from(is_end);
        self.last = byte;
    }
}

/// Reader of a file's characters as UTF-8, without its byte order mark. The file must be read from its start.
pub struct Decoded<R> {
    input: R,
    decoder: Decoder,
    ended: bool,
}

impl<R: BufRead> Decoded<R> {
    /// Starts at the beginning of a file.
    pub fn new(input: R, encoding: &'static Encoding) -> Self {
        Self {
            input,
            decoder: encoding.new_decoder_with_bom_removal(),
            ended: false,
        }
    }

    /// Adds a buffer, which has room for each character.
    pub fn buffered(self) -> io::BufReader<Self> {
        io::BufReader::new(self)
    }
}

impl<R: BufRead> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let room = out.len().saturating_sub(1);
        let mut size = 0;
        while size == 0 && !self.ended {
            let input = self.input.fill_buf()?;
            let is_last = input.is_empty();
            let text = &mut out[..room];
            let (result, read, written) = self.decoder.decode_to_utf8_without_replacement(input, text, is_last);
            self.input.consume(read);
            size = written;
            match result {
                DecoderResult::Malformed(..) => {
                    out[size] = NOT_TEXT;
                    size += 1;
                }
                DecoderResult::InputEmpty => self.ended = is_last,
                DecoderResult::OutputFull if size == 0 => return Err(io::ErrorKind::InvalidInput.into()),
                DecoderResult::OutputFull => {}
            }
        }
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use encoding_rs::{UTF_16BE, UTF_16LE};
    use proptest::prelude::*;

    use super::*;

    fn encoding(bytes: &[u8]) -> Result<&'static Encoding, Problem> {
        encoding_of(&mut BufReader::with_capacity(1, Cursor::new(bytes))).unwrap()
    }

    fn refused(bytes: &[u8]) -> String {
        encoding(bytes).unwrap_err().message
    }

    #[test]
    fn an_encoding_is_known_by_its_mark_or_by_what_it_cannot_be() {
        for (bytes, expected) in [
            (&b""[..], UTF_8),
            ("aé\n漢\n".as_bytes(), UTF_8),
            (b"\xef\xbb\xbfa", UTF_8),
            (b"\xff\xfea\0", UTF_16LE),
            (b"\xfe\xff\0a", UTF_16BE),
            (b"M\xfcller\r\n", WINDOWS_1252),
            (b"M\xfcller\r", WINDOWS_1252),
            (b"\x93M\xfcller\x94\r", WINDOWS_1252),
            (b"M\x9fller\r", MACINTOSH),
        ] {
            assert_eq!(encoding(bytes), Ok(expected), "{bytes:x?}");
        }
    }

    #[test]
    fn the_line_of_the_first_bad_byte_is_named() {
        for (bytes, line) in [
            (&b"a\nb\xc3\xa9\nc\xe4d\n"[..], 3),
            (b"a\r\nb\rc\x81", 3),
            (b"a\n\0", 2),
            (b"\xef\xbb\xbfa\n\xe4", 2),
            (b"\xff\xfe\n\0a", 2),
            (b"a\0\n\0", 1),
        ] {
            let message = refused(bytes);
            assert!(message.starts_with(&format!("line {line} ")), "{bytes:x?}: {message}");
        }
    }

    #[test]
    fn other_formats_are_refused_by_their_names() {
        for (bytes, name) in [
            (&b"PK\x03\x04..xl/workbook.xml"[..], "XLSX"),
            (b"PK\x03\x04..contacts.csv", "ZIP"),
            (b"\xd0\xcf\x11\xe0", "XLS"),
            (b"\n <HTML>", "HTML"),
            (b"\xff\xfe<\0!\0D\0O\0C\0T\0Y\0P\0E\0", "HTML"),
            (b"[\n  { \"phone\"", "JSON"),
        ] {
            assert!(refused(bytes).contains(name), "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn utf_8_is_what_the_standard_library_takes(bytes: Vec<u8>) {
            prop_assume!(foreign_format(&bytes, &bytes, UTF_8).is_none() && Encoding::for_bom(&bytes).is_none());
            let is_text = std::str::from_utf8(&bytes).is_ok() && !bytes.contains(&0);
            prop_assert_eq!(encoding(&bytes) == Ok(UTF_8), is_text);
        }

        #[test]
        fn how_the_bytes_arrive_does_not_matter(text in "\\PC{0,40}", capacity in 1_usize..8) {
            for encoding in [UTF_16LE, UTF_8] {
                let bytes: Vec<u8> = match encoding == UTF_8 {
                    true => text.bytes().collect(),
                    false => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
                };
                prop_assume!(Encoding::for_bom(&bytes).is_none());
                let input = BufReader::with_capacity(capacity, bytes.as_slice());
                let read: io::Result<Vec<u8>> = Decoded::new(input, encoding).buffered().bytes().collect();
                prop_assert_eq!(read.unwrap(), text.as_bytes());
            }
        }
    }
}
