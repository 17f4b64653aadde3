//! Calls over Twilio and SignalWire: their APIs, signed callbacks and media sockets in front of the exchange's phones.

mod campaign;
mod doors;
mod ends;
mod inbound;
mod media;
mod midcall;
mod tries;

use std::{sync::Arc, time::Duration};

use actors::node::NodeSettings;
use carriers::twilio::{
    self,
    account::{Flavour, TwilioAccount},
};
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{CarrierCallId, CarrierError, DialError, DialRequest},
    time::{Clock, TokioClock},
};
use net::key::Key;
use serde_json::{Value, json};
use sim::stub_carriers::{
    Callbacks, DialFault, StubCarrierSettings,
    twilio::{ACCOUNT, SIGNING_KEY, TOKEN, TwilioFaults, TwilioStub},
};
use tokio::time::Instant;

use support::{
    app::START,
    phone_log::PhoneLog,
    words::{GREETING, interviewing_agent, lines, texts},
    world::{World, WorldSettings},
};

const COOPERATIVE: &str = "+15550100010";
const BUSY: &str = "+15550100021";
const NO_ANSWER: &str = "+15550100032";
const REJECTS: &str = "+15550100043";
const INVALID: &str = "+15550100054";
const FROM: &str = "+15550000001";

const CONTACTS: [(&str, &str); 5] = [
    (COOPERATIVE, "cooperative"),
    (BUSY, "busy"),
    (NO_ANSWER, "no-answer"),
    (REJECTS, "rejects"),
    (INVALID, "invalid"),
];

fn account(flavour: Flavour, url: &str) -> TwilioAccount {
    TwilioAccount {
        flavour,
        base_url: url.to_owned(),
        account: ACCOUNT.to_owned(),
        user: ACCOUNT.to_owned(),
        password: Key::new(TOKEN),
        signing_key: Key::new(match flavour {
            Flavour::Twilio => TOKEN,
            Flavour::SignalWire => SIGNING_KEY,
        }),
        shared_key: None,
        from: Some(FROM.parse().unwrap()),
    }
}

fn settings(callees: &[(&str, &str)]) -> StubCarrierSettings {
    StubCarrierSettings::on_loopback(Arc::new(TokioClock::starting_at(START)), callees)
}

/// The whole service with a stub carrier as its only one.
struct Joined {
    world: World,
    stub: TwilioStub,
}

impl Joined {
    async fn with(settings: StubCarrierSettings) -> Self {
        Self::over(Flavour::Twilio, settings).await
    }

    async fn over(flavour: Flavour, settings: StubCarrierSettings) -> Self {
        Self::flawed(flavour, settings, TwilioFaults::default()).await
    }

    async fn flawed(flavour: Flavour, settings: StubCarrierSettings, faults: TwilioFaults) -> Self {
        let stub = TwilioStub::start_with(flavour, settings, faults).await.unwrap();
        Self::at(stub, flavour, NodeSettings::default()).await
    }

    async fn at(stub: TwilioStub, flavour: Flavour, node: NodeSettings) -> Self {
        let url = stub.url();
        let trunk = move |address: &str| twilio::trunk(account(flavour, &url), address).unwrap();
        let world = World::start_with(WorldSettings {
            trunk: Some(Arc::new(trunk)),
            node,
            ..WorldSettings::default()
        });
        Self {
            world: world.await,
            stub,
        }
    }

    fn phones(&self) -> PhoneLog {
        PhoneLog::new(self.stub.entries())
    }

    /// A campaign that is completed and analysed.
    async fn completed(&self, contacts: &[(&str, &str)]) -> String {
        let agent = self.world.agent(interviewing_agent()).await;
        let campaign = self.world.launch(&agent, contacts, json!({})).await;
        self.world.until_status(&campaign, "completed", 300).await;
        self.world.pass(2).await;
        campaign
    }

    async fn check_talked(&self, campaign: &str) {
        let conversation = self.world.conversation(campaign, COOPERATIVE).await;
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        let phone = self.phones().call(COOPERATIVE);
        assert_eq!(lines(&conversation, "User"), texts(&phone.said()));
        assert_eq!(lines(&conversation, "Agent"), texts(&phone.heard()));
        assert_eq!(lines(&conversation, "Agent")[0], GREETING);
    }

