//! What happens in the middle of a call through Twilio or SignalWire: transfers, machines, keys.

use std::collections::BTreeMap;

use carriers::twilio::{self, account::Flavour};
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{CarrierAbilities, CarrierCallId, CarrierError, Destination, Transfer, TransferKind, WayBack},
};
use serde_json::{Value, json};
use sim::{
    exchange::{LogEvent, Script, Step},
    stub_carriers::{StubCarrierSettings, twilio::TwilioStub},
};

use super::{COOPERATIVE, Joined, NO_ANSWER, account, request, settings};
use support::{
    phone_log::PhoneLog,
    words::{collected, interviewing_agent, lines, texts},
};

pub(super) const NUMBER: &str = "+15550100040";
/// Picks up.
const DESK: &str = "+15550100091";
/// Has another call.
const BUSY_DESK: &str = "+15550100096";
const MAILBOX: &str = "+15550100018";

pub(super) fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

/// A carrier's telephones, of which the one at [`NUMBER`] follows these steps.
pub(super) fn told(steps: Vec<Step>) -> StubCarrierSettings {
    let scripts = BTreeMap::from([("told".to_owned(), Script::of(steps))]);
    let callees = [
        (NUMBER, "told"),
        (DESK, "cooperative"),
        (BUSY_DESK, "busy"),
        (NO_ANSWER, "no-answer"),
    ];
    StubCarrierSettings {
        scripts,
        ..settings(&callees)
    }
}

/// A call that is over: the service and the carrier it happened at, and its conversation.
pub(super) struct Over {
    pub(super) joined: Joined,
    pub(super) conversation: Value,
}

impl Over {
    pub(super) async fn of(joined: Joined, agent: Value, number: &str) -> Self {
        let agent = joined.world.agent(agent).await;
        let body = json!({ "agentId": agent, "phoneNumber": number, "name": "Maria" });
        let made = joined.world.client.post("/public/v1/calls", body).await;
        let id = made.expect(201).text("/data/conversationId");
        joined.world.until_over(&id, 150).await;
        joined.world.pass(2).await;
        let conversation = joined.world.read(&id).await;
        assert_eq!(joined.stub.complaints(), Vec::<String>::new());
        Self { joined, conversation }
    }

    async fn over_twilio(settings: StubCarrierSettings, agent: Value) -> Self {
        Self::of(Joined::with(settings).await, agent, NUMBER).await
    }

    fn heard(&self, number: &str) -> Vec<String> {
        texts(&PhoneLog::new(self.joined.stub.entries()).call(number).heard())
    }

    pub(super) fn sockets(&self) -> usize {
        let id = self.conversation["conversationId"].as_str().unwrap();
        let events = self.joined.world.events(id);
        1 + events.iter().filter(|(name, _)| name == "media_back").count()
    }

