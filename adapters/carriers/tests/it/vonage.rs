//! Tests of calls through Vonage that go beyond the shared suite.

mod webhooks;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use carriers::{
    kind::Account as _,
    vonage::{
        account::{Rate, VonageAccount},
        token::ApplicationKey,
    },
};
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{CarrierError, DialError},
};
use net::key::Key;
use serde_json::{Value, json};
use sim::stub_carriers::{
    DialFault, StubBase, StubCarrierSettings,
    vonage::{APPLICATION, PRIVATE_KEY, SIGNATURE_SECRET, VonageFaults, VonageStub},
};
use support::{words::interviewing_agent, world::TrunkOf};

use crate::{
    conformance::media::check_found_again,
    site::{
        Announced, BUSY, BUSY_DESK, COOPERATIVE, Carrier, INVALID, MAILBOX, NO_ANSWER, NUMBER, OURS, Setup, Site, Stub,
        asks_and_goes_on, clock, goes_on, phone, request, with_desk, without_detection,
    },
};

#[async_trait]
impl Stub for VonageStub {
    fn base(&self) -> &StubBase {
        self
    }

    fn endings(&self) -> Vec<String> {
        let told = self.delivered().into_iter().map(|event| event.status);
        told.filter(|status| matches!(&**status, "cancelled" | "completed"))
            .collect()
    }

    async fn call_in(&self, service: &str, from: &str) -> String {
        let answer = self.call_in(service, "in-1", from, OURS).await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        "in-1".to_owned()
    }

    async fn leave(&self, call: &str) {
        self.hang_up(call).await;
    }

    async fn announce(&self, service: &str, call: &str, parties: (&str, &str)) -> Announced {
        let answer = self.announce(service, call, parties.0, parties.1).await.unwrap();
        match (
            answer.status,
            answer.ncco[0]["endpoint"][0]["headers"]["attempt"].as_str(),
        ) {
            (200, Some(conversation)) => Announced::Taken(conversation.to_owned()),
            (200, None) if answer.ncco == json!([]) => Announced::Rejected,
            (429, _) => Announced::Busy,
            (status, _) => Announced::Status(status),
        }
    }
}

fn account(stub: &VonageStub, rate: Rate) -> VonageAccount {
    VonageAccount {
        base_url: stub.url(),
        application: APPLICATION.to_owned(),
        key: ApplicationKey::from_pem(PRIVATE_KEY).unwrap(),
        signature_secret: Key::new(SIGNATURE_SECRET),
        from: Some(PhoneNumber::parse(OURS).unwrap()),
        rate,
    }
}

fn trunk(account: VonageAccount) -> TrunkOf {
    Arc::new(move |address| account.trunk(address, clock()).unwrap())
}

fn faults(setup: &Setup) -> VonageFaults {
    VonageFaults {
        no_events: setup.silent,
        short_pages: setup.page,
        ..VonageFaults::default()
    }
}

pub async fn start(setup: &Setup) -> (Arc<dyn Stub>, TrunkOf) {
    let stub = VonageStub::start(setup.stub(), faults(setup)).await.unwrap();
    let trunk = trunk(account(&stub, Rate::Narrow));
    (Arc::new(stub), trunk)
}

/// Starts a service with a stub that the test can inspect.
async fn at(setup: &Setup, faults: VonageFaults, rate: Rate) -> (Site, Arc<VonageStub>) {
    let stub = Arc::new(VonageStub::start(setup.stub(), faults).await.unwrap());
    let trunk = trunk(account(&stub, rate));
    (
        Site::of(Carrier::Vonage, stub.clone(), trunk, Setup::default().node).await,
        stub,
    )
}

/// Starts a call that rings. Also returns the body of its dial.
async fn ringing() -> (Site, Arc<VonageStub>, Value) {
    let (site, stub) = at(&Setup::default(), VonageFaults::default(), Rate::Wide).await;
    site.ringing().await;
    let order = stub.last_order();
    (site, stub, order)
}

