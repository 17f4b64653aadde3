//! The dial's answer is lost: nobody is called twice, every call is adopted, and nothing is stuck. And a call that is
//! answered when nobody wants it any more is hung up before anybody is asked for anything.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use carriers::{
    Trunk,
    asterisk::{
        self,
        account::{AsteriskAccount, Codec, Media, Template},
    },
    telnyx::{self, account::TelnyxAccount, line::LineChoice, signature::WebhookKey},
    twilio::{
        self,
        account::{Flavour, TwilioAccount},
    },
    vonage::{
        self,
        account::{Rate, VonageAccount},
        token::ApplicationKey,
    },
};
use domain::{phone_number::PhoneNumber, time::TokioClock};
use net::key::Key;
use reqwest::StatusCode;
use serde_json::{Value, json};
use sim::{
    exchange::{ExchangeSettings, LogEntry, LogEvent},
    stub_carriers::{
        Callbacks, DialFault, StubCarrierSettings,
        asterisk::{AsteriskFaults, AsteriskSettings, AsteriskStub, PASSWORD, USER, WEBSOCKET_CLIENT},
        telnyx::{TelnyxFaults, TelnyxSettings, TelnyxStub},
        twilio::{ACCOUNT, TOKEN, TwilioStub},
        vonage::{APPLICATION, PRIVATE_KEY, SIGNATURE_SECRET, VonageFaults, VonageStub},
    },
};
use tokio::time::Instant;

use support::{
    app::START,
    words::interviewing_agent,
    world::{World, WorldSettings},
};

const DIALS: usize = 500;
/// One in five dials: 20 %.
const LOST_EACH: usize = 5;
const FROM: &str = "+15550000001";
const COOPERATIVE: &str = "+15550100010";
const NO_ANSWER: &str = "+15550100032";

/// Who is called, and what the call comes to. Seven and five have no divisor in common: each of them is lost, too.
const CALLEES: [(&str, Option<&str>); 7] = [
    ("busy", Some("busy")),
    ("no-answer", Some("no-answer")),
    ("rejects", Some("rejected")),
    ("hangs-up", None),
    ("busy", Some("busy")),
    ("rejects", Some("rejected")),
    ("no-answer", Some("no-answer")),
];

fn callees(dials: usize) -> Vec<(String, usize)> {
    (0..dials)
        .map(|n| (format!("+1555020{n:04}"), n % CALLEES.len()))
        .collect()
}

/// A carrier's stub, of any kind.
enum Stub {
    Twilio(TwilioStub),
    Telnyx(TelnyxStub),
    Vonage(VonageStub),
    Asterisk(Arc<AsteriskStub>),
}

fn stub_settings(callbacks: Callbacks, dials: Vec<DialFault>, personas: &[(&str, &str)]) -> StubCarrierSettings {
    StubCarrierSettings {
        callbacks,
        dials,
        ..StubCarrierSettings::on_loopback(Arc::new(TokioClock::starting_at(START)), personas)
    }
}

fn exchange() -> ExchangeSettings {
    ExchangeSettings {
        clock: Arc::new(TokioClock::starting_at(START)),
        ..ExchangeSettings::on_loopback()
    }
}

fn owned(personas: &[(&str, &str)]) -> BTreeMap<String, String> {
    let personas = personas.iter();
    personas
        .map(|(number, name)| ((*number).to_owned(), (*name).to_owned()))
        .collect()
}

impl Stub {
    async fn twilio(callbacks: Callbacks, dials: Vec<DialFault>, personas: &[(&str, &str)]) -> Self {
        let settings = stub_settings(callbacks, dials, personas);
        Self::Twilio(TwilioStub::start(Flavour::Twilio, settings).await.unwrap())
    }

    async fn vonage(
        faults: VonageFaults,
        callbacks: Callbacks,
        dials: Vec<DialFault>,
        personas: &[(&str, &str)],
    ) -> Self {
        let settings = stub_settings(callbacks, dials, personas);
        Self::Vonage(VonageStub::start(settings, faults).await.unwrap())
    }

    async fn asterisk(faults: AsteriskFaults, personas: &[(&str, &str)]) -> Self {
        let settings = AsteriskSettings {
            exchange: exchange(),
            personas: owned(personas),
            faults,
            ..AsteriskSettings::default()
        };
        Self::Asterisk(Arc::new(AsteriskStub::start(settings).await.unwrap()))
    }

    async fn telnyx(faults: TelnyxFaults, personas: &[(&str, &str)]) -> Self {
        let settings = TelnyxSettings {
            exchange: exchange(),
            personas: owned(personas),
            faults,
            ..TelnyxSettings::default()
        };
        Self::Telnyx(TelnyxStub::start(settings).await.unwrap())
    }

