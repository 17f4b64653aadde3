//! Calls through an Asterisk, as a stub plays it on real sockets: whole campaigns over both ways of audio.

mod adapter;
mod dials;
mod doors;
mod faults;
mod inbound;
mod midcall;
mod transfers;

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use carriers::asterisk::{
    self,
    account::{AsteriskAccount, Codec, Media, Template},
};
use domain::{phone_number::PhoneNumber, time::TokioClock};
use net::key::Key;
use serde_json::{Value, json};
use sim::{
    exchange::{ExchangeSettings, Script, Step},
    stub_carriers::asterisk::{AsteriskFaults, AsteriskSettings, AsteriskStub, PASSWORD, USER, WEBSOCKET_CLIENT},
};
use testkit::fake_speech::FakeRecordings;
use tokio::time::Instant;

use support::{
    app::START,
    phone_log::PhoneLog,
    words::{GREETING, MESSAGE, interviewing_agent, lines, texts, tidy},
    world::{World, WorldSettings},
};

const COOPERATIVE: &str = "+15550100010";
const BUSY: &str = "+15550100016";
const NO_ANSWER: &str = "+15550100017";
const INTERRUPTS: &str = "+15550100019";
const REJECTS: &str = "+15550100011";
const INVALID: &str = "+15550100012";
const CALLER_ID: &str = "+15550000001";

/// A telephone that follows [`told`]'s steps.
const NUMBER: &str = "+15550100040";

/// A stub whose telephone at [`NUMBER`] follows these steps.
fn told(steps: Vec<Step>) -> AsteriskSettings {
    AsteriskSettings {
        exchange: ExchangeSettings {
            scripts: BTreeMap::from([("told".to_owned(), Script::of(steps))]),
            ..ExchangeSettings::on_loopback()
        },
        personas: BTreeMap::from([(NUMBER.to_owned(), "told".to_owned())]),
        ..AsteriskSettings::default()
    }
}

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

/// Both ways of audio.
fn ways() -> [Media; 2] {
    [websocket(Codec::Ulaw), audiosocket()]
}

async fn stub(settings: AsteriskSettings) -> Arc<AsteriskStub> {
    let exchange = ExchangeSettings {
        clock: Arc::new(TokioClock::starting_at(START)),
        ..settings.exchange
    };
    let mut personas = settings.personas;
    for (number, persona) in [(REJECTS, "rejects"), (INVALID, "invalid")] {
        personas.insert(number.to_owned(), persona.to_owned());
    }
    let settings = AsteriskSettings {
        exchange,
        personas,
        ..settings
    };
    Arc::new(AsteriskStub::start(settings).await.unwrap())
}

async fn faulty(faults: AsteriskFaults) -> Arc<AsteriskStub> {
    stub(AsteriskSettings {
        faults,
        ..AsteriskSettings::default()
    })
    .await
}

fn account(stub: &AsteriskStub) -> AsteriskAccount {
    AsteriskAccount {
        ari_url: stub.url(),
        user: USER.to_owned(),
        password: Key::new(PASSWORD),
        app: "ringback".to_owned(),
        endpoint: Template::endpoint("PJSIP/{number}@trunk").unwrap(),
        refer: None,
        from: Some(PhoneNumber::parse(CALLER_ID).unwrap()),
        media: websocket(Codec::Ulaw),
    }
}

fn websocket(codec: Codec) -> Media {
    Media::WebSocket {
        client: WEBSOCKET_CLIENT.to_owned(),
        codec,
    }
}

/// A port that is free now, on an address of loopback where nobody else looks for one.
fn audiosocket() -> Media {
    static PLACES: AtomicU8 = AtomicU8::new(0);
    let [.., high, low] = std::process::id().to_be_bytes();
    let place = PLACES.fetch_add(1, Ordering::Relaxed);
    let own = Ipv4Addr::new(127, high | 1, low, place);
    let free = std::net::TcpListener::bind((own, 0)).unwrap();
    let listen: SocketAddr = free.local_addr().unwrap();
    Media::AudioSocket {
        listen,
        reached_at: listen.to_string(),
    }
}

/// The whole service with the stub as its carrier.
async fn world_with(stub: &Arc<AsteriskStub>, account: AsteriskAccount) -> World {
    world_that_records(stub, account, FakeRecordings::default()).await
}

