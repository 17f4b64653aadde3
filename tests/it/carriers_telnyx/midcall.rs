//! What happens in the middle of a call through Telnyx: transfers, keys.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{CarrierAbilities, CarrierCallId, CarrierError, Destination, Transfer, TransferKind, WayBack},
};
use serde_json::{Value, json};
use sim::{
    exchange::{ExchangeSettings, LogEvent, Script, Step},
    stub_carriers::telnyx::{TelnyxFaults, TelnyxSettings, TelnyxStub},
};

use super::{NO_ANSWER, account, carrier, request, stub, world_with};
use support::{
    phone_log::PhoneLog,
    words::{collected, interviewing_agent, lines, texts},
    world::World,
};

pub(super) const NUMBER: &str = "+15550100040";
/// Picks up; the last digit says so.
const DESK: &str = "+15550100091";
/// Has another call.
const BUSY_DESK: &str = "+15550100096";

pub(super) fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

/// A stub whose telephone at [`NUMBER`] follows these steps.
pub(super) async fn told(steps: Vec<Step>, faults: TelnyxFaults) -> Arc<TelnyxStub> {
    let exchange = ExchangeSettings {
        scripts: BTreeMap::from([("told".to_owned(), Script::of(steps))]),
        ..ExchangeSettings::on_loopback()
    };
    stub(TelnyxSettings {
        exchange,
        personas: BTreeMap::from([(NUMBER.to_owned(), "told".to_owned())]),
        faults,
        ..TelnyxSettings::default()
    })
    .await
}

/// A call that is over: the world it happened in, its conversation, and what the stub noted.
pub(super) struct Over {
    pub(super) world: World,
    pub(super) conversation: Value,
    pub(super) stub: Arc<TelnyxStub>,
}

impl Over {
    pub(super) async fn of(stub: Arc<TelnyxStub>, agent: Value) -> Self {
        let world = world_with(account(&stub)).await;
        let agent = world.agent(agent).await;
        let body = json!({ "agentId": agent, "phoneNumber": NUMBER, "name": "Maria" });
        let made = world.client.post("/public/v1/calls", body).await;
        let id = made.expect(201).text("/data/conversationId");
        world.until_over(&id, 150).await;
        world.pass(2).await;
        let conversation = world.read(&id).await;
        assert_eq!(stub.complaints(), Vec::<String>::new());
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        Self {
            world,
            conversation,
            stub,
        }
    }

    fn heard(&self, number: &str) -> Vec<String> {
        texts(&PhoneLog::new(self.stub.entries()).call(number).heard())
    }

    fn is_transferred(&self) -> bool {
        self.conversation["callTransferred"] == true
    }

    fn agent_says(&self, words: &str) -> bool {
        lines(&self.conversation, "Agent")
            .iter()
            .any(|text| text.contains(words))
    }

