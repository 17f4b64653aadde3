//! Hand-over to another agent and changes of language in the call actor: look-up in the store, voice and
//! prompt afterwards.

use actors::call::CallPhase;
use domain::{agent::Agent, id::AgentId, ports::store::DirectoryStore};
use serde_json::{Value, json};
use testkit::fake_language::ScriptedReply;

use super::call_support::{TestCall, agent, ms};

/// Returns the document of an agent that may take calls over.
fn specialist(name: &str) -> serde_json::Map<String, Value> {
    let document = json!({ "name": name, "conversationConfig": { "agent": {
        "greetingMessage": "Hello {{name}}, {{desk}} here.",
        "dynamicVariables": { "desk": "billing", "name": "nobody" },
        "prompt": { "prompt": "You settle bills for {{name}}." },
    } } });
    document.as_object().unwrap().clone()
}

fn front(transfers: &Value) -> Agent {
    agent(json!({ "name": "Front", "conversationConfig": {
        "agent": { "greetingMessage": "Hello.", "prompt": { "builtInTools": {
            "transferToAgent": { "enabled": true, "disableInterruption": true, "transfers": transfers },
            "languageDetection": { "enabled": true },
        } } },
        "languagePresets": { "de": { "overrides": {
            "agent": { "prompt": { "prompt": "Sprich Deutsch." } }, "tts": { "voiceId": "espeak:de" },
        } } },
        "turn": { "turnTimeout": -1 },
    } }))
}

fn hands_over() -> ScriptedReply {
    ScriptedReply::default().then_tool("transferToAgent", json!({ "agent_number": 0 }))
}