async fn world_that_records(stub: &Arc<AsteriskStub>, account: AsteriskAccount, recordings: FakeRecordings) -> World {
    let stub = stub.clone();
    let trunk = move |address: &str| {
        stub.serve_media_to(address);
        asterisk::trunk(account.clone()).unwrap()
    };
    let settings = WorldSettings {
        trunk: Some(Arc::new(trunk)),
        recordings,
        ..WorldSettings::default()
    };
    World::start_with(settings).await
}

async fn call_by(world: &World, agent: Value, number: &str) -> String {
    let agent = world.agent(agent).await;
    let body = json!({ "agentId": agent, "phoneNumber": number, "name": "Maria" });
    let answer = world.client.post("/public/v1/calls", body).await;
    answer.expect(201).text("/data/conversationId")
}

async fn call(world: &World, number: &str) -> String {
    call_by(world, interviewing_agent(), number).await
}

/// A call that is over: the service and the Asterisk it happened at, and its conversation.
struct Over {
    world: World,
    stub: Arc<AsteriskStub>,
    recordings: FakeRecordings,
    conversation: Value,
}

impl Over {
    async fn of(settings: AsteriskSettings, media: Media, agent: Value, number: &str) -> Self {
        let stub = stub(settings).await;
        let account = AsteriskAccount {
            media,
            refer: Template::refer("sip:{number}@pbx.example.com"),
            ..account(&stub)
        };
        let recordings = FakeRecordings::default();
        let world = world_that_records(&stub, account, recordings.clone()).await;
        let id = call_by(&world, agent, number).await;
        world.until_over(&id, 300).await;
        world.pass(2).await;
        let conversation = world.read(&id).await;
        assert_eq!(stub.complaints(), Vec::<String>::new());
        Self {
            world,
            stub,
            recordings,
            conversation,
        }
    }

    fn phones(&self) -> PhoneLog {
        PhoneLog::new(self.stub.entries())
    }

    fn heard(&self, number: &str) -> Vec<String> {
        texts(&self.phones().call(number).heard())
    }

    /// Media connections of the call.
    fn legs(&self) -> usize {
        let id = self.conversation["conversationId"].as_str().unwrap();
        let events = self.world.events(id);
        1 + events.iter().filter(|(name, _)| name == "media_back").count()
    }

    fn check_completed(&self) {
        assert_eq!(self.conversation["status"], "completed", "{:#}", self.conversation);
        assert_eq!(self.conversation["errorMessage"], Value::Null);
    }

    /// The interview went on to its end.
    fn check_interviewed(&self) {
        assert!(
            self.conversation["dataCollected"].is_object(),
            "{:#}",
            self.conversation
        );
    }
}

