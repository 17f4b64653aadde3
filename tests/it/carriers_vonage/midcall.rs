//! What happens in the middle of a call through Vonage: transfers, machines, keys.

use std::{collections::BTreeMap, sync::Arc};

use carriers::vonage::account::Rate;
use domain::ports::carrier::{
    CarrierAbilities, CarrierCallId, CarrierError, Destination, Transfer, TransferKind, WayBack,
};
use domain::{id::AttemptId, phone_number::PhoneNumber};
use serde_json::{Value, json};
use sim::{
    exchange::{LogEvent, Script, Step},
    stub_carriers::{
        StubCarrierSettings,
        vonage::{VonageFaults, VonageStub},
    },
};

use super::{COOPERATIVE, NO_ANSWER, account, carrier, request, settings, stub, stub_with, world_with};
use support::{
    phone_log::PhoneLog,
    words::{MESSAGE, collected, interviewing_agent, lines, texts, tidy},
    world::World,
};

pub(super) const NUMBER: &str = "+15550100040";
/// Picks up; the last digit says so.
const DESK: &str = "+15550100091";
/// Has another call.
const BUSY_DESK: &str = "+15550100096";
const MAILBOX: &str = "+15550100018";

pub(super) fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

/// A stub whose telephone at [`NUMBER`] follows these steps.
pub(super) async fn told(steps: Vec<Step>, faults: VonageFaults) -> Arc<VonageStub> {
    let mut settings = settings();
    settings.personas.insert(NUMBER.to_owned(), "told".to_owned());
    let scripts = BTreeMap::from([("told".to_owned(), Script::of(steps))]);
    stub_with(StubCarrierSettings { scripts, ..settings }, faults).await
}

/// A call that is over: the world it happened in, its conversation, and what the stub noted.
pub(super) struct Over {
    pub(super) world: World,
    pub(super) conversation: Value,
    pub(super) stub: Arc<VonageStub>,
}

impl Over {
    pub(super) async fn of(stub: Arc<VonageStub>, agent: Value, number: &str) -> Self {
        let world = world_with(account(&stub, Rate::Narrow)).await;
        let agent = world.agent(agent).await;
        let body = json!({ "agentId": agent, "phoneNumber": number, "name": "Maria" });
        let made = world.client.post("/public/v1/calls", body).await;
        let id = made.expect(201).text("/data/conversationId");
        world.until_over(&id, 150).await;
        world.pass(2).await;
        let conversation = world.read(&id).await;
        assert_eq!(stub.complaints(), Vec::<String>::new());
        Self {
            world,
            conversation,
            stub,
        }
    }

    pub(super) fn heard(&self, number: &str) -> Vec<String> {
        texts(&PhoneLog::new(self.stub.entries()).call(number).heard())
    }

    pub(super) fn said(&self, speaker: &str) -> Vec<String> {
        lines(&self.conversation, speaker)
    }

    pub(super) fn sockets(&self) -> usize {
        let events = self.world.events(self.conversation["conversationId"].as_str().unwrap());
        1 + events.iter().filter(|(name, _)| name == "media_back").count()
    }
}

/// The interviewing agent, which may hand calls on.
fn with_desk(kind: &str, destination: &Value) -> Value {
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["agent"]["prompt"]["builtInTools"]["transferToNumber"] = json!({
        "enabled": true,
        "disableInterruption": true,
        "transfers": [{
            "transferType": kind, "condition": "Somebody asks for a person.", "transferDestination": destination
        }]
    });
    agent
}

fn phone(number: &str) -> Value {
    json!({ "type": "phone", "phoneNumber": number })
}

