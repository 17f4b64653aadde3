//! Tools that run outside the call, in the call actor: offered, limited in time, cancelled with the call.

use std::time::Duration;

use actors::call::{CallMessage, Event};
use domain::ports::{language_model::HistoryItem, tool_runner::ToolFault};
use serde_json::{Value, json};
use testkit::fake_language::ScriptedReply;

use super::call_support::{TestCall, greeter, ms};

const WITHIN: Duration = Duration::from_secs(2);

async fn started() -> TestCall {
    let test = TestCall::start(greeter(), async |ports, _| ports.tools.offer("lookUp", WITHIN)).await;
    test.open_media().await;
    ms(8_000).await;
    test
}

fn looks_up() -> ScriptedReply {
    ScriptedReply::default().then_tool("lookUp", json!({ "q": "hours" }))
}

/// Returns the tool results in the model's last request.
fn told(test: &TestCall) -> Vec<Value> {
    let requests = test.ports.language_model.requests();
    let items = requests.last().unwrap().history.iter();
    let results = items.filter_map(|item| match item {
        HistoryItem::Tool { result, .. } => Some(result.clone()),
        _ => None,
    });
    results.collect()
}

#[tokio::test(start_paused = true)]
async fn a_tools_result_comes_back_into_the_call() {
    let test = started().await;
    test.ports
        .tools
        .answer(Duration::from_millis(600), Ok(json!({ "opens": "nine" })));
    test.ports.language_model.script(looks_up());
    test.ports
        .language_model
        .script(ScriptedReply::text("We open at nine."));
    test.stream.user_says("When do you open?", 800).await;
    ms(5_000).await;
    let runs = test.ports.tools.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].number, &runs[0].arguments), (1, &json!({ "q": "hours" })));
    assert_eq!(
        (runs[0].scope.attempt, runs[0].scope.account),
        (test.attempt(), test.account())
    );
    assert_eq!(told(&test), [json!({ "opens": "nine" })]);
    assert_eq!(test.ports.language_model.requests()[0].tools[0].name, "lookUp");
    assert_eq!(test.stream.said().last().unwrap(), "We open at nine.");
    assert!(test.events().contains(&"tool".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_fails_or_takes_too_long_is_told_and_ends_nothing() {
    let test = started().await;
    for (after, answer, expected) in [
        (
            0,
            Err(ToolFault::Failed("its server answered 500".into())),
            "failed: its server answered 500",
        ),
        (60_000, Ok(json!(1)), "no answer within 2000 ms"),
    ] {
        test.ports.tools.answer(Duration::from_millis(after), answer);
        test.ports.language_model.script(looks_up());
        test.stream.user_says("When do you open?", 800).await;
        ms(8_000).await;
        assert_eq!(told(&test).last().unwrap(), &json!({ "error": expected }));
        assert!(test.stream.said().last().unwrap().ends_with("Okay."));
    }
    assert_eq!(test.ended(), None);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_dropped_with_its_call() {
    let test = started().await;
    test.ports.tools.answer(Duration::from_secs(60), Ok(json!(1)));
    test.ports.language_model.script(looks_up());
    test.stream.user_says("When do you open?", 800).await;
    ms(1_000).await;
    test.call.cast(CallMessage::Happened(Event::End)).unwrap();
    ms(2_000).await;
    assert!(test.ended().flatten().unwrap().error.is_none());
    assert_eq!(test.ports.language_model.requests().len(), 1);
}
