//! Tests of the parser of a message's events, intact and corrupted.

#![expect(
    clippy::needless_pass_by_value,
    reason = "pieces of JSON are written where they are used"
)]

use net::guard::Verdict;
use serde_json::json;

use super::*;
use crate::{json, protocols::llm::reply_stream::Usage};

fn read(events: &[Value]) -> (Vec<ReplyEvent>, Result<(), Failure>, Option<Usage>) {
    let mut stream = MessageStream::default();
    let mut deltas = Vec::new();
    let mut result = Ok(());
    for event in events {
        let event = Event {
            name: event["type"].as_str().unwrap_or_default().to_owned(),
            data: event.to_string(),
        };
        if result.is_ok() && !stream.is_over() {
            result = stream.take(&event, &mut deltas);
        }
    }
    if result.is_ok() && !stream.is_over() {
        result = stream.closed(true, &mut deltas);
    }
    let events = deltas.into_iter().filter_map(|delta| match delta {
        Delta::Event(event) => Some(event),
        Delta::Thinking | Delta::Working => None,
    });
    (events.collect(), result, stream.progress.usage)
}

fn begin() -> Value {
    json!({ "type": "message_start", "message": { "usage": {
        "input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 20, "output_tokens": 1,
    } } })
}

fn block(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn piece(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn words(text: &str) -> Value {
    piece(0, json!({ "type": "text_delta", "text": text }))
}

fn input(index: u64, json: &str) -> Value {
    piece(index, json!({ "type": "input_json_delta", "partial_json": json }))
}

fn tool(index: u64, name: &str) -> Value {
    block(
        index,
        json!({ "type": "tool_use", "id": "toolu_1", "name": name, "input": {} }),
    )
}

fn stop_reason(reason: &str) -> Value {
    json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 7 } })
}

fn stop() -> Value {
    json!({ "type": "message_stop" })
}

fn text(text: &str) -> ReplyEvent {
    ReplyEvent::Text(text.into())
}

fn call(name: &str, arguments: Value) -> ReplyEvent {
    ReplyEvent::Tool {
        name: name.into(),
        arguments,
        echo: None,
    }
}

#[test]
fn words_and_calls_come_out_and_figures_add_up() {
    let events = [
        begin(),
        json!({ "type": "ping" }),
        block(0, json!({ "type": "text", "text": "" })),
        words("Hel"),
        words("lo"),
        json!({ "type": "content_block_stop", "index": 0 }),
        tool(1, "collect"),
        input(1, ""),
        input(1, "{\"entity\":"),
        input(1, "\"day\"}"),
        tool(2, "endCall"),
        json!({ "type": "something_new", "odd": [1] }),
        stop_reason("tool_use"),
        stop(),
    ];
    let (said, result, usage) = read(&events);
    let wanted = [
        text("Hel"),
        text("lo"),
        call("collect", json!({ "entity": "day" })),
        call("endCall", json!({})),
    ];
    assert_eq!((said.as_slice(), result), (wanted.as_slice(), Ok(())));
    let counted = Usage {
        input: 35,
        cached: 20,
        output: 7,
    };
    assert_eq!(usage, Some(counted));
}

#[test]
fn a_key_that_comes_twice_costs_no_word() {
    let mut stream = MessageStream::default();
    let mut deltas = Vec::new();
    let event = Event {
        name: "content_block_delta".into(),
        data: json::doubled(&words("Hello").to_string()),
    };
    assert_eq!(stream.take(&event, &mut deltas), Ok(()));
    assert_eq!(deltas, [Delta::Event(text("Hello"))]);
}

#[test]
fn a_call_may_come_whole_or_broken() {
    let whole = block(
        0,
        json!({ "type": "tool_use", "id": "a", "name": "x", "input": { "a": 1 } }),
    );
    let (said, ..) = read(&[
        whole,
        tool(1, "y"),
        input(1, "{\"a\":"),
        input(9, "lost"),
        stop_reason("tool_use"),
        stop(),
    ]);
    assert_eq!(said, [call("x", json!({ "a": 1 })), call("y", Value::Null)]);
}

#[test]
fn thoughts_are_never_spoken() {
    let thought = piece(0, json!({ "type": "thinking_delta", "thinking": "hm" }));
    let events = [
        block(0, json!({ "type": "thinking" })),
        thought,
        words("Hi"),
        stop_reason("end_turn"),
        stop(),
    ];
    assert_eq!(read(&events).0, [text("Hi")]);
}

