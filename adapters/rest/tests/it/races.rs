//! Tests of requests at once, on both databases: whatever one of them read still holds when the other one writes.
//! `races.json` lists them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::ports::store::ADDED_KEYS;
use futures_util::future::join_all;
use rest::server::ServerLimits;
use serde_json::{Value, json};
use storage::SqlStore;
use support::{
    app::{PUBLIC_URL, new_account, serve_router, state},
    client::{Answer, Client, send},
    postgres,
    switchboard::FakeNode,
};
use testkit::store_conformance::ManualClock;

const LIST: &str = include_str!("races.json");
/// Time after which an ended call is settled.
const SETTLED: Duration = Duration::from_secs(11);

/// A service of one or two nodes, each a client of its own.
struct Service {
    nodes: Vec<Client>,
    clock: Arc<ManualClock>,
    list: Value,
    /// Rounds of all pairs so far, which make names and numbers unique.
    rounds: usize,
}

/// Ids by their names, and the number of the round.
type Ids = BTreeMap<String, String>;

fn filled(text: &str, ids: &Ids) -> String {
    ids.iter().fold(text.to_owned(), |text, (name, id)| {
        text.replace(&format!("{{{name}}}"), id)
    })
}

impl Service {
    async fn start(url: &str, nodes: usize) -> (Self, Vec<impl Drop>) {
        let clock = Arc::new(ManualClock::new());
        let (mut clients, mut alive, mut key) = (Vec::new(), Vec::new(), None);
        for _ in 0..nodes {
            let store = Arc::new(SqlStore::open(url, clock.clone()).await.unwrap());
            let router = rest::router(state(store.clone(), &FakeNode::default()).await);
            let (address, shutdown, _) = serve_router(router, ServerLimits::default()).await;
            if key.is_none() {
                key = Some(new_account(&*store, "ada@example.com").await.1);
            }
            clients.push(Client::new(&format!("http://{address}"), key.as_deref().unwrap()));
            alive.push(shutdown);
        }
        let list = serde_json::from_str(LIST).unwrap();
        let service = Self {
            nodes: clients,
            clock,
            list,
            rounds: 0,
        };
        (service, alive)
    }

    async fn ask(&self, node: usize, request: &Value, ids: &Ids) -> Answer {
        let client = &self.nodes[node % self.nodes.len()];
        let method = request[0].as_str().unwrap();
        if method == "SIGN IN" {
            let body = json!({ "email": "ada@example.com", "apiKey": client.key });
            let request = client.bare("POST", "/public/v1/session").header("origin", PUBLIC_URL);
            let host = PUBLIC_URL.split_once("://").unwrap().1;
            let request = request.header("host", host).header("sec-fetch-site", "same-origin");
            return send(request.json(&body)).await;
        }
        let path = filled(&format!("/public/v1{}", request[1].as_str().unwrap()), ids);
        let mut sent = client.request(method, &path);
        if let Some(body) = request.get(2) {
            let body = filled(&body.to_string(), ids);
            sent = sent.header("content-type", "application/json").body(body);
        }
        send(sent).await
    }

    async fn give(&self, name: &str, ids: &Ids) -> String {
        let request = &self.list["given"][name];
        let answer = self.ask(0, request, ids).await;
        assert!(answer.status < 300, "{name}: {}", answer.body);
        answer.text(request[3].as_str().unwrap())
    }

