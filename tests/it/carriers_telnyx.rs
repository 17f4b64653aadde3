//! Calls through Telnyx, as a stub plays it on real sockets: outcomes, lost answers, refusals, lists.

mod campaign;
mod codecs;
mod doors;
mod early;
mod ends;
mod inbound;
mod media;
mod midcall;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use actors::node::NodeSettings;
use carriers::telnyx::{
    self,
    account::{Machines, TelnyxAccount},
    line::LineChoice,
    mark,
    signature::WebhookKey,
};
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{Carrier, CarrierCallId, CarrierError, DialError, DialRequest},
    time::{Timestamp, TokioClock},
};
use net::key::Key;
use serde_json::{Value, json};
use sim::{
    exchange::ExchangeSettings,
    stub_carriers::telnyx::{TelnyxFaults, TelnyxSettings, TelnyxStub},
};

use support::{
    app::START,
    phone_log::PhoneLog,
    words::{GREETING, interviewing_agent, lines, texts},
    world::{World, WorldSettings},
};

const COOPERATIVE: &str = "+15550100010";
const BUSY: &str = "+15550100016";
const NO_ANSWER: &str = "+15550100017";
const INTERRUPTS: &str = "+15550100019";
const REJECTS: &str = "+15550100011";
const INVALID: &str = "+15550100012";
const CALLER_ID: &str = "+15550000001";

async fn stub(settings: TelnyxSettings) -> Arc<TelnyxStub> {
    let exchange = ExchangeSettings {
        clock: Arc::new(TokioClock::starting_at(START)),
        ..settings.exchange
    };
    let personas = [(REJECTS, "rejects"), (INVALID, "invalid")];
    let personas = personas.map(|(number, persona)| (number.to_owned(), persona.to_owned()));
    let mut all = BTreeMap::from(personas);
    all.extend(settings.personas);
    let settings = TelnyxSettings {
        exchange,
        personas: all,
        ..settings
    };
    Arc::new(TelnyxStub::start(settings).await.unwrap())
}

fn account(stub: &TelnyxStub) -> TelnyxAccount {
    let settings = TelnyxSettings::default();
    TelnyxAccount {
        base_url: stub.url(),
        api_key: Key::new(settings.api_key),
        public_key: WebhookKey::parse(&stub.public_key()).unwrap(),
        connection: settings.connection,
        from: Some(PhoneNumber::parse(CALLER_ID).unwrap()),
        line: LineChoice::default(),
        machines: Machines::default(),
    }
}

/// The whole service with Telnyx as its carrier.
async fn world_with(account: TelnyxAccount) -> World {
    world_at(account, NodeSettings::default()).await
}

async fn world_at(account: TelnyxAccount, node: NodeSettings) -> World {
    let trunk = move |address: &str| {
        let clock = Arc::new(TokioClock::starting_at(START));
        telnyx::trunk(account.clone(), address, clock).unwrap()
    };
    let settings = WorldSettings {
        trunk: Some(Arc::new(trunk)),
        node,
        ..WorldSettings::default()
    };
    World::start_with(settings).await
}

async fn call(world: &World, number: &str) -> String {
    let agent = world.agent(interviewing_agent()).await;
    let body = json!({ "agentId": agent, "phoneNumber": number, "name": "Maria" });
    let answer = world.client.post("/public/v1/calls", body).await;
    answer.expect(201).text("/data/conversationId")
}

/// The transcript is word for word what the telephone said and heard.
fn check_words(conversation: &Value, phones: &PhoneLog, number: &str) {
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    let phone = phones.call(number);
    assert_eq!(lines(conversation, "User"), texts(&phone.said()), "{number}");
    assert_eq!(lines(conversation, "Agent"), texts(&phone.heard()), "{number}");
    assert_eq!(lines(conversation, "Agent")[0], GREETING);
}

