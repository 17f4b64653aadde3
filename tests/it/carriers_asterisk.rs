//! Calls through an Asterisk, as a stub plays it on real sockets: campaigns over both ways of audio, causes, lost
//! answers, lost events, lost audio, forgeries.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use actors::{phone_number::PhoneNumber, time::TokioClock};
use ringback::{
    carriers::asterisk::{
        self,
        account::{AsteriskAccount, Codec, Media, Template},
    },
    exchange::ExchangeSettings,
    providers::settings::Key,
    stub_carriers::asterisk::{AsteriskFaults, AsteriskSettings, AsteriskStub, PASSWORD, USER, WEBSOCKET_CLIENT},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::Instant,
};
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

use crate::support::{
    app::START,
    phone_log::PhoneLog,
    words::{GREETING, interviewing_agent, lines, texts},
    world::{World, WorldSettings},
};

pub const COOPERATIVE: &str = "+15550100010";
const BUSY: &str = "+15550100016";
pub const NO_ANSWER: &str = "+15550100017";
const INTERRUPTS: &str = "+15550100019";
const REJECTS: &str = "+15550100011";
pub const INVALID: &str = "+15550100012";
const CALLER_ID: &str = "+15550000001";

pub async fn stub(settings: AsteriskSettings) -> Arc<AsteriskStub> {
    let exchange = ExchangeSettings {
        clock: Arc::new(TokioClock::starting_at(START)),
        ..settings.exchange
    };
    let personas = [(REJECTS, "rejects"), (INVALID, "invalid")];
    let personas = personas.map(|(number, persona)| (number.to_owned(), persona.to_owned()));
    let settings = AsteriskSettings {
        exchange,
        personas: BTreeMap::from(personas),
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

pub fn account(stub: &AsteriskStub) -> AsteriskAccount {
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

pub fn websocket(codec: Codec) -> Media {
    Media::WebSocket {
        client: WEBSOCKET_CLIENT.to_owned(),
        codec,
    }
}

/// A port of loopback that is free now.
pub fn audiosocket() -> Media {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen: SocketAddr = free.local_addr().unwrap();
    Media::AudioSocket {
        listen,
        reached_at: listen.to_string(),
    }
}

/// The whole service with the stub as its carrier.
pub async fn world_with(stub: &Arc<AsteriskStub>, account: AsteriskAccount) -> World {
    let stub = stub.clone();
    let trunk = move |address: &str| {
        stub.serve_media_to(address);
        asterisk::trunk(account.clone()).unwrap()
    };
    let settings = WorldSettings {
        trunk: Some(Arc::new(trunk)),
        ..WorldSettings::default()
    };
    World::start_with(settings).await
}

pub async fn call(world: &World, number: &str) -> String {
    let agent = world.agent(interviewing_agent()).await;
    let body = json!({ "agentId": agent, "phoneNumber": number, "name": "Maria" });
    let answer = world.client.post("/public/v1/calls", body).await;
    answer.expect(201).text("/data/conversationId")
}

/// Lets time run until something holds, for at most `seconds`.
pub async fn until(seconds: u64, what: &str, holds: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(seconds);
    while !holds() {
        assert!(Instant::now() < limit, "no {what} within {seconds} s");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The transcript is word for word what the telephone said and heard.
pub fn check_words(conversation: &Value, phones: &PhoneLog, number: &str) {
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    let phone = phones.call(number);
    assert_eq!(lines(conversation, "User"), texts(&phone.said()), "{number}");
    assert_eq!(lines(conversation, "Agent"), texts(&phone.heard()), "{number}");
    assert_eq!(lines(conversation, "Agent")[0], GREETING);
}

/// Nothing is left at Asterisk once calls are over, and nothing was said there that it does not understand.
pub fn check_tidy(stub: &AsteriskStub) {
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

#[tokio::test(start_paused = true)]
async fn a_dial_asks_for_what_a_call_needs() {
    let stub = faulty(AsteriskFaults::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    call(&world, NO_ANSWER).await;
    until(10, "dial", || !stub.dials().is_empty()).await;
    let dial = stub.dials().remove(0);
    assert_eq!(dial.endpoint, format!("PJSIP/{NO_ANSWER}@trunk"));
    assert_eq!(
        (&*dial.app, &*dial.caller, &*dial.timeout),
        ("ringback", CALLER_ID, "30")
    );
    let (app, attempt) = dial.channel.split_once('.').unwrap();
    assert!(
        app == "ringback" && attempt.parse::<actors::id::AttemptId>().is_ok(),
        "{dial:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_dial_answer_is_found_again_and_never_dialed_again() {
    let stub = faulty(AsteriskFaults {
        lost_answers: true,
        ..AsteriskFaults::default()
    })
    .await;
    let world = world_with(&stub, account(&stub)).await;
    let id = call(&world, COOPERATIVE).await;
    world.until_over(&id, 120).await;
    world.pass(120).await;
    check_words(&world.read(&id).await, &PhoneLog::new(stub.entries()), COOPERATIVE);
    assert_eq!(stub.dials().len(), 1);
    check_tidy(&stub);
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_while_events_are_lost_and_its_end_is_found() {
    let stub = faulty(AsteriskFaults::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    let id = call(&world, COOPERATIVE).await;
    until(30, "conversation", || {
        stub.bridges().values().any(|inside| inside.len() == 2)
    })
    .await;
    world.pass(3).await;
    stub.lose_events();
    // The callee says goodbye meanwhile, of which nobody tells.
    until(120, "end of the telephone", || stub.live_calls() == 0).await;
    stub.let_events_in();
    world.until_over(&id, 60).await;
    world.pass(30).await;
    check_words(&world.read(&id).await, &PhoneLog::new(stub.entries()), COOPERATIVE);
    check_tidy(&stub);
    assert!(stub.event_sockets() >= 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_missed_is_found_with_the_events() {
    let stub = faulty(AsteriskFaults::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    let id = call(&world, COOPERATIVE).await;
    until(10, "dial", || !stub.dials().is_empty()).await;
    stub.lose_events();
    until(30, "channel", || stub.live_calls() == 1).await;
    world.pass(6).await;
    assert_eq!(stub.bridges(), BTreeMap::new());
    stub.let_events_in();
    world.until_over(&id, 120).await;
    world.pass(5).await;
    let conversation = world.read(&id).await;
    assert_eq!(conversation["status"], "completed", "{conversation:#}");
    check_tidy(&stub);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_dialed_while_events_are_not_heard() {
    let stub = faulty(AsteriskFaults::default()).await;
    stub.lose_events();
    let world = world_with(&stub, account(&stub)).await;
    let id = call(&world, COOPERATIVE).await;
    world.pass(20).await;
    assert_eq!(stub.dials(), []);
    stub.let_events_in();
    world.until_over(&id, 180).await;
    world.pass(5).await;
    check_words(&world.read(&id).await, &PhoneLog::new(stub.entries()), COOPERATIVE);
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_what_nobody_knows_any_more() {
    let stub = faulty(AsteriskFaults::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    let id = call(&world, COOPERATIVE).await;
    until(30, "conversation", || {
        stub.bridges().values().any(|inside| inside.len() == 2)
    })
    .await;
    world.pass(3).await;
    let world = world.restart().await;
    world.until_over(&id, 120).await;
    world.pass(30).await;
    check_tidy(&stub);
    assert_eq!(stub.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stall_of_the_audio_is_outlived() {
    for media in [websocket(Codec::Ulaw), audiosocket()] {
        let stub = faulty(AsteriskFaults {
            stall: Some((150, Duration::from_secs(2))),
            ..AsteriskFaults::default()
        })
        .await;
        let world = world_with(
            &stub,
            AsteriskAccount {
                media,
                ..account(&stub)
            },
        )
        .await;
        let id = call(&world, COOPERATIVE).await;
        let conversation = world.until_over(&id, 180).await;
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        world.pass(5).await;
        check_tidy(&stub);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_audio_breaks_is_not_left_behind() {
    for media in [websocket(Codec::Ulaw), audiosocket()] {
        let stub = faulty(AsteriskFaults {
            cut_after: Some(200),
            ..AsteriskFaults::default()
        })
        .await;
        let world = world_with(
            &stub,
            AsteriskAccount {
                media,
                ..account(&stub)
            },
        )
        .await;
        let id = call(&world, COOPERATIVE).await;
        world.until_over(&id, 180).await;
        world.pass(5).await;
        assert_eq!(stub.dials().len(), 1);
        check_tidy(&stub);
    }
}

#[tokio::test(start_paused = true)]
async fn a_media_socket_without_its_calls_token_is_refused() {
    let stub = faulty(AsteriskFaults::default()).await;
    let world = world_with(&stub, account(&stub)).await;
    call(&world, NO_ANSWER).await;
    until(10, "dial", || !stub.dials().is_empty()).await;
    let (_, attempt) = stub.dials()[0]
        .channel
        .split_once('.')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let base = format!(
        "{}/carriers/asterisk/media",
        world.client.base.replacen("http", "ws", 1)
    );
    let wrong = format!("?token={attempt}.{}", "0".repeat(64));
    for (query, status) in [("", 404), ("?token=", 404), ("?token=x", 404), (&*wrong, 403)] {
        let request = format!("{base}{query}").into_client_request().unwrap();
        match tokio_tungstenite::connect_async(request).await {
            Err(tungstenite::Error::Http(answer)) => assert_eq!(answer.status().as_u16(), status, "{query}"),
            other => panic!("{query}: {other:?}"),
        }
    }
    world.pass(1).await;
    assert_eq!(stub.live_calls(), 1);
}

/// What an AudioSocket connection that begins so gets back, until it is closed.
async fn shows(listen: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(listen).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

#[tokio::test(start_paused = true)]
async fn an_audiosocket_without_a_ticket_is_closed_and_disturbs_nobody() {
    let stub = faulty(AsteriskFaults::default()).await;
    let media = audiosocket();
    let Media::AudioSocket { listen, .. } = media.clone() else {
        panic!("no address");
    };
    let world = world_with(
        &stub,
        AsteriskAccount {
            media,
            ..account(&stub)
        },
    )
    .await;
    let id = call(&world, COOPERATIVE).await;
    let unknown = [&[1, 0, 16][..], &[7; 16]].concat();
    for bytes in [
        &unknown[..],
        &[0x10, 0, 2, 0, 0],
        &[0xff; 700],
        &[1, 0, 2, 0, 0],
        b"GET / HTTP/1.1\r\n\r\n",
        &[],
    ] {
        assert!(shows(listen, bytes).await.is_empty());
    }
    // A ticket that was shown is void.
    until(30, "audio", || {
        stub.originated()
            .iter()
            .any(|of| of.endpoint.starts_with("AudioSocket"))
    })
    .await;
    world.pass(1).await;
    let endpoint = stub.originated().pop().unwrap().endpoint;
    let ticket: uuid::Uuid = endpoint.rsplit_once('/').unwrap().1.parse().unwrap();
    let again = [&[1, 0, 16][..], ticket.as_bytes()].concat();
    assert!(shows(listen, &again).await.is_empty());
    world.until_over(&id, 120).await;
    world.pass(5).await;
    check_words(&world.read(&id).await, &PhoneLog::new(stub.entries()), COOPERATIVE);
}
