//! Tests of replies as local servers stream them: text in the formats of model families, and wires cut anywhere.

use domain::ports::usage::Meter;
use net::guard::Guards;
use providers::{format::Format, llm::LanguageModels, settings::ProviderSettings};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::language::{booking, models_with, reply, request, told};

/// A server whose every answer is the pieces that were set last.
struct Server {
    url: String,
    sent: watch::Sender<Vec<Vec<u8>>>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sent, pieces) = watch::channel(Vec::new());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(answer(socket, pieces.borrow().clone()));
            }
        });
        Self { url, sent }
    }

    fn settings(&self, format: Format) -> ProviderSettings {
        let base = format!("{}/v1", self.url);
        let read = |name: &str| name.ends_with("_BASE_URL").then(|| base.clone());
        let mut settings = ProviderSettings::read(read).unwrap();
        settings.format = format;
        settings
    }

    fn models(&self, name: &str) -> LanguageModels {
        models_with(&[name], &self.settings(Format::Auto), &Guards::default())
    }

    /// Returns the words and calls that a model's reply is read as.
    async fn read(&self, models: &LanguageModels, sent: Vec<Vec<u8>>) -> (String, Vec<(String, Value)>) {
        self.sent.send_replace(sent);
        let (words, calls) = told(reply(models, request(&booking(), &[], &Meter::default())).await);
        (
            words,
            calls
                .into_iter()
                .map(|(name, arguments, _)| (name, arguments))
                .collect(),
        )
    }
}