#[tokio::test(start_paused = true)]
async fn a_conversation_at_sixteen_kilohertz_is_understood() {
    let (site, _) = at(&Setup::default(), VonageFaults::default(), Rate::Wide).await;
    let id = site.call(COOPERATIVE).await;
    let conversation = site.world.until_over(&id, 120).await;
    site.check_most_words(&conversation, COOPERATIVE);
    site.ends_tidy(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_dial_asks_for_what_a_call_needs() {
    let (site, _, order) = ringing().await;
    let base = site.base();
    let status = order["event_url"][0].as_str().unwrap();
    let (attempt, _) = status
        .strip_prefix(&format!("{base}/carriers/vonage/status/"))
        .and_then(|rest| rest.split_once('/'))
        .unwrap();
    let socket = &order["ncco"][0]["endpoint"][0];
    let media = format!("{}/carriers/vonage/media/{attempt}.", base.replacen("http", "ws", 1));
    assert!(socket["uri"].as_str().unwrap().starts_with(&media), "{order}");
    assert_eq!(socket["content-type"], "audio/l16;rate=16000");
    assert_eq!(socket["headers"]["attempt"], attempt);
    for (field, value) in [
        ("to", json!([{ "type": "phone", "number": "15550100017" }])),
        ("from", json!({ "type": "phone", "number": "15550000001" })),
        ("ringing_timer", json!(30)),
        ("event_method", json!("POST")),
    ] {
        assert_eq!(order[field], value, "{field}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_fails_tells_what_is_certain() {
    let retry_after = Some(Duration::from_secs(2));
    let settings = StubCarrierSettings {
        dials: vec![
            DialFault::Throttle { retry_after },
            DialFault::RefuseAccount,
            DialFault::Refuse(402),
            DialFault::Refuse(400),
            DialFault::Break,
        ],
        ..Setup::default().stub()
    };
    let stub = VonageStub::start(settings, VonageFaults::default()).await.unwrap();
    let ours = account(&stub, Rate::Wide);
    // Nothing listens at the address of the reports.
    let dial = async |account: &VonageAccount, to: &str| {
        trunk(account.clone())("http://127.0.0.1:9")
            .carrier
            .dial(&request(to))
            .await
    };
    assert_eq!(dial(&ours, BUSY).await, Err(DialError::Busy { retry_after }));
    for _ in 0..2 {
        let answer = dial(&ours, BUSY).await;
        assert!(matches!(answer, Err(DialError::AccountRefused(_))), "{answer:?}");
    }
    let unknown = dial(&ours, BUSY).await;
    assert!(matches!(unknown, Err(DialError::Unclassified { .. })), "{unknown:?}");
    assert!(matches!(dial(&ours, BUSY).await, Err(DialError::Unknown(_))));
    assert!(matches!(dial(&ours, INVALID).await, Err(DialError::InvalidNumber(_))));
    let other = VonageAccount {
        application: "another".to_owned(),
        ..ours.clone()
    };
    let nobody = VonageAccount {
        from: None,
        ..ours.clone()
    };
    for account in [other, nobody] {
        let answer = dial(&account, BUSY).await;
        assert!(matches!(answer, Err(DialError::AccountRefused(_))), "{answer:?}");
    }
    let unavailable = VonageAccount {
        base_url: "http://127.0.0.1:1".to_owned(),
        ..ours
    };
    assert!(matches!(dial(&unavailable, BUSY).await, Err(DialError::Unreachable(_))));
    assert_eq!(stub.live_calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn vonage_s_verdict_on_who_answered_is_asked_for_and_heard() {
    let (site, stub) = at(&Setup::default(), VonageFaults::default(), Rate::Narrow).await;
    let over = site.over(interviewing_agent(), MAILBOX).await;
    over.site.check_message(&over.conversation, MAILBOX);
    let detection = &stub.last_order()["advanced_machine_detection"];
    assert_eq!(
        [&detection["behavior"], &detection["mode"]],
        ["continue", "detect_beep"]
    );
    assert!(
        stub.delivered()
            .iter()
            .any(|event| event.status == "machine" && event.answer == 204)
    );
    let (site, stub) = at(&Setup::default(), VonageFaults::default(), Rate::Narrow).await;
    site.over(without_detection(), COOPERATIVE).await.check_completed();
    assert_eq!(stub.last_order().get("advanced_machine_detection"), None);
}

#[tokio::test(start_paused = true)]
async fn keys_that_vonage_does_not_press_are_refused() {
    let (_stub, trunk) = start(&Setup {
        silent: true,
        ..Setup::default()
    })
    .await;
    let carrier = trunk("http://127.0.0.1:9").carrier;
    let ringing = carrier.dial(&request(NO_ANSWER)).await.unwrap();
    for keys in ["A", "1,2"] {
        let answer = carrier.send_digits(&ringing, keys).await;
        assert!(matches!(answer, Err(CarrierError::Refused(_))), "{keys}");
    }
}

#[tokio::test(start_paused = true)]
async fn media_of_whose_loss_nothing_tells_is_found_again() {
    let setup = Setup {
        cut_after: Some(300),
        ..goes_on()
    };
    let silent = VonageFaults {
        silent_losses: true,
        ..faults(&setup)
    };
    let (site, _) = at(&setup, silent, Rate::Narrow).await;
    check_found_again(site, 2).await;
}

/// A Vonage that keeps the media socket of a transferred call.
#[tokio::test(start_paused = true)]
async fn a_caller_comes_back_by_another_socket_while_the_old_one_is_open() {
    let kept = VonageFaults {
        kept_sockets: true,
        ..VonageFaults::default()
    };
    let (site, _) = at(&asks_and_goes_on(), kept, Rate::Narrow).await;
    let over = site.over(with_desk("blind", &phone(BUSY_DESK)), NUMBER).await;
    over.check_interviewed();
    let heard = over.site.heard(NUMBER);
    let told = heard.iter().filter(|text| text.contains("nobody could be reached"));
    assert_eq!(told.count(), 1, "{heard:?}");
    over.site.ends_tidy(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_call_is_over_is_not_sent_to_a_socket() {
    let (site, stub) = at(&Setup::default(), VonageFaults::default(), Rate::Narrow).await;
    let (attempt, proof) = (AttemptId::new(), "5".repeat(64));
    let url = format!("{}/carriers/vonage/transfer/{attempt}.{proof}/{proof}", site.base());
    let body = json!({ "status": "busy", "uuid": "desk", "to": "15550100096" }).to_string();
    let http = net::http_client::builder().build().unwrap();
    let sent = http.post(url).header("authorization", stub.sign(&body)).body(body);
    let answer = sent.send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    assert_eq!(answer.text().await.unwrap(), "[]");
}
