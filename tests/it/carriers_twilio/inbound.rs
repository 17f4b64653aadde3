//! Phones call in through Twilio and SignalWire: announced with a signature, answered with instructions, reported at the
//! address of their number.

use actors::node::NodeSettings;
use carriers::twilio::account::Flavour;
use domain::ports::store::StoreError;
use serde_json::{Value, json};
use sim::stub_carriers::twilio::{Announced, TwilioStub};

use super::{BUSY, COOPERATIVE, Joined, settings};
use support::{
    phone_log::PhoneLog,
    words::{interviewing_agent, lines, texts},
};

pub(super) const OURS: &str = "+15559990001";

pub(super) async fn called(flavour: Flavour) -> Joined {
    called_at(flavour, NodeSettings::default()).await
}

async fn called_at(flavour: Flavour, node: NodeSettings) -> Joined {
    let stub = TwilioStub::start(flavour, settings(&[(COOPERATIVE, "cooperative")])).await;
    let joined = Joined::at(stub.unwrap(), flavour, node).await;
    let mut agent = interviewing_agent();
    agent["direction"] = json!("inbound");
    agent["phoneNumbers"] = json!([{ "number": OURS, "provider": flavour.name() }]);
    joined.world.agent(agent).await;
    joined
}

/// The conversation that instructions lead to.
pub(super) fn conversation(answer: &Announced) -> String {
    let (_, behind) = answer.twiml.split_once("/media/").unwrap();
    behind.split_once('.').unwrap().0.to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_phone_that_calls_is_talked_with() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        let Joined { world, stub } = called(flavour).await;
        let answer = stub.call_in(&world.client.base, "CA-in-1", (COOPERATIVE, OURS)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let talked = world.until_over(&conversation(&answer), 120).await;
        assert_eq!(talked["status"], "completed", "{talked:#}");
        let phone = PhoneLog::new(stub.entries()).call(COOPERATIVE);
        assert_eq!(lines(&talked, "User"), texts(&phone.said()));
        assert_eq!(lines(&talked, "Agent"), texts(&phone.heard()));
        assert_eq!(
            (&talked["direction"], &talked["contactNumber"], &talked["callerNumber"]),
            (&json!("inbound"), &json!(COOPERATIVE), &json!(OURS))
        );
        assert_eq!(talked["carrier"], flavour.name());
        world.pass(5).await;
        check_clean(&stub);
    }
}

fn check_clean(stub: &TwilioStub) {
    let state = (stub.complaints(), stub.live_calls(), stub.dials().len());
    assert_eq!(state, (vec![], 0, 0));
    let refused: Vec<_> = stub.delivered().into_iter().filter(|told| told.answer >= 300).collect();
    assert_eq!(refused, []);
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_leaves_ends_the_call() {
    let Joined { world, stub } = called(Flavour::Twilio).await;
    let answer = stub.call_in(&world.client.base, "CA-in-1", (BUSY, OURS)).await;
    let id = conversation(&answer);
    world.pass(8).await;
    assert_eq!(world.read(&id).await["status"], "in_progress");
    stub.hang_up("CA-in-1").await;
    world.pass(3).await;
    let conversation = world.read(&id).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    assert_eq!(conversation["errorMessage"], Value::Null);
    check_clean(&stub);
}

#[tokio::test(start_paused = true)]
async fn the_number_s_status_callback_ends_a_call_whose_audio_never_came() {
    let Joined { world, stub } = called(Flavour::Twilio).await;
    let answer = stub.announce(&world.client.base, "CA-in-1", (COOPERATIVE, OURS)).await;
    let id = conversation(&answer);
    tell_the_end(&stub, &world.client.base).await;
    world.pass(2).await;
    let over = world.read(&id).await;
    assert_eq!(over["status"], "failed", "{over:#}");
}

/// The number's status callback says that the call is over.
async fn tell_the_end(stub: &TwilioStub, base: &str) {
    let form = [
        ("CallSid", "CA-in-1"),
        ("CallStatus", "completed"),
        ("Direction", "inbound"),
    ];
    let address = format!("{base}/carriers/twilio/events");
    let (name, value) = stub.signature(&address, &form);
    let sent = reqwest::Client::new().post(&address).header(name, value);
    let sent = sent.body("CallSid=CA-in-1&CallStatus=completed&Direction=inbound");
    assert_eq!(sent.send().await.unwrap().status().as_u16(), 204);
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_leaves_before_the_call_is_taken_holds_no_line() {
    let Joined { world, stub } = called(Flavour::Twilio).await;
    // It overtakes the answer to the announcement.
    tell_the_end(&stub, &world.client.base).await;
    let answer = stub.announce(&world.client.base, "CA-in-1", (COOPERATIVE, OURS)).await;
    world.pass(2).await;
    // Not half a minute later.
    let over = world.read(&conversation(&answer)).await;
    assert_eq!(over["status"], "failed", "{over:#}");
}

#[tokio::test(start_paused = true)]
async fn a_call_announced_twice_is_one_call_and_one_for_nobody_is_refused() {
    let Joined { world, stub } = called(Flavour::Twilio).await;
    let base = &world.client.base;
    let first = stub.announce(base, "CA-in-1", (COOPERATIVE, OURS)).await;
    assert_eq!(stub.announce(base, "CA-in-1", (COOPERATIVE, OURS)).await, first);
    let other = stub.announce(base, "CA-in-2", ("anonymous", OURS)).await;
    assert_ne!(conversation(&other), conversation(&first));
    assert_eq!(world.read(&conversation(&other)).await.get("contactNumber"), None);
    for to in ["+15559990002", "sip:desk@pbx.example"] {
        let refused = stub.announce(base, "CA-in-3", (COOPERATIVE, to)).await;
        assert_eq!(refused.status, 200, "{to}");
        assert!(
            refused.twiml.contains(r#"<Response><Reject reason="rejected"/>"#),
            "{refused:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_for_which_no_line_is_free_is_busy() {
    let node = NodeSettings {
        lines: 1,
        ..NodeSettings::default()
    };
    let Joined { world, stub } = called_at(Flavour::Twilio, node).await;
    let base = &world.client.base;
    conversation(&stub.announce(base, "CA-in-1", (COOPERATIVE, OURS)).await);
    let second = stub.announce(base, "CA-in-2", (BUSY, OURS)).await;
    assert_eq!(second.status, 200);
    assert!(
        second.twiml.contains(r#"<Response><Reject reason="busy"/>"#),
        "{second:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_database_the_carrier_is_told_to_try_elsewhere() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        let Joined { world, stub } = called(flavour).await;
        world.store_fails(Some(StoreError::Unavailable("gone".into())));
        let away = stub.announce(&world.client.base, "CA-in-1", (COOPERATIVE, OURS)).await;
        assert_eq!(away.status, 503, "{away:?}");
        world.store_fails(None);
        conversation(&stub.announce(&world.client.base, "CA-in-1", (COOPERATIVE, OURS)).await);
    }
}