async fn answer(mut socket: TcpStream, pieces: Vec<Vec<u8>>) {
    socket.set_nodelay(true).unwrap();
    let (mut asked, mut buffer) = (Vec::new(), [0; 4096]);
    // The request's body is JSON, which ends with the brackets of its last field.
    while !asked.windows(4).any(|end| end == b"\r\n\r\n") || !is_whole(&asked) {
        match socket.read(&mut buffer).await {
            Ok(read @ 1..) => asked.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let has_own = pieces.first().is_some_and(|first| first.starts_with(b"HTTP/"));
    let head = if has_own { Vec::new() } else { head.into() };
    for piece in std::iter::once(head).chain(pieces) {
        if socket.write_all(&piece).await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    let _ = socket.shutdown().await;
}

fn is_whole(asked: &[u8]) -> bool {
    let text = String::from_utf8_lossy(asked);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let length = head.to_lowercase().split_once("content-length: ").unwrap().1.to_owned();
    body.len() >= length.lines().next().unwrap().parse().unwrap()
}

fn data(delta: &Value) -> String {
    format!(
        "data: {}\n\n",
        json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
    )
}

fn finish() -> String {
    let finish = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    format!("data: {finish}\n\ndata: [DONE]\n\n")
}

/// Returns the stream of a text in tokens of some characters.
fn stream(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let tokens = chars
        .chunks(5)
        .map(|token| data(&json!({ "content": token.iter().collect::<String>() })));
    tokens.chain([finish()]).collect()
}

const CALL: &str = "{\"entity\": \"preferredDay\", \"value\": \"Fr\u{e9}day \u{1f600}\"}";

/// Models of several families, with what their templates make of thoughts, words and a call.
fn families() -> [(&'static str, String); 9] {
    let hermes = format!("<tool_call>\n{{\"name\": \"collect\", \"arguments\": {CALL}}}\n</tool_call>");
    let xml = "<tool_call>\n<function=collect>\n<parameter=entity>\npreferredDay\n</parameter>\n<parameter=value>\nFr\u{e9}day \u{1f600}\n</parameter>\n</function>\n</tool_call>";
    let deepseek = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>collect\n```json\nCALL\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>";
    let glm = "<tool_call>collect\n<arg_key>entity</arg_key>\n<arg_value>preferredDay</arg_value>\n<arg_key>value</arg_key>\n<arg_value>Fr\u{e9}day \u{1f600}</arg_value>\n</tool_call>";
    [
        (
            "ollama/qwen3:8b",
            format!("<think>\nThey want {{.\n</think>\n\nThank y\u{f6}u. {hermes}"),
        ),
        (
            "vllm/Qwen/Qwen3-30B-A3B-Thinking-2507",
            format!("They want <it>.\n</think>\n\nThank y\u{f6}u. {hermes}"),
        ),
        (
            "vllm/Qwen/Qwen3-Coder-30B-A3B-Instruct",
            format!("Thank y\u{f6}u. {xml}"),
        ),
        (
            "ollama/deepseek-r1:8b",
            format!("Hm.\n</think>\nThank y\u{f6}u. {}", deepseek.replace("CALL", CALL)),
        ),
        (
            "vllm/mistralai/Magistral-Small-2509",
            format!("[THINK]Hm.[/THINK]Thank y\u{f6}u. [TOOL_CALLS]collect[ARGS]{CALL}</s>"),
        ),
        (
            "ollama/llama3.2:3b",
            format!("Thank y\u{f6}u. {{\"name\": \"collect\", \"parameters\": {CALL}}}<|eot_id|>"),
        ),
        (
            "ollama/gemma3:12b",
            format!("Thank y\u{f6}u. ```json\n{{\"name\": \"collect\", \"parameters\": {CALL}}}\n```<end_of_turn>"),
        ),
        (
            "vllm/zai-org/GLM-4.5-Air",
            format!("<think>Hm.</think>\nThank y\u{f6}u. {glm}"),
        ),
        (
            "vllm/openai/gpt-oss-20b",
            format!(
                "analysisThey want it.assistantcommentaryThank y\u{f6}u. assistantcommentary to=functions.collect json{CALL}"
            ),
        ),
    ]
}

/// Reads the stream of each family whole, byte by byte, and cut into two at every byte that is a multiple of `step`.
async fn check_families(step: usize) {
    let server = Server::start().await;
    for (name, text) in families() {
        let models = server.models(name);
        let sent = stream(&text).into_bytes();
        let wanted = (
            "Thank y\u{f6}u. ".to_owned(),
            vec![("collect".to_owned(), serde_json::from_str(CALL).unwrap())],
        );
        assert_eq!(server.read(&models, vec![sent.clone()]).await, wanted, "{name}: {text}");
        let bytes = sent.iter().map(|byte| vec![*byte]).collect();
        assert_eq!(server.read(&models, bytes).await, wanted, "{name}, byte by byte");
        for at in (0..sent.len()).step_by(step) {
            let cut = vec![sent[..at].to_vec(), sent[at..].to_vec()];
            assert_eq!(server.read(&models, cut).await, wanted, "{name}, cut at byte {at}");
        }
    }
}

#[tokio::test]
async fn every_family_is_read_the_same_wherever_the_stream_is_cut() {
    check_families(397).await;
}

#[tokio::test]
#[ignore = "the long form: 20,000 replies"]
async fn every_family_is_read_the_same_at_each_cut() {
    check_families(1).await;
}

#[tokio::test]
async fn a_stream_may_have_all_that_event_streams_may() {
    let server = Server::start().await;
    let models = server.models("ollama/llama3.2");
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 2 } });
    let sent = format!(
        "\u{feff}: hello\n\nevent: message\nid: 1\n{}:\n\n{}data: {usage}\n\n{}",
        data(&json!({ "content": "Hi" })),
        data(&json!({ "content": " there." })),
        finish().replace("data: [DONE]\n\n", ""),
    );
    for sent in [sent.clone(), sent.replace('\n', "\r\n"), sent.replace('\n', "\r")] {
        for pieces in [
            vec![sent.clone().into_bytes()],
            sent.bytes().map(|byte| vec![byte]).collect(),
        ] {
            assert_eq!(server.read(&models, pieces).await, ("Hi there.".to_owned(), vec![]));
        }
    }
}