#[test]
fn a_message_that_is_cut_or_fails_is_an_error() {
    let cut = read(&[begin(), words("Hi"), tool(1, "x")]);
    assert_eq!(cut.0, [text("Hi")], "no call of a message that was cut");
    assert!(matches!(cut.1.unwrap_err(), Failure::Unavailable(_)));
    assert_eq!(read(&[words("Hi"), stop_reason("end_turn")]).1, Ok(()));
    let error = |kind: &str| json!({ "type": "error", "error": { "type": kind, "message": "m" } });
    assert_eq!(
        read(&[words("Hi"), error("overloaded_error")]).1,
        Err(Failure::Busy { retry_after: None })
    );
    assert_eq!(read(&[error("api_error")]).1, Err(Failure::unavailable("m")));
    assert_eq!(
        read(&[stop_reason("refusal"), stop()]).1.unwrap_err().verdict(),
        Some(Verdict::OurFault)
    );
    let mut stream = MessageStream::default();
    let event = Event {
        name: "content_block_delta".into(),
        data: "{\"type\":".into(),
    };
    assert_eq!(
        stream.take(&event, &mut Vec::new()),
        Ok(()),
        "the others may be readable"
    );
    let error = stream.closed(true, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, Failure::Protocol(_)));
}

#[test]
fn odd_events_are_survived_and_nothing_grows_without_a_bound() {
    for odd in [
        json!(1),
        json!(null),
        json!({ "type": 7 }),
        json!({ "type": "content_block_delta" }),
    ] {
        assert_eq!(read(&[odd, words("Hi"), stop_reason("end_turn"), stop()]).1, Ok(()));
    }
    let long: Vec<Value> = std::iter::repeat_n(words(&"a".repeat(1_000)), 20).collect();
    assert!(matches!(read(&long).1.unwrap_err(), Failure::Protocol(_)));
    let mut long = vec![tool(0, "x")];
    long.extend(std::iter::repeat_n(input(0, &"a".repeat(10_000)), 10));
    assert!(matches!(read(&long).1.unwrap_err(), Failure::Protocol(_)));
    let many: Vec<Value> = (0..100).map(|at| tool(at, "x")).collect();
    assert!(matches!(read(&many).1.unwrap_err(), Failure::Protocol(_)));
    let several: Vec<Value> = (0..10)
        .flat_map(|at| [tool(at, "x"), input(at, &"a".repeat(7_000))])
        .collect();
    assert!(matches!(read(&several).1.unwrap_err(), Failure::Protocol(_)));
    let whole = |at: u64| {
        block(
            at,
            json!({ "type": "tool_use", "name": "x", "input": { "a": "a".repeat(7_000) } }),
        )
    };
    let several: Vec<Value> = (0..10).map(whole).collect();
    assert!(matches!(read(&several).1.unwrap_err(), Failure::Protocol(_)));
}

#[test]
fn figures_that_nobody_can_have_used_are_not_counted() {
    let most = |name: &str| json!({ "type": "message_delta", "delta": {}, "usage": { name: u64::MAX } });
    for name in ["input_tokens", "output_tokens"] {
        let (.., usage) = read(&[begin(), most(name), stop_reason("end_turn"), stop()]);
        let counted = Usage {
            input: 35,
            cached: 20,
            output: 7,
        };
        assert_eq!(usage, Some(counted), "{name}");
    }
    let odd = json!({ "type": "message_delta", "delta": {}, "usage": {
        "input_tokens": 1, "cache_creation_input_tokens": u64::MAX, "cache_read_input_tokens": u64::MAX,
    } });
    assert_eq!(read(&[odd]).2.map(|usage| (usage.input, usage.cached)), Some((1, 0)));
}

#[test]
fn a_name_that_no_tool_can_have_is_not_taken() {
    let call = |bytes: usize| read(&[begin(), tool(0, &"x".repeat(bytes)), stop_reason("tool_use"), stop()]);
    assert_eq!((call(64).0.len(), call(64).1), (1, Ok(())));
    assert!(matches!(call(65).1.unwrap_err(), Failure::Protocol(_)));
}
