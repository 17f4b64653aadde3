//! Tests of calls over Twilio and SignalWire that go beyond the shared suite.

mod documents;
mod refers;
mod tries;
mod webhooks;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use carriers::{
    kind::Account as _,
    twilio::account::{self, TwilioAccount},
};
use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{CarrierCallId, CarrierError, DialError, DialRequest},
    time::Clock,
};
use net::key::Key;
use serde_json::json;
use sim::stub_carriers::{
    DialFault, StubBase, StubCarrierSettings,
    twilio::{ACCOUNT, Flavour, SIGNING_KEY, TOKEN, TwilioFaults, TwilioStub},
};
use support::{words::interviewing_agent, world::TrunkOf};

pub use self::webhooks::post_signed;
use crate::site::{
    Announced, COOPERATIVE, Carrier, NO_ANSWER, OURS, Setup, Site, Stub, clock, request, until, without_detection,
};

#[async_trait]
impl Stub for TwilioStub {
    fn base(&self) -> &StubBase {
        self
    }

    fn endings(&self) -> Vec<String> {
        self.statuses().into_iter().map(str::to_owned).collect()
    }

    async fn call_in(&self, service: &str, from: &str) -> String {
        let answer = self.call_in(service, "CA-in-1", from, OURS).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        "CA-in-1".to_owned()
    }

    async fn leave(&self, call: &str) {
        self.hang_up(call).await;
    }