#[tokio::test]
async fn a_surrogate_pair_cut_over_two_chunks_loses_nothing() {
    let server = Server::start().await;
    let models = server.models("ollama/llama3.2");
    let content = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let piece = |text: &str| {
        let function = format!("{{\"name\":\"collect\",\"arguments\":\"{text}\"}}");
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"1\",\"function\":{function}}}]}}}}]}}\n\n"
        )
    };
    let sent = [
        content("Good \\ud83d"),
        content("\\ude00 day"),
        content("\\ude00\\ud83d"),
        content("."),
        piece("{\\\"entity\\\":\\\"\\ud83d"),
        piece("\\ude00\\\",\\\"value\\\":\\\"\\\\ud83d\\\\ude00\\\\ud83d\\\"}"),
        finish(),
    ];
    let (words, calls) = server.read(&models, vec![sent.concat().into_bytes()]).await;
    assert_eq!(words, "Good \u{1f600} day.");
    assert_eq!(
        calls,
        [(
            "collect".to_owned(),
            json!({ "entity": "\u{1f600}", "value": "\u{1f600}" })
        )]
    );
}

#[tokio::test]
async fn a_chunk_that_cannot_be_read_costs_neither_the_reply_nor_the_provider() {
    let server = Server::start().await;
    let guards = Guards::default();
    let models = models_with(&["ollama/llama3.2"], &server.settings(Format::Auto), &guards);
    let bad = "data: {\"choices\":[{\"delta\":{\"cont\n\n".repeat(3);
    for _ in 0..10 {
        let sent = format!(
            "{bad}{}{bad}{}{bad}{}",
            data(&json!({ "content": "Good" })),
            data(&json!({ "content": " day." })),
            finish()
        );
        let read = server.read(&models, vec![sent.into_bytes()]).await;
        assert_eq!(
            read,
            ("Good day.".to_owned(), vec![]),
            "the provider is not taken for unwell"
        );
    }
    server
        .sent
        .send_replace(vec![format!("{bad}data: [DONE]\n\n").into_bytes()]);
    let events = reply(&models, request(&booking(), &[], &Meter::default())).await;
    let error = events.into_iter().next_back().unwrap().unwrap_err().to_string();
    assert!(error.contains("an event is not JSON"), "{error}");
    let sent = stream("Good day.").into_bytes();
    assert_eq!(
        server.read(&models, vec![sent]).await.0,
        "Good day.",
        "a failed reply counts once for each request"
    );
}

#[tokio::test]
async fn parallel_calls_without_ids_that_all_have_the_index_0_stay_apart() {
    let server = Server::start().await;
    let models = server.models("gemini/gemini-3.8-flash");
    let call = |name: &str, arguments: &str| {
        data(
            &json!({ "tool_calls": [{ "index": 0, "id": "", "type": "function", "function": { "name": name, "arguments": arguments } }] }),
        )
    };
    let sent = [
        call("collect", "{\"entity\":\"preferredDay\",\"value\":\"Friday\"}"),
        call("collect", "{\"entity\":\"guests\",\"value\":\"3\"}"),
        call("endCall", ""),
        finish(),
    ];
    let (_, calls) = server.read(&models, vec![sent.concat().into_bytes()]).await;
    let day = json!({ "entity": "preferredDay", "value": "Friday" });
    let guests = json!({ "entity": "guests", "value": "3" });
    let wanted = [("collect", day), ("collect", guests), ("endCall", json!({}))];
    assert_eq!(calls, wanted.map(|(name, arguments)| (name.to_owned(), arguments)));
}

#[tokio::test]
async fn text_of_a_hosted_model_that_only_looks_like_marks_is_spoken() {
    let server = Server::start().await;
    let text = "The tag <b> and { \"name\": \"collect\" } and [TOOL_CALLS], analysis and </think> are text.";
    for name in ["openai/gpt-6-luna", "gemini/gemini-3.8-flash"] {
        let read = server.read(&server.models(name), vec![stream(text).into_bytes()]).await;
        assert_eq!(read, (text.to_owned(), vec![]), "{name}");
    }
}

