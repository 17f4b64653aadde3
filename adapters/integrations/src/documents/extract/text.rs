//! Extraction of text with the library for each format.

use dom_smoothie::{Config, Readability, TextMode};
use domain::text::is_blank;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use pdf_extract::extract_text_from_mem;

use crate::documents::format::Format;

/// Maximum size of a document's text in bytes.
pub const TEXT_BYTES: usize = 4 * 1024 * 1024;

/// How far into a page its charset declaration is searched, as in browsers.
const CHARSET_WITHIN: usize = 1024;

/// Invisible elements of a page.
const UNSEEN: &str = "script, style, noscript, template, svg, iframe, head, [hidden]";

/// Says that there is more text than [`TEXT_BYTES`], worded to follow "the document".
pub(super) fn too_long() -> String {
    format!("has more than {} MiB of text; split it", TEXT_BYTES / 1024 / 1024)
}

/// Reason why a document gives no text, worded to follow "the document".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoText {
    /// PDF without text.
    #[error("has no text; if it is scanned, run text recognition on it first")]
    EmptyPdf,
    /// Web page without text.
    #[error("has no text; if scripts write it, provide the text itself")]
    EmptyPage,
    /// Text that is blank.
    #[error("has no text")]
    Empty,
    /// PDF that requires a password.
    #[error("is protected by a password; remove the protection")]
    Protected,
    /// Damaged PDF.
    #[error("is not a readable PDF: {0:.200}")]
    NotPdf(String),
    /// Unknown charset.
    #[error("is in the unknown charset `{0:.40}`")]
    Charset(String),
    /// Bytes that are not valid in the charset.
    #[error("is not text in {0}; name its charset in the content type")]
    NotIn(&'static str),
    /// Text with the character U+0000.
    #[error("is not text: it contains the character U+0000")]
    Nul,
}

/// Returns the text of a document.
pub(super) fn of(bytes: &[u8], format: Format, charset: Option<&str>) -> Result<String, NoText> {
    let text = match format {
        Format::Html => page(&decode_page(bytes, charset)),
        Format::Pdf => pdf(bytes)?,
        Format::Text => decode_text(bytes, charset)?,
    };
    let text = tidy(&text);
    if !is_blank(&text) {
        return Ok(text);
    }
    Err(match format {
        Format::Pdf => NoText::EmptyPdf,
        Format::Html => NoText::EmptyPage,
        Format::Text => NoText::Empty,
    })
}

/// Returns the readable part of a page under its title. If no such part is found, returns everything visible.
fn page(html: &str) -> String {
    let config = Config {
        text_mode: TextMode::Formatted,
        disable_json_ld: true,
        ..Config::default()
    };
    let article = Readability::new(html, None, Some(config)).and_then(|mut page| page.parse());
    match article {
        Ok(article) if !article.text_content.trim().is_empty() => {
            let (title, text) = (article.title.trim(), article.text_content.trim());
            if title.is_empty() || text.starts_with(title) {
                text.to_owned()
            } else {
                format!("{title}\n\n{text}")
            }
        }
        _ => {
            let page = Readability::from(html).doc;
            let title = page.select("title").text();
            page.select(UNSEEN).remove();
            let text = page.formatted_text();
            if text.trim().is_empty() {
                String::new()
            } else {
                format!("{}\n\n{text}", title.trim())
            }
        }
    }
}

fn pdf(bytes: &[u8]) -> Result<String, NoText> {
    extract_text_from_mem(bytes).map_err(|error| {
        let error = error.to_string();
        let secret = ["password", "encrypt", "decrypt"]
            .iter()
            .any(|word| error.to_lowercase().contains(word));
        if secret {
            NoText::Protected
        } else {
            NoText::NotPdf(error)
        }
    })
}

/// Decodes text by its byte order mark, else by the given charset, else as UTF-8.
fn decode_text(bytes: &[u8], charset: Option<&str>) -> Result<String, NoText> {
    let encoding = match charset {
        Some(label) => Encoding::for_label(label.as_bytes()).ok_or_else(|| NoText::Charset(label.to_owned()))?,
        None => UTF_8,
    };
    let (text, used, damaged) = encoding.decode(bytes);
    if damaged {
        return Err(NoText::NotIn(used.name()));
    }
    if text.contains('\0') {
        return Err(NoText::Nul);
    }
    Ok(text.into_owned())
}

/// Decodes a page by its byte order mark, else by the given charset, else by its own declaration, else as
/// UTF-8 if it is valid, else as browsers do. A page is decoded whatever is wrong with it.
fn decode_page(bytes: &[u8], charset: Option<&str>) -> String {
    let named = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = named
        .or_else(|| own_charset(bytes))
        .unwrap_or_else(|| match std::str::from_utf8(bytes) {
            Ok(_) => UTF_8,
            Err(_) => WINDOWS_1252,
        });
    encoding.decode(bytes).0.into_owned()
}

