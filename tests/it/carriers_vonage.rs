//! Calls through Vonage, as a stub plays it on real sockets: outcomes, lost answers, refusals, lists.

mod campaign;
mod doors;
mod ends;
mod inbound;
mod kept;
mod media;
mod midcall;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use actors::node::NodeSettings;
use carriers::vonage::{
    self,
    account::{Rate, VonageAccount},
    token::ApplicationKey,
};
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{Carrier, CarrierCallId, CarrierError, DialError, DialRequest},
    time::{Timestamp, TokioClock},
};
use net::key::Key;
use serde_json::{Value, json};
use sim::stub_carriers::{
    Callbacks, DialFault, StubCarrierSettings,
    vonage::{APPLICATION, PRIVATE_KEY, SIGNATURE_SECRET, VonageFaults, VonageStub},
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

fn settings() -> StubCarrierSettings {
    let clock = Arc::new(TokioClock::starting_at(START));
    StubCarrierSettings::on_loopback(clock, &[(REJECTS, "rejects"), (INVALID, "invalid")])
}

async fn stub_with(settings: StubCarrierSettings, faults: VonageFaults) -> Arc<VonageStub> {
    Arc::new(VonageStub::start(settings, faults).await.unwrap())
}

async fn stub() -> Arc<VonageStub> {
    stub_with(settings(), VonageFaults::default()).await
}

fn account(stub: &VonageStub, rate: Rate) -> VonageAccount {
    VonageAccount {
        base_url: stub.url(),
        application: APPLICATION.to_owned(),
        key: ApplicationKey::from_pem(PRIVATE_KEY).unwrap(),
        signature_secret: Key::new(SIGNATURE_SECRET),
        from: Some(PhoneNumber::parse(CALLER_ID).unwrap()),
        rate,
    }
}

/// The whole service with Vonage as its carrier.
async fn world_with(account: VonageAccount) -> World {
    world_at(account, NodeSettings::default()).await
}

async fn world_at(account: VonageAccount, node: NodeSettings) -> World {
    let trunk = move |address: &str| {
        let clock = Arc::new(TokioClock::starting_at(START));
        vonage::trunk(account.clone(), address, clock).unwrap()
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

/// The telephone's babble reaches up to 4 kHz. Where rates change on the way, the filters take the highest sounds, and
/// with them some words; samples in the wrong order would take all.
fn check_most_words(conversation: &Value, phones: &PhoneLog, number: &str) {
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    let phone = phones.call(number);
    for (written, real) in [
        (lines(conversation, "User"), texts(&phone.said())),
        (texts(&phone.heard()), lines(conversation, "Agent")),
    ] {
        let (written, real) = (written.join(" "), real.join(" "));
        let understood = real.split(' ').filter(|word| written.contains(word)).count();
        let all = real.split(' ').count();
        assert!(all > 5 && 2 * understood > all, "{written:?} of {real:?}");
    }
}

async fn check_campaign(callbacks: Callbacks) {
    let stub = stub_with(
        StubCarrierSettings {
            callbacks,
            ..settings()
        },
        VonageFaults::default(),
    )
    .await;
    let world = world_with(account(&stub, Rate::Narrow)).await;
    let agent = world.agent(interviewing_agent()).await;
    let numbers = [COOPERATIVE, INTERRUPTS, BUSY, NO_ANSWER, REJECTS, INVALID];
    let contacts = numbers.map(|number| (number, ""));
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    world.until_status(&campaign, "completed", 300).await;
    // The analysis follows the hang-up.
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
    let refused: Vec<_> = stub
        .delivered()
        .into_iter()
        .filter(|event| event.answer >= 300)
        .collect();
    assert_eq!(refused, []);
}

#[tokio::test(start_paused = true)]
async fn a_campaign_completes_with_every_outcome_and_its_transcripts() {
    check_campaign(Callbacks::InOrder).await;
}

#[tokio::test(start_paused = true)]
async fn repeated_and_reversed_events_change_nothing() {
    for callbacks in [Callbacks::Twice, Callbacks::Reversed] {
        check_campaign(callbacks).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_at_sixteen_kilohertz_is_understood() {
    let stub = stub().await;
    let world = world_with(account(&stub, Rate::Wide)).await;
    let id = call(&world, COOPERATIVE).await;
    world.until_over(&id, 120).await;
    world.pass(5).await;
    assert_eq!(stub.complaints(), Vec::<String>::new());
    check_most_words(&world.read(&id).await, &PhoneLog::new(stub.entries()), COOPERATIVE);
}

#[tokio::test(start_paused = true)]
async fn a_lost_dial_answer_is_adopted_and_never_dialed_again() {
    let dials = vec![DialFault::LoseAnswer];
    let stub = stub_with(StubCarrierSettings { dials, ..settings() }, VonageFaults::default()).await;
    let world = world_with(account(&stub, Rate::Narrow)).await;
    let id = call(&world, COOPERATIVE).await;
    world.until_over(&id, 120).await;
    world.pass(120).await;
    check_words(&world.read(&id).await, &PhoneLog::new(stub.entries()), COOPERATIVE);
    assert_eq!((stub.dials().len(), stub.live_calls()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_nobody_tells_of_is_found_by_its_number_and_hung_up() {
    let faults = VonageFaults {
        no_events: true,
        ..VonageFaults::default()
    };
    let dials = vec![DialFault::LoseAnswer];
    let stub = stub_with(StubCarrierSettings { dials, ..settings() }, faults).await;
    let world = world_with(account(&stub, Rate::Narrow)).await;
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

/// A call that rings, and what was asked for it.
async fn ringing() -> (World, Arc<VonageStub>, Value) {
    let stub = stub().await;
    let world = world_with(account(&stub, Rate::Wide)).await;
    call(&world, NO_ANSWER).await;
    while stub.dials().is_empty() {
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let order = stub.last_order();
    (world, stub, order)
}

#[tokio::test(start_paused = true)]
async fn a_dial_asks_for_what_a_call_needs() {
    let (world, _stub, order) = ringing().await;
    let base = &world.client.base;
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

/// The client alone; nobody is where its calls report.
fn carrier(account: VonageAccount) -> Arc<dyn Carrier> {
    let clock = Arc::new(TokioClock::starting_at(START));
    vonage::trunk(account, "http://127.0.0.1:9", clock).unwrap().carrier
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
async fn calls_are_listed_page_by_page_and_hung_up_once() {
    let faults = VonageFaults {
        no_events: true,
        short_pages: Some(2),
        ..VonageFaults::default()
    };
    let stub = stub_with(settings(), faults).await;
    let carrier = carrier(account(&stub, Rate::Wide));
    let mut placed = Vec::new();
    for to in [NO_ANSWER, BUSY, NO_ANSWER, COOPERATIVE, NO_ANSWER] {
        let id = carrier.dial(&request(to)).await.unwrap().0;
        if to == NO_ANSWER {
            placed.push(id);
        }
    }
    placed.sort();
    let to = PhoneNumber::parse(NO_ANSWER).unwrap();
    let listed = carrier.find_calls(&to, Timestamp(0)).await.unwrap();
    assert!(
        listed
            .iter()
            .all(|call| call.live && call.attempt.is_none() && call.to == NO_ANSWER)
    );
    let mut found: Vec<_> = listed.into_iter().map(|call| call.call.0).collect();
    found.sort();
    assert_eq!(found, placed);
    let first = CarrierCallId(placed[0].clone());
    assert_eq!(carrier.hang_up(&first).await, Ok(()));
    let live = async || {
        let listed = carrier.find_calls(&to, Timestamp(0)).await.unwrap();
        listed.iter().filter(|call| call.live).count()
    };
    while live().await == 3 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for over in [&*first.0, "unknown", ".."] {
        let answer = carrier.hang_up(&CarrierCallId(over.to_owned())).await;
        assert_eq!(answer, Err(CarrierError::NotFound), "{over}");
    }
    assert_eq!(live().await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_fails_tells_what_is_certain() {
    let retry_after = Some(Duration::from_secs(2));
    let dials = vec![
        DialFault::Throttle { retry_after },
        DialFault::RefuseAccount,
        DialFault::Refuse(402),
        DialFault::Refuse(400),
        DialFault::Break,
    ];
    let stub = stub_with(StubCarrierSettings { dials, ..settings() }, VonageFaults::default()).await;
    let ours = account(&stub, Rate::Wide);
    let dial = async |account: &VonageAccount, to: &str| carrier(account.clone()).dial(&request(to)).await;
    assert_eq!(dial(&ours, BUSY).await, Err(DialError::Busy { retry_after }));
    for _ in 0..2 {
        let answer = dial(&ours, BUSY).await;
        assert!(matches!(answer, Err(DialError::AccountRefused(_))), "{answer:?}");
    }
    assert!(matches!(dial(&ours, BUSY).await, Err(DialError::Rejected(_))));
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
    let away = VonageAccount {
        base_url: "http://127.0.0.1:1".to_owned(),
        ..ours
    };
    assert!(matches!(dial(&away, BUSY).await, Err(DialError::Unreachable(_))));
    assert_eq!(stub.live_calls(), 0);
}