#[tokio::test(start_paused = true)]
async fn another_agent_goes_on_with_its_own_prompt_and_the_history() {
    for greets in [false, true] {
        let test = TestCall::made_by(async |store, account| {
            let id = store
                .create_agent(account, specialist("Billing"), None)
                .await
                .unwrap()
                .id;
            front(
                &json!([{ "agentId": id, "condition": "asks about a bill", "delayMs": 1_000,
                "transferMessage": "I'll get {{name}} our billing desk.",
                "enableTransferredAgentFirstMessage": greets }]),
            )
        })
        .await;
        test.open_media().await;
        ms(5_000).await;
        test.ports.language_model.script(hands_over());
        test.stream.user_says("My bill is wrong.", 800).await;
        ms(10_000).await;
        let said = test.stream.said();
        assert!(said.contains(&"I'll get Bo our billing desk.".to_owned()), "{said:?}");
        assert_eq!(
            test.stream.protected().first().map(String::as_str),
            Some("I'll get Bo our billing desk.")
        );
        assert_eq!(said.contains(&"Hello Bo, billing here.".to_owned()), greets, "{said:?}");
        test.stream.user_says("It says ninety.", 800).await;
        ms(3_000).await;
        let requests = test.ports.language_model.requests();
        let last = requests.last().unwrap();
        assert_eq!(last.agent.name, "Billing");
        assert_eq!(last.variables.get("desk").map(String::as_str), Some("billing"));
        assert_eq!(
            last.variables.get("name").map(String::as_str),
            Some("Bo"),
            "what the call knows stands"
        );
        assert!(format!("{:?}", last.history).contains("My bill is wrong."));
        assert!(test.events().contains(&"agent_transfer".to_owned()));
        assert_eq!(test.snapshot().await.phase, CallPhase::Listening);
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_gone_or_anothers_is_not_reached() {
    let test = TestCall::greeted(front(&json!([{ "agentId": AgentId::new() }]))).await;
    test.ports.language_model.script(hands_over());
    test.stream.user_says("My bill is wrong.", 800).await;
    ms(6_000).await;
    let requests = test.ports.language_model.requests();
    assert!(requests.len() >= 2 && requests.iter().all(|request| request.agent.name == "Front"));
    assert_eq!(test.stream.said().last().unwrap(), "Okay.");
    assert!(test.events().contains(&"agent_transfer_failed".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn another_language_brings_its_prompt_voice_and_phrases() {
    let test = TestCall::greeted(front(&json!([]))).await;
    let german = json!({ "language": "de" });
    test.ports
        .language_model
        .script(ScriptedReply::default().then_tool("languageDetection", german));
    test.stream.user_says("Auf Deutsch, bitte.", 800).await;
    ms(5_000).await;
    let requests = test.ports.language_model.requests();
    let section = &requests.last().unwrap().agent.conversation_config;
    assert_eq!(section.agent.prompt.prompt, "Sprich Deutsch.");
    assert_eq!(
        (section.agent.primary_language.as_str(), section.tts.voice_id.as_str()),
        ("de", "espeak:de")
    );
    let failing = || ScriptedReply::error(domain::ports::language_model::LanguageError::Unavailable("away".into()));
    test.ports.language_model.script(failing());
    test.stream.user_says("Und nun?", 800).await;
    ms(5_000).await;
    assert!(
        test.stream.said().last().unwrap().starts_with("Entschuldigung"),
        "{:?}",
        test.stream.said()
    );
    let back = json!({ "language": "en" });
    test.ports
        .language_model
        .script(ScriptedReply::default().then_tool("languageDetection", back));
    test.stream.user_says("In English again.", 800).await;
    ms(5_000).await;
    let requests = test.ports.language_model.requests();
    assert_eq!(
        requests
            .last()
            .unwrap()
            .agent
            .conversation_config
            .agent
            .primary_language,
        "en"
    );
}

/// Hands a call over between two agents with these platform settings.
async fn handed_over(first: &Value, second: &Value) -> TestCall {
    let test = TestCall::made_by(async |store, account| {
        let mut document = specialist("Billing");
        document.insert("platformSettings".into(), second.clone());
        let id = store.create_agent(account, document, None).await.unwrap().id;
        let mut agent = front(&json!([{ "agentId": id, "condition": "asks about a bill" }]));
        agent.platform_settings = serde_json::from_value(first.clone()).unwrap();
        agent
    })
    .await;
    test.open_media().await;
    ms(5_000).await;
    test.ports.language_model.script(hands_over());
    test.stream.user_says("My bill is wrong.", 800).await;
    ms(10_000).await;
    assert_eq!(
        test.ports.language_model.requests().last().unwrap().agent.name,
        "Billing"
    );
    test
}

#[tokio::test(start_paused = true)]
async fn an_opt_out_binds_if_the_first_agent_heeds_it_or_the_one_that_speaks() {
    let (heeds, not) = (json!({ "callActions": { "smartOptOut": true } }), json!({}));
    for (first, second, listed) in [
        (&heeds, &not, true),
        (&not, &heeds, true),
        (&heeds, &heeds, true),
        (&not, &not, false),
    ] {
        let test = handed_over(first, second).await;
        test.stream.user_says("Please don't call me again.", 800).await;
        ms(200).await;
        assert_eq!(test.is_opted_out().await, listed, "{first} {second}");
        let said = test.stream.said();
        let promised = said.iter().any(|text| text.contains("won't call you again"));
        assert_eq!(promised, listed, "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_agent_goes_on_finding_out_what_the_first_one_wants() {
    let wants = |name: &str| {
        let entities = json!({ name: { "type": "string", "description": "what is wanted" } });
        json!({ "dataCollection": { "entities": entities } })
    };
    let test = handed_over(&wants("plan"), &wants("invoice")).await;
    let requests = test.ports.language_model.requests();
    let prompt = domain::prompt::Prompt::of(requests.last().unwrap());
    assert!(
        prompt.stable.starts_with("You settle bills for Bo."),
        "{}",
        prompt.stable
    );
    let asked = prompt.stable.split("# What to find out").nth(1).unwrap();
    assert!(asked.contains("`plan` (text): what is wanted"), "{asked}");
    assert!(!prompt.stable.contains("invoice"), "{}", prompt.stable);
    let collect = prompt.tools.iter().find(|tool| tool.name == "collect").unwrap();
    assert!(
        collect.parameters.to_string().contains("plan"),
        "{}",
        collect.parameters
    );
}