    /// The numbers that dials asked for, in their order.
    fn dialed(&self) -> Vec<String> {
        match self {
            Self::Twilio(stub) => stub.dials().into_iter().map(|dial| dial.to).collect(),
            Self::Telnyx(stub) => stub
                .dials()
                .iter()
                .map(|dial| dial["to"].as_str().unwrap().to_owned())
                .collect(),
            Self::Vonage(stub) => stub.dials().into_iter().map(|dial| dial.to).collect(),
            Self::Asterisk(stub) => {
                let number = |endpoint: String| endpoint["PJSIP/".len()..].trim_end_matches("@trunk").to_owned();
                stub.dials().into_iter().map(|dial| number(dial.endpoint)).collect()
            }
        }
    }

    fn live_calls(&self) -> usize {
        match self {
            Self::Twilio(stub) => stub.live_calls(),
            Self::Telnyx(stub) => stub.live_calls(),
            Self::Vonage(stub) => stub.live_calls(),
            Self::Asterisk(stub) => stub.live_calls(),
        }
    }

    fn entries(&self) -> Vec<LogEntry> {
        match self {
            Self::Twilio(stub) => stub.entries(),
            Self::Telnyx(stub) => stub.entries(),
            Self::Vonage(stub) => stub.entries(),
            Self::Asterisk(stub) => stub.entries(),
        }
    }

    /// The service with this carrier as its only one.
    async fn world(&self) -> World {
        let from: Option<PhoneNumber> = Some(FROM.parse().unwrap());
        let trunk: Arc<dyn Fn(&str) -> Trunk + Send + Sync> = match self {
            Self::Twilio(stub) => {
                let account = TwilioAccount {
                    flavour: Flavour::Twilio,
                    base_url: stub.url(),
                    account: ACCOUNT.to_owned(),
                    user: ACCOUNT.to_owned(),
                    password: Key::new(TOKEN),
                    signing_key: Key::new(TOKEN),
                    shared_key: None,
                    from,
                };
                Arc::new(move |address| twilio::trunk(account.clone(), address).unwrap())
            }
            Self::Telnyx(stub) => {
                let settings = TelnyxSettings::default();
                let account = TelnyxAccount {
                    base_url: stub.url(),
                    api_key: Key::new(settings.api_key),
                    public_key: WebhookKey::parse(&stub.public_key()).unwrap(),
                    connection: settings.connection,
                    from,
                    line: LineChoice::default(),
                    machines: Default::default(),
                };
                Arc::new(move |address| {
                    let clock = Arc::new(TokioClock::starting_at(START));
                    telnyx::trunk(account.clone(), address, clock).unwrap()
                })
            }
            Self::Vonage(stub) => {
                let account = VonageAccount {
                    base_url: stub.url(),
                    application: APPLICATION.to_owned(),
                    key: ApplicationKey::from_pem(PRIVATE_KEY).unwrap(),
                    signature_secret: Key::new(SIGNATURE_SECRET),
                    from,
                    rate: Rate::Narrow,
                };
                Arc::new(move |address| {
                    let clock = Arc::new(TokioClock::starting_at(START));
                    vonage::trunk(account.clone(), address, clock).unwrap()
                })
            }
            Self::Asterisk(stub) => {
                let account = AsteriskAccount {
                    ari_url: stub.url(),
                    user: USER.to_owned(),
                    password: Key::new(PASSWORD),
                    app: "ringback".to_owned(),
                    endpoint: Template::endpoint("PJSIP/{number}@trunk").unwrap(),
                    refer: None,
                    from,
                    media: Media::WebSocket {
                        client: WEBSOCKET_CLIENT.to_owned(),
                        codec: Codec::Ulaw,
                    },
                };
                let stub = stub.clone();
                Arc::new(move |address| {
                    stub.serve_media_to(address);
                    asterisk::trunk(account.clone()).unwrap()
                })
            }
        };
        let settings = WorldSettings {
            trunk: Some(trunk),
            ..WorldSettings::default()
        };
        World::start_with(settings).await
    }
}

/// Every conversation of a campaign, by number: status and error.
async fn outcomes(world: &World, campaign: &str) -> BTreeMap<String, Vec<(String, Option<String>)>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    let first = format!("/public/v1/conversations?campaignId={campaign}&pageSize=100");
    let mut path = first.clone();
    loop {
        let page = world.client.get(&path).await.expect(200);
        for item in page.data().as_array().unwrap() {
            let conversation = world.read(item["conversationId"].as_str().unwrap()).await;
            let text = |name: &str| conversation[name].as_str().map(str::to_owned);
            let number = text("contactNumber").unwrap();
            all.entry(number)
                .or_default()
                .push((text("status").unwrap(), text("errorMessage")));
        }
        let Some(next) = page.body["pagination"]["nextCursor"].as_str() else {
            return all;
        };
        path = format!("{first}&cursor={next}");
    }
}