async fn check_campaign(faults: TelnyxFaults) {
    let stub = stub(TelnyxSettings {
        faults,
        ..TelnyxSettings::default()
    })
    .await;
    let world = world_with(account(&stub)).await;
    let agent = world.agent(interviewing_agent()).await;
    let numbers = [COOPERATIVE, INTERRUPTS, BUSY, NO_ANSWER, REJECTS, INVALID];
    let contacts = numbers.map(|number| (number, ""));
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    world.until_status(&campaign, "completed", 300).await;
    // The analysis follows the hang-up, and the last webhooks come late.
    world.pass(30).await;
    let phones = PhoneLog::new(stub.entries());
    for (number, error) in [
        (BUSY, "busy"),
        (NO_ANSWER, "no-answer"),
        (REJECTS, "rejected"),
        (INVALID, "invalid-number"),
    ] {
        let conversation = world.conversation(&campaign, number).await;
        assert_eq!(conversation["status"], "failed", "{conversation:#}");
        assert_eq!(conversation["errorMessage"], error, "{conversation:#}");
    }
    for number in [COOPERATIVE, INTERRUPTS] {
        check_words(&world.conversation(&campaign, number).await, &phones, number);
    }
    assert_eq!((stub.complaints(), stub.live_calls()), (vec![], 0));
    assert_eq!(stub.dials().len(), numbers.len());
}

#[tokio::test(start_paused = true)]
async fn a_campaign_completes_with_every_outcome_and_its_transcripts() {
    check_campaign(TelnyxFaults::default()).await;
}

