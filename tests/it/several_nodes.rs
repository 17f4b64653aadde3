//! Three services on one PostgreSQL behind a proxy that sends each request to the next of them, as
//! deploy/compose.yaml runs them. Requests reach the wrong service often, and every call ends as it should.

pub mod proxy;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use sim::exchange::{Exchange, ExchangeHandle, ExchangeSettings};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use self::proxy::Proxy;
use support::{
    client::Client,
    phone_log::PhoneLog,
    postgres::{Database, database},
    program::{Program, Running},
    words::{interviewing_agent, texts},
};

/// Real calls on a busy machine.
const WITHIN: Duration = Duration::from_secs(180);

const CALLEES: [(&str, &str); 12] = [
    ("+15550100011", "hangs-up"),
    ("+15550100012", "hangs-up"),
    ("+15550100013", "hangs-up"),
    ("+15550100014", "hangs-up"),
    ("+15550100015", "hangs-up"),
    ("+15550100016", "hangs-up"),
    ("+15550100021", "busy"),
    ("+15550100022", "busy"),
    ("+15550100023", "busy"),
    ("+15550100031", "rejects"),
    ("+15550100032", "rejects"),
    ("+15550100041", "cooperative"),
];

/// The installation; it ends when it is dropped.
struct Installation {
    nodes: Vec<(Running, String)>,
    /// Client through the proxy.
    client: Client,
    exchange: ExchangeHandle,
    proxy: Proxy,
    _programs: Vec<Program>,
    _database: Database,
}

impl Installation {
    async fn start() -> Option<Self> {
        let database = database().await?;
        let exchange = Exchange::start(ExchangeSettings::on_loopback()).await.unwrap();
        let proxy = Proxy::start().await;
        let (public, phones) = (proxy.url(), exchange.url());
        let settings = [
            ("DATABASE_URL", database.url.as_str()),
            ("RINGBACK_PUBLIC_URL", public.as_str()),
            ("RINGBACK_SIMULATED_URL", phones.as_str()),
            ("RINGBACK_CALLS_PER_SECOND", "0"),
            ("RINGBACK_LEAVE_SECONDS", "2"),
            ("RUST_LOG", "warn"),
        ];
        let programs: Vec<Program> = (0..3).map(|_| Program::new()).collect();
        let started: Vec<Running> = programs
            .iter()
            .map(|program| program.start(&["serve"], &settings))
            .collect();
        let nodes: Vec<(Running, String)> = started
            .into_iter()
            .map(|running| {
                let address = running.address();
                (running, address)
            })
            .collect();
        for (_, address) in &nodes {
            proxy.add(address);
        }
        let create = ["account", "create", "--email", "ada@example.com"];
        let account = programs[0].run_with(&create, &settings).json();
        let key = account["apiKey"].as_str().unwrap();
        Some(Self {
            client: Client::new(&public, key),
            nodes,
            exchange,
            proxy,
            _programs: programs,
            _database: database,
        })
    }

    fn at(&self, node: usize) -> Client {
        Client::new(&self.nodes[node].1, &self.client.key)
    }

    async fn agent(&self) -> String {
        let mut agent = interviewing_agent();
        agent["direction"] = json!("both");
        agent["platformSettings"]["overrides"] = json!({ "greetingMessage": true });
        let made = self.client.post("/public/v1/agents/create", agent).await;
        made.expect(201).text("/data/agentId")
    }