    /// A call that no campaign asks for; its conversation's id.
    async fn call(&self, number: &str) -> String {
        let agent = self.world.agent(interviewing_agent()).await;
        let body = json!({ "agentId": agent, "phoneNumber": number, "name": "Maria" });
        let answer = self.world.client.post("/public/v1/calls", body).await;
        answer.expect(201).text("/data/conversationId")
    }

    async fn until_it_is(&self, status: &str) {
        let limit = Instant::now() + Duration::from_secs(60);
        while self.stub.statuses().last() != Some(&status) {
            assert!(Instant::now() < limit, "{:?}", self.stub.statuses());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn end(&self, conversation: &str) -> Value {
        let path = format!("/public/v1/conversations/{conversation}/end");
        self.world.client.post(&path, json!({})).await.expect(200);
        self.world.until_over(conversation, 30).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_campaign_over_twilio_completes_with_transcripts_and_causes() {
    let joined = Joined::with(settings(&CONTACTS)).await;
    let campaign = joined.completed(&CONTACTS).await;
    joined.check_talked(&campaign).await;
    for (number, error) in [
        (BUSY, "busy"),
        (NO_ANSWER, "no-answer"),
        (REJECTS, "rejected"),
        (INVALID, "invalid-number"),
    ] {
        let conversation = joined.world.conversation(&campaign, number).await;
        assert_eq!(conversation["status"], "failed", "{conversation:#}");
        assert_eq!(conversation["errorMessage"], error, "{conversation:#}");
        assert_eq!(conversation["carrier"], "twilio", "{conversation:#}");
    }
    let dials = joined.stub.dials();
    assert_eq!(dials.len(), CONTACTS.len());
    assert!(dials.iter().all(|dial| dial.from == FROM), "{dials:?}");
    let delivered = joined.stub.delivered();
    assert!(delivered.iter().all(|told| told.answer == 204), "{delivered:?}");
    assert_eq!(joined.stub.live_calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_over_signalwire_is_held_too() {
    let joined = Joined::over(Flavour::SignalWire, settings(&CONTACTS[..1])).await;
    let campaign = joined.completed(&CONTACTS[..1]).await;
    joined.check_talked(&campaign).await;
    let conversation = joined.world.conversation(&campaign, COOPERATIVE).await;
    assert_eq!(conversation["carrier"], "signalwire");
    let delivered = joined.stub.delivered();
    assert!(delivered.iter().all(|told| told.answer == 204), "{delivered:?}");
}

#[tokio::test(start_paused = true)]
async fn callbacks_twice_or_the_last_one_first_change_nothing() {
    for callbacks in [Callbacks::Twice, Callbacks::Reversed] {
        let settings = StubCarrierSettings {
            callbacks,
            ..settings(&CONTACTS)
        };
        let joined = Joined::with(settings).await;
        let campaign = joined.completed(&CONTACTS).await;
        joined.check_talked(&campaign).await;
        for (number, error) in [(BUSY, "busy"), (NO_ANSWER, "no-answer"), (REJECTS, "rejected")] {
            let conversation = joined.world.conversation(&campaign, number).await;
            assert_eq!(conversation["errorMessage"], error, "{callbacks:?} {conversation:#}");
        }
        assert_eq!(joined.stub.dials().len(), CONTACTS.len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_dial_whose_answer_is_lost_is_adopted_and_never_sent_again() {
    let settings = StubCarrierSettings {
        dials: vec![DialFault::LoseAnswer],
        ..settings(&CONTACTS)
    };
    let joined = Joined::with(settings).await;
    let campaign = joined.completed(&CONTACTS[..1]).await;
    joined.check_talked(&campaign).await;
    assert_eq!(joined.stub.dials().len(), 1);
    assert_eq!(joined.stub.live_calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_carrier_that_is_busy_is_asked_later_and_an_error_of_its_server_never_again() {
    let busy = DialFault::Throttle {
        retry_after: Some(Duration::from_secs(7)),
    };
    let throttled = Joined::with(StubCarrierSettings {
        dials: vec![busy],
        ..settings(&CONTACTS)
    })
    .await;
    let campaign = throttled.completed(&CONTACTS[..1]).await;
    throttled.check_talked(&campaign).await;
    assert_eq!(throttled.stub.dials().len(), 2);

    let broken = Joined::with(StubCarrierSettings {
        dials: vec![DialFault::Break],
        ..settings(&CONTACTS)
    })
    .await;
    let campaign = broken.completed(&CONTACTS[..1]).await;
    let conversation = broken.world.conversation(&campaign, COOPERATIVE).await;
    let error = conversation["errorMessage"].as_str().unwrap();
    assert!(error.starts_with("carrier-error: outcome unknown"), "{error}");
    assert_eq!(broken.stub.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_account_ends_the_campaign_and_costs_no_contact() {
    for fault in [DialFault::RefuseAccount, DialFault::Refuse(21_212)] {
        let joined = Joined::with(StubCarrierSettings {
            dials: vec![fault],
            ..settings(&CONTACTS)
        })
        .await;
        let agent = joined.world.agent(interviewing_agent()).await;
        let campaign = joined.world.launch(&agent, &CONTACTS[..1], json!({})).await;
        let state = joined.world.until_status(&campaign, "failed", 60).await;
        assert_eq!(state["progress"]["pending"], 1, "{state}");
        assert_eq!(joined.stub.dials().len(), 1);
    }
}

fn request(from: Option<&str>) -> DialRequest {
    DialRequest {
        attempt: AttemptId::new(),
        from: from.map(|number| number.parse().unwrap()),
        to: NO_ANSWER.parse().unwrap(),
        ring_timeout: Duration::from_secs(20),
        status_token: "s".repeat(64),
        media_token: "m".repeat(64),
        detect_machine: false,
        hints: std::collections::BTreeMap::new(),
        last_look: Default::default(),
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_number_are_listed_as_far_back_as_asked() {
    let clock = TokioClock::starting_at(START);
    let stub = TwilioStub::start(Flavour::Twilio, settings(&CONTACTS)).await.unwrap();
    // Nothing listens where callbacks go, which is no concern of the list.
    let trunk = twilio::trunk(account(Flavour::Twilio, &stub.url()), "http://127.0.0.1:9").unwrap();
    let to: PhoneNumber = NO_ANSWER.parse().unwrap();
    let began = clock.now();
    let first = trunk.carrier.dial(&request(None)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let later = clock.now();
    let second = trunk.carrier.dial(&request(Some("+15550000009"))).await.unwrap();
    assert_eq!(stub.dials()[1].from, "+15550000009");
    let listed = trunk.carrier.find_calls(&to, began).await.unwrap();
    let found: Vec<_> = listed.iter().map(|call| (call.call.clone(), call.live)).collect();
    assert_eq!(found, [(second.clone(), true), (first.clone(), false)]);
    assert!(listed.iter().all(|call| call.attempt.is_none() && call.to == NO_ANSWER));
    let listed = trunk.carrier.find_calls(&to, later).await.unwrap();
    assert_eq!(listed.len(), 1);
    let nobody = COOPERATIVE.parse().unwrap();
    assert_eq!(trunk.carrier.find_calls(&nobody, began).await, Ok(Vec::new()));
    assert_eq!(trunk.carrier.hang_up(&second).await, Ok(()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    for over in [
        first,
        second,
        CarrierCallId("CA-none".into()),
        CarrierCallId("..".into()),
    ] {
        assert_eq!(
            trunk.carrier.hang_up(&over).await,
            Err(CarrierError::NotFound),
            "{over:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_caller_id_nothing_is_sent() {
    let stub = TwilioStub::start(Flavour::Twilio, settings(&CONTACTS)).await.unwrap();
    let account = TwilioAccount {
        from: None,
        ..account(Flavour::Twilio, &stub.url())
    };
    let trunk = twilio::trunk(account, "http://127.0.0.1:9").unwrap();
    match trunk.carrier.dial(&request(None)).await {
        Err(DialError::AccountRefused(why)) => assert!(why.contains("TWILIO_PHONE_NUMBER"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(stub.dials(), []);
}
