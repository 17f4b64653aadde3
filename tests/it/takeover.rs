//! Live calls that their carrier moves to another node: two services on one PostgreSQL behind a proxy, and
//! Twilio's stub with real sockets.

mod operators;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::time::SystemClock;
use serde_json::{Value, json};
use sim::{
    exchange::{Script, Step},
    stub_carriers::{
        NUMBER, StubCarrierSettings,
        twilio::{ACCOUNT, Flavour, TOKEN, TwilioStub},
    },
};
use tokio::time::sleep;

use crate::several_nodes::proxy::Proxy;
use support::{
    client::Client,
    phone_log::PhoneLog,
    postgres::{Database, database},
    program::{Program, Running},
    words::{GREETING, collected, interviewing_agent, lines, texts},
};

const CALLEE: &str = "+15550100010";
/// Asks for a person.
const ASKER: &str = "+15550100040";
/// Says nothing.
const SILENT: &str = "+15550100050";
/// Accepts no calls.
const DESK: &str = "+15550100091";

/// Real calls on a busy machine.
const WITHIN: Duration = Duration::from_secs(120);

/// Asks for a person after the greeting, and waits for the result.
fn asks() -> Script {
    let say = |text: &str| Step::Say(text.to_owned());
    Script::of([
        say("Hello?"),
        Step::UntilAgentSaid,
        say("Can I speak to a person, please?"),
        Step::UntilAgentSaid,
        Step::UntilHeardWord("reached".to_owned()),
        Step::UntilAgentSilentMs(600),
        say("Never mind, thank you."),
        Step::WaitMs(1_000),
        Step::HangUp,
    ])
}

/// The interviewing agent, which may transfer calls.
fn with_desk() -> Value {
    let mut agent = interviewing_agent();
    agent["conversationConfig"]["agent"]["prompt"]["builtInTools"]["transferToNumber"] = json!({
        "enabled": true,
        "transfers": [{
            "transferType": "blind", "condition": "Somebody asks for a person.",
            "transferDestination": { "type": "phone", "phoneNumber": DESK }
        }]
    });
    agent
}

/// Two nodes and a carrier; they end when this is dropped.
struct Installation {
    nodes: Vec<Option<Running>>,
    addresses: Vec<String>,
    client: Client,
    stub: TwilioStub,
    proxy: Proxy,
    _programs: Vec<Program>,
    _database: Database,
}

impl Installation {
    async fn start(cut_after: Option<u64>) -> Option<Self> {
        let database = database().await?;
        let proxy = Proxy::start().await;
        let public = proxy.url();
        let settings = StubCarrierSettings {
            service: public.clone(),
            cut_after,
            scripts: BTreeMap::from([
                ("asks".to_owned(), asks()),
                (
                    "says-nothing".to_owned(),
                    Script::of([Step::WaitMs(180_000), Step::HangUp]),
                ),
            ]),
            keep_audio: true,
            ..StubCarrierSettings::on_loopback(
                Arc::new(SystemClock),
                &[
                    (CALLEE, "cooperative"),
                    (ASKER, "asks"),
                    (SILENT, "says-nothing"),
                    (DESK, "rejects"),
                ],
            )
        };
        let stub = TwilioStub::start(Flavour::Twilio, settings).await.unwrap();
        let api = stub.url();
        let settings = [
            ("DATABASE_URL", database.url.as_str()),
            ("RINGBACK_PUBLIC_URL", public.as_str()),
            ("RINGBACK_CARRIER", "twilio"),
            ("TWILIO_BASE_URL", api.as_str()),
            ("TWILIO_ACCOUNT_SID", ACCOUNT),
            ("TWILIO_AUTH_TOKEN", TOKEN),
            ("TWILIO_PHONE_NUMBER", NUMBER),
            ("RUST_LOG", "warn"),
        ];
        let programs: Vec<Program> = (0..2).map(|_| Program::new()).collect();
        let started: Vec<Running> = programs
            .iter()
            .map(|program| program.start(&["serve"], &settings))
            .collect();
        let addresses: Vec<String> = started.iter().map(Running::address).collect();
        for address in &addresses {
            proxy.add(address);
        }
        let create = ["account", "create", "--email", "ada@example.com"];
        let account = programs[0].run_with(&create, &settings).json();
        Some(Self {
            client: Client::new(&public, account["apiKey"].as_str().unwrap()),
            nodes: started.into_iter().map(Some).collect(),
            addresses,
            stub,
            proxy,
            _programs: programs,
            _database: database,
        })
    }

    /// Calls the cooperative callee; returns the conversation.
    async fn call(&self) -> String {
        self.call_of(interviewing_agent(), CALLEE).await
    }

    async fn call_of(&self, agent: Value, number: &str) -> String {
        let made = self.client.post("/public/v1/agents/create", agent).await;
        let agent = made.expect(201).text("/data/agentId");
        let body = json!({ "agentId": agent, "phoneNumber": number, "name": "Maria" });
        let made = self.client.post("/public/v1/calls", body).await.expect(201);
        made.text("/data/conversationId")
    }