async fn check_campaign(stub: &Stub, dials: usize) {
    let callees = callees(dials);
    let world = stub.world().await;
    let agent = world.agent(interviewing_agent()).await;
    let contacts: Vec<(&str, &str)> = callees.iter().map(|(number, _)| (number.as_str(), "")).collect();
    let campaign = world.launch(&agent, &contacts, json!({})).await;
    while stub.dialed().len() < dials {
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    // None is stuck: 120 s after the last dial all are over.
    world.until_status(&campaign, "completed", 120).await;
    world.pass(60).await;
    let mut dialed = stub.dialed();
    dialed.sort();
    let mut wanted: Vec<String> = callees.iter().map(|(number, _)| number.clone()).collect();
    wanted.sort();
    assert_eq!(dialed, wanted, "one request for each attempt");
    assert_eq!(stub.live_calls(), 0);
    let outcomes = outcomes(&world, &campaign).await;
    assert_eq!(outcomes.len(), dials);
    for (number, callee) in &callees {
        let (persona, error) = CALLEES[*callee];
        let status = if error.is_some() { "failed" } else { "completed" };
        let expected = [(status.to_owned(), error.map(str::to_owned))];
        assert_eq!(outcomes[number], expected, "{persona} at {number}");
    }
}

fn lost_each_fifth() -> Vec<DialFault> {
    let fault = |n: usize| match (n + 1).is_multiple_of(LOST_EACH) {
        true => DialFault::LoseAnswer,
        false => DialFault::None,
    };
    (0..DIALS).map(fault).collect()
}

async fn with_personas(start: impl AsyncFnOnce(&[(&str, &str)]) -> Stub) -> Stub {
    let callees = callees(DIALS);
    let personas: Vec<(&str, &str)> = callees
        .iter()
        .map(|(number, callee)| (number.as_str(), CALLEES[*callee].0))
        .collect();
    start(&personas).await
}

#[tokio::test(start_paused = true)]
async fn of_500_dials_over_twilio_100_lose_their_answer_and_every_call_is_adopted() {
    let stub =
        with_personas(async |personas| Stub::twilio(Callbacks::InOrder, lost_each_fifth(), personas).await).await;
    check_campaign(&stub, DIALS).await;
}

#[tokio::test(start_paused = true)]
async fn where_callbacks_come_at_the_end_only_lost_calls_are_found_in_the_list() {
    let stub =
        with_personas(async |personas| Stub::twilio(Callbacks::Reversed, lost_each_fifth(), personas).await).await;
    check_campaign(&stub, DIALS / 5).await;
}

#[tokio::test(start_paused = true)]
async fn of_500_dials_over_telnyx_100_lose_their_answer_and_every_call_is_adopted() {
    let faults = TelnyxFaults {
        lost_answer_each: LOST_EACH,
        ..TelnyxFaults::default()
    };
    let stub = with_personas(async |personas| Stub::telnyx(faults, personas).await).await;
    check_campaign(&stub, DIALS).await;
}

#[tokio::test(start_paused = true)]
async fn of_500_dials_over_vonage_100_lose_their_answer_and_every_call_is_adopted() {
    let faults = VonageFaults::default();
    let stub =
        with_personas(async |personas| Stub::vonage(faults, Callbacks::InOrder, lost_each_fifth(), personas).await)
            .await;
    check_campaign(&stub, DIALS).await;
}

/// Vonage keeps no mark of ours on a call: its list tells it by number and time.
#[tokio::test(start_paused = true)]
async fn where_vonage_tells_events_at_the_end_only_lost_calls_are_found_in_its_list() {
    let faults = VonageFaults::default();
    let stub =
        with_personas(async |personas| Stub::vonage(faults, Callbacks::Reversed, lost_each_fifth(), personas).await)
            .await;
    check_campaign(&stub, DIALS / 5).await;
}

/// The id of a call at an Asterisk is ours: a lost answer is found by it at once.
#[tokio::test(start_paused = true)]
async fn of_500_dials_over_asterisk_100_lose_their_answer_and_every_call_is_adopted() {
    let faults = AsteriskFaults {
        lost_answer_each: LOST_EACH,
        ..AsteriskFaults::default()
    };
    let stub = with_personas(async |personas| Stub::asterisk(faults, personas).await).await;
    check_campaign(&stub, DIALS).await;
    let Stub::Asterisk(asterisk) = &stub else {
        unreachable!()
    };
    assert_eq!((asterisk.channels(), asterisk.bridges()), (vec![], BTreeMap::new()));
}

/// Nobody heard a word, and no provider was asked for one.
fn nobody_was_asked(world: &World, stub: &Stub) {
    assert!(
        world.replies.all().is_empty(),
        "the model was asked: {:?}",
        world.replies.all()
    );
    let heard = stub
        .entries()
        .into_iter()
        .find(|entry| matches!(entry.event, LogEvent::Heard { .. }));
    assert!(heard.is_none(), "the callee heard {heard:?}");
}

async fn call(world: &World, number: &str) -> String {
    let agent = world.agent(interviewing_agent()).await;
    let body = json!({ "agentId": agent, "phoneNumber": number, "name": "Maria" });
    let answer = world.client.post("/public/v1/calls", body).await;
    answer.expect(201).text("/data/conversationId")
}

async fn end(world: &World, conversation: &str) {
    let path = format!("/public/v1/conversations/{conversation}/end");
    world.client.post(&path, json!({})).await.expect(200);
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < limit, "no {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The dial's answer is lost and nothing was told yet when the attempt is cancelled; then somebody picks up.
async fn check_cancelled(stub: &Stub) {
    let world = stub.world().await;
    let conversation = call(&world, COOPERATIVE).await;
    until("dial", || stub.dialed().len() == 1).await;
    end(&world, &conversation).await;
    let answered = || {
        stub.entries()
            .iter()
            .any(|entry| matches!(entry.event, LogEvent::Answered))
    };
    until("answer", || answered() || stub.live_calls() == 0).await;
    let over: Value = world.until_over(&conversation, 60).await;
    until("hang-up", || stub.live_calls() == 0).await;
    assert_eq!(over["status"], "cancelled", "{over:#}");
    nobody_was_asked(&world, stub);
    assert_eq!(stub.dialed().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_answered_after_its_cancelling_is_hung_up_unheard() {
    let lost = vec![DialFault::LoseAnswer];
    check_cancelled(&Stub::twilio(Callbacks::Reversed, lost, &[]).await).await;
    let lost = TelnyxFaults {
        lost_answers: true,
        ..TelnyxFaults::default()
    };
    check_cancelled(&Stub::telnyx(lost.clone(), &[]).await).await;
    let silent = TelnyxFaults {
        no_webhooks: true,
        ..lost
    };
    check_cancelled(&Stub::telnyx(silent, &[]).await).await;
    let lost = || vec![DialFault::LoseAnswer];
    check_cancelled(&Stub::vonage(VonageFaults::default(), Callbacks::Reversed, lost(), &[]).await).await;
    let silent = VonageFaults {
        no_events: true,
        ..VonageFaults::default()
    };
    check_cancelled(&Stub::vonage(silent, Callbacks::InOrder, lost(), &[]).await).await;
    for untidy_events in [false, true] {
        let faults = AsteriskFaults {
            lost_answers: true,
            untidy_events,
            ..AsteriskFaults::default()
        };
        check_cancelled(&Stub::asterisk(faults, &[]).await).await;
    }
}

/// The attempt is over, and its call rings on at the carrier: whoever says that it was answered has it hung up.
#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_when_the_attempt_is_over_is_hung_up() {
    let stub = TwilioStub::start(
        Flavour::Twilio,
        StubCarrierSettings {
            dials: vec![DialFault::LoseAnswer],
            callbacks: Callbacks::Reversed,
            ..StubCarrierSettings::on_loopback(Arc::new(TokioClock::starting_at(START)), &[])
        },
    );
    let stub = Stub::Twilio(stub.await.unwrap());
    let world = stub.world().await;
    let first = call(&world, NO_ANSWER).await;
    until("dial", || stub.dialed().len() == 1).await;
    end(&world, &first).await;
    world.until_over(&first, 120).await;
    until("hang-up", || stub.live_calls() == 0).await;
    // Another call of the carrier's rings, as if it had been placed for the first attempt after all.
    call(&world, NO_ANSWER).await;
    let Stub::Twilio(twilio) = &stub else { unreachable!() };
    until("second dial", || twilio.statuses().last() == Some(&"ringing")).await;
    let (dial, sid) = (twilio.dials().remove(0), twilio.sids().pop().unwrap());
    let form = [("CallSid", sid.as_str()), ("CallStatus", "in-progress")];
    let post = async |address: &str| {
        let (name, value) = twilio.signature(address, &form);
        let body = format!("CallSid={sid}&CallStatus=in-progress");
        let sent = reqwest::Client::new().post(address).header(name, value).body(body);
        sent.send().await.unwrap().status()
    };
    // Not on the word of whoever has no proof.
    let (front, proof) = dial.status_url.rsplit_once('/').unwrap();
    let guessed = format!("{front}/{}", "0".repeat(proof.len()));
    assert_eq!(post(&guessed).await, StatusCode::NO_CONTENT);
    world.pass(2).await;
    assert_eq!(stub.live_calls(), 1);
    assert_eq!(post(&dial.status_url).await, StatusCode::NO_CONTENT);
    until("hang-up", || stub.live_calls() == 0).await;
    nobody_was_asked(&world, &stub);
}
