//! Calls through Twilio that are handed on more than once, or while Twilio is slow, or behind their end: an earlier try does
//! nothing to a later one, webhooks wait for nothing, and nobody is left with silence.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use carriers::twilio::{self, account::Flavour};
use domain::{
    id::AttemptId,
    ports::carrier::{Carrier, CarrierCallId, Destination, Transfer, TransferKind, WayBack},
};
use serde_json::{Value, json};
use sim::{
    exchange::{Script, Step},
    stub_carriers::{
        StubCarrierSettings,
        twilio::{TwilioFaults, TwilioStub},
    },
};

use super::{Joined, NO_ANSWER, account, settings};
use support::{
    phone_log::PhoneLog,
    words::{interviewing_agent, lines, texts},
    world::{World, WorldSettings},
};

const NUMBER: &str = "+15550100040";
/// Picks up.
const DESK: &str = "+15550100091";
const KIND: &str = "application/x-www-form-urlencoded";

fn told(steps: Vec<Step>) -> StubCarrierSettings {
    StubCarrierSettings {
        scripts: BTreeMap::from([("told".to_owned(), Script::of(steps))]),
        ..settings(&[(NUMBER, "told"), (DESK, "cooperative"), (NO_ANSWER, "no-answer")])
    }
}

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

/// Posts a webhook that Twilio has signed; how it is answered.
async fn post(stub: &TwilioStub, url: &str, form: &[(&str, &str)]) -> (u16, String) {
    let (name, signature) = stub.signature(url, form);
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    let body = body.extend_pairs(form).finish();
    let sent = reqwest::Client::new().post(url).header(name, signature);
    let answer = sent.header("content-type", KIND).body(body).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn an_earlier_try_is_hung_up_and_its_late_words_change_nothing() {
    let steps = vec![
        say("Hello?"),
        Step::WaitMs(30_000),
        say("Thank you very much."),
        Step::WaitMs(5_000),
        Step::HangUp,
    ];
    let stub = TwilioStub::start(Flavour::Twilio, told(steps)).await.unwrap();
    let carrier: Arc<OnceLock<Arc<dyn Carrier>>> = Arc::default();
    let (url, kept) = (stub.url(), carrier.clone());
    let trunk = move |address: &str| {
        let trunk = twilio::trunk(account(Flavour::Twilio, &url), address).unwrap();
        let _ = kept.set(trunk.carrier.clone());
        trunk
    };
    let world = World::start_with(WorldSettings {
        trunk: Some(Arc::new(trunk)),
        ..WorldSettings::default()
    })
    .await;
    let agent = world.agent(interviewing_agent()).await;
    let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "name": "Maria" });
    world.client.post("/public/v1/calls", body).await.expect(201);
    world.pass(10).await;
    let dial = stub.dials().remove(0);
    let (_, status) = dial.status_url.split_once("/status/").unwrap();
    let (_, media) = dial.stream_url.split_once("/media/").unwrap();
    let (attempt, status_token) = status.split_once('/').unwrap();
    let to = |desk: &str| Transfer {
        kind: TransferKind::Conference,
        to: Destination::Phone(desk.parse().unwrap()),
        from: None,
        back: WayBack {
            attempt: attempt.parse().unwrap(),
            status_token: status_token.to_owned(),
            media_token: media.split_once('.').unwrap().1.to_owned(),
        },
    };
    let (carrier, caller) = (carrier.get().unwrap(), CarrierCallId(stub.sids().remove(0)));
    carrier.transfer(&caller, &to(NO_ANSWER)).await.unwrap();
    let first = (stub.last_order()["StatusCallback"].clone(), stub.sids().remove(1));
    // Calls of one moment have no order.
    world.pass(2).await;
    carrier.transfer(&caller, &to(DESK)).await.unwrap();
    for status in ["in-progress", "busy"] {
        let form = [("CallSid", &*first.1), ("CallStatus", status)];
        assert_eq!(post(&stub, &first.0, &form).await.0, 204, "{status}");
    }
    world.pass(10).await;
    assert_eq!(stub.statuses(), ["in-progress", "canceled", "in-progress"]);
    world.pass(90).await;
    let desk = texts(&PhoneLog::new(stub.entries()).call(DESK).heard());
    assert!(desk.iter().any(|text| text.contains("Thank you")), "{desk:?}");
    assert_eq!((stub.live_calls(), stub.complaints()), (0, vec![]));
}

/// The interviewing agent, which may hand calls on to the desk.
fn with_desk() -> Value {
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["agent"]["prompt"]["builtInTools"]["transferToNumber"] = json!({
        "enabled": true,
        "disableInterruption": true,
        "transfers": [{
            "transferType": "conference",
            "condition": "Somebody asks for a person.",
            "transferDestination": { "type": "phone", "phoneNumber": DESK },
        }]
    });
    agent
}

#[tokio::test(start_paused = true)]
async fn a_join_that_fails_behind_its_webhook_brings_the_agent_back_and_lets_the_desk_go() {
    let steps = vec![
        say("Hello?"),
        Step::UntilAgentSaid,
        say("Can I speak to a person, please?"),
        Step::UntilAgentSaid,
        // The line stands, and then nobody could be reached.
        Step::UntilAgentSaid,
        Step::UntilAgentSaid,
        Step::HangUp,
    ];
    let deaf = TwilioFaults {
        deaf: true,
        ..TwilioFaults::default()
    };
    let Joined { world, stub } = Joined::flawed(Flavour::Twilio, told(steps), deaf).await;
    let agent = world.agent(with_desk()).await;
    let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "name": "Maria" });
    let made = world.client.post("/public/v1/calls", body).await;
    let id = made.expect(201).text("/data/conversationId");
    let conversation = world.until_over(&id, 60).await;
    world.pass(2).await;
    assert_eq!(conversation["callTransferred"], false, "{conversation:#}");
    let agent = lines(&conversation, "Agent");
    assert!(
        agent.iter().any(|text| text.contains("nobody could be reached")),
        "{agent:?}"
    );
    assert!(
        stub.delivered().iter().all(|told| told.answer == 204),
        "{:?}",
        stub.delivered()
    );
    assert_eq!((stub.dials().len(), stub.live_calls()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_call_is_over_is_hung_up_and_not_sent_to_a_socket() {
    let Joined { world, stub } = Joined::with(told(Vec::new())).await;
    let (attempt, proof) = (AttemptId::new(), "5".repeat(64));
    let url = format!(
        "{}/carriers/twilio/transfer/{attempt}.{proof}/{proof}",
        world.client.base
    );
    let form = [
        ("CallSid", "CA1"),
        ("CallStatus", "in-progress"),
        ("DialCallStatus", "busy"),
    ];
    let (status, twiml) = post(&stub, &url, &form).await;
    assert_eq!(status, 200, "{twiml}");
    assert!(twiml.ends_with("<Response><Hangup/></Response>"), "{twiml}");
}
