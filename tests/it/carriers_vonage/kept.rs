//! A Vonage that keeps the media socket of a call that is handed on, and a caller whose call is over meanwhile.

use std::collections::BTreeMap;

use carriers::vonage::account::Rate;
use domain::id::AttemptId;
use serde_json::json;
use sim::{
    exchange::{Script, Step},
    stub_carriers::{StubCarrierSettings, vonage::VonageFaults},
};

use super::{account, settings, stub, stub_with, world_with};
use support::{
    phone_log::PhoneLog,
    words::{interviewing_agent, texts},
};

const NUMBER: &str = "+15550100040";
/// Has another call.
const BUSY_DESK: &str = "+15550100096";

#[tokio::test(start_paused = true)]
async fn a_caller_comes_back_by_another_socket_while_the_old_one_is_open() {
    let steps = [
        Step::Say("Hello?".to_owned()),
        Step::UntilAgentSaid,
        Step::Say("Can I speak to a person, please?".to_owned()),
        Step::UntilAgentSaid,
        Step::UntilAgentSaid,
        Step::Cooperate,
    ];
    let mut settings = settings();
    settings.personas.insert(NUMBER.to_owned(), "told".to_owned());
    let scripts = BTreeMap::from([("told".to_owned(), Script::of(steps))]);
    let faults = VonageFaults {
        kept_sockets: true,
        ..VonageFaults::default()
    };
    let stub = stub_with(StubCarrierSettings { scripts, ..settings }, faults).await;
    let world = world_with(account(&stub, Rate::Narrow)).await;
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["agent"]["prompt"]["builtInTools"]["transferToNumber"] = json!({
        "enabled": true,
        "disableInterruption": true,
        "transfers": [{
            "transferType": "blind",
            "condition": "Somebody asks for a person.",
            "transferDestination": { "type": "phone", "phoneNumber": BUSY_DESK },
        }]
    });
    let agent = world.agent(agent).await;
    let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "name": "Maria" });
    let made = world.client.post("/public/v1/calls", body).await;
    let id = made.expect(201).text("/data/conversationId");
    world.until_over(&id, 150).await;
    world.pass(2).await;
    let conversation = world.read(&id).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    assert_eq!(conversation["errorMessage"], json!(null), "{conversation:#}");
    assert!(conversation["dataCollected"].is_object(), "{conversation:#}");
    let heard = texts(&PhoneLog::new(stub.entries()).call(NUMBER).heard());
    let told = heard.iter().filter(|text| text.contains("nobody could be reached"));
    assert_eq!(told.count(), 1, "{heard:?}");
    world.pass(5).await;
    assert_eq!((stub.complaints(), stub.live_calls()), (vec![], 0));
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_call_is_over_is_not_sent_to_a_socket() {
    let stub = stub().await;
    let world = world_with(account(&stub, Rate::Narrow)).await;
    let (attempt, proof) = (AttemptId::new(), "5".repeat(64));
    let url = format!(
        "{}/carriers/vonage/transfer/{attempt}.{proof}/{proof}",
        world.client.base
    );
    let body = json!({ "status": "busy", "uuid": "desk", "to": "15550100096" }).to_string();
    let http = net::http_client::builder().build().unwrap();
    let sent = http.post(url).header("authorization", stub.sign(&body)).body(body);
    let answer = sent.send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    assert_eq!(answer.text().await.unwrap(), "[]");
}
