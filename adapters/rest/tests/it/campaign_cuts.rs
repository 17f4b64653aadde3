//! Tests of creating requests that are cut at any byte: nothing is saved or left behind, and the service continues.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use domain::{ports::store::CampaignStore, time::TokioClock};
use rand::{Rng, SeedableRng, rngs::StdRng};
use rest::server::ServerLimits;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::memory_store::MemoryStore;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
};

use support::{
    app::{START, new_account, serve_router, state},
    client::Client,
    switchboard::FakeNode,
};

const CUTS: usize = 200;

/// A server with its own folder for uploads.
struct Spooling {
    address: SocketAddr,
    store: Arc<MemoryStore>,
    spool: TempDir,
    client: Client,
    _server: (oneshot::Sender<()>, JoinHandle<()>),
}

impl Spooling {
    async fn start() -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(TokioClock::starting_at(START))));
        let spool = tempfile::tempdir().unwrap();
        let mut state = state(store.clone(), &FakeNode::default()).await;
        state.spool_dir = spool.path().to_owned();
        let (address, shutdown, server) = serve_router(rest::router(state), ServerLimits::default()).await;
        let (_, key) = new_account(&*store, "ada@example.com").await;
        Self {
            address,
            store,
            spool,
            client: Client::new(&format!("http://{address}"), &key),
            _server: (shutdown, server),
        }
    }

    async fn agent(&self) -> String {
        let prompt = json!({ "agent": { "prompt": { "prompt": "Be brief." } } });
        let body = json!({ "name": "Ann", "conversationConfig": prompt });
        let made = self.client.post("/public/v1/agents/create", body).await.expect(201);
        made.text("/data/agentId")
    }

    /// Returns the whole request as sent.
    fn request(&self, path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nx-api-key: {}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n",
            self.address,
            self.client.key,
            body.len()
        );
        head.into_bytes().into_iter().chain(body.iter().copied()).collect()
    }

    /// Sends a request or a part of it. Returns the response if the client waits for it.
    async fn send(&self, bytes: &[u8], cut: bool, waits: bool) -> String {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        socket.write_all(bytes).await.unwrap();
        if !waits {
            return String::new();
        }
        if cut {
            let _ = socket.shutdown().await;
        }
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    async fn saved(&self) -> usize {
        let listed = self.client.get("/public/v1/campaigns?pageSize=100").await.expect(200);
        listed.data().as_array().unwrap().len()
    }

    async fn assert_nothing_left(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(self.saved().await, 0);
        assert_eq!(self.store.sweep_imports().await, Ok(0));
        assert_eq!(self.store.sweep_lists().await, Ok(0));
        assert_eq!(std::fs::read_dir(self.spool.path()).unwrap().count(), 0);
    }

    /// Cuts a request at random bytes, including its last one. The whole request is accepted.
    async fn cut(&self, seed: u64, path: &str, kind: &str, body: &[u8]) {
        let request = self.request(path, kind, body);
        let mut random = StdRng::seed_from_u64(seed);
        let ends = [request.len() - 1, request.len() - 2, request.len() - 3];
        let offsets = (0..CUTS).map(|_| random.random_range(1..request.len()));
        for (n, offset) in offsets.chain(ends).enumerate() {
            let answer = self.send(&request[..offset], true, n % 2 == 0).await;
            assert!(!answer.starts_with("HTTP/1.1 2"), "cut at {offset}: {answer}");
        }
        self.assert_nothing_left().await;
        let answer = self.send(&request, false, true).await;
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        assert_eq!(self.saved().await, 1);
        assert_eq!(self.store.sweep_imports().await, Ok(0));
        assert_eq!(std::fs::read_dir(self.spool.path()).unwrap().count(), 0);
    }
}

fn form(agent: &str, rows: usize) -> Vec<u8> {
    let rows: String = (0..rows).map(|n| format!("+1555{n:07},c{n}\r\n")).collect();
    let part =
        |name: &str, text: &str| format!("--cut\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n");
    let file = format!(
        "--cut\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\nContent-Type: text/csv\r\n\r\n\
         phone,city\r\n{rows}\r\n"
    );
    let form = [
        part("name", "Cut"),
        part("agentId", agent),
        file,
        "--cut--\r\n".to_owned(),
    ];
    form.concat().into_bytes()
}

#[tokio::test(start_paused = true)]
async fn an_upload_cut_at_any_byte_leaves_nothing_behind() {
    let server = Spooling::start().await;
    let body = form(&server.agent().await, 300);
    let kind = "multipart/form-data; boundary=cut";
    server.cut(1, "/public/v1/campaigns/csv", kind, &body).await;
}

#[tokio::test(start_paused = true)]
async fn a_json_campaign_cut_at_any_byte_leaves_nothing_behind() {
    let server = Spooling::start().await;
    let contacts: Value = (0..200)
        .map(|n| json!({ "phoneNumber": format!("+1555{n:07}") }))
        .collect();
    let body = json!({ "name": "Cut", "agentId": server.agent().await, "contacts": contacts }).to_string();
    server
        .cut(2, "/public/v1/campaigns", "application/json", body.as_bytes())
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_after_its_upload_finds_all_of_it_or_nothing() {
    let server = Spooling::start().await;
    let body = form(&server.agent().await, 4_100);
    let request = server.request("/public/v1/campaigns/csv", "multipart/form-data; boundary=cut", &body);
    for _ in 0..10 {
        server.send(&request, false, false).await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let listed = server.client.get("/public/v1/campaigns").await.expect(200);
    for campaign in listed.data().as_array().unwrap() {
        assert_eq!(campaign["contactCount"], 4_100);
    }
    assert_eq!(server.store.sweep_imports().await, Ok(0));
    assert_eq!(server.store.sweep_lists().await, Ok(0));
    assert_eq!(std::fs::read_dir(server.spool.path()).unwrap().count(), 0);
}
