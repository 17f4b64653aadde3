//! Parser of server-sent events from pieces cut anywhere. Comments are skipped, and lines and events are bounded.

/// Maximum length of a line in bytes.
const LINE_BYTES: usize = 256 * 1024;
/// Maximum data of one event in bytes.
const EVENT_BYTES: usize = 512 * 1024;

/// Server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Name; empty if it has none.
    pub name: String,
    /// Data, with lines joined by `\n`.
    pub data: String,
}

/// A line or an event exceeds its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {} KiB", EVENT_BYTES / 1024)]
pub struct TooLong;

/// Incremental parser.
#[derive(Debug, Default)]
pub struct Reader {
    line: Vec<u8>,
    /// Whether the last byte was a `\r` that ended a line, so that a following `\n` belongs to it.
    after_return: bool,
    event: Event,
    has_data: bool,
    begun: bool,
}

impl Reader {
    /// Parses the next bytes and adds complete events to `events`.
    /// If a line or an event exceeds its limit, reading must stop.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        let mut rest = bytes;
        if let Some((b'\n', after)) = rest.split_first()
            && self.after_return
        {
            rest = after;
        }
        if !bytes.is_empty() {
            self.after_return = false;
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.push(&rest[..end])?;
            let returned = rest[end] == b'\r';
            rest = &rest[end + 1..];
            match rest.first() {
                Some(b'\n') if returned => rest = &rest[1..],
                None => self.after_return = returned,
                Some(_) => {}
            }
            self.end_line(events)?;
        }
        self.push(rest)
    }

    /// Handles the end of the bytes. An event that lacks only its blank line counts as complete.
    pub fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        if !self.line.is_empty() {
            self.end_line(events)?;
        }
        self.end_event(events);
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > LINE_BYTES {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let mut line = text.as_ref();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            self.end_event(events);
        } else {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "data" => self.data(value)?,
                "event" => value.clone_into(&mut self.event.name),
                // Comments have no name. `id` and `retry` only matter to clients that reconnect.
                _ => {}
            }
        }
        // The buffer is reused.
        self.line = bytes;
        self.line.clear();
        Ok(())
    }

    fn data(&mut self, value: &str) -> Result<(), TooLong> {
        let data = &mut self.event.data;
        if data.len() + value.len() >= EVENT_BYTES {
            return Err(TooLong);
        }
        if self.has_data {
            data.push('\n');
        }
        data.push_str(value);
        self.has_data = true;
        Ok(())
    }

    fn end_event(&mut self, events: &mut Vec<Event>) {
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.has_data) {
            events.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Event>, TooLong> {
        let (mut reader, mut events) = (Reader::default(), Vec::new());
        for piece in pieces {
            reader.feed(piece, &mut events)?;
        }
        reader.finish(&mut events)?;
        Ok(events)
    }

    fn read(text: &str) -> Vec<(String, String)> {
        let events = read_pieces([text.as_bytes()]).unwrap();
        events.into_iter().map(|event| (event.name, event.data)).collect()
    }

    fn unnamed(data: &str) -> (String, String) {
        (String::new(), data.to_owned())
    }

    #[test]
    fn events_are_read_as_the_standard_has_it() {
        assert_eq!(
            read("data: a\n\ndata:b\r\n\r\ndata\r\r"),
            [unnamed("a"), unnamed("b"), unnamed("")]
        );
        assert_eq!(read("data: a\ndata:  b\n\n"), [unnamed("a\n b")]);
        assert_eq!(
            read("event: ping\ndata: {}\nid: 7\nretry: 3\n\n"),
            [("ping".to_owned(), "{}".to_owned())]
        );
        assert_eq!(read(": OPENROUTER PROCESSING\n\n:\n\nevent: lost\n\n"), []);
        assert_eq!(read("\u{feff}data: a\n\n"), [unnamed("a")]);
    }

    #[test]
    fn an_event_without_its_blank_line_counts_at_the_end() {
        assert_eq!(read("data: a\n\ndata: [DONE]"), [unnamed("a"), unnamed("[DONE]")]);
        assert_eq!(read("data: [DONE]\n"), [unnamed("[DONE]")]);
    }

    #[test]
    fn nothing_grows_without_a_bound() {
        let long = "x".repeat(LINE_BYTES);
        assert_eq!(read_pieces([b"data: ".as_slice(), long.as_bytes()]), Err(TooLong));
        let line = format!("data: {}\n", "x".repeat(LINE_BYTES / 2));
        assert_eq!(read_pieces(std::iter::repeat_n(line.as_bytes(), 5)), Err(TooLong));
        let comments = std::iter::repeat_n(b": x\n".as_slice(), 100_000);
        assert_eq!(read_pieces(comments), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn where_the_pieces_are_cut_makes_no_difference(
            text in "(data: [aé]{0,3}|event: x|:c|id:1|)((\r\n|\n|\r)(data: ?[aé\\[\\]]{0,3}|event:[xy]|: c|)){0,12}",
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]);
            prop_assert_eq!(read_pieces(pieces), read_pieces([bytes]));
            prop_assert_eq!(read_pieces(bytes.chunks(1)), read_pieces([bytes]));
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = read_pieces([bytes.as_slice()]);
        }
    }
}
