//! Tests of the chunk parser with streams of each server, intact and corrupted.

#![expect(
    clippy::needless_pass_by_value,
    reason = "pieces of JSON are written where they are used"
)]

use domain::ports::language_model::ReplyEvent;
use net::guard::Verdict;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Words, calls with their echo, and the result.
type Read = (String, Vec<(String, Value, Option<Value>)>, Result<(), Failure>);

/// Parses a stream of data lines into words, calls, and the failure if there is one.
fn read(lines: &[Value]) -> Read {
    let texts: Vec<String> = lines
        .iter()
        .map(|line| line.as_str().map_or_else(|| line.to_string(), str::to_owned))
        .collect();
    read_texts(&texts)
}

fn read_texts(lines: &[String]) -> Read {
    let mut stream = ChatStream::new("gemini", Format::Plain, &[]);
    let mut deltas = Vec::new();
    let mut result = Ok(());
    for line in lines {
        let event = Event {
            name: String::new(),
            data: line.clone(),
        };
        if result.is_ok() && !stream.is_over() {
            result = stream.take(&event, &mut deltas);
        }
    }
    if result.is_ok() && !stream.is_over() {
        result = stream.closed(false, &mut deltas);
    }
    let (mut words, mut calls) = (String::new(), Vec::new());
    for delta in deltas {
        match delta {
            Delta::Event(ReplyEvent::Text(text)) => words.push_str(&text),
            Delta::Event(ReplyEvent::Tool { name, arguments, echo }) => {
                calls.push((name, arguments, echo.map(|echo| *echo)));
            }
            Delta::Thinking | Delta::Working => {}
        }
    }
    (words, calls, result)
}

