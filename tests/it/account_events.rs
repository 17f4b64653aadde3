//! Tests of the events of calls and campaigns, in the account's stream and at webhook endpoints.

use std::collections::BTreeMap;

use domain::ports::store::WebhookSecrets;
use futures_util::StreamExt;
use integrations::deliveries::sign;
use net::address_policy::AddressPolicy;
use serde_json::{Value, json};

use support::{
    sink::Sink,
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550100010";
const OPTED_OUT: &str = "+15550100011";

#[tokio::test(start_paused = true)]
async fn calls_and_campaigns_are_told_to_the_stream_and_to_a_webhook() {
    let sink = Sink::answering("text/plain", "ok").await;
    let mut world = World::start_with(WorldSettings {
        addresses: AddressPolicy::everything(),
        ..WorldSettings::default()
    })
    .await;
    world.delivers();
    let webhook = json!({ "url": sink.url("/events") });
    let webhook = world.client.post("/public/v1/webhooks", webhook).await.expect(201);
    let stream = world.client.request("GET", "/public/v1/events").send().await.unwrap();
    let agent = world
        .agent(json!({
            "name": "Ava",
            "conversationConfig": { "agent": { "prompt": {
                "prompt": "You book check-ups.", "builtInTools": { "endCall": { "enabled": true } },
            } } },
            "platformSettings": { "callActions": { "smartOptOut": true } },
        }))
        .await;
    let campaign = world.launch(&agent, &[(NUMBER, "cooperative")], json!({})).await;
    world.until_status(&campaign, "completed", 600).await;
    let call = json!({ "agentId": agent, "phoneNumber": OPTED_OUT, "dynamicVariables": { "persona": "opts-out" } });
    let call = world.client.post("/public/v1/calls", call).await.expect(201);
    let call = call.text("/data/conversationId");
    world.until_over(&call, 600).await;
    world
        .call_in(json!({ "from": "+15550100012", "to": "+15550100099" }))
        .await;
    world.pass(30).await;

    let requests = sink.requests();
    for request in &requests {
        let header = |name: &str| request.headers[name].clone();
        let secrets = WebhookSecrets {
            current: webhook.text("/data/secret"),
            previous: None,
        };
        let at = header("webhook-timestamp").parse().unwrap();
        let signature = sign(&secrets, &header("webhook-id"), at, &request.body).unwrap();
        assert_eq!(header("webhook-signature"), signature);
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let is_of_campaign = body["data"]["campaignId"] == *campaign;
        if body["type"].as_str().unwrap().starts_with("call.") {
            let (name, persona) = match is_of_campaign {
                true => (json!("Maria"), "cooperative"),
                false => (Value::Null, "opts-out"),
            };
            assert_eq!(body["data"]["contactName"], name, "{body}");
            assert_eq!(body["data"]["variables"], json!({ "persona": persona }), "{body}");
        } else {
            assert!(!request.body.contains("Maria"), "{body}");
        }
        assert!(!request.body.contains("+1555"), "{body}");
    }
    // The stream has the same events, in order and each once.
    let mut bytes = stream.bytes_stream();
    let mut text = String::new();
    while text.matches("event: ").count() < requests.len() {
        text.push_str(std::str::from_utf8(&bytes.next().await.unwrap().unwrap()).unwrap());
    }
    let streamed: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let sorted = |mut texts: Vec<String>| {
        texts.sort();
        texts
    };
    let sent = requests.iter().map(|request| request.body.clone()).collect();
    assert_eq!(sorted(streamed.iter().map(ToString::to_string).collect()), sorted(sent));

    let mut of: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in streamed {
        let event: Value = serde_json::from_str(text).unwrap();
        let data = &event["data"];
        let id = data["conversationId"].as_str().or(data["campaignId"].as_str()).unwrap();
        let told = of.entry(id.to_owned()).or_default();
        told.push(event["type"].as_str().unwrap().to_owned());
    }
    let dialed = world.conversation(&campaign, NUMBER).await;
    let dialed = dialed["conversationId"].as_str().unwrap();
    let whole = ["call.started", "call.answered", "call.ended", "call.analysed"];
    assert_eq!(
        of[&campaign],
        ["campaign.draft", "campaign.running", "campaign.completed"]
    );
    assert_eq!(of[dialed], whole);
    assert_eq!(of[&call].iter().filter(|told| *told == "contact.opted_out").count(), 1);
    of.get_mut(&call).unwrap().retain(|told| told != "contact.opted_out");
    assert_eq!(of[&call], whole);
    assert_eq!(of.len(), 3, "a call that nobody took is no event: {of:?}");
}