#[tokio::test]
async fn the_setting_says_the_format_where_the_name_does_not() {
    let server = Server::start().await;
    for (format, text) in [
        (Format::Thinking, "They say hello.</think>Hello."),
        (Format::Harmony, "analysisThey say hello.assistantfinalHello."),
    ] {
        let models = models_with(&["ollama/front-desk"], &server.settings(format), &Guards::default());
        let sent = vec![stream(text).into_bytes()];
        assert_eq!(server.read(&models, sent.clone()).await.0, "Hello.");
        let by_name = server.models("ollama/front-desk");
        assert_ne!(server.read(&by_name, sent).await.0, "Hello.");
    }
}

/// Returns an answer in chunks, with the last one or without it.
fn chunked(body: &str, ends: bool) -> Vec<u8> {
    let end = if ends { "0\r\n\r\n" } else { "" };
    format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n{end}",
        body.len()
    )
    .into_bytes()
}

/// Returns an answer that lacks its last bytes.
fn sized(body: &str, lacks: usize) -> Vec<u8> {
    let sent = &body[..body.len() - lacks];
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{sent}", body.len()).into_bytes()
}

#[tokio::test]
async fn a_reply_may_end_with_its_stream_if_that_is_whole() {
    let server = Server::start().await;
    let words = data(&json!({ "content": "Hi " })) + &data(&json!({ "content": "there." }));
    let call = |arguments: &str| {
        let function = json!({ "name": "collect", "arguments": arguments });
        words.clone() + &data(&json!({ "tool_calls": [{ "index": 0, "id": "1", "function": function }] }))
    };
    let whole = call(CALL);
    let called = vec![("collect".to_owned(), serde_json::from_str(CALL).unwrap())];
    for (sent, calls) in [
        (chunked(&words, true), vec![]),
        (sized(&words, 0), vec![]),
        (chunked(&whole, true), called),
    ] {
        let read = server.read(&server.models("ollama/llama3.2"), vec![sent]).await;
        assert_eq!(read, ("Hi there.".to_owned(), calls));
    }
    let nothing = data(&json!({ "role": "assistant" }));
    for (sent, named) in [
        (chunked(&words, false), "broke off"),
        (sized(&words, 1), "broke off"),
        // The end of such a body cannot be told from a lost connection.
        (words.clone().into_bytes(), "the stream ended before the reply did"),
        (
            chunked(&call("{\"entity\":"), true),
            "the stream ended before the reply did",
        ),
        (chunked(&nothing, true), "the stream ended before the reply did"),
    ] {
        server.sent.send_replace(vec![sent.clone()]);
        let models = server.models("ollama/llama3.2");
        let events = reply(&models, request(&booking(), &[], &Meter::default())).await;
        let error = events.into_iter().next_back().unwrap().unwrap_err().to_string();
        assert!(error.contains(named), "{}: {error}", String::from_utf8_lossy(&sent));
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_read_whole() {
    let server = Server::start().await;
    let function = json!({ "name": "collect", "arguments": CALL });
    let message =
        json!({ "role": "assistant", "content": "Hi there.", "tool_calls": [{ "id": "1", "function": function }] });
    let usage = json!({ "prompt_tokens": 3, "completion_tokens": 2 });
    for reason in [json!("tool_calls"), json!(null)] {
        let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
        let body = json!({ "id": "x", "choices": [choice], "usage": usage });
        let body = serde_json::to_string_pretty(&body).unwrap();
        for sent in [vec![sized(&body, 0)], vec![chunked(&body, true)]] {
            let read = server.read(&server.models("ollama/llama3.2"), sent).await;
            let called = vec![("collect".to_owned(), serde_json::from_str(CALL).unwrap())];
            assert_eq!(read, ("Hi there.".to_owned(), called));
        }
        for (sent, named) in [
            (sized(&body, 1), "broke off"),
            (body[..body.len() - 1].into(), "an event is not JSON"),
        ] {
            server.sent.send_replace(vec![sent]);
            let models = server.models("ollama/llama3.2");
            let events = reply(&models, request(&booking(), &[], &Meter::default())).await;
            let error = events.into_iter().next_back().unwrap().unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