    async fn until(&self, path: &str, is: impl Fn(&Value) -> bool) -> Value {
        let limit = Instant::now() + WITHIN;
        loop {
            let answer = self.client.get(path).await.expect(200);
            if is(answer.data()) {
                return answer.data().clone();
            }
            assert!(Instant::now() < limit, "{path}: {}", answer.body);
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Returns the sum of a metric over all nodes.
    async fn counted(&self, name: &str) -> f64 {
        let mut sum = 0.0;
        for (_, address) in &self.nodes {
            let figures = reqwest::get(format!("{address}/metrics"))
                .await
                .unwrap()
                .text()
                .await
                .unwrap();
            let lines = figures.lines().filter(|line| line.starts_with(name));
            sum += lines
                .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
                .sum::<f64>();
        }
        sum
    }
}

/// Returns the conversations' states from a node's events, until the campaign is completed.
async fn told(client: Client, campaign: String) -> Vec<(String, String)> {
    let request = client.request("GET", &format!("/public/v1/campaigns/{campaign}/events"));
    let mut pieces = request.send().await.unwrap().bytes_stream();
    let (mut text, mut told) = (String::new(), Vec::new());
    while let Some(piece) = pieces.next().await {
        text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
        while let Some((block, rest)) = text.split_once("\n\n") {
            let (block, rest) = (block.to_owned(), rest.to_owned());
            text = rest;
            let data = block.lines().find_map(|line| line.strip_prefix("data: "));
            let data: Value = data.map_or(Value::Null, |data| serde_json::from_str(data).unwrap());
            let status = data["status"].as_str().unwrap_or_default().to_owned();
            if block.starts_with("event: conversation") {
                told.push((data["conversationId"].as_str().unwrap().to_owned(), status));
            } else if status == "completed" {
                return told;
            }
        }
    }
    panic!("the stream ended before the campaign did: {told:?}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_campaign_on_three_nodes_ends_as_on_one() {
    let Some(all) = Installation::start().await else { return };
    let agent = all.agent().await;
    let contacts: Value = CALLEES
        .iter()
        .map(|(number, persona)| json!({ "phoneNumber": number, "name": "Maria", "persona": persona }))
        .collect();
    let body = json!({ "name": "Spring", "agentId": agent, "contacts": contacts, "launch": true });
    let made = all.client.post("/public/v1/campaigns", body).await.expect(201);
    let campaign = made.text("/data/campaignId");
    let streams = [0, 1, 2].map(|node| tokio::spawn(told(all.at(node), campaign.clone())));
    let path = format!("/public/v1/campaigns/{campaign}");
    all.until(&path, |data| data["status"] == "completed").await;

    let path = format!("/public/v1/conversations?campaignId={campaign}&pageSize=100");
    let page = all.client.get(&path).await.expect(200);
    let conversations = page.data().as_array().unwrap().clone();
    assert_eq!(conversations.len(), CALLEES.len(), "{conversations:#?}");
    let phones = PhoneLog::new(all.exchange.entries());
    let mut ends = BTreeMap::new();
    for conversation in &conversations {
        let number = conversation["contactNumber"].as_str().unwrap();
        let persona = CALLEES.iter().find(|(callee, _)| *callee == number).unwrap().1;
        let expected = match persona {
            "busy" | "rejects" => "failed",
            _ => "completed",
        };
        assert_eq!(conversation["status"], expected, "{persona}: {conversation:#}");
        ends.insert(
            conversation["conversationId"].as_str().unwrap().to_owned(),
            expected.to_owned(),
        );
        // Every callee that picked up heard the agent.
        let heard = texts(&phones.call(number).heard());
        assert_eq!(!heard.is_empty(), expected == "completed", "{persona}: {heard:?}");
    }
    let mut dialed = phones.dialed();
    dialed.sort();
    let callees: Vec<String> = CALLEES.iter().map(|(number, _)| (*number).to_owned()).collect();
    assert_eq!(dialed, callees, "each once");

    // Each node reports all calls, and each state once.
    for stream in streams {
        let told = timeout(WITHIN, stream).await.unwrap().unwrap();
        let each: BTreeSet<_> = told.iter().cloned().collect();
        assert_eq!(each.len(), told.len(), "{told:?}");
        assert_eq!(told.into_iter().collect::<BTreeMap<_, _>>(), ends);
    }
    assert!(all.counted("ringback_peer_requests_total{kind=\"request\"").await > 0.0);
    assert!(all.counted("ringback_peer_requests_total{kind=\"socket\"").await > 0.0);
    assert_eq!(all.counted("ringback_peer_requests_lost_total").await, 0.0);
    assert_eq!(all.exchange.live_calls(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_ended_and_brought_in_by_any_node() {
    let Some(all) = Installation::start().await else { return };
    let agent = all.agent().await;
    let variables = json!({ "persona": "cooperative" });
    for node in 0..3 {
        let number = format!("+1555010005{node}");
        let body = json!({ "agentId": agent, "phoneNumber": number, "name": "Maria", "dynamicVariables": variables });
        let made = all.at(node).post("/public/v1/calls", body).await.expect(201);
        let id = made.text("/data/conversationId");
        let path = format!("/public/v1/conversations/{id}");
        all.until(&path, |data| data["status"] == "in_progress").await;
        // Two of these nodes do not hold the call.
        let end = format!("{path}/end");
        let ended = all.at((node + 1) % 3).post(&end, json!({})).await.expect(200);
        let status = ended.text("/data/status");
        assert!(
            ["completed", "cancelled", "failed"].contains(&status.as_str()),
            "{}",
            ended.body
        );
        let again = all.at(node).post(&end, json!({})).await;
        assert_eq!(again.status, 409, "{}", again.body);
    }
    let quiet = async {
        while all.exchange.live_calls() > 0 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(WITHIN, quiet).await.unwrap();

    // The media address is the proxy's, which sends the socket to any node.
    let inbound = json!({ "agentId": agent, "overrides": { "greetingMessage": "Good day." } });
    let key = ("idempotency-key", "a-call-from-outside");
    let mut addresses = BTreeSet::new();
    let mut conversation = String::new();
    for node in 0..3 {
        let request = all
            .at(node)
            .request("POST", "/public/v1/calls/inbound")
            .header(key.0, key.1);
        let made = support::client::send(request.json(&inbound)).await.expect(201);
        addresses.insert(made.text("/data/mediaUrl"));
        conversation = made.text("/data/conversationId");
    }
    assert_eq!(addresses.len(), 1, "one call: {addresses:?}");
    let url = addresses.pop_first().unwrap();
    assert!(url.starts_with(&all.proxy.url().replacen("http", "ws", 1)), "{url}");
    let (mut phone, _) = connect_async(url).await.unwrap();
    let start = json!({ "event": "start" }).to_string();
    phone.send(start.into()).await.unwrap();
    let speaks = async { while !phone.next().await.unwrap().unwrap().is_binary() {} };
    timeout(WITHIN, speaks).await.unwrap();
    // Two of these nodes forward the command to the node that holds the call.
    let path = format!("/public/v1/conversations/{conversation}");
    for node in 0..3 {
        let words = json!({ "text": format!("Here is node {node}.") });
        all.at(node).post(&format!("{path}/say"), words).await.expect(200);
    }
    let said = |events: &Value| {
        let count = |kind: &str| {
            events
                .as_array()
                .unwrap()
                .iter()
                .filter(|event| event["type"] == kind)
                .count()
        };
        count("say") == 3 && count("overridden") == 1
    };
    all.until(&format!("{path}/events?pageSize=100"), said).await;
}

/// Opens the socket of an inbound call, which has begun, at the node with this address.
async fn phone(media_url: &str, node: &str) -> WebSocketStream<MaybeTlsStream<TcpStream>> {
    let (_, path) = media_url.split_once("/carriers/").unwrap();
    let url = format!("{}/carriers/{path}", node.replacen("http", "ws", 1));
    let (mut phone, _) = connect_async(url).await.unwrap();
    let start = json!({ "event": "start" }).to_string();
    phone.send(start.into()).await.unwrap();
    phone
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_is_passed_on_by_a_node_that_leaves_lasts_as_long_as_its_call() {
    let Some(mut all) = Installation::start().await else {
        return;
    };
    let agent = all.agent().await;
    let inbound = json!({ "agentId": agent });
    let made = all.at(0).post("/public/v1/calls/inbound", inbound).await.expect(201);
    // The node started last knows the others, and has no call and no socket when it is told to stop.
    let (leaving, address) = all.nodes.pop().unwrap();
    leaving.signal("TERM");
    let ready = format!("{address}/ready");
    while reqwest::get(&ready).await.unwrap().status().is_success() {}
    let told = Instant::now();
    // The proxy does not know yet.
    let mut phone = phone(&made.text("/data/mediaUrl"), &address).await;
    let mut heard = 0;
    let listens = async {
        loop {
            match phone.next().await {
                Some(Ok(message)) if !message.is_close() => heard += usize::from(message.is_binary()),
                end => return end,
            }
        }
    };
    // Twice as long as requests are still sent to it.
    let cut = timeout_at(told + Duration::from_secs(4), listens).await;
    assert!(cut.is_err(), "{cut:?}");
    assert!(heard > 0, "it has its call at the other end");
    phone.close(None).await.unwrap();
    let ended = tokio::task::spawn_blocking(|| leaving.end()).await.unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
