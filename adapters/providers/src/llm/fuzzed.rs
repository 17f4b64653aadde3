//! Fuzzing entry points for the parsers of models' streams.

use domain::prompt::Tool;
use serde_json::json;

use crate::format::Format;
use crate::llm::{chat::ChatStream, messages::MessageStream, reply_stream::Protocol, sse};

/// Parses an event stream in pieces of the size given by the first byte. Checks that the piece size does not
/// change the result.
fn events(data: &[u8]) -> Option<Vec<sse::Event>> {
    let (size, bytes) = data.split_first()?;
    let read = |size: usize| {
        let (mut reader, mut events) = (sse::Reader::default(), Vec::new());
        let fed = bytes.chunks(size).try_for_each(|piece| reader.feed(piece, &mut events));
        fed.and_then(|()| reader.finish(&mut events)).map(|()| events)
    };
    let whole = read(usize::MAX);
    assert_eq!(read(usize::from(*size).max(1)), whole);
    whole.ok()
}

/// Fuzzes server-sent events.
pub fn event_stream(data: &[u8]) {
    let _ = events(data);
}

fn taken(mut protocol: impl Protocol, data: &[u8]) {
    let mut deltas = Vec::new();
    for event in events(data).unwrap_or_default() {
        if protocol.take(&event, &mut deltas).is_err() {
            return;
        }
    }
    let _ = protocol.closed(true, &mut deltas);
}

/// Fuzzes streams of chat completions, in every format.
pub fn chat_stream(data: &[u8]) {
    let tools = [Tool {
        name: "collect".into(),
        description: String::new(),
        parameters: json!({}),
    }];
    for format in [Format::Plain, Format::Marked, Format::Thinking, Format::Harmony] {
        taken(ChatStream::new("openai", format, &tools), data);
    }
}

/// Fuzzes streams of Anthropic's messages.
pub fn message_stream(data: &[u8]) {
    taken(MessageStream::default(), data);
}
