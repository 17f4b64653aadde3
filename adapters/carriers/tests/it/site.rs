//! A carrier's stub with the whole service in front of it, the same for every carrier.

use std::{collections::BTreeMap, ops::Deref, sync::Arc, time::Duration};

use actors::node::NodeSettings;
use async_trait::async_trait;
use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::carrier::{DialRequest, WayBack},
    time::TokioClock,
};
use serde_json::{Value, json};
use sim::{
    exchange::{Script, Step},
    stub_carriers::{Callbacks, Delivered, DialFault, Stall, StubBase, StubCarrierSettings},
};
use support::{
    app::START,
    phone_log::PhoneLog,
    words::{GREETING, MESSAGE, interviewing_agent, lines, texts, tidy},
    world::{TrunkOf, World, WorldSettings},
};
use testkit::fake_speech::FakeRecordings;
use tokio::time::Instant;

use crate::{asterisk, telnyx, twilio, vonage};

/// Numbers whose last digit selects a person, a busy line, nobody, a mailbox, or a person who interrupts.
pub const COOPERATIVE: &str = "+15550100010";
pub const BUSY: &str = "+15550100016";
pub const NO_ANSWER: &str = "+15550100017";
pub const MAILBOX: &str = "+15550100018";
pub const INTERRUPTS: &str = "+15550100019";
/// Numbers with personas from the stub's settings.
pub const REJECTS: &str = "+15550100011";
pub const INVALID: &str = "+15550100012";
pub const SILENT: &str = "+15550100022";
/// A telephone that follows [`Setup::steps`].
pub const NUMBER: &str = "+15550100040";
/// Transfer destinations: one picks up, one is busy.
pub const DESK: &str = "+15550100030";
pub const BUSY_DESK: &str = "+15550100036";
/// Our own number, which phones call and which calls are placed from.
pub const OURS: &str = "+15550000001";

/// Errors of failing numbers.
pub const FAILURES: [(&str, &str); 4] = [
    (BUSY, "busy"),
    (NO_ANSWER, "no-answer"),
    (REJECTS, "rejected"),
    (INVALID, "invalid-number"),
];

/// A carrier that the suite runs for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    Twilio,
    SignalWire,
    Telnyx,
    Vonage,
    AsteriskWebSocket,
    AudioSocket,
}

impl Carrier {
    /// Returns the name in settings, agents and conversations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Twilio => "twilio",
            Self::SignalWire => "signalwire",
            Self::Telnyx => "telnyx",
            Self::Vonage => "vonage",
            Self::AsteriskWebSocket | Self::AudioSocket => "asterisk",
        }
    }

    pub fn is_asterisk(self) -> bool {
        self.name() == "asterisk"
    }

    pub fn is_twilio(self) -> bool {
        matches!(self, Self::Twilio | Self::SignalWire)
    }
}

/// Behaviour of a stub and its phones.
#[derive(Clone)]
pub struct Setup {
    pub personas: Vec<(String, &'static str)>,
    /// Steps of the phone at [`NUMBER`].
    pub steps: Vec<Step>,
    /// Order of callbacks: repeated and reordered, if a carrier's stub supports no other disorder.
    pub callbacks: Callbacks,
    /// One dial in this many gets no response; 0 for none.
    pub lost_each: usize,
    /// Whether nothing is reported; Telnyx and Vonage only.
    pub silent: bool,
    /// Number of frames after which the first media socket of a call breaks.
    pub cut_after: Option<u64>,
    pub stall: Option<Stall>,
    /// Calls on a page of a list; Telnyx and Vonage only.
    pub page: Option<usize>,
    pub node: NodeSettings,
    /// Faults of the first dials.
    pub dials: Vec<DialFault>,
}

impl Default for Setup {
    fn default() -> Self {
        let personas = [
            (REJECTS, "rejects"),
            (INVALID, "invalid"),
            (SILENT, "silent"),
            (NUMBER, "told"),
        ];
        Self {
            personas: personas.map(|(number, persona)| (number.to_owned(), persona)).into(),
            steps: vec![Step::WaitMs(600_000)],
            callbacks: Callbacks::InOrder,
            lost_each: 0,
            silent: false,
            cut_after: None,
            stall: None,
            page: None,
            node: NodeSettings::default(),
            dials: Vec::new(),
        }
    }
}

impl Setup {
    /// Has the phone at [`NUMBER`] follow these steps.
    pub fn told(steps: Vec<Step>) -> Self {
        Self {
            steps,
            ..Self::default()
        }
    }