    async fn run(&mut self, pair: &Value, rounds: usize) {
        let name = pair["name"].as_str().unwrap();
        let mut ids = Ids::new();
        if let Some(what) = pair["fill"][0].as_str() {
            for _ in 0..pair["fill"][1].as_u64().unwrap() {
                self.give(what, &ids).await;
            }
        }
        for round in 0..rounds {
            self.rounds += 1;
            ids.insert("n".to_owned(), format!("{:07}", self.rounds));
            for what in pair["given"].as_array().into_iter().flatten() {
                let what = what.as_str().unwrap();
                let id = self.give(what, &ids).await;
                ids.insert(what.to_owned(), id);
            }
            if pair["settled"] == true {
                self.clock.advance(SETTLED);
            }
            let times = usize::try_from(pair["times"].as_u64().unwrap_or(1)).unwrap();
            let requests = pair["race"].as_array().unwrap();
            let all = (0..times).flat_map(|_| requests).enumerate();
            let answers = join_all(all.map(|(node, request)| self.ask(node, request, &ids))).await;
            let shown: Vec<_> = answers.iter().map(|answer| (answer.status, &answer.body)).collect();
            assert!(answers.iter().all(|answer| answer.status < 500), "{name}: {shown:?}");
            let done: Vec<&Answer> = answers.iter().filter(|answer| answer.status < 300).collect();
            assert!(!done.is_empty(), "{name}: {shown:?}");
            if let Some(most) = pair["succeed"].as_u64() {
                assert!(done.len() as u64 <= most, "{name}, round {round}: {shown:?}");
            }
            if let Some(path) = pair["undo"][0].as_str() {
                for answer in done {
                    let id = answer.text(pair["undo"][1].as_str().unwrap());
                    let undo = json!(["DELETE", format!("{path}{id}")]);
                    self.ask(0, &undo, &ids).await.expect(200);
                }
            } else if pair["keys"] == 1 {
                let keys: Vec<String> = done.iter().map(|answer| answer.text("/data/apiKey")).collect();
                self.keep_the_only_valid(&keys).await;
            } else if let Some(path) = pair["kept"][0].as_str() {
                let listed = self.ask(0, &json!(["GET", path]), &ids).await.expect(200);
                let kept = listed.data().as_array().unwrap().len();
                assert!(
                    kept as u64 <= pair["kept"][1].as_u64().unwrap(),
                    "{name}, round {round}: {kept}"
                );
            }
        }
    }

    /// Goes on with the key that replaced all others.
    async fn keep_the_only_valid(&mut self, keys: &[String]) {
        let mut valid = Vec::new();
        for key in keys.iter().chain([&self.nodes[0].key.clone()]) {
            let client = Client::new(&self.nodes[0].base, key);
            if client.get("/public/v1/me").await.status == 200 {
                valid.push(key.clone());
            }
        }
        assert_eq!(valid.len(), 1, "keys that are valid");
        for node in &mut self.nodes {
            node.key.clone_from(&valid[0]);
        }
    }
}

/// Runs all pairs as often as `RINGBACK_RACE_ROUNDS` says, or 20 times.
async fn every_pair(url: &str, nodes: usize) {
    let rounds = std::env::var("RINGBACK_RACE_ROUNDS").map_or(20, |rounds| rounds.parse().unwrap());
    let (mut service, _alive) = Service::start(url, nodes).await;
    let pairs = service.list["pairs"].as_array().unwrap().clone();
    let only = std::env::var("RINGBACK_RACE_ONLY").unwrap_or_default();
    for pair in pairs
        .iter()
        .filter(|pair| pair["name"].as_str().unwrap().contains(&only))
    {
        service.run(pair, rounds).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_requests_at_once_never_pass_a_limit_or_leave_a_reference_to_nothing() {
    let folder = tempfile::tempdir().unwrap();
    every_pair(&format!("sqlite://{}/ringback.db", folder.path().display()), 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgresql_requests_at_once_never_pass_a_limit_or_leave_a_reference_to_nothing() {
    let Some(database) = postgres::database().await else {
        return;
    };
    every_pair(&database.url, 2).await;
}

#[test]
fn the_list_fills_accounts_up_to_their_limits() {
    let list: Value = serde_json::from_str(LIST).unwrap();
    let pairs = list["pairs"].as_array().unwrap();
    let keys = pairs.iter().find(|pair| pair["fill"][0] == "key").unwrap();
    assert_eq!(keys["fill"][1], json!(ADDED_KEYS - 1));
}