fn own_charset(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = &bytes[..bytes.len().min(CHARSET_WITHIN)];
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let (_, rest) = start.split_once("charset")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let rest = rest.trim_start_matches(['"', '\'']);
    let label = rest
        .split(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)))
        .next()?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // A page whose declaration could be read this way cannot be in a charset that is incompatible with ASCII.
    if encoding.is_ascii_compatible() {
        Some(encoding)
    } else {
        Some(UTF_8)
    }
}

/// Removes control characters, trailing blanks, and repeated empty lines.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut blank = 0;
    for line in text.lines() {
        let line: String = line.chars().filter(|c| !c.is_control() || *c == '\t').collect();
        let line = line.trim_end();
        if line.is_empty() {
            blank += 1;
            continue;
        }
        if !tidy.is_empty() {
            tidy.push_str(if blank > 0 { "\n\n" } else { "\n" });
        }
        blank = 0;
        tidy.push_str(line);
    }
    tidy
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn html(page: &str) -> Result<String, NoText> {
        of(page.as_bytes(), Format::Html, None)
    }

    #[test]
    fn a_page_gives_its_readable_part_under_its_title() {
        let words = "Check-ups cost fifty euros and last half an hour, says the practice. ".repeat(20);
        let page = format!(
            "<html><head><title>Prices</title><script>alert(1)</script></head><body><nav><a href=/>Home</a></nav>\
             <article><p>{words}</p><p>{words}</p></article><footer>Imprint</footer></body></html>"
        );
        let text = html(&page).unwrap();
        assert!(text.starts_with("Prices\n\n"), "{text}");
        assert!(text.contains("fifty euros") && !text.contains("alert"), "{text}");
    }

    #[test]
    fn a_page_without_a_readable_part_gives_all_that_can_be_seen() {
        let text = html("<title>T</title><style>p{}</style><p>Open from 9</p><script>x</script>").unwrap();
        assert!(text.contains("Open from 9"), "{text}");
        assert!(!text.contains('x') && !text.contains("{}"), "{text}");
    }

    #[test]
    fn an_empty_document_is_refused() {
        assert!(
            html("<html><body><script>render()</script></body></html>")
                .unwrap_err()
                .to_string()
                .contains("no text")
        );
        for blank in [" \n\t", "\u{feff}", "\u{200b}\u{200d} \u{2060}\n\u{ad}"] {
            let refused = of(blank.as_bytes(), Format::Text, None).unwrap_err().to_string();
            assert!(refused.contains("no text"), "{blank:?}: {refused}");
        }
        assert!(of(b"%PDF-1.4\nnothing", Format::Pdf, None).is_err());
    }

    #[test]
    fn text_is_decoded_by_mark_then_charset_then_utf_8() {
        let text = |bytes: &[u8], charset| of(bytes, Format::Text, charset);
        assert_eq!(text("Grüße".as_bytes(), None).as_deref(), Ok("Grüße"));
        assert_eq!(text(b"Gr\xfc\xdfe", Some("iso-8859-1")).as_deref(), Ok("Grüße"));
        assert_eq!(text(b"\xff\xfeG\0r\0\xfc\0", Some("utf-8")).as_deref(), Ok("Grü"));
        let refused = |bytes: &[u8], charset| text(bytes, charset).unwrap_err().to_string();
        assert!(refused(b"Gr\xfc\xdfe", None).contains("UTF-8"));
        assert!(refused(b"x", Some("klingon")).contains("`klingon`"));
        assert!(refused(b"a\0b", None).contains("U+0000"));
    }

    #[test]
    fn a_page_names_its_own_charset() {
        let page = b"<meta http-equiv=content-type content='text/html; charset=iso-8859-1'><p>Gr\xfc\xdfe</p>";
        assert!(of(page, Format::Html, None).unwrap().contains("Grüße"));
        assert!(of(b"<p>Gr\xfc\xdfe</p>", Format::Html, None).unwrap().contains("Grüße"));
    }

    #[test]
    fn lines_are_tidied_and_indents_kept() {
        assert_eq!(tidy("\n\n# A  \r\n\n\n\n    code\u{7}\n\nB\n"), "# A\n\n    code\n\nB");
    }

    proptest! {
        #[test]
        fn tidying_twice_changes_nothing(text in "[a\\x00-\\x1f\u{85} \u{2028}]{0,40}") {
            let once = tidy(&text);
            prop_assert_eq!(tidy(&once), once);
        }
    }
}
