//! The readers of models' streams, for fuzzing.

use crate::llm::{chat::ChatStream, messages::MessageStream, reply_stream::Protocol, sse};

/// What the bytes of a stream come to, cut as the first byte says. Cut otherwise it is the same.
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

/// Server-sent events.
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
    let _ = protocol.closed(&mut deltas);
}

/// Streams of chat completions.
pub fn chat_stream(data: &[u8]) {
    for provider in ["openai", "gemini", "mistral"] {
        taken(ChatStream::new(provider), data);
    }
}

/// Streams of Anthropic's messages.
pub fn message_stream(data: &[u8]) {
    taken(MessageStream::default(), data);
}