    pub(super) fn check_completed(&self) {
        assert_eq!(self.conversation["status"], "completed", "{:#}", self.conversation);
        assert_eq!(self.conversation["errorMessage"], Value::Null);
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
    for (flavour, kind, destination) in [
        (Flavour::Twilio, "blind", phone(DESK)),
        (Flavour::Twilio, "conference", phone(DESK)),
        (Flavour::Twilio, "blind", sip),
        (Flavour::SignalWire, "blind", phone(DESK)),
        (Flavour::SignalWire, "conference", phone(DESK)),
    ] {
        let steps = asks(vec![
            Step::WaitMs(15_000),
            say("Thank you very much."),
            Step::WaitMs(3_000),
            Step::HangUp,
        ]);
        let joined = Joined::over(flavour, told(steps)).await;
        let over = Over::of(joined, with_desk(kind, &destination), NUMBER).await;
        over.check_completed();
        assert_eq!(
            over.conversation["callTransferred"], true,
            "{kind} {:#}",
            over.conversation
        );
        // We did not hang up: the two talk until one of them leaves.
        assert_eq!(over.joined.stub.live_calls(), 2, "{kind}");
        over.joined.world.pass(120).await;
        assert_eq!(over.joined.stub.live_calls(), 0, "{kind}");
        let desk = over.heard(DESK);
        assert!(desk.iter().any(|text| text.contains("Thank you")), "{kind} {desk:?}");
        let caller = over.heard(NUMBER);
        let behind = caller.iter().skip_while(|text| !text.contains("put you through"));
        assert!(behind.skip(1).count() > 0, "the desk is heard: {kind} {caller:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_whom_nobody_takes_has_the_agent_again() {
    for kind in ["blind", "conference"] {
        let steps = asks(vec![Step::UntilAgentSaid, Step::Cooperate]);
        let over = Over::over_twilio(told(steps), with_desk(kind, &phone(BUSY_DESK))).await;
        over.check_completed();
        assert_eq!(over.conversation["callTransferred"], false, "{:#}", over.conversation);
        let agent = lines(&over.conversation, "Agent");
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
        over.joined.world.pass(5).await;
        assert_eq!(over.joined.stub.live_calls(), 0, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_rung_any_more_for_a_caller_who_left() {
    for kind in ["blind", "conference"] {
        let steps = asks(vec![Step::WaitMs(5_000), Step::HangUp]);
        let over = Over::over_twilio(told(steps), with_desk(kind, &phone(NO_ANSWER))).await;
        over.joined.world.pass(2).await;
        let dials = if kind == "blind" { 1 } else { 2 };
        let stub = &over.joined.stub;
        assert_eq!(
            (stub.dials().len(), stub.live_calls()),
            (dials, 0),
            "{:#}",
            over.conversation
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_carrier_s_verdict_on_who_answered_is_asked_for_where_it_is_wanted() {
    let joined = Joined::with(settings(&[(MAILBOX, "voicemail")])).await;
    let over = Over::of(joined, interviewing_agent(), MAILBOX).await;
    let order = over.joined.stub.last_order();
    assert_eq!(
        (&*order["MachineDetection"], &*order["AsyncAmd"]),
        ("Enable", "true"),
        "{order:?}"
    );
    assert_eq!(over.conversation["status"], "completed", "{:#}", over.conversation);
    let mut without = interviewing_agent();
    without["conversationConfig"]["agent"]["prompt"]["builtInTools"] = json!({});
    let joined = Joined::with(settings(&[(COOPERATIVE, "cooperative")])).await;
    let over = Over::of(joined, without, COOPERATIVE).await;
    assert_eq!(over.joined.stub.last_order().get("MachineDetection"), None);
}

#[tokio::test(start_paused = true)]
async fn keys_go_both_ways() {
    for (flavour, pressed) in [(Flavour::SignalWire, vec!["0"]), (Flavour::Twilio, vec![])] {
        let joined = Joined::over(flavour, settings(&[(NUMBER, "ivr")])).await;
        let over = Over::of(joined, interviewing_agent(), NUMBER).await;
        over.check_completed();
        // Where the stream takes no keys they are tones in the call's own audio.
        assert_eq!(over.joined.stub.keys(), pressed, "{flavour:?}");
        let heard = over
            .joined
            .stub
            .entries()
            .into_iter()
            .filter_map(|entry| match entry.event {
                LogEvent::HeardKey { key } => Some(key),
                _ => None,
            });
        assert_eq!(heard.collect::<String>(), "0", "{flavour:?}");
    }
    let mut agent = interviewing_agent();
    agent["platformSettings"]["dataCollection"]["entities"] =
        json!({ "guests": { "type": "integer", "description": "number of guests" } });
    let mut steps = vec![say("Hello?"), Step::UntilHeardWord("guests".into())];
    steps.extend("12".chars().map(Step::Press));
    steps.extend([Step::UntilAgentSaid, Step::WaitMs(20_000)]);
    let over = Over::over_twilio(told(steps), agent).await;
    assert_eq!(
        collected(&over.conversation, "guests"),
        Some("12"),
        "{:#}",
        over.conversation
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_done_to_a_call_is_told() {
    let stub = TwilioStub::start(Flavour::Twilio, told(Vec::new())).await.unwrap();
    let trunk = twilio::trunk(account(Flavour::Twilio, &stub.url()), "http://127.0.0.1:9").unwrap();
    let carrier = trunk.carrier;
    let abilities = CarrierAbilities {
        detects_machines: true,
        refer: false,
        digits: false,
        comes_back: true,
    };
    assert_eq!(carrier.abilities(), abilities);
    let ringing = carrier.dial(&request(None)).await.unwrap();
    let unknown = CarrierCallId("CA-unknown".to_owned());
    let back = WayBack {
        attempt: AttemptId::new(),
        status_token: "5".repeat(64),
        media_token: "a".repeat(64),
    };
    let transfer = |kind, to: &str| Transfer {
        kind,
        to: Destination::Phone(PhoneNumber::parse(to).unwrap()),
        from: None,
        back: back.clone(),
    };
    for call in [&ringing, &unknown, &CarrierCallId("..".to_owned())] {
        let blind = carrier.transfer(call, &transfer(TransferKind::Blind, DESK)).await;
        assert_eq!(blind, Err(CarrierError::NotFound));
        assert_eq!(carrier.reopen_media(call, &back).await, Err(CarrierError::NotFound));
    }
    let refer = carrier
        .transfer(&ringing, &transfer(TransferKind::SipRefer, DESK))
        .await;
    assert!(matches!(refer, Err(CarrierError::NotOffered(_))));
    let keys = carrier.send_digits(&ringing, "1").await;
    assert!(matches!(keys, Err(CarrierError::NotOffered(_))));
}