#[tokio::test(start_paused = true)]
async fn late_repeated_and_swapped_webhooks_and_frames_change_nothing() {
    let faults = TelnyxFaults {
        untidy_webhooks: true,
        shuffled_frames: true,
        ..TelnyxFaults::default()
    };
    check_campaign(faults).await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_dial_answer_is_adopted_and_never_dialed_again() {
    let stub = stub(TelnyxSettings {
        faults: TelnyxFaults {
            lost_answers: true,
            ..TelnyxFaults::default()
        },
        ..TelnyxSettings::default()
    })
    .await;
    let world = world_with(account(&stub)).await;
    let id = call(&world, COOPERATIVE).await;
    world.until_over(&id, 120).await;
    world.pass(120).await;
    check_words(&world.read(&id).await, &PhoneLog::new(stub.entries()), COOPERATIVE);
    assert_eq!((stub.dials().len(), stub.live_calls()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_nobody_tells_of_is_found_by_its_mark_and_hung_up() {
    let stub = stub(TelnyxSettings {
        faults: TelnyxFaults {
            lost_answers: true,
            no_webhooks: true,
            ..TelnyxFaults::default()
        },
        ..TelnyxSettings::default()
    })
    .await;
    let world = world_with(account(&stub)).await;
    let id = call(&world, NO_ANSWER).await;
    while stub.dials().is_empty() {
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    world.pass(2).await;
    assert_eq!(stub.live_calls(), 1);
    let ended = world
        .client
        .post(&format!("/public/v1/conversations/{id}/end"), json!({}))
        .await;
    ended.expect(200);
    world.pass(20).await;
    assert_eq!((stub.dials().len(), stub.live_calls()), (1, 0));
}

/// A call that rings, and the addresses that were given for it.
async fn ringing() -> (World, Arc<TelnyxStub>, Value) {
    let stub = stub(TelnyxSettings::default()).await;
    let world = world_with(account(&stub)).await;
    call(&world, NO_ANSWER).await;
    loop {
        if let Some(dial) = stub.dials().pop() {
            return (world, stub, dial);
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_dial_asks_for_what_a_call_needs() {
    let (world, _stub, dial) = ringing().await;
    let attempt = dial["command_id"].as_str().unwrap().to_owned();
    let marked = mark::attempt(dial["client_state"].as_str().unwrap()).unwrap();
    assert_eq!(marked.to_string(), attempt);
    let base = &world.client.base;
    let status = format!("{base}/carriers/telnyx/status/{attempt}/");
    assert!(dial["webhook_url"].as_str().unwrap().starts_with(&status), "{dial}");
    let media = format!("{}/carriers/telnyx/media/{attempt}.", base.replacen("http", "ws", 1));
    assert!(dial["stream_url"].as_str().unwrap().starts_with(&media), "{dial}");
    for (field, value) in [
        ("to", json!(NO_ANSWER)),
        ("from", json!(CALLER_ID)),
        ("timeout_secs", json!(30)),
        ("stream_track", json!("inbound_track")),
        ("stream_codec", json!("PCMU")),
        ("stream_bidirectional_mode", json!("rtp")),
        ("stream_bidirectional_codec", json!("PCMU")),
        ("stream_bidirectional_sampling_rate", json!(8_000)),
        ("webhook_url_method", json!("POST")),
    ] {
        assert_eq!(dial[field], value, "{field}");
    }
}

/// The client alone; nobody is where its calls report.
fn carrier(account: TelnyxAccount) -> Arc<dyn Carrier> {
    let clock = Arc::new(TokioClock::starting_at(START));
    telnyx::trunk(account, "http://127.0.0.1:9", clock).unwrap().carrier
}

fn request(to: &str) -> DialRequest {
    DialRequest {
        attempt: AttemptId::new(),
        from: None,
        to: PhoneNumber::parse(to).unwrap(),
        ring_timeout: Duration::from_secs(30),
        status_token: "5".repeat(64),
        media_token: "a".repeat(64),
        detect_machine: false,
        hints: BTreeMap::new(),
        last_look: Default::default(),
    }
}

#[tokio::test(start_paused = true)]
async fn calls_are_listed_page_by_page_under_our_marks_and_hung_up_once() {
    let stub = stub(TelnyxSettings {
        page: 2,
        faults: TelnyxFaults {
            no_webhooks: true,
            ..TelnyxFaults::default()
        },
        ..TelnyxSettings::default()
    })
    .await;
    let carrier = carrier(account(&stub));
    let mut placed = BTreeMap::new();
    for _ in 0..5 {
        let request = request(NO_ANSWER);
        placed.insert(carrier.dial(&request).await.unwrap().0, request.attempt);
    }
    let to = PhoneNumber::parse(NO_ANSWER).unwrap();
    let listed = carrier.find_calls(&to, Timestamp(0)).await.unwrap();
    let found: BTreeMap<_, _> = listed
        .into_iter()
        .map(|call| (call.call.0, call.attempt.unwrap()))
        .collect();
    assert_eq!(found, placed);
    let first = CarrierCallId(placed.keys().next().unwrap().clone());
    assert_eq!(carrier.hang_up(&first).await, Ok(()));
    while stub.live_calls() == 5 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for over in [&*first.0, "v3:unknown", ".."] {
        let answer = carrier.hang_up(&CarrierCallId(over.to_owned())).await;
        assert_eq!(answer, Err(CarrierError::NotFound), "{over}");
    }
    assert_eq!(carrier.find_calls(&to, Timestamp(0)).await.unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_fails_tells_what_is_certain() {
    let stub = stub(TelnyxSettings {
        faults: TelnyxFaults {
            throttled: 1,
            no_webhooks: true,
            ..TelnyxFaults::default()
        },
        ..TelnyxSettings::default()
    })
    .await;
    let ours = carrier(account(&stub));
    let throttled = ours.dial(&request(NO_ANSWER)).await;
    let retry_after = Some(Duration::from_secs(1));
    assert_eq!(throttled, Err(DialError::Busy { retry_after }));
    let again = request(NO_ANSWER);
    let first = ours.dial(&again).await.unwrap();
    // Whatever repeats a request on its way: the same command makes no second call.
    assert_eq!((ours.dial(&again).await, stub.live_calls()), (Ok(first), 1));
    assert!(matches!(
        ours.dial(&request(INVALID)).await,
        Err(DialError::InvalidNumber(_))
    ));
    let refused = |changed: TelnyxAccount| async move { carrier(changed).dial(&request(NO_ANSWER)).await };
    let base = account(&stub);
    for changed in [
        TelnyxAccount {
            api_key: Key::new("KEY-of-nobody"),
            ..base.clone()
        },
        TelnyxAccount {
            connection: "7".to_owned(),
            ..base.clone()
        },
        TelnyxAccount {
            from: None,
            ..base.clone()
        },
    ] {
        let answer = refused(changed).await;
        assert!(matches!(answer, Err(DialError::AccountRefused(_))), "{answer:?}");
    }
    let away = TelnyxAccount {
        base_url: "http://127.0.0.1:1/v2".to_owned(),
        ..base
    };
    assert!(matches!(refused(away).await, Err(DialError::Unreachable(_))));
    assert_eq!(stub.live_calls(), 1);
}