/// Asks for a person after the greeting, and then waits.
fn asks(more: Vec<Step>) -> Vec<Step> {
    let mut steps = vec![
        say("Hello?"),
        Step::UntilAgentSaid,
        say("Can I speak to a person, please?"),
        Step::UntilAgentSaid,
    ];
    steps.extend(more);
    steps
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_asks_for_a_person_is_handed_on_and_joined() {
    let sip = json!({ "type": "sip_uri", "sipUri": "sip:+15550100091@pbx.example" });
    for (kind, destination) in [("blind", phone(DESK)), ("conference", phone(DESK)), ("blind", sip)] {
        let steps = asks(vec![
            Step::WaitMs(15_000),
            say("Thank you very much."),
            Step::WaitMs(3_000),
            Step::HangUp,
        ]);
        let stub = told(steps, VonageFaults::default()).await;
        let over = Over::of(stub.clone(), with_desk(kind, &destination), NUMBER).await;
        assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
        assert_eq!(
            over.conversation["callTransferred"], true,
            "{kind} {:#}",
            over.conversation
        );
        // We did not hang up: the two talk until one of them leaves.
        assert_eq!(stub.live_calls(), 2, "{kind}");
        over.world.pass(120).await;
        assert_eq!(stub.live_calls(), 0, "{kind}");
        let desk = over.heard(DESK);
        assert!(desk.iter().any(|text| text.contains("Thank you")), "{kind} {desk:?}");
        let caller = over.heard(NUMBER);
        let behind = caller
            .iter()
            .skip_while(|text| !text.contains("put you through"))
            .skip(1);
        assert!(behind.count() > 0, "the desk is heard: {kind} {caller:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_whom_nobody_takes_has_the_agent_again() {
    for kind in ["blind", "conference"] {
        let stub = told(
            asks(vec![Step::UntilAgentSaid, Step::Cooperate]),
            VonageFaults::default(),
        )
        .await;
        let over = Over::of(stub.clone(), with_desk(kind, &phone(BUSY_DESK)), NUMBER).await;
        assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
        assert_eq!(over.conversation["callTransferred"], false, "{:#}", over.conversation);
        let agent = over.said("Agent");
        assert!(
            agent.iter().any(|text| text.contains("nobody could be reached")),
            "{kind}: {agent:?}"
        );
        assert!(
            over.conversation["dataCollected"].is_object(),
            "{kind} {:#}",
            over.conversation
        );
        assert_eq!(over.sockets(), if kind == "blind" { 2 } else { 1 }, "{kind}");
        over.world.pass(5).await;
        assert_eq!(stub.live_calls(), 0, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_rung_any_more_for_a_caller_who_left() {
    let steps = asks(vec![Step::WaitMs(5_000), Step::HangUp]);
    let stub = told(steps, VonageFaults::default()).await;
    let over = Over::of(stub.clone(), with_desk("conference", &phone(NO_ANSWER)), NUMBER).await;
    over.world.pass(2).await;
    assert_eq!(
        (stub.dials().len(), stub.live_calls()),
        (2, 0),
        "{:#}",
        over.conversation
    );
}

#[tokio::test(start_paused = true)]
async fn vonage_s_verdict_on_who_answered_is_asked_for_and_heard() {
    let over = Over::of(stub().await, interviewing_agent(), MAILBOX).await;
    let detection = &over.stub.last_order()["advanced_machine_detection"];
    assert_eq!(
        (&detection["behavior"], &detection["mode"]),
        (&json!("continue"), &json!("detect_beep"))
    );
    assert!(
        over.stub
            .delivered()
            .iter()
            .any(|event| event.status == "machine" && event.answer == 204)
    );
    assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
    let heard = over.heard(MAILBOX);
    assert_eq!(tidy(heard.last().unwrap()), MESSAGE, "{heard:?}");
    let without = {
        let mut agent = interviewing_agent();
        agent["conversationConfig"]["agent"]["prompt"]["builtInTools"] = json!({});
        agent
    };
    let over = Over::of(stub().await, without, COOPERATIVE).await;
    assert_eq!(over.stub.last_order().get("advanced_machine_detection"), None);
}

#[tokio::test(start_paused = true)]
async fn keys_go_both_ways() {
    let mut settings = settings();
    settings.personas.insert(NUMBER.to_owned(), "ivr".to_owned());
    let over = Over::of(
        stub_with(settings, VonageFaults::default()).await,
        interviewing_agent(),
        NUMBER,
    )
    .await;
    assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
    assert_eq!(over.stub.keys(), ["0"], "pressed by Vonage");
    let heard = over.stub.entries().into_iter().filter_map(|entry| match entry.event {
        LogEvent::HeardKey { key } => Some(key),
        _ => None,
    });
    assert_eq!(heard.collect::<String>(), "0");

    let mut agent = interviewing_agent();
    agent["platformSettings"]["dataCollection"]["entities"] =
        json!({ "guests": { "type": "integer", "description": "number of guests" } });
    let mut steps = vec![say("Hello?"), Step::UntilHeardWord("guests".into())];
    steps.extend("12".chars().map(Step::Press));
    steps.extend([Step::UntilAgentSaid, Step::WaitMs(20_000)]);
    let over = Over::of(told(steps, VonageFaults::default()).await, agent, NUMBER).await;
    assert_eq!(
        collected(&over.conversation, "guests"),
        Some("12"),
        "{:#}",
        over.conversation
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_done_to_a_call_is_told() {
    let faults = VonageFaults {
        no_events: true,
        ..VonageFaults::default()
    };
    let stub = stub_with(settings(), faults).await;
    let carrier = carrier(account(&stub, Rate::Wide));
    let abilities = CarrierAbilities {
        detects_machines: true,
        refer: false,
        digits: true,
        comes_back: false,
    };
    assert_eq!(carrier.abilities(), abilities);
    let ringing = carrier.dial(&request(NO_ANSWER)).await.unwrap();
    let unknown = CarrierCallId("unknown".to_owned());
    let back = WayBack {
        attempt: AttemptId::new(),
        status_token: "5".repeat(64),
        media_token: "a".repeat(64),
    };
    let transfer = |kind| Transfer {
        kind,
        to: Destination::Phone(PhoneNumber::parse(DESK).unwrap()),
        from: None,
        back: back.clone(),
    };
    for (call, expected) in [(&ringing, None), (&unknown, Some(CarrierError::NotFound))] {
        for answer in [
            carrier.send_digits(call, "1w2#").await,
            carrier.reopen_media(call, &back).await,
            carrier.transfer(call, &transfer(TransferKind::Blind)).await,
        ] {
            match &expected {
                Some(expected) => assert_eq!(answer.as_ref(), Err(expected)),
                None => assert!(matches!(answer, Err(CarrierError::Refused(_))), "{answer:?}"),
            }
        }
    }
    let refer = carrier.transfer(&ringing, &transfer(TransferKind::SipRefer)).await;
    assert!(matches!(refer, Err(CarrierError::NotOffered(_))));
    for keys in ["A", "1,2"] {
        assert!(
            matches!(carrier.send_digits(&ringing, keys).await, Err(CarrierError::Refused(_))),
            "{keys}"
        );
    }
    assert_eq!(stub.keys(), Vec::<String>::new());
}