    pub(super) fn commanded(&self, action: &str) -> usize {
        self.stub.commands().iter().filter(|(name, _)| name == action).count()
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

fn sip(number: &str) -> Value {
    json!({ "type": "sip_uri", "sipUri": format!("sip:{number}@pbx.example") })
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

fn thanks() -> Vec<Step> {
    let wait = Step::WaitMs;
    asks(vec![
        wait(15_000),
        say("Thank you very much."),
        wait(3_000),
        Step::HangUp,
    ])
}

fn goes_on() -> Vec<Step> {
    asks(vec![Step::UntilAgentSaid, Step::Cooperate])
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_asks_for_a_person_is_handed_on_and_joined() {
    let (wait, untidy) = (Duration::from_secs(3), true);
    let late = |late| TelnyxFaults {
        late: Some((late, wait)),
        untidy_webhooks: untidy,
        ..TelnyxFaults::default()
    };
    for (kind, destination, faults) in [
        ("blind", phone(DESK), TelnyxFaults::default()),
        ("conference", phone(DESK), TelnyxFaults::default()),
        ("blind", sip(DESK), TelnyxFaults::default()),
        ("blind", phone(DESK), late("call.bridged")),
        ("conference", phone(DESK), late("call.bridged")),
    ] {
        let over = Over::of(told(thanks(), faults).await, with_desk(kind, &destination)).await;
        assert!(over.is_transferred(), "{kind} {:#}", over.conversation);
        // We did not hang up: the two talk until one of them leaves.
        assert_eq!(over.stub.live_calls(), 2, "{kind}");
        over.world.pass(120).await;
        assert_eq!(over.stub.live_calls(), 0, "{kind}");
        let desk = over.heard(DESK);
        assert!(desk.iter().any(|text| text.contains("Thank you")), "{kind} {desk:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_whom_nobody_takes_has_the_agent_again() {
    for kind in ["blind", "conference"] {
        let stub = told(goes_on(), TelnyxFaults::default()).await;
        let over = Over::of(stub, with_desk(kind, &phone(BUSY_DESK))).await;
        assert!(!over.is_transferred(), "{:#}", over.conversation);
        assert!(
            over.agent_says("nobody could be reached"),
            "{kind} {:#}",
            over.conversation
        );
        assert!(over.conversation["dataCollected"].is_object(), "{kind}");
        assert_eq!(over.sockets(), 1, "{kind}");
        over.world.pass(5).await;
        assert_eq!(over.stub.live_calls(), 0, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_rung_any_more_for_a_caller_who_left() {
    for kind in ["blind", "conference"] {
        let steps = asks(vec![Step::WaitMs(5_000), Step::HangUp]);
        let stub = told(steps, TelnyxFaults::default()).await;
        let over = Over::of(stub, with_desk(kind, &phone(NO_ANSWER))).await;
        over.world.pass(2).await;
        assert_eq!(over.stub.live_calls(), 0, "{kind} {:#}", over.conversation);
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_referred_to_whom_the_peer_takes() {
    let stub = told(thanks(), TelnyxFaults::default()).await;
    let over = Over::of(stub, with_desk("sip_refer", &sip(DESK))).await;
    assert!(over.is_transferred(), "{:#}", over.conversation);
    assert_eq!(over.commanded("refer"), 1);
    for destination in [sip(BUSY_DESK), phone(DESK)] {
        let stub = told(goes_on(), TelnyxFaults::default()).await;
        let over = Over::of(stub, with_desk("sip_refer", &destination)).await;
        assert!(!over.is_transferred() && over.agent_says("nobody could be reached"));
    }
}

#[tokio::test(start_paused = true)]
async fn keys_go_both_ways_and_are_counted_once() {
    let ivr = stub(TelnyxSettings {
        personas: BTreeMap::from([(NUMBER.to_owned(), "ivr".to_owned())]),
        ..TelnyxSettings::default()
    })
    .await;
    let over = Over::of(ivr, interviewing_agent()).await;
    assert_eq!(over.stub.keys(), ["0"], "pressed by Telnyx");
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
    let over = Over::of(told(steps, TelnyxFaults::default()).await, agent).await;
    assert_eq!(
        collected(&over.conversation, "guests"),
        Some("12"),
        "{:#}",
        over.conversation
    );
    let told = over.stub.delivered();
    assert_eq!(
        told.iter()
            .filter(|webhook| webhook.status == "call.dtmf.received")
            .count(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_done_to_a_call_is_told() {
    let stub = stub(TelnyxSettings {
        faults: TelnyxFaults {
            no_webhooks: true,
            ..TelnyxFaults::default()
        },
        ..TelnyxSettings::default()
    })
    .await;
    let carrier = carrier(account(&stub));
    let abilities = CarrierAbilities {
        detects_machines: true,
        refer: true,
        digits: true,
        comes_back: false,
    };
    assert_eq!(carrier.abilities(), abilities);
    let ringing = carrier.dial(&request(NO_ANSWER)).await.unwrap();
    let unknown = CarrierCallId("v3:unknown".to_owned());
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
    assert!(matches!(refer, Err(CarrierError::Refused(_))), "a telephone number");
    assert_eq!(stub.keys(), Vec::<String>::new());
}