    /// Leaves no line for a second call.
    pub fn one_line() -> Self {
        let node = NodeSettings {
            lines: 1,
            ..NodeSettings::default()
        };
        Self {
            node,
            ..Self::default()
        }
    }

    /// Returns the settings that the stubs of all carriers share.
    pub fn stub(&self) -> StubCarrierSettings {
        let lost = |n: usize| match n.is_multiple_of(self.lost_each) {
            true => DialFault::LoseAnswer,
            false => DialFault::None,
        };
        let personas = self.personas.iter();
        let personas = personas
            .map(|(number, persona)| (number.clone(), (*persona).to_owned()))
            .collect();
        StubCarrierSettings {
            personas,
            scripts: BTreeMap::from([("told".to_owned(), Script::of(self.steps.clone()))]),
            cut_after: self.cut_after,
            stall: self.stall,
            callbacks: self.callbacks,
            dials: if self.lost_each == 0 {
                self.dials.clone()
            } else {
                (1..=500).map(lost).collect()
            },
            ..StubCarrierSettings::on_loopback(clock(), &[])
        }
    }
}

pub fn clock() -> Arc<TokioClock> {
    Arc::new(TokioClock::starting_at(START))
}

/// Response to an inbound call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Announced {
    /// Accepted, for this conversation.
    Taken(String),
    Rejected,
    Busy,
    /// A status that has the carrier try again, or elsewhere.
    Status(u16),
}

/// Interface of a carrier's stub for the suite.
#[async_trait]
pub trait Stub: Send + Sync + 'static {
    /// Returns the state that all stubs keep.
    fn base(&self) -> &StubBase;
    /// Returns how calls ended that we hung up, in the carrier's terms.
    fn endings(&self) -> Vec<String>;
    /// Returns whatever is left at the carrier once calls are over.
    fn leftovers(&self) -> Vec<String> {
        Vec::new()
    }
    /// Has a phone call in and talk when it is answered. Returns the call's id.
    async fn call_in(&self, service: &str, from: &str) -> String;
    /// Hangs up the phone that called in.
    async fn leave(&self, call: &str);
    /// Announces a call without anybody who talks.
    async fn announce(&self, service: &str, call: &str, parties: (&str, &str)) -> Announced;
}

impl Deref for dyn Stub {
    type Target = StubBase;

    fn deref(&self) -> &StubBase {
        self.base()
    }
}

/// The service, its carrier, and everything recorded.
pub struct Site {
    pub carrier: Carrier,
    pub world: World,
    pub stub: Arc<dyn Stub>,
    pub recordings: FakeRecordings,
}

impl Site {
    pub async fn start(carrier: Carrier, setup: Setup) -> Self {
        let (stub, trunk) = start_stub(carrier, &setup).await;
        Self::of(carrier, stub, trunk, setup.node).await
    }

    pub async fn of(carrier: Carrier, stub: Arc<dyn Stub>, trunk: TrunkOf, node: NodeSettings) -> Self {
        let recordings = FakeRecordings::default();
        let settings = WorldSettings {
            trunk: Some(trunk),
            recordings: recordings.clone(),
            node,
            ..WorldSettings::default()
        };
        Self {
            carrier,
            world: World::start_with(settings).await,
            stub,
            recordings,
        }
    }

    /// Starts a site whose agent answers [`OURS`].
    pub async fn answering(carrier: Carrier, setup: Setup) -> Self {
        Self::start(carrier, setup).await.with_answering_agent().await
    }

    pub async fn with_answering_agent(self) -> Self {
        let mut agent = interviewing_agent();
        agent["direction"] = json!("inbound");
        agent["phoneNumbers"] = json!([{ "number": OURS, "provider": self.carrier.name() }]);
        self.world.agent(agent).await;
        self.world.pass(1).await;
        self
    }

    pub fn base(&self) -> &str {
        &self.world.client.base
    }

    pub fn phones(&self) -> PhoneLog {
        PhoneLog::new(self.stub.entries())
    }

    pub fn heard(&self, number: &str) -> Vec<String> {
        texts(&self.phones().call(number).heard())
    }

    /// Starts a call by an agent. Returns its conversation's id.
    pub async fn call_by(&self, agent: Value, number: &str) -> String {
        let agent = self.world.agent(agent).await;
        let body = json!({ "agentId": agent, "phoneNumber": number, "name": "Maria" });
        let made = self.world.client.post("/public/v1/calls", body).await;
        made.expect(201).text("/data/conversationId")
    }

    pub async fn call(&self, number: &str) -> String {
        self.call_by(interviewing_agent(), number).await
    }