/// Lets time run until something holds, for at most `seconds`.
async fn until(seconds: u64, what: &str, holds: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(seconds);
    while !holds() {
        assert!(Instant::now() < limit, "no {what} within {seconds} s");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The transcript is word for word what the telephone said and heard.
fn check_words(conversation: &Value, phones: &PhoneLog, number: &str) {
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    let phone = phones.call(number);
    assert_eq!(lines(conversation, "User"), texts(&phone.said()), "{number}");
    assert_eq!(lines(conversation, "Agent"), texts(&phone.heard()), "{number}");
    assert_eq!(lines(conversation, "Agent")[0], GREETING);
}

/// The mailbox has the whole message, said after its tone.
fn check_message(conversation: &Value, phones: &PhoneLog, number: &str) {
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    let phone = phones.call(number);
    let (heard, beeped_ms) = (phone.heard(), phone.beeped_ms().expect("a tone"));
    let message = heard.last().expect("a message");
    assert!(tidy(&message.text).ends_with(MESSAGE), "{heard:?}");
    // A message that had begun when the tone came begins again.
    assert!(message.to_ms > beeped_ms + 2_000, "{heard:?} {beeped_ms}");
}

/// Nothing is left at Asterisk once calls are over, and nothing was said there that it does not understand.
fn check_tidy(stub: &AsteriskStub) {
    assert_eq!((stub.complaints(), stub.live_calls()), (vec![], 0));
    assert_eq!((stub.channels(), stub.bridges()), (vec![], BTreeMap::new()));
}

async fn check_campaign(stub: Arc<AsteriskStub>, media: Media, exact: &[&str]) {
    let world = world_with(
        &stub,
        AsteriskAccount {
            media,
            ..account(&stub)
        },
    )
    .await;
    let agent = world.agent(interviewing_agent()).await;
    let numbers = [COOPERATIVE, INTERRUPTS, BUSY, NO_ANSWER, REJECTS, INVALID];
    let contacts = numbers.map(|number| (number, ""));
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    world.until_status(&campaign, "completed", 300).await;
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
        let conversation = world.conversation(&campaign, number).await;
        if exact.contains(&number) {
            check_words(&conversation, &phones, number);
        } else {
            check_most_words(&conversation, &phones, number);
        }
    }
    check_tidy(&stub);
    assert_eq!(stub.dials().len(), numbers.len());
}

#[tokio::test(start_paused = true)]
async fn a_campaign_completes_over_a_websocket_that_speaks_words() {
    let stub = faulty(AsteriskFaults::default()).await;
    check_campaign(stub, websocket(Codec::Ulaw), &[COOPERATIVE]).await;
}

#[tokio::test(start_paused = true)]
async fn a_campaign_completes_over_a_websocket_that_speaks_json() {
    let stub = stub(AsteriskSettings {
        json: true,
        ..AsteriskSettings::default()
    })
    .await;
    check_campaign(stub, websocket(Codec::Slin), &[COOPERATIVE]).await;
}

#[tokio::test(start_paused = true)]
async fn a_campaign_completes_over_audiosocket() {
    let stub = faulty(AsteriskFaults::default()).await;
    check_campaign(stub, audiosocket(), &[COOPERATIVE]).await;
}

#[tokio::test(start_paused = true)]
async fn repeated_and_swapped_events_change_nothing() {
    let stub = faulty(AsteriskFaults {
        untidy_events: true,
        ..AsteriskFaults::default()
    })
    .await;
    check_campaign(stub, websocket(Codec::Alaw), &[COOPERATIVE]).await;
}

#[tokio::test(start_paused = true)]
async fn of_a_campaign_of_24_people_are_talked_with_mailboxes_get_the_message_and_others_their_cause() {
    const PERSONAS: [(&str, Option<&str>); 6] = [
        ("cooperative", None),
        ("voicemail", None),
        ("busy", Some("busy")),
        ("cooperative", None),
        ("no-answer", Some("no-answer")),
        ("rejects", Some("rejected")),
    ];
    let numbers: Vec<String> = (0..24).map(|n| format!("+155502{n:02}000")).collect();
    let persona = |n: usize| PERSONAS[n % PERSONAS.len()];
    let personas = numbers.iter().enumerate();
    let settings = AsteriskSettings {
        personas: personas
            .map(|(n, number)| (number.clone(), persona(n).0.to_owned()))
            .collect(),
        ..AsteriskSettings::default()
    };
    let stub = stub(settings).await;
    let world = world_with(&stub, account(&stub)).await;
    let agent = world.agent(interviewing_agent()).await;
    let contacts: Vec<(&str, &str)> = numbers.iter().map(|number| (&**number, "")).collect();
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    world.until_status(&campaign, "completed", 600).await;
    world.pass(30).await;
    let phones = PhoneLog::new(stub.entries());
    for (n, number) in numbers.iter().enumerate() {
        let conversation = world.conversation(&campaign, number).await;
        match persona(n) {
            (_, Some(cause)) => {
                assert_eq!(conversation["status"], "failed", "{conversation:#}");
                assert_eq!(conversation["errorMessage"], cause, "{conversation:#}");
            }
            ("voicemail", _) => check_message(&conversation, &phones, number),
            _ => check_words(&conversation, &phones, number),
        }
    }
    check_tidy(&stub);
    assert_eq!(stub.dials().len(), 24);
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

#[tokio::test(start_paused = true)]
async fn wide_audio_carries_a_conversation() {
    let stub = faulty(AsteriskFaults::default()).await;
    let media = websocket(Codec::Slin16);
    let world = world_with(
        &stub,
        AsteriskAccount {
            media,
            ..account(&stub)
        },
    )
    .await;
    let id = call(&world, COOPERATIVE).await;
    world.until_over(&id, 120).await;
    world.pass(5).await;
    check_most_words(&world.read(&id).await, &PhoneLog::new(stub.entries()), COOPERATIVE);
    check_tidy(&stub);
}
