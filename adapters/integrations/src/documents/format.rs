//! Detection of a document's format by its content type, or by its first bytes if the type is generic.

/// Number of bytes examined.
pub const SNIFFED_BYTES: usize = 1024;

/// Document format from which text is extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Web page.
    Html,
    /// PDF.
    Pdf,
    /// Plain text or Markdown.
    Text,
}

impl Format {
    /// Returns the name used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Pdf => "pdf",
            Self::Text => "text",
        }
    }
}

/// Format of a document and the charset given for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// Format.
    pub format: Format,
    /// Charset label such as `iso-8859-1`.
    pub charset: Option<String>,
}

/// Maximum characters of a charset label. No known label is that long.
const LABEL_CHARACTERS: usize = 40;

/// Content types that say nothing about the format.
const GENERIC: [&str; 4] = [
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/x-download",
];

/// Beginnings of web pages.
const PAGE_STARTS: [&str; 6] = ["<!doctype html", "<html", "<head", "<body", "<title", "<meta"];

/// Accepted formats, for messages.
const TAKEN: &str = "use a web page (text/html), a PDF, plain text or Markdown";

/// Reason why a document is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// The content type is not supported.
    #[error("the content type `{0:.100}` is not supported; {TAKEN}")]
    ContentType(String),
    /// There is no content type, and the first bytes are neither PDF nor text.
    #[error("there is no content type, and the content is not recognised; {TAKEN}")]
    Content,
}

/// Detects a document's format from its content type and its first bytes.
///
/// # Errors
/// Returns an error if the format is not supported.
pub fn recognise(content_type: Option<&str>, head: &[u8]) -> Result<Recognised, NotTaken> {
    let content_type = content_type.unwrap_or_default();
    let mut parts = content_type.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let named = name.trim().eq_ignore_ascii_case("charset");
        named.then(|| value.trim().trim_matches('"'))
    });
    let charset = charset.filter(|label| is_label(label)).map(str::to_owned);
    let format = match essence.as_str() {
        "text/html" | "application/xhtml+xml" => Format::Html,
        "application/pdf" | "application/x-pdf" => Format::Pdf,
        "text/plain" | "text/markdown" | "text/x-markdown" => Format::Text,
        generic if GENERIC.contains(&generic) => sniff(head)?,
        other => return Err(NotTaken::ContentType(other.to_owned())),
    };
    // Servers that do not know PDF send such files as text.
    let format = if format == Format::Text && head.starts_with(b"%PDF-") {
        Format::Pdf
    } else {
        format
    };
    Ok(Recognised { format, charset })
}

/// Returns whether a text can be a charset label, which is passed to another process. It must be a short HTTP token.
fn is_label(text: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:".contains(&byte);
    (1..=LABEL_CHARACTERS).contains(&text.len()) && text.bytes().all(token)
}

fn sniff(head: &[u8]) -> Result<Format, NotTaken> {
    // PDF readers look for this anywhere in the first kilobyte.
    if head.windows(5).any(|bytes| bytes == b"%PDF-") {
        return Ok(Format::Pdf);
    }
    let utf16 = head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]);
    if utf16 {
        return Ok(Format::Text);
    }
    if head.contains(&0) {
        return Err(NotTaken::Content);
    }
    let start = String::from_utf8_lossy(head).to_lowercase();
    let start = start.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let is_page = PAGE_STARTS.iter().any(|page| start.starts_with(page));
    Ok(if is_page { Format::Html } else { Format::Text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(content_type: &str, head: &[u8]) -> Option<Format> {
        let content_type = Some(content_type).filter(|text| !text.is_empty());
        recognise(content_type, head).ok().map(|found| found.format)
    }

    #[test]
    fn a_type_that_says_something_counts() {
        for (content_type, expected) in [
            ("text/html; charset=utf-8", Some(Format::Html)),
            ("Application/XHTML+xml", Some(Format::Html)),
            ("application/pdf", Some(Format::Pdf)),
            ("text/plain", Some(Format::Text)),
            ("text/markdown;variant=GFM", Some(Format::Text)),
            ("image/png", None),
            ("application/json", None),
            ("nonsense", None),
        ] {
            assert_eq!(format(content_type, b"x"), expected, "{content_type}");
        }
        let refused = recognise(Some("image/png"), b"").unwrap_err().to_string();
        assert!(refused.contains("`image/png`"), "{refused}");
    }

    #[test]
    fn a_type_that_says_nothing_leaves_it_to_the_bytes() {
        for content_type in ["", "application/octet-stream", " BINARY/octet-stream ; x=y"] {
            assert_eq!(format(content_type, b"\n%PDF-1.7"), Some(Format::Pdf));
            assert_eq!(
                format(content_type, b"\xef\xbb\xbf <!DOCTYPE HTML><p>"),
                Some(Format::Html)
            );
            assert_eq!(format(content_type, b"# Prices\n"), Some(Format::Text));
            assert_eq!(format(content_type, b"\xff\xfeh\0"), Some(Format::Text));
            assert_eq!(format(content_type, b"\x89PNG\0\0"), None);
        }
        assert_eq!(format("text/plain", b"%PDF-1.4"), Some(Format::Pdf));
    }

    #[test]
    fn the_charset_is_read_from_the_type() {
        let charset = |text| recognise(Some(text), b"").unwrap().charset;
        assert_eq!(
            charset("text/plain; charset=\"ISO-8859-1\"").as_deref(),
            Some("ISO-8859-1")
        );
        assert_eq!(charset("text/plain;x=y;Charset = utf-8").as_deref(), Some("utf-8"));
        assert_eq!(charset("text/plain"), None);
        let long = format!("text/plain; charset={}", "x".repeat(140_000));
        for none in [
            &*long,
            "text/plain; charset=",
            "text/plain; charset=utf 8",
            "text/plain; charset=utf\u{0}8",
            "text/plain; charset=ütf-8",
        ] {
            assert_eq!(charset(none), None, "{none:.60}");
        }
    }
}