    /// Starts a call and waits until it rings at the carrier.
    pub async fn ringing(&self) -> String {
        let id = self.call(NO_ANSWER).await;
        until(30, "ringing", || self.stub.live_calls() == 1).await;
        self.world.pass(2).await;
        id
    }

    /// Waits for the conversation of the single inbound call.
    pub async fn came_in(&self) -> String {
        let limit = Instant::now() + Duration::from_secs(30);
        loop {
            let list = self.world.client.get("/public/v1/conversations").await.expect(200);
            if let Some(id) = list.data()[0]["conversationId"].as_str() {
                return id.to_owned();
            }
            assert!(Instant::now() < limit, "no call came in");
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }

    /// Ends a call through the API.
    pub async fn end(&self, conversation: &str) -> Value {
        let path = format!("/public/v1/conversations/{conversation}/end");
        self.world.client.post(&path, json!({})).await.expect(200);
        self.world.until_over(conversation, 30).await
    }

    /// Runs a call to its end.
    pub async fn over(self, agent: Value, number: &str) -> Over {
        let id = self.call_by(agent, number).await;
        self.world.until_over(&id, 300).await;
        self.world.pass(2).await;
        let conversation = self.world.read(&id).await;
        assert_eq!(self.stub.complaints(), Vec::<String>::new());
        Over {
            site: self,
            conversation,
        }
    }

    /// Runs a campaign until it is completed and analysed, and its last reports have arrived.
    pub async fn completed(&self, contacts: &[&str]) -> String {
        let agent = self.world.agent(interviewing_agent()).await;
        let contacts: Vec<(&str, &str)> = contacts.iter().map(|number| (*number, "")).collect();
        let campaign = self.world.launch(&agent, &contacts, json!({})).await;
        self.world.until_status(&campaign, "completed", 900).await;
        self.world.pass(30).await;
        campaign
    }

    /// Checks that the transcript is exactly what the telephone said and heard.
    pub fn check_words(&self, conversation: &Value, number: &str) {
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        let phone = self.phones().call(number);
        assert_eq!(lines(conversation, "User"), texts(&phone.said()), "{number}");
        assert_eq!(lines(conversation, "Agent"), texts(&phone.heard()), "{number}");
        assert_eq!(lines(conversation, "Agent")[0], GREETING);
    }

    /// Checks that most words are understood. The telephone's babble reaches up to 4 kHz. If sample rates
    /// change on the way, the filters remove the highest sounds, and some words with them. Samples in the
    /// wrong order would remove all.
    pub fn check_most_words(&self, conversation: &Value, number: &str) {
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        let phone = self.phones().call(number);
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

    /// Checks that the mailbox has the whole message, said after its tone.
    pub fn check_message(&self, conversation: &Value, number: &str) {
        assert_eq!(conversation["status"], "completed", "{conversation:#}");
        let phone = self.phones().call(number);
        let (heard, beeped_ms) = (phone.heard(), phone.beeped_ms().expect("a tone"));
        let message = heard.last().expect("a message");
        // A message begun in a pause of the greeting is repeated after the tone.
        assert!(tidy(&message.text).ends_with(MESSAGE), "{heard:?}");
        assert!(message.to_ms > beeped_ms + 2_000, "{heard:?} {beeped_ms}");
    }

    /// Checks that nothing is left at the carrier, that it understood everything sent there, and that all of
    /// its reports were accepted.
    pub fn check_tidy(&self) {
        assert_eq!((self.stub.complaints(), self.stub.live_calls()), (vec![], 0));
        assert_eq!(self.stub.leftovers(), Vec::<String>::new());
        let delivered = self.stub.delivered().into_iter();
        // A requested end may be reported after the call is gone. Then the call is unknown and the report is
        // sent again.
        let is_late = |report: &Delivered| report.answer == 503 && report.status.starts_with("cancel");
        let refused: Vec<_> = delivered
            .filter(|report| report.answer >= 300 && !is_late(report))
            .collect();
        assert_eq!(refused, []);
    }

    /// Checks all of that in a moment, with `dials` dials so far.
    pub async fn ends_tidy(&self, dials: usize) {
        self.world.pass(5).await;
        self.check_tidy();
        assert_eq!(self.stub.dials().len(), dials, "{:?}", self.stub.dials());
    }
}

/// Starts a stub. Returns it and a function that makes its trunk.
pub async fn start_stub(carrier: Carrier, setup: &Setup) -> (Arc<dyn Stub>, TrunkOf) {
    match carrier {
        Carrier::Twilio | Carrier::SignalWire => twilio::start(carrier, setup).await,
        Carrier::Telnyx => telnyx::start(setup).await,
        Carrier::Vonage => vonage::start(setup).await,
        Carrier::AsteriskWebSocket | Carrier::AudioSocket => asterisk::start(carrier, setup).await,
    }
}

/// A finished call: its site and its conversation.
pub struct Over {
    pub site: Site,
    pub conversation: Value,
}

impl Over {
    pub fn check_completed(&self) {
        assert_eq!(self.conversation["status"], "completed", "{:#}", self.conversation);
        assert_eq!(self.conversation["errorMessage"], Value::Null);
    }

    /// Checks that the interview went on to its end.
    pub fn check_interviewed(&self) {
        self.check_completed();
        assert!(
            self.conversation["dataCollected"].is_object(),
            "{:#}",
            self.conversation
        );
    }

    pub fn is_transferred(&self) -> bool {
        self.conversation["callTransferred"] == true
    }

    /// Checks that the agent said that nobody could be reached, and went on with the interview.
    pub fn check_came_back(&self) {
        assert!(!self.is_transferred(), "{:#}", self.conversation);
        let agent = lines(&self.conversation, "Agent");
        assert!(
            agent.iter().any(|text| text.contains("nobody could be reached")),
            "{agent:?}"
        );
        self.check_interviewed();
    }

    /// Counts the media sockets of the call.
    pub fn sockets(&self) -> usize {
        let events = self
            .site
            .world
            .events(self.conversation["conversationId"].as_str().unwrap());
        1 + events.iter().filter(|(name, _)| name == "media_back").count()
    }
}

/// Advances time until a condition holds, for at most `seconds`.
pub async fn until(seconds: u64, what: &str, holds: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(seconds);
    while !holds() {
        assert!(Instant::now() < limit, "no {what} within {seconds} s");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub fn request(to: &str) -> DialRequest {
    let WayBack {
        attempt,
        status_token,
        media_token,
    } = way_back();
    DialRequest {
        attempt,
        from: None,
        to: PhoneNumber::parse(to).unwrap(),
        ring_timeout: Duration::from_secs(30),
        status_token,
        media_token,
        detect_machine: false,
        hints: BTreeMap::new(),
        last_look: Default::default(),
    }
}

pub fn way_back() -> WayBack {
    WayBack {
        attempt: AttemptId::new(),
        status_token: "5".repeat(64),
        media_token: "a".repeat(64),
    }
}

pub fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

/// Asks for a person after the greeting, and then follows these steps.
pub fn asks(more: Vec<Step>) -> Setup {
    let mut steps = vec![
        say("Hello?"),
        Step::UntilAgentSaid,
        say("Can I speak to a person, please?"),
        Step::UntilAgentSaid,
    ];
    steps.extend(more);
    Setup::told(steps)
}

/// Asks for a person, and thanks that person.
pub fn asks_and_thanks() -> Setup {
    asks(vec![
        Step::WaitMs(15_000),
        say("Thank you very much."),
        Step::WaitMs(3_000),
        Step::HangUp,
    ])
}

/// Asks for a person, and answers the agent that comes back.
pub fn asks_and_goes_on() -> Setup {
    asks(vec![Step::UntilAgentSaid, Step::Cooperate])
}

/// Says hello twice, and then answers.
pub fn goes_on() -> Setup {
    Setup::told(vec![
        say("Hello?"),
        Step::UntilAgentSaid,
        Step::WaitMs(1_000),
        Step::UntilAgentSaid,
        Step::Cooperate,
    ])
}

/// Returns the interviewing agent with permission to transfer calls.
pub fn with_desk(kind: &str, destination: &Value) -> Value {
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["conversation"]["maxDurationSeconds"] = json!(200);
    agent["conversationConfig"]["agent"]["prompt"]["builtInTools"]["transferToNumber"] = json!({
        "enabled": true,
        "disableInterruption": true,
        "transfers": [{
            "transferType": kind, "condition": "Somebody asks for a person.", "transferDestination": destination
        }]
    });
    agent
}

/// Returns the interviewing agent without answering machine detection.
pub fn without_detection() -> Value {
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["agent"]["prompt"]["builtInTools"] = json!({ "endCall": { "enabled": true } });
    agent
}

pub fn phone(number: &str) -> Value {
    json!({ "type": "phone", "phoneNumber": number })
}

pub fn sip(number: &str) -> Value {
    json!({ "type": "sip_uri", "sipUri": format!("sip:{number}@pbx.example.com") })
}