    async fn until(&self, id: &str, is: impl Fn(&Value) -> bool) -> Value {
        let (path, limit) = (format!("/public/v1/conversations/{id}"), Instant::now() + WITHIN);
        loop {
            let answer = self.client.get(&path).await;
            if answer.status == 200 && is(answer.data()) {
                return answer.data().clone();
            }
            assert!(Instant::now() < limit, "{}", answer.body);
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Returns a metric of a node; `None` if the node is down.
    async fn figure(&self, node: usize, name: &str) -> Option<f64> {
        let figures = reqwest::get(format!("{}/metrics", self.addresses[node])).await.ok()?;
        let text = figures.text().await.ok()?;
        let line = text.lines().find(|line| line.starts_with(name));
        Some(
            line.and_then(|line| line.rsplit_once(' ')?.1.parse().ok())
                .unwrap_or(0.0),
        )
    }

    /// Returns the node that holds the only call.
    async fn holder(&self) -> usize {
        for node in 0..2 {
            if self.figure(node, "ringback_live_calls ").await == Some(1.0) {
                return node;
            }
        }
        panic!("no node has the call");
    }

    fn heard(&self) -> Vec<String> {
        texts(&PhoneLog::new(self.stub.entries()).call(CALLEE).heard())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_node_is_killed_goes_on_at_the_other() {
    let Some(mut all) = Installation::start(None).await else {
        return;
    };
    let id = all.call().await;
    let before = all.until(&id, |data| lines(data, "User").len() >= 2).await;
    let holder = all.holder().await;
    let heard = all.heard().len();
    let node = all.nodes[holder].take().unwrap();
    node.signal("KILL");
    let killed = Instant::now();
    while all.heard().len() <= heard + 1 {
        assert!(killed.elapsed() < WITHIN, "{:?}", all.heard());
        sleep(Duration::from_millis(20)).await;
    }
    eprintln!("it spoke again after {:?}", killed.elapsed());
    drop(node);

    let after = all.until(&id, |data| data["status"] != "in_progress").await;
    assert_eq!(after["status"], "completed", "{after:#}");
    assert_eq!(
        all.figure(1 - holder, "ringback_calls_taken_over_total").await,
        Some(1.0)
    );
    let phone = PhoneLog::new(all.stub.entries()).call(CALLEE);
    let (agent, user) = (lines(&after, "Agent"), lines(&after, "User"));
    assert_eq!(agent[0], GREETING);
    assert_eq!(agent[..lines(&before, "Agent").len()], lines(&before, "Agent"));
    assert!(
        agent
            .iter()
            .any(|line| line.contains("lost you") || line.contains("line was gone")),
        "{agent:?}"
    );
    assert_eq!(user[..2], lines(&before, "User")[..2]);
    // Everything said is there in order, except for what fell into the gap.
    let mut said = texts(&phone.said()).into_iter();
    assert!(
        user.iter().all(|line| said.any(|words| words == *line)),
        "{user:?}: {:?}",
        phone.said()
    );
    // Asked for before and after.
    for entity in ["preferredDay", "firstVisit"] {
        assert!(collected(&after, entity).is_some(), "{entity}: {after:#}");
    }
    assert_eq!(all.stub.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_waits_to_be_put_through_comes_back_to_the_other_node() {
    let Some(mut all) = Installation::start(None).await else {
        return;
    };
    let id = all.call_of(with_desk(), ASKER).await;
    all.until(&id, |data| data["status"] == "in_progress").await;
    let holder = all.holder().await;
    let begun = Instant::now();
    while all.stub.sids().len() < 2 {
        assert!(begun.elapsed() < WITHIN, "nobody was rung");
        sleep(Duration::from_millis(20)).await;
    }
    // The journal may be a moment behind.
    sleep(Duration::from_millis(400)).await;
    let node = all.nodes[holder].take().unwrap();
    node.signal("KILL");
    drop(node);

    let after = all.until(&id, |data| data["status"] != "in_progress").await;
    assert_eq!(
        (&after["status"], &after["callTransferred"]),
        (&json!("completed"), &json!(false)),
        "{after:#}"
    );
    assert_eq!(
        all.figure(1 - holder, "ringback_calls_taken_over_total").await,
        Some(1.0)
    );
    let agent = lines(&after, "Agent");
    assert!(
        agent.iter().any(|line| line.contains("nobody could be reached")),
        "{agent:?}"
    );
    assert_eq!(all.stub.complaints(), Vec::<String>::new());
}

/// Number of frames after which the carrier loses the media socket, in the middle of the call.
const CUT_AFTER: u64 = 400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_socket_breaks_goes_on_at_its_own_node() {
    let Some(all) = Installation::start(Some(CUT_AFTER)).await else {
        return;
    };
    let id = all.call().await;
    let after = all
        .until(&id, |data| {
            data["status"] != "in_progress" && data["status"] != "scheduled"
        })
        .await;
    assert_eq!(after["status"], "completed", "{after:#}");
    for node in 0..2 {
        assert_eq!(all.figure(node, "ringback_calls_taken_over_total").await, Some(0.0));
    }
    let agent = lines(&after, "Agent");
    assert!(agent.iter().any(|line| line.contains("line was gone")), "{agent:?}");
    assert_eq!(all.stub.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_socket_breaks_while_the_proxy_is_unavailable_goes_on_at_its_own_node() {
    let Some(all) = Installation::start(Some(CUT_AFTER)).await else {
        return;
    };
    let id = all.call().await;
    all.until(&id, |data| !lines(data, "User").is_empty()).await;
    let holder = all.holder().await;
    // The carrier's requests for instructions fail repeatedly.
    all.proxy.is_unavailable(true);
    let since = Instant::now();
    while all.proxy.rejected() < 2 {
        assert!(since.elapsed() < WITHIN);
        sleep(Duration::from_millis(10)).await;
    }
    all.proxy.is_unavailable(false);
    let after = all.until(&id, |data| data["status"] != "in_progress").await;
    assert_eq!(after["status"], "completed", "{after:#}");
    assert_eq!(
        all.figure(1 - holder, "ringback_calls_taken_over_total").await,
        Some(0.0)
    );
    assert_eq!(all.stub.complaints(), Vec::<String>::new());
}
