//! Calls that walk through the conversation graph of their agent: what is heard in each node, how the router is asked,
//! and how the walk goes on after interruptions and failures.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use actors::call::CallPhase;
use async_trait::async_trait;
use domain::{
    agent::Agent,
    ports::{
        analyst::{Analyst, AnalystError, Question},
        carrier::{CallProgress, CarrierError, Destination},
        store::DirectoryStore,
        tool_runner::ToolFault,
    },
};
use serde_json::{Value, json};
use testkit::fake_language::ScriptedReply;

use super::call_support::{TestCall, agent, ms};

const TOOL: &str = "6d1c5a52-0d5e-4a3b-9a57-0a6a2f9f0c11";
const WITHIN: Duration = Duration::from_secs(2);

/// A router that answers by script after a delay. Without a script it stays.
#[derive(Default)]
struct Router {
    script: Mutex<VecDeque<(u64, Value)>>,
    asked: Mutex<Vec<Question>>,
}

impl Router {
    fn script(&self, after_ms: u64, answer: Value) {
        self.script.lock().unwrap().push_back((after_ms, answer));
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[async_trait]
impl Analyst for Router {
    fn is_asked(&self, _: &Agent) -> bool {
        true
    }

    async fn answer(&self, question: Question) -> Result<Value, AnalystError> {
        self.asked.lock().unwrap().push(question);
        let scripted = self.script.lock().unwrap().pop_front();
        let Some((after_ms, answer)) = scripted else {
            return Ok(json!({ "route": "stay" }));
        };
        ms(after_ms).await;
        match answer.is_null() {
            true => Err(AnalystError::Unavailable("scripted".into())),
            false => Ok(answer),
        }
    }
}

fn chosen(number: usize) -> Value {
    json!({ "route": number.to_string() })
}

/// Returns an agent that greets and has this graph.
fn with_graph(nodes: &Value, edges: &Value) -> Agent {
    agent(json!({
        "name": "Front",
        "conversationConfig": {
            "agent": { "greetingMessage": "Hello.", "prompt": { "prompt": "You are the reception." } },
            "turn": { "turnTimeout": -1 },
        },
        "workflow": { "nodes": nodes, "edges": edges },
    }))
}

fn edge(source: &str, target: &str, condition: Value) -> Value {
    let mut edge = json!({ "source": source, "target": target });
    edge["forwardCondition"] = condition;
    edge
}

fn always(source: &str, target: &str) -> Value {
    edge(source, target, json!({ "type": "unconditional" }))
}

fn judged(source: &str, target: &str, condition: &str) -> Value {
    edge(source, target, json!({ "type": "llm", "condition": condition }))
}

fn says(text: &str) -> Value {
    json!({ "type": "say", "message": { "type": "literal", "text": text } })
}

fn talks(prompt: &str) -> Value {
    json!({ "type": "override_agent", "additionalPrompt": prompt })
}

/// Returns a front desk with two departments behind it.
fn departments() -> Agent {
    with_graph(
        &json!({
            "start": { "type": "start" },
            "desk": talks("Ask what they want."),
            "billing": talks("You settle invoices."),
            "sales": talks("You sell bicycles."),
        }),
        &json!({
            "begin": always("start", "desk"),
            "toBilling": judged("desk", "billing", "The caller wants to pay an invoice"),
            "toSales": judged("desk", "sales", "The caller wants to buy a bicycle"),
        }),
    )
}

/// Starts a call in which a model routes.
async fn routed(agent: Agent) -> (TestCall, Arc<Router>) {
    let router = Arc::new(Router::default());
    let asked = router.clone();
    let test = TestCall::start(agent, async move |ports, _| {
        ports.analyst = asked;
        ports.tools.offer(TOOL, WITHIN);
    })
    .await;
    test.open_media().await;
    ms(5_000).await;
    (test, router)
}

/// Starts a call in which words route.
async fn walked(agent: Agent) -> TestCall {
    let test = TestCall::start(agent, async |ports, _| ports.tools.offer(TOOL, WITHIN)).await;
    test.open_media().await;
    ms(5_000).await;
    test
}

fn instructions(test: &TestCall) -> String {
    let requests = test.ports.language_model.requests();
    let last = requests.last().unwrap();
    last.agent.conversation_config.agent.prompt.prompt.clone()
}

/// Returns the moves, as pairs of nodes.
fn moves(test: &TestCall) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let hops = test.details("workflow_hop");
    hops.iter().map(|hop| (text(&hop["from"]), text(&hop["to"]))).collect()
}

fn last_move(test: &TestCall) -> (String, String) {
    moves(test).pop().unwrap()
}

fn pair(from: &str, to: &str) -> (String, String) {
    (from.to_owned(), to.to_owned())
}

#[tokio::test(start_paused = true)]
async fn the_call_enters_its_graph_after_the_greeting_and_waits_for_the_caller() {
    let test = walked(departments()).await;
    assert_eq!(test.stream.said(), ["Hello."]);
    assert_eq!(last_move(&test), pair("start", "desk"));
    test.stream.user_says("Good morning.", 800).await;
    ms(3_000).await;
    assert!(
        instructions(&test).contains("Ask what they want."),
        "{}",
        instructions(&test)
    );
    assert_eq!(test.stream.said().last().unwrap(), "Okay.");
}

#[tokio::test(start_paused = true)]
async fn words_lead_to_a_department_without_a_model() {
    let test = walked(departments()).await;
    test.stream.user_says("I want to buy a bicycle.", 800).await;
    ms(3_000).await;
    assert_eq!(last_move(&test), pair("desk", "sales"));
    let said = instructions(&test);
    assert!(
        said.contains("You sell bicycles.") && !said.contains("Ask what they want."),
        "{said}"
    );
    assert_eq!(test.transcript().last().unwrap(), "Agent: Okay.");
}

#[tokio::test(start_paused = true)]
async fn a_model_chooses_before_the_reply() {
    let (test, router) = routed(departments()).await;
    router.script(200, chosen(1));
    test.stream.user_says("It is about money that I owe you.", 800).await;
    ms(3_000).await;
    assert_eq!(last_move(&test), pair("desk", "billing"));
    assert!(instructions(&test).contains("You settle invoices."));
    assert_eq!(test.ports.language_model.requests().len(), 1, "nobody else replies");
    let question = router.asked.lock().unwrap()[0].clone();
    assert!(
        question.instructions.contains("2: The caller wants to buy a bicycle"),
        "{}",
        question.instructions
    );
    assert!(
        question.record.contains("It is about money that I owe you."),
        "{}",
        question.record
    );
    assert_eq!(
        question.schema["properties"]["route"]["enum"],
        json!(["1", "2", "stay"])
    );
    let hop = test.details("workflow_hop").pop().unwrap();
    assert_eq!((&hop["edge"], &hop["cause"]), (&json!("toBilling"), &json!("llm")));
    assert!(hop["ms"].as_u64().is_some_and(|ms| (200..300).contains(&ms)), "{hop}");
}

#[tokio::test(start_paused = true)]
async fn a_reply_made_ahead_is_kept_if_the_node_stays() {
    let (test, router) = routed(departments()).await;
    router.script(100, json!({ "route": "stay" }));
    test.ports.language_model.script(ScriptedReply::text("At nine."));
    test.stream.user_begins();
    ms(500).await;
    test.stream.user_pauses("When do you open?");
    ms(300).await;
    test.stream.user_ends("When do you open?", 500);
    ms(20).await;
    assert_eq!(test.stream.said().last().unwrap(), "At nine.", "no time is lost");
    ms(2_000).await;
    assert_eq!((test.ports.language_model.requests().len(), router.asked()), (1, 1));
    assert!(test.events().contains(&"speculation_used".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_reply_made_ahead_is_begun_anew_where_the_words_lead() {
    let (test, router) = routed(departments()).await;
    router.script(100, chosen(2));
    test.ports
        .language_model
        .script(ScriptedReply::text("Of the desk.").with_gap(Duration::from_millis(50)));
    test.ports
        .language_model
        .script(ScriptedReply::text("Which bicycle?").with_gap(Duration::from_millis(50)));
    test.stream.user_begins();
    ms(500).await;
    test.stream.user_pauses("A bicycle, please.");
    ms(300).await;
    assert_eq!(moves(&test).len(), 2, "the turn is not over");
    test.stream.user_ends("A bicycle, please.", 500);
    ms(20).await;
    assert_eq!(test.stream.said().last().unwrap(), "Which bicycle?");
    assert_eq!(last_move(&test), pair("desk", "sales"));
    ms(2_000).await;
    assert!(instructions(&test).contains("You sell bicycles."));
    assert_eq!((test.ports.language_model.requests().len(), router.asked()), (2, 1));
    assert!(!test.transcript().iter().any(|line| line.contains("Of the desk.")));
    test.stream.user_says("A red one.", 500).await;
    ms(2_000).await;
    assert!(
        instructions(&test).contains("You sell bicycles."),
        "the call stays there"
    );
}

#[tokio::test(start_paused = true)]
async fn other_words_than_in_the_pause_are_judged_anew() {
    let (test, router) = routed(departments()).await;
    router.script(50, chosen(2));
    router.script(50, chosen(1));
    test.stream.user_begins();
    ms(500).await;
    test.stream.user_pauses("A bicycle");
    ms(200).await;
    test.stream.user_resumes();
    ms(300).await;
    test.stream.user_ends("A bicycle? No, my invoice.", 1_000);
    ms(2_000).await;
    assert_eq!(last_move(&test), pair("desk", "billing"));
    assert_eq!(moves(&test).len(), 3, "{:?}", moves(&test));
}

#[tokio::test(start_paused = true)]
async fn while_the_router_is_late_or_fails_the_call_talks_on_in_its_node() {
    for answer in [
        (60_000, chosen(2)),
        (0, Value::Null),
        (0, json!({ "route": "9" })),
        (0, json!({})),
    ] {
        let (test, router) = routed(departments()).await;
        router.script(answer.0, answer.1.clone());
        test.ports.language_model.script(ScriptedReply::text("Still here."));
        test.stream.user_says("I want to buy a bicycle.", 800).await;
        ms(1_300).await;
        assert_eq!(test.stream.said().last().unwrap(), "Still here.", "{answer:?}");
        assert_eq!(moves(&test).len(), 2, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn words_are_said_one_after_the_other_and_an_interruption_does_not_stop_the_walk() {
    let graph = || {
        with_graph(
            &json!({
                "start": { "type": "start" },
                "set": { "type": "update_state", "updates": [
                    { "variableName": "desk", "expression": { "type": "string_literal", "value": "Greenfield" } }] },
                "welcome": says("Welcome to {{desk}}."),
                "hint": says("This call is short."),
                "desk": talks("Ask what they want."),
            }),
            &json!({
                "a": always("start", "set"), "b": always("set", "welcome"), "c": always("welcome", "hint"),
                "d": always("hint", "desk"),
            }),
        )
    };
    let test = walked(graph()).await;
    ms(3_000).await;
    assert_eq!(
        test.stream.said(),
        ["Hello.", "Welcome to Greenfield.", "This call is short."]
    );
    assert_eq!(test.snapshot().await.phase, CallPhase::Listening);
    let test = TestCall::start(graph(), async |_, _| {}).await;
    test.open_media().await;
    while test.stream.said().len() < 2 {
        ms(50).await;
    }
    ms(300).await;
    test.stream.interrupt();
    ms(500).await;
    assert_eq!(test.stream.said().len(), 2, "it does not speak over the caller");
    test.stream.user_ends("Wait.", 500);
    ms(4_000).await;
    assert_eq!(last_move(&test), pair("hint", "desk"));
    assert_eq!(test.ended(), None);
}

#[tokio::test(start_paused = true)]
async fn a_message_may_be_written_by_the_model() {
    let graph = with_graph(
        &json!({
            "start": { "type": "start" },
            "terms": { "type": "say", "message": { "type": "prompt", "prompt": "Tell them that we record." } },
            "desk": talks("Ask what they want."),
        }),
        &json!({ "a": always("start", "terms"), "b": always("terms", "desk") }),
    );
    let test = TestCall::start(graph, async |ports, _| {
        ports
            .language_model
            .script(ScriptedReply::text("This call is recorded."));
    })
    .await;
    test.open_media().await;
    ms(8_000).await;
    assert_eq!(test.stream.said(), ["Hello.", "This call is recorded."]);
    assert!(instructions(&test).contains("Tell them that we record."));
    test.stream.user_says("Fine.", 500).await;
    ms(2_000).await;
    let said = instructions(&test);
    assert!(
        said.contains("Ask what they want.") && !said.contains("Tell them that we record."),
        "{said}"
    );
}

/// Returns a graph that runs a tool when the caller says something.
fn with_tool() -> Agent {
    with_graph(
        &json!({
            "start": { "type": "start" },
            "desk": talks("Ask for the day."),
            "book": { "type": "tool", "tools": [{ "toolId": TOOL }] },
            "booked": says("It is booked."),
            "failed": says("The calendar is gone."),
            "after": talks("Ask whether that is all."),
        }),
        &json!({
            "a": always("start", "desk"),
            "b": judged("desk", "book", "The caller names a day"),
            "c": edge("book", "booked", json!({ "type": "result", "successful": true })),
            "d": edge("book", "failed", json!({ "type": "result", "successful": false })),
            "e": always("booked", "after"),
            "f": always("failed", "after"),
        }),
    )
}

#[tokio::test(start_paused = true)]
async fn the_tools_of_a_node_run_and_their_result_decides() {
    let failed = Err(ToolFault::Failed("500".into()));
    for (after_ms, answer, said) in [
        (600, Ok(json!({ "ok": true })), "It is booked."),
        (0, failed, "The calendar is gone."),
        (60_000, Ok(json!(1)), "The calendar is gone."),
    ] {
        let (test, router) = routed(with_tool()).await;
        router.script(0, chosen(1));
        test.ports.tools.answer(Duration::from_millis(after_ms), answer);
        let call = ScriptedReply::default().then_tool(TOOL, json!({ "day": "Friday" }));
        test.ports.language_model.script(call);
        test.stream.user_says("On Friday, please.", 800).await;
        ms(8_000).await;
        let runs = test.ports.tools.runs();
        assert_eq!(
            (runs.len(), &runs[0].arguments),
            (1, &json!({ "day": "Friday" })),
            "{said}"
        );
        let heard = test.stream.said();
        assert!(heard.last().unwrap().ends_with(said), "{heard:?}");
        assert_eq!(
            test.ports.language_model.requests().len(),
            1,
            "the result needs no reply"
        );
        assert_eq!(test.snapshot().await.phase, CallPhase::Listening);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_gone_leads_on_by_the_failing_edge() {
    let router = Arc::new(Router::default());
    let asked = router.clone();
    let test = TestCall::start(with_tool(), async move |ports, _| ports.analyst = asked).await;
    test.open_media().await;
    ms(5_000).await;
    router.script(0, chosen(1));
    test.stream.user_says("On Friday, please.", 800).await;
    ms(4_000).await;
    assert_eq!(test.stream.said().last().unwrap(), "The calendar is gone.");
    assert!(test.ports.tools.runs().is_empty());
}

#[tokio::test(start_paused = true)]
async fn words_during_a_tool_are_answered_after_it() {
    let (test, router) = routed(with_tool()).await;
    router.script(0, chosen(1));
    test.ports.tools.answer(Duration::from_millis(1_900), Ok(json!({})));
    test.ports
        .language_model
        .script(ScriptedReply::default().then_tool(TOOL, json!({})));
    test.stream.user_says("On Friday, please.", 500).await;
    ms(300).await;
    test.stream.user_says("Are you there?", 500).await;
    ms(6_000).await;
    assert!(
        test.stream.said().iter().any(|text| text.ends_with("It is booked.")),
        "{:?}",
        test.stream.said()
    );
    assert_eq!(last_move(&test), pair("booked", "after"));
    assert_eq!(test.snapshot().await.phase, CallPhase::Listening);
}

/// Returns a graph that transfers a caller who wants a person.
fn with_transfer() -> Agent {
    with_graph(
        &json!({
            "start": { "type": "start" },
            "desk": talks("Ask what they want."),
            "person": { "type": "phone_number", "transferType": "blind",
                "transferDestination": { "type": "phone", "phoneNumber": "+15550100001" } },
            "sorry": says("Please call again tomorrow."),
            "bye": { "type": "end", "outcome": "failure" },
        }),
        &json!({
            "a": always("start", "desk"),
            "b": judged("desk", "person", "The caller wants to talk to a person"),
            "c": edge("person", "sorry", json!({ "type": "result", "successful": false })),
            "d": always("sorry", "bye"),
        }),
    )
}

#[tokio::test(start_paused = true)]
async fn a_node_transfers_the_call() {
    let (test, router) = routed(with_transfer()).await;
    router.script(0, chosen(1));
    test.stream.user_says("Somebody real, please.", 800).await;
    ms(4_000).await;
    assert_eq!(test.stream.said().last().unwrap(), "One moment, I'll put you through.");
    let transfers = test.ports.carrier.transfers();
    assert_eq!(transfers.len(), 1);
    assert_eq!(transfers[0].to, Destination::Phone("+15550100001".parse().unwrap()));
    test.call_back(CallProgress::Transferred).await.unwrap();
    ms(2_000).await;
    assert!(test.ended().flatten().unwrap().transferred);
}

#[tokio::test(start_paused = true)]
async fn a_transfer_that_fails_leads_on_to_the_end() {
    let (test, router) = routed(with_transfer()).await;
    test.ports
        .carrier
        .script_transfer_failure(CarrierError::Refused("no such line".into()));
    router.script(0, chosen(1));
    test.stream.user_says("Somebody real, please.", 800).await;
    ms(15_000).await;
    let said = test.stream.said();
    assert!(said.contains(&"Please call again tomorrow.".to_owned()), "{said:?}");
    assert_eq!(test.outcome(), Some(("completed", None)));
    let hop = test.details("workflow_hop").pop().unwrap();
    assert_eq!((&hop["to"], &hop["outcome"]), (&json!("bye"), &json!("failure")));
    assert_eq!(test.details("ended")[0]["by"], "agent");
}

#[tokio::test(start_paused = true)]
async fn an_end_says_goodbye_if_the_caller_spoke_last() {
    let graph = with_graph(
        &json!({ "start": { "type": "start" }, "desk": talks("Ask."), "bye": { "type": "end" } }),
        &json!({ "a": always("start", "desk"), "b": judged("desk", "bye", "The caller says that this was everything") }),
    );
    let (test, router) = routed(graph).await;
    router.script(0, chosen(1));
    test.stream.user_says("That was all.", 800).await;
    ms(4_000).await;
    assert_eq!(test.stream.said(), ["Hello.", "Goodbye."]);
    assert_eq!(test.outcome(), Some(("completed", None)));
}

#[tokio::test(start_paused = true)]
async fn another_agent_takes_over_at_the_node_that_was_named() {
    let test = TestCall::made_by(async |store, account| {
        let billing = json!({
            "name": "Billing",
            "conversationConfig": { "agent": { "prompt": { "prompt": "You settle bills." } } },
            "workflow": {
                "nodes": {
                    "start": { "type": "start" },
                    "usual": says("You are in billing."),
                    "overdue": says("Your bill is overdue."),
                    "talk": talks("Offer instalments."),
                },
                "edges": {
                    "a": always("start", "usual"), "b": always("usual", "talk"), "c": always("overdue", "talk"),
                    "d": judged("talk", "overdue", "The caller did not pay for months"),
                },
            },
        });
        let document = billing.as_object().unwrap().clone();
        let id = store.create_agent(account, document, None).await.unwrap().id;
        with_graph(
            &json!({
                "start": { "type": "start" },
                "desk": talks("Ask what they want."),
                "billing": { "type": "standalone_agent", "agentId": id, "nodeId": "overdue", "delayMs": 500,
                    "transferMessage": "I'll get billing." },
            }),
            &json!({
                "a": always("start", "desk"),
                "b": judged("desk", "billing", "The caller wants to pay an invoice"),
            }),
        )
    })
    .await;
    test.open_media().await;
    ms(5_000).await;
    test.stream.user_says("I want to pay my invoice.", 800).await;
    ms(8_000).await;
    assert_eq!(test.stream.said()[1..], ["I'll get billing.", "Your bill is overdue."]);
    assert_eq!(last_move(&test), pair("overdue", "talk"));
    test.stream.user_says("Oh.", 500).await;
    ms(2_000).await;
    let said = instructions(&test);
    assert!(
        said.contains("You settle bills.") && said.contains("Offer instalments."),
        "{said}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_gone_is_not_handed_to_and_the_call_goes_on() {
    let nobody = domain::id::AgentId::new();
    let graph = with_graph(
        &json!({
            "start": { "type": "start" },
            "desk": talks("Ask what they want."),
            "billing": { "type": "standalone_agent", "agentId": nobody },
            "sorry": says("Billing is closed."),
            "after": talks("Ask for something else."),
        }),
        &json!({
            "a": always("start", "desk"),
            "b": judged("desk", "billing", "The caller wants to pay an invoice"),
            "c": edge("billing", "sorry", json!({ "type": "result", "successful": false })),
            "d": always("sorry", "after"),
        }),
    );
    let test = walked(graph).await;
    test.stream.user_says("I want to pay my invoice.", 800).await;
    ms(6_000).await;
    assert_eq!(test.stream.said().last().unwrap(), "Billing is closed.");
    assert!(test.events().contains(&"agent_transfer_failed".to_owned()));
    assert_eq!(last_move(&test), pair("sorry", "after"));
}

#[tokio::test(start_paused = true)]
async fn values_of_the_conversation_decide_and_are_said() {
    let graph = with_graph(
        &json!({
            "start": { "type": "start" },
            "desk": talks("Ask how many seats."),
            "set": { "type": "update_state", "updates": [
                { "variableName": "seats", "expression": { "type": "llm", "prompt": "Number of seats",
                    "valueSchema": { "type": "number", "description": "Number of seats" } } }] },
            "many": says("A room for {{seats}}, then."),
            "few": says("A table, then."),
            "end": talks("Ask for the day."),
        }),
        &json!({
            "a": always("start", "desk"),
            "b": judged("desk", "set", "The caller tells how many seats they need"),
            "c": edge("set", "many", json!({ "type": "expression", "expression": { "type": "gt_operator",
                "left": { "type": "dynamic_variable", "name": "seats" },
                "right": { "type": "number_literal", "value": 10 } } })),
            "d": edge("set", "few", json!({ "type": "else" })),
            "e": always("many", "end"), "f": always("few", "end"),
        }),
    );
    for (value, said) in [
        (json!(12), "A room for 12, then."),
        (json!(4), "A table, then."),
        (Value::Null, "A table, then."),
    ] {
        let (test, router) = routed(graph.clone()).await;
        router.script(0, chosen(1));
        router.script(300, json!({ "value1": value }));
        test.stream.user_says("There are some of us.", 800).await;
        ms(4_000).await;
        assert_eq!(test.stream.said().last().unwrap(), said, "{value}");
        let question = router.asked.lock().unwrap()[1].clone();
        assert_eq!(
            question.schema["properties"]["value1"]["type"],
            json!(["number", "null"])
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_global_node_is_reached_from_everywhere() {
    let mut agent = departments();
    let global = json!({
        "type": "say", "message": { "type": "literal", "text": "We close at six." },
        "global": { "condition": "The caller asks for the opening hours", "goBack": true },
    });
    agent.workflow.nodes.insert("hours".into(), global);
    let (test, router) = routed(agent).await;
    router.script(0, chosen(2));
    test.stream.user_says("A bicycle.", 500).await;
    ms(2_000).await;
    assert_eq!(last_move(&test), pair("desk", "sales"));
    router.script(0, chosen(1));
    test.stream.user_says("How long are you open?", 500).await;
    ms(4_000).await;
    assert_eq!(test.stream.said().last().unwrap(), "We close at six.");
    assert_eq!(last_move(&test), pair("hours", "sales"), "{:?}", moves(&test));
    test.stream.user_says("Good.", 500).await;
    ms(2_000).await;
    assert!(instructions(&test).contains("You sell bicycles."));
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_a_graph_asks_no_router_and_records_no_moves() {
    for workflow in [
        json!({}),
        json!({ "nodes": {}, "edges": {}, "preventSubagentLoops": true }),
    ] {
        let mut plain = departments();
        plain.workflow = serde_json::from_value(workflow).unwrap();
        let (test, router) = routed(plain).await;
        test.stream.user_says("I want to buy a bicycle.", 800).await;
        ms(3_000).await;
        assert_eq!((router.asked(), moves(&test)), (0, Vec::new()));
        assert_eq!(instructions(&test), "You are the reception.");
        assert_eq!(test.stream.said(), ["Hello.", "Okay."]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_graph_that_cannot_be_walked_is_not_used_and_the_record_says_so() {
    let mut broken = departments();
    broken
        .workflow
        .nodes
        .insert("second".into(), json!({ "type": "start" }));
    let test = TestCall::inbound(broken).await;
    test.open_media().await;
    ms(3_000).await;
    test.stream.user_says("I want to buy a bicycle.", 800).await;
    ms(3_000).await;
    assert_eq!(instructions(&test), "You are the reception.");
    assert!(moves(&test).is_empty());
    let found = test.details("graph_not_used");
    assert_eq!(found.len(), 1);
    assert!(
        found[0]["findings"][0]["path"]
            .as_str()
            .is_some_and(|path| path.starts_with("workflow")),
        "{found:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_person_of_the_team_interrupts_the_walk_and_it_goes_on_afterwards() {
    let (test, router) = routed(departments()).await;
    router.script(1_000, chosen(2));
    test.stream.user_says("A bicycle.", 500).await;
    ms(100).await;
    assert_eq!(test.snapshot().await.phase, CallPhase::Thinking);
    let line = ractor::call!(test.call, |reply| actors::call::CallMessage::Operate {
        by: "ada".into(),
        reply,
    });
    let line = line.unwrap().unwrap();
    ms(3_000).await;
    assert_eq!(moves(&test).len(), 2, "the answer is dropped");
    drop(line);
    router.script(0, chosen(2));
    ms(8_000).await;
    assert_eq!(last_move(&test), pair("desk", "sales"), "{:?}", test.stream.said());
}