fn delta(delta: Value) -> Value {
    json!({ "id": "chatcmpl-1", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn words(text: &str) -> Value {
    delta(json!({ "content": text }))
}

fn pieces(pieces: Value) -> Value {
    delta(json!({ "tool_calls": pieces }))
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn done() -> Value {
    "[DONE]".into()
}

fn called(lines: &[Value]) -> Vec<(String, Value)> {
    let (_, calls, result) = read(lines);
    assert_eq!(result, Ok(()));
    calls
        .into_iter()
        .map(|(name, arguments, _)| (name, arguments))
        .collect()
}

fn call(name: &str, arguments: Value) -> (String, Value) {
    (name.to_owned(), arguments)
}

#[test]
fn words_come_as_they_are_until_the_end() {
    let usual = [
        delta(json!({ "role": "assistant", "content": "" })),
        words("Hel"),
        words("lo"),
        finish("stop"),
        done(),
    ];
    assert_eq!(read(&usual), ("Hello".into(), vec![], Ok(())));
    // The marker may be missing if a finish reason was given.
    assert_eq!(read(&usual[..4]), ("Hello".into(), vec![], Ok(())));
    assert_eq!(read(&[words("Hello"), done()]), ("Hello".into(), vec![], Ok(())));
    let (said, _, result) = read(&usual[..3]);
    assert_eq!(
        (said.as_str(), result),
        (
            "Hello",
            Err(Failure::unavailable("the stream ended before the reply did"))
        )
    );
}

#[test]
fn a_chunk_may_lack_what_others_have() {
    let odd = [
        json!({ "choices": [], "prompt_filter_results": [{}] }),
        json!({ "choices": [{ "index": 0, "delta": null, "content_filter_results": {} }] }),
        json!({ "choices": null }),
        json!({ "choices": [{ "delta": { "content": null, "tool_calls": null } }] }),
        json!({ "timings": { "prompt_ms": 3 }, "usage": null, "obfuscation": "aab" }),
        json!({ "choices": [{ "delta": { "tool_calls": ["odd", 7, {}] } }] }),
        json!([1]),
        words("Hi"),
        finish("stop"),
        done(),
    ];
    assert_eq!(read(&odd), ("Hi".into(), vec![], Ok(())));
}

#[test]
fn a_call_in_pieces_is_put_together() {
    let first =
        json!([{ "index": 0, "id": "call_1", "type": "function", "function": { "name": "collect", "arguments": "" } }]);
    let lines = [
        pieces(first),
        pieces(json!([{ "index": 0, "function": { "arguments": "{\"entity\":" } }])),
        pieces(json!([{ "index": 0, "function": { "arguments": "\"day\"}" } }])),
        pieces(json!([{ "index": 1, "id": "call_2", "function": { "name": "endCall", "arguments": "" } }])),
        finish("tool_calls"),
        done(),
    ];
    let both = [call("collect", json!({ "entity": "day" })), call("endCall", json!({}))];
    assert_eq!(called(&lines), both);
}

#[test]
fn calls_are_told_apart_however_they_are_numbered() {
    let whole = |index: Value, id: Value, name: &str| {
        let mut call = json!({ "function": { "name": name, "arguments": "{\"a\":1}" } });
        if !index.is_null() {
            call["index"] = index;
        }
        if !id.is_null() {
            call["id"] = id;
        }
        call
    };
    let both = [call("x", json!({ "a": 1 })), call("y", json!({ "a": 1 }))];
    for (why, first, second) in [
        (
            "one delta, numbered",
            whole(json!(0), json!("1"), "x"),
            whole(json!(1), json!("2"), "y"),
        ),
        (
            "all numbered 0",
            whole(json!(0), json!("1"), "x"),
            whole(json!(0), json!("2"), "y"),
        ),
        (
            "no number",
            whole(Value::Null, json!("1"), "x"),
            whole(Value::Null, json!("2"), "y"),
        ),
        (
            "neither number nor id",
            whole(Value::Null, Value::Null, "x"),
            whole(Value::Null, Value::Null, "y"),
        ),
        (
            "an empty id",
            whole(Value::Null, json!(""), "x"),
            whole(Value::Null, json!(""), "y"),
        ),
    ] {
        let together = [pieces(json!([first, second])), finish("stop"), done()];
        assert_eq!(called(&together), both, "{why}, together");
        let apart = [pieces(json!([first])), pieces(json!([second])), finish("stop"), done()];
        assert_eq!(called(&apart), both, "{why}, apart");
    }
    let repeated = [
        pieces(json!([{ "id": "1", "function": { "name": "x", "arguments": "{\"a\"" } }])),
        pieces(json!([{ "id": "1", "function": { "name": "x", "arguments": ":1}" } }])),
        pieces(json!([{ "function": { "arguments": "" } }])),
        finish("stop"),
    ];
    assert_eq!(called(&repeated), both[..1], "a repeated name is no new call");
    let object = [
        pieces(json!([{ "function": { "name": "x", "arguments": { "a": 1 } } }])),
        finish("stop"),
    ];
    assert_eq!(called(&object), both[..1], "arguments that are no text");
}

#[test]
fn calls_are_made_whatever_reason_is_given_and_none_without_one() {
    let one = pieces(json!([{ "id": "1", "function": { "name": "x", "arguments": "{}" } }]));
    for reason in ["stop", "tool_calls", "length", "function_call", "odd"] {
        assert_eq!(
            called(&[one.clone(), finish(reason), done()]),
            [call("x", json!({}))],
            "{reason}"
        );
    }
    assert_eq!(called(&[words("Hi"), finish("tool_calls"), done()]), []);
    let (_, calls, result) = read(&[one]);
    assert!(
        calls.is_empty() && result.is_err(),
        "a call of a reply that was cut is not made"
    );
}

#[test]
fn broken_arguments_are_that_calls_error_alone_and_never_spoken() {
    let calls = json!([
        { "index": 0, "id": "1", "function": { "name": "x", "arguments": "{\"a\":" } },
        { "index": 1, "id": "2", "function": { "name": "y", "arguments": "[1]" } },
        { "index": 2, "id": "3", "function": { "name": "z", "arguments": "{\"a\":1}" } },
        { "index": 3, "id": "4", "function": { "arguments": "{}" } },
    ]);
    let (said, calls, result) = read(&[pieces(calls), finish("tool_calls"), done()]);
    let arguments: Vec<Value> = calls.into_iter().map(|(_, arguments, _)| arguments).collect();
    assert_eq!((said.as_str(), result), ("", Ok(())));
    assert_eq!(arguments, [Value::Null, Value::Null, json!({ "a": 1 })]);
}

#[test]
fn what_nobody_knows_in_a_call_is_kept_for_its_provider() {
    let signed = json!([{
        "id": "1", "type": "function", "extra_content": { "google": { "thought_signature": "s" } },
        "function": { "name": "x", "arguments": "{}", "strict": true },
    }]);
    let (_, calls, _) = read(&[pieces(signed), finish("stop")]);
    let kept = json!({ "gemini": {
        "extra_content": { "google": { "thought_signature": "s" } },
        "function": { "strict": true },
    } });
    assert_eq!(calls[0].2, Some(kept));
}

#[test]
fn thoughts_are_never_spoken() {
    let lines = [
        delta(json!({ "reasoning": "hm" })),
        delta(json!({ "reasoning_content": "hm", "content": "" })),
        words("<think>hm</th"),
        words("ink>\n\nHi"),
        finish("stop"),
        done(),
    ];
    assert_eq!(read(&lines), ("Hi".into(), vec![], Ok(())));
}

#[test]
fn an_error_in_the_stream_ends_it() {
    let error = json!({ "error": { "message": "overloaded", "type": "server_error", "code": null } });
    let (said, calls, result) = read(&[words("Hi"), error, words("!"), done()]);
    assert_eq!((said.as_str(), calls.len()), ("Hi", 0));
    assert_eq!(result, Err(Failure::unavailable("overloaded")));
    let not_json = read(&[words("Hi"), "{\"choices\":[".into()]).2.unwrap_err();
    assert!(matches!(not_json, Failure::Protocol(_)));
    assert_eq!(
        read(&[json!({ "error": null, "choices": [] }), words("Hi"), done()]).0,
        "Hi"
    );
    assert_eq!(
        read(&[finish("content_filter"), done()]).2.unwrap_err().verdict(),
        Some(Verdict::OurFault)
    );
}

#[test]
fn nothing_grows_without_a_bound() {
    let long = words(&"a ".repeat(1_000));
    let lines: Vec<Value> = std::iter::repeat_n(long, 20).collect();
    assert!(matches!(read(&lines).2.unwrap_err(), Failure::Protocol(_)));
    let piece =
        pieces(json!([{ "index": 0, "id": "1", "function": { "name": "x", "arguments": "a".repeat(10_000) } }]));
    let lines: Vec<Value> = std::iter::repeat_n(piece, 10).collect();
    assert!(matches!(read(&lines).2.unwrap_err(), Failure::Protocol(_)));
    let many: Vec<Value> = (0..100)
        .map(|at| json!({ "index": at, "id": at.to_string(), "function": {} }))
        .collect();
    assert!(matches!(
        read(&[pieces(many.into())]).2.unwrap_err(),
        Failure::Protocol(_)
    ));
}

#[test]
fn what_all_calls_of_a_reply_hold_together_has_a_bound() {
    let of = |calls: usize, function: &dyn Fn(usize) -> Value| {
        let calls = (0..calls).map(|at| json!({ "index": at, "id": at.to_string(), "function": function(at) }));
        read(&calls.map(|call| pieces(json!([call]))).collect::<Vec<_>>())
    };
    let told = |bytes: usize| json!({ "name": "x", "arguments": "a".repeat(bytes) });
    let whole = |bytes: usize| json!({ "name": "x", "arguments": { "a": "a".repeat(bytes) } });
    let named = |bytes: usize| json!({ "name": "x".repeat(bytes) });
    let odd = |bytes: usize| json!({ "name": "x", "odd": "a".repeat(bytes) });
    for (case, of_bytes) in [told, whole, named, odd].iter().enumerate() {
        let (_, calls, result) = of(10, &|_| of_bytes(7_000));
        assert!(matches!(result.unwrap_err(), Failure::Protocol(_)), "{case}");
        assert!(calls.is_empty(), "{case}: none of them is made");
    }
    let cut = [pieces(json!([{ "index": 0, "function": told(6_000) }])), finish("stop")];
    assert_eq!(read(&cut).2, Ok(()), "one alone is no more than is taken");
}

#[test]
fn unknown_fields_are_kept_up_to_a_bound_and_again_without_growing() {
    let repeated = |at: usize| json!({ "index": 0, "function": { "name": "x", "odd": "a".repeat(3_000), "n": at } });
    let mut lines: Vec<Value> = (0..100).map(|at| pieces(json!([repeated(at)]))).collect();
    lines.push(finish("tool_calls"));
    let (_, calls, result) = read(&lines);
    assert_eq!(result, Ok(()));
    let echo = calls[0].2.clone().unwrap();
    assert_eq!(echo["gemini"]["function"]["n"], 99);
    let many = |at: usize| json!({ "index": 0, "function": { "name": "x", at.to_string(): "a".repeat(500) } });
    let mut lines: Vec<Value> = (0..100).map(|at| pieces(json!([many(at)]))).collect();
    lines.push(finish("tool_calls"));
    let echo = read(&lines).1[0].2.clone().unwrap();
    assert!(echo.to_string().len() < 10_000, "{}", echo.to_string().len());
}

#[test]
fn usage_is_the_last_that_was_told() {
    let usage = |input: u64, output: u64| json!({ "prompt_tokens": input, "completion_tokens": output });
    let mut stream = ChatStream::new("groq", Format::Plain, &[]);
    let mut take = |value: Value| {
        let event = Event {
            name: String::new(),
            data: value.to_string(),
        };
        stream.take(&event, &mut Vec::new()).unwrap();
        stream.progress.usage
    };
    assert_eq!(take(json!({ "choices": [], "usage": null })), None);
    let counted = |output| {
        Some(Usage {
            input: 9,
            cached: 0,
            output,
        })
    };
    assert_eq!(take(json!({ "choices": [], "usage": usage(9, 1) })), counted(1));
    assert_eq!(
        take(json!({ "choices": [], "x_groq": { "usage": usage(9, 2) } })),
        counted(2)
    );
    assert_eq!(take(json!({ "choices": [], "usage": { "odd": true } })), counted(2));
    assert_eq!(take(json!({ "choices": [], "usage": usage(u64::MAX, 3) })), counted(2));
    let details =
        json!({ "prompt_tokens": 9, "prompt_tokens_details": { "cached_tokens": 4 }, "completion_tokens": 3 });
    let cached = Usage {
        input: 9,
        cached: 4,
        output: 3,
    };
    assert_eq!(take(json!({ "choices": [], "usage": details })), Some(cached));
}

/// JSON like that of chunks, with any part of it replaced.
fn any_chunk() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u8>().prop_map(Value::from),
        "[a-z<>/{}\":]{0,6}".prop_map(Value::from),
        Just(Value::from("<think>")),
    ];
    let names = prop::sample::select(vec![
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "index",
        "id",
        "function",
        "name",
        "arguments",
        "usage",
        "prompt_tokens",
        "finish_reason",
        "error",
        "x_groq",
        "reasoning",
    ]);
    leaf.prop_recursive(6, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(names.clone(), inner, 0..4).prop_map(|map| map
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Value>()),
        ]
    })
}