    async fn announce(&self, service: &str, call: &str, parties: (&str, &str)) -> Announced {
        let answer = self.announce(service, call, parties.0, parties.1).await;
        let rejects = |reason: &str| {
            answer
                .twiml
                .contains(&format!(r#"<Response><Reject reason="{reason}"/>"#))
        };
        match answer.status {
            200 if rejects("rejected") => Announced::Rejected,
            200 if rejects("busy") => Announced::Busy,
            200 => {
                let (_, behind) = answer.twiml.split_once("/media/").unwrap();
                Announced::Taken(behind.split_once('.').unwrap().0.to_owned())
            }
            status => Announced::Status(status),
        }
    }
}

fn account(flavour: Flavour, url: &str) -> TwilioAccount {
    TwilioAccount {
        flavour: match flavour {
            Flavour::Twilio => account::Flavour::Twilio,
            Flavour::SignalWire => account::Flavour::SignalWire,
        },
        base_url: url.to_owned(),
        account: ACCOUNT.to_owned(),
        user: ACCOUNT.to_owned(),
        password: Key::new(TOKEN),
        signing_key: Key::new(match flavour {
            Flavour::Twilio => TOKEN,
            Flavour::SignalWire => SIGNING_KEY,
        }),
        shared_key: None,
        from: Some(OURS.parse().unwrap()),
    }
}

fn trunk(flavour: Flavour, stub: &TwilioStub) -> TrunkOf {
    let account = account(flavour, &stub.url());
    Arc::new(move |address| account.trunk(address, clock()).unwrap())
}

fn flavour(carrier: Carrier) -> Flavour {
    match carrier {
        Carrier::SignalWire => Flavour::SignalWire,
        _ => Flavour::Twilio,
    }
}

pub async fn start(carrier: Carrier, setup: &Setup) -> (Arc<dyn Stub>, TrunkOf) {
    let stub = TwilioStub::start(flavour(carrier), setup.stub()).await.unwrap();
    let trunk = trunk(flavour(carrier), &stub);
    (Arc::new(stub), trunk)
}

/// Starts a service with a stub that the test can inspect.
async fn at(carrier: Carrier, settings: StubCarrierSettings, faults: TwilioFaults) -> (Site, Arc<TwilioStub>) {
    let flavour = flavour(carrier);
    let stub = Arc::new(TwilioStub::start_with(flavour, settings, faults).await.unwrap());
    let site = Site::of(carrier, stub.clone(), trunk(flavour, &stub), Setup::default().node).await;
    (site, stub)
}

async fn sound(carrier: Carrier) -> (Site, Arc<TwilioStub>) {
    sound_with(carrier, &Setup::default()).await
}

async fn sound_with(carrier: Carrier, setup: &Setup) -> (Site, Arc<TwilioStub>) {
    at(carrier, setup.stub(), TwilioFaults::default()).await
}

/// Starts a service that loses the response to the first dial.
pub async fn losing_the_first(setup: &Setup) -> (Site, Arc<TwilioStub>) {
    let settings = StubCarrierSettings {
        dials: vec![DialFault::LoseAnswer],
        ..setup.stub()
    };
    at(Carrier::Twilio, settings, TwilioFaults::default()).await
}

/// Returns settings for dials with these faults.
fn faulty(faults: &[DialFault]) -> StubCarrierSettings {
    StubCarrierSettings {
        dials: faults.to_vec(),
        ..Setup::default().stub()
    }
}

#[tokio::test(start_paused = true)]
async fn a_carrier_that_is_busy_is_asked_later_and_an_error_of_its_server_never_again() {
    let retry_after = Some(Duration::from_secs(7));
    let busy = faulty(&[DialFault::Throttle { retry_after }]);
    let (site, _) = at(Carrier::Twilio, busy, TwilioFaults::default()).await;
    let campaign = site.completed(&[COOPERATIVE]).await;
    site.check_words(&site.world.conversation(&campaign, COOPERATIVE).await, COOPERATIVE);
    site.ends_tidy(2).await;

    let (site, _) = at(Carrier::Twilio, faulty(&[DialFault::Break]), TwilioFaults::default()).await;
    let campaign = site.completed(&[COOPERATIVE]).await;
    let conversation = site.world.conversation(&campaign, COOPERATIVE).await;
    let error = conversation["errorMessage"].as_str().unwrap();
    assert!(error.starts_with("carrier-error: outcome unknown"), "{error}");
    site.ends_tidy(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_account_delays_the_campaign_and_costs_no_contact() {
    for fault in [DialFault::RefuseAccount, DialFault::Refuse(21_212)] {
        let (site, stub) = at(Carrier::Twilio, faulty(&[fault]), TwilioFaults::default()).await;
        let agent = site.world.agent(interviewing_agent()).await;
        let campaign = site.world.launch(&agent, &[(COOPERATIVE, "")], json!({})).await;
        let state = site.world.until_status(&campaign, "delayed", 60).await;
        assert_eq!(state["progress"]["pending"], 1, "{state}");
        site.world.until_status(&campaign, "completed", 300).await;
        assert_eq!(stub.dials().len(), 2);
    }
}

fn from(number: &str) -> DialRequest {
    DialRequest {
        from: Some(number.parse().unwrap()),
        ring_timeout: Duration::from_secs(20),
        ..request(NO_ANSWER)
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_number_are_listed_as_far_back_as_asked() {
    let clock = clock();
    let stub = TwilioStub::start(Flavour::Twilio, Setup::default().stub())
        .await
        .unwrap();
    // Nothing listens at the callback address, which does not matter for the list.
    let carrier = trunk(Flavour::Twilio, &stub)("http://127.0.0.1:9").carrier;
    let to: PhoneNumber = NO_ANSWER.parse().unwrap();
    let began = clock.now();
    let first = carrier.dial(&from(OURS)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let later = clock.now();
    let second = carrier.dial(&from("+15550000009")).await.unwrap();
    assert_eq!(stub.dials()[1].from, "+15550000009");
    let listed = carrier.find_calls(&to, began).await.unwrap();
    let found: Vec<_> = listed.iter().map(|call| (call.call.clone(), call.live)).collect();
    assert_eq!(found, [(second.clone(), true), (first.clone(), false)]);
    assert!(listed.iter().all(|call| call.attempt.is_none() && call.to == NO_ANSWER));
    assert_eq!(carrier.find_calls(&to, later).await.unwrap().len(), 1);
    let nobody = COOPERATIVE.parse().unwrap();
    assert_eq!(carrier.find_calls(&nobody, began).await, Ok(Vec::new()));
    assert_eq!(carrier.hang_up(&second).await, Ok(()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let [none, up] = ["CA-none", ".."].map(|id| CarrierCallId(id.to_owned()));
    for over in [first, second, none, up] {
        assert_eq!(carrier.hang_up(&over).await, Err(CarrierError::NotFound), "{over:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_caller_id_nothing_is_sent() {
    let stub = TwilioStub::start(Flavour::Twilio, Setup::default().stub())
        .await
        .unwrap();
    let account = TwilioAccount {
        from: None,
        ..account(Flavour::Twilio, &stub.url())
    };
    let trunk = account.trunk("http://127.0.0.1:9", clock()).unwrap();
    match trunk.carrier.dial(&request(NO_ANSWER)).await {
        Err(DialError::AccountRefused(why)) => assert!(why.contains("TWILIO_PHONE_NUMBER"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(stub.dials(), []);
}

#[tokio::test(start_paused = true)]
async fn the_carrier_s_verdict_on_who_answered_is_asked_for_where_it_is_wanted() {
    for (agent, wanted) in [(interviewing_agent(), true), (without_detection(), false)] {
        let (site, stub) = sound(Carrier::Twilio).await;
        site.call_by(agent, NO_ANSWER).await;
        until(10, "dial", || !stub.dials().is_empty()).await;
        let order = stub.last_order();
        let asked = ["MachineDetection", "AsyncAmd"].map(|field| order.get(field).map(String::as_str));
        let expected = if wanted {
            [Some("Enable"), Some("true")]
        } else {
            [None, None]
        };
        assert_eq!(asked, expected, "{order:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_stays_in_the_carrier_s_queue_is_cancelled_and_told_so() {
    for (waits, status) in [(5, "completed"), (3_600, "failed")] {
        let faults = TwilioFaults {
            queued: Some(Duration::from_secs(waits)),
            ..TwilioFaults::default()
        };
        let (site, stub) = at(Carrier::Twilio, Setup::default().stub(), faults).await;
        let id = site.call(COOPERATIVE).await;
        if status == "failed" {
            site.world.pass(9).await;
            assert_eq!(stub.statuses(), ["queued"]);
            let over = site.world.until_over(&id, 4).await;
            let why = over["errorMessage"].as_str().unwrap();
            assert!(
                why.contains("queue") && why.contains("RINGBACK_CALLS_PER_SECOND"),
                "{why}"
            );
            assert_eq!(stub.statuses(), ["canceled"]);
        }
        let over = site.world.until_over(&id, 150).await;
        assert_eq!(over["status"], status, "{over:#}");
        site.ends_tidy(1).await;
    }
}

/// Sends the number's status callback that reports the end of the call.
async fn tell_the_end(stub: &TwilioStub, base: &str) {
    let form = [
        ("CallSid", "CA-in-1"),
        ("CallStatus", "completed"),
        ("Direction", "inbound"),
    ];
    let address = format!("{base}/carriers/twilio/events");
    assert_eq!(post_signed(stub, &address, &form).await.0, 204);
}

#[tokio::test(start_paused = true)]
async fn the_number_s_status_callback_ends_a_call_whose_audio_never_came() {
    // The second time it overtakes the response to the announcement: the call keeps a line for half a minute.
    for is_first in [false, true] {
        let (site, stub) = sound(Carrier::Twilio).await;
        let site = site.with_answering_agent().await;
        if is_first {
            tell_the_end(&stub, site.base()).await;
        }
        let announced = site.stub.announce(site.base(), "CA-in-1", (COOPERATIVE, OURS)).await;
        let Announced::Taken(id) = announced else {
            panic!("{announced:?}")
        };
        if !is_first {
            tell_the_end(&stub, site.base()).await;
        }
        site.world.pass(2).await;
        let over = site.world.read(&id).await;
        assert_eq!(over["status"], "failed", "{over:#}");
    }
}
