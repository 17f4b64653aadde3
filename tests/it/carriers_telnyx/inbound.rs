//! Phones call in through Telnyx: announced by a webhook, answered or refused by a command, reported at the call's own
//! address or still at the application's.

use std::{sync::Arc, time::Duration};

use actors::node::NodeSettings;
use carriers::telnyx::mark;
use domain::ports::store::StoreError;
use serde_json::{Value, json};
use sim::stub_carriers::telnyx::{TelnyxFaults, TelnyxSettings, TelnyxStub};

use super::{BUSY, COOPERATIVE, account, stub, world_at};
use support::{
    phone_log::PhoneLog,
    words::{interviewing_agent, lines, texts},
    world::World,
};

pub(super) const OURS: &str = "+15559990001";
pub(super) const CALL: &str = "v3:in-1";

fn answering_agent() -> Value {
    let mut agent = interviewing_agent();
    agent["direction"] = json!("inbound");
    agent["phoneNumbers"] = json!([{ "number": OURS, "provider": "telnyx" }]);
    agent
}

pub(super) async fn called(faults: TelnyxFaults) -> (Arc<TelnyxStub>, World) {
    called_at(faults, NodeSettings::default()).await
}

async fn called_at(faults: TelnyxFaults, node: NodeSettings) -> (Arc<TelnyxStub>, World) {
    let stub = stub(TelnyxSettings {
        faults,
        ..TelnyxSettings::default()
    })
    .await;
    let world = world_at(account(&stub), node).await;
    world.agent(answering_agent()).await;
    (stub, world)
}

fn commands(stub: &TelnyxStub, action: &str) -> Vec<Value> {
    let all = stub.commands().into_iter();
    all.filter(|(name, _)| name == action).map(|(_, wish)| wish).collect()
}

/// The conversation that a call was answered for.
pub(super) async fn answered(stub: &TelnyxStub) -> String {
    loop {
        if let Some(wish) = commands(stub, "answer").pop() {
            return mark::attempt(wish["client_state"].as_str().unwrap())
                .unwrap()
                .to_string();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn check_talk(faults: TelnyxFaults) {
    let answers = 1 + faults.broken_commands;
    let (stub, world) = called(faults).await;
    let base = &world.client.base;
    stub.call_in(base, CALL, (COOPERATIVE, OURS));
    let id = answered(&stub).await;
    let wish = commands(&stub, "answer").remove(0);
    let status = format!("{base}/carriers/telnyx/status/{id}/");
    assert!(wish["webhook_url"].as_str().unwrap().starts_with(&status), "{wish}");
    let media = format!("{}/carriers/telnyx/media/{id}.", base.replacen("http", "ws", 1));
    assert!(wish["stream_url"].as_str().unwrap().starts_with(&media), "{wish}");
    assert_eq!(
        (&wish["stream_bidirectional_mode"], &wish["stream_bidirectional_codec"]),
        (&json!("rtp"), &json!("PCMU"))
    );
    let talked = world.until_over(&id, 120).await;
    assert_eq!(talked["status"], "completed", "{talked:#}");
    let phone = PhoneLog::new(stub.entries()).call(COOPERATIVE);
    assert_eq!(lines(&talked, "User"), texts(&phone.said()));
    assert_eq!(lines(&talked, "Agent"), texts(&phone.heard()));
    assert_eq!(
        (&talked["direction"], &talked["contactNumber"], &talked["callerNumber"]),
        (&json!("inbound"), &json!(COOPERATIVE), &json!(OURS))
    );
    world.pass(30).await;
    assert_eq!((stub.complaints(), stub.live_calls()), (vec![], 0));
    assert_eq!(commands(&stub, "answer").len(), answers);
}

#[tokio::test(start_paused = true)]
async fn a_phone_that_calls_is_talked_with() {
    check_talk(TelnyxFaults::default()).await;
}

#[tokio::test(start_paused = true)]
async fn repeated_announcements_and_a_broken_answer_change_nothing() {
    check_talk(TelnyxFaults {
        untidy_webhooks: true,
        ..TelnyxFaults::default()
    })
    .await;
    check_talk(TelnyxFaults {
        broken_commands: 1,
        ..TelnyxFaults::default()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_leaves_ends_the_call_wherever_that_is_told() {
    for own_address_only in [false, true] {
        let (stub, world) = called(TelnyxFaults {
            own_address_only,
            ..TelnyxFaults::default()
        })
        .await;
        stub.call_in(&world.client.base, CALL, ("+15550100021", OURS));
        let id = answered(&stub).await;
        world.pass(8).await;
        assert_eq!(world.read(&id).await["status"], "in_progress");
        stub.hang_up(CALL).await;
        world.pass(3).await;
        let conversation = world.read(&id).await;
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        assert_eq!(conversation["errorMessage"], Value::Null);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_announced_twice_is_answered_once_and_one_for_nobody_is_rejected() {
    let (stub, world) = called(TelnyxFaults::default()).await;
    let base = &world.client.base;
    stub.call_in(base, CALL, ("anonymous", OURS));
    let id = answered(&stub).await;
    stub.announce(CALL);
    world.pass(2).await;
    assert_eq!(commands(&stub, "answer").len(), 1);
    assert_eq!(world.read(&id).await.get("contactNumber"), None);
    for (n, to) in ["+15559990002", "sip:desk@x.example"].into_iter().enumerate() {
        stub.call_in(base, &format!("v3:other-{n}"), (COOPERATIVE, to));
        world.pass(2).await;
        let causes: Vec<Value> = commands(&stub, "reject")
            .iter()
            .map(|wish| wish["cause"].clone())
            .collect();
        assert_eq!(causes, vec![json!("CALL_REJECTED"); n + 1], "{to}");
    }
    assert_eq!(commands(&stub, "answer").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_for_which_no_line_is_free_is_busy() {
    let node = NodeSettings {
        lines: 1,
        ..NodeSettings::default()
    };
    let (stub, world) = called_at(TelnyxFaults::default(), node).await;
    stub.call_in(&world.client.base, CALL, (COOPERATIVE, OURS));
    answered(&stub).await;
    stub.call_in(&world.client.base, "v3:in-2", (BUSY, OURS));
    world.pass(2).await;
    let rejected = commands(&stub, "reject");
    assert_eq!(rejected.len(), 1);
    assert_eq!(rejected[0]["cause"], "USER_BUSY");
}

#[tokio::test(start_paused = true)]
async fn without_a_database_telnyx_is_told_to_announce_the_call_again() {
    let (stub, world) = called(TelnyxFaults::default()).await;
    world.store_fails(Some(StoreError::Unavailable("gone".into())));
    stub.call_in(&world.client.base, CALL, (COOPERATIVE, OURS));
    world.pass(8).await;
    let answers: Vec<u16> = stub.delivered().iter().map(|webhook| webhook.answer).collect();
    assert_eq!(answers, [503]);
    assert_eq!(stub.commands().len(), 0, "neither answered nor rejected");
    world.store_fails(None);
    stub.announce(CALL);
    answered(&stub).await;
}