proptest! {
    #[test]
    fn any_chunks_are_survived(
        inner in prop::collection::vec((any_chunk(), any_chunk()), 0..6),
        noise in ".{0,20}",
    ) {
        let mut lines: Vec<String> = inner
            .iter()
            .flat_map(|(chunk, delta)| [chunk.to_string(), json!({ "choices": [{ "delta": delta }] }).to_string()])
            .collect();
        lines.push(noise);
        let _ = read_texts(&lines);
    }

    #[test]
    fn where_arguments_are_cut_makes_no_difference(cuts in prop::collection::vec(0usize..20, 0..5)) {
        let text = r#"{"entity":"é","value":"1"}"#;
        let mut ends: Vec<usize> = cuts.into_iter().filter(|at| text.is_char_boundary(*at)).collect();
        ends.extend([0, text.len()]);
        ends.sort_unstable();
        let mut lines: Vec<Value> = ends
            .windows(2)
            .map(|ends| pieces(json!([{ "index": 0, "function": { "name": "x", "arguments": &text[ends[0]..ends[1]] } }])))
            .collect();
        lines.push(done());
        prop_assert_eq!(called(&lines), [call("x", json!({ "entity": "é", "value": "1" }))]);
    }
}

#[test]
fn a_name_that_no_tool_can_have_is_not_taken() {
    let take = |bytes: usize| {
        let call = json!({ "index": 0, "function": { "name": "x".repeat(bytes), "arguments": "{}" } });
        let chunk = json!({ "choices": [{ "delta": { "tool_calls": [call] } }] });
        ChatStream::new("openai", Format::Plain, &[]).chunk(&chunk, &mut Vec::new())
    };
    assert_eq!(take(64), Ok(()));
    assert!(matches!(take(65).unwrap_err(), Failure::Protocol(_)));
}
