//! The placeholder `system__call_duration_secs`: what a call is told and says of its own duration.

use std::time::Duration;

use actors::audio_stream::{SessionEvent, StreamEvent};
use domain::{ports::store::DirectoryStore, prompt::Prompt};
use media::amd::{Reason, Verdict};
use serde_json::json;
use testkit::fake_language::ScriptedReply;
use tokio::time::{Instant, sleep_until};

use super::call_support::{TestCall, agent, ms};

#[tokio::test(start_paused = true)]
async fn every_turn_and_every_tool_is_told_the_true_duration() {
    let speaker = agent(json!({ "conversationConfig": {
        "agent": {
            "greetingMessage": "Hello.",
            "prompt": {
                "prompt": "It lasts {{system__call_duration_secs}} s.",
                "builtInTools": { "endCall": { "enabled": true, "description": "Now: {{system__call_duration_secs}}." } },
            },
        },
        "turn": { "turnTimeout": -1 },
        }, "platformSettings": { "dataCollection": { "entities": {
            "day": { "description": "day, asked at {{system__call_duration_secs}}" },
        } },
    } }));
    let test = TestCall::start(speaker, async |ports, _| {
        ports.tools.offer("prices", Duration::from_secs(2));
    })
    .await;
    ms(7_000).await;
    let answered = Instant::now();
    test.open_media().await;
    for secs in [6, 66] {
        sleep_until(answered + Duration::from_millis(secs * 1_000 - 500)).await;
        test.ports.language_model.script(
            ScriptedReply::default()
                .then_text("Let me see. ")
                .then_tool("prices", json!({})),
        );
        test.stream.user_says("And now?", 500).await;
        ms(100).await;
        let requests = test.ports.language_model.requests();
        let prompt = Prompt::of(requests.last().unwrap());
        assert!(
            prompt.stable.starts_with(&format!("It lasts {secs} s.")),
            "{}",
            prompt.stable
        );
        assert!(
            prompt.stable.contains(&format!("day, asked at {secs}")),
            "{}",
            prompt.stable
        );
        let described = |name: &str| {
            let tool = prompt.tools.iter().find(|tool| tool.name == name);
            tool.unwrap().description.clone()
        };
        assert!(described("endCall").contains(&format!("Now: {secs}.")));
        assert!(described("prices").starts_with(&format!("Does prices, after {secs} s.")));
        let run = test.ports.tools.runs().pop().unwrap();
        assert_eq!(run.scope.variables["system__call_duration_secs"], secs.to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_names_the_duration_at_which_it_is_said() {
    let machine = agent(json!({ "conversationConfig": { "agent": {
        "greetingMessage": "Hello.",
        "prompt": { "builtInTools": { "voicemailDetection": {
            "enabled": true, "voicemailMessage": "You were heard for {{system__call_duration_secs}} seconds.",
        } } },
    } } }));
    let test = TestCall::answered(machine).await;
    test.stream.user_begins();
    ms(12_300).await;
    test.stream.finds(Verdict::Voicemail, Reason::MachineWords);
    let at_ms = test.stream.now_ms();
    test.stream
        .report(StreamEvent::Session(SessionEvent::BeepEnded { at_ms }));
    ms(10).await;
    assert_eq!(test.stream.said().last().unwrap(), "You were heard for 12 seconds.");

    let test = TestCall::made_by(async |store, account| {
        let other =
            json!({ "name": "Billing", "conversationConfig": { "agent": { "prompt": { "prompt": "Bills." } } } });
        let other = other.as_object().unwrap().clone();
        let id = store.create_agent(account, other, None).await.unwrap().id;
        agent(json!({ "conversationConfig": {
            "agent": { "greetingMessage": "Hello.", "prompt": { "builtInTools": { "transferToAgent": {
                "enabled": true,
                "transfers": [{ "agentId": id, "transferMessage": "After {{system__call_duration_secs}} s: billing." }],
            } } } },
            "turn": { "turnTimeout": -1 },
        } }))
    })
    .await;
    test.open_media().await;
    ms(20_000).await;
    let hands_over = ScriptedReply::default().then_tool("transferToAgent", json!({ "agent_number": 0 }));
    test.ports.language_model.script(hands_over);
    test.stream.user_says("My bill is wrong.", 800).await;
    ms(3_000).await;
    let said = test.stream.said();
    assert!(said.contains(&"After 20 s: billing.".to_owned()), "{said:?}");
}
