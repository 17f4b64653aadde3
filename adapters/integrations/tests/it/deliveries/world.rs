//! Test fixture: a store on disk with a manual clock, an account with an agent, ended calls, and a worker
//! that can be killed.

use std::{sync::Arc, time::Duration};

use domain::accounts::generate_webhook_secret;
use domain::{
    admission::Gate,
    id::AttemptId,
    ports::{
        carrier::CarrierCallId,
        store::{
            Account, Analysis, Claim, ConversationStatus, DeliveryRow, NewAccount, NewCall, StoredApiKey,
            WebhookSecrets,
        },
    },
};
use integrations::deliveries::{DeliveryWorker, Mailer, Pace, WebhookLimits, WebhookSender};
use net::address_policy::{AddressPolicy, SystemResolver};
use serde_json::{Value, json};
use storage::SqlStore;
use tempfile::TempDir;
use testkit::store_conformance::{Fixture, ManualClock, Scene, number, outcome};
use tokio::{sync::watch, task::JoinHandle};

/// Shortest intervals, so that no test has to wait.
pub const PACE: Pace = Pace {
    look: Duration::from_millis(5),
    look_again: Duration::ZERO,
    renew: Duration::from_millis(500),
    slow: Duration::from_millis(50),
};

pub struct World {
    pub scene: Scene,
    pub account: Account,
    store: Arc<SqlStore>,
    folder: TempDir,
    pub policy: AddressPolicy,
    pub pace: Pace,
    pub limits: WebhookLimits,
    pub mail: Option<fn(&str) -> Mailer>,
    pub smtp_url: String,
    /// Gate that holds work back under load.
    pub gate: Gate,
    /// Prices for the cost of conversations.
    pub prices: Option<Arc<domain::prices::PriceList>>,
    delivery_worker: Option<(JoinHandle<()>, watch::Sender<bool>)>,
    called: usize,
}

async fn open(folder: &TempDir, clock: Arc<ManualClock>) -> Arc<SqlStore> {
    let url = format!("sqlite://{}", folder.path().join("ringback.db").display());
    Arc::new(SqlStore::open(&url, clock).await.unwrap())
}

impl World {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new());
        let store = open(&folder, clock.clone()).await;
        let fixture = Fixture {
            store: store.clone(),
            clock,
        };
        let mut scene = fixture.scene().await;
        let account = Account::new("ada@ringback.example");
        let new = NewAccount {
            account: account.clone(),
            webhook_secret: generate_webhook_secret(),
            key: StoredApiKey {
                prefix: "rb_test".into(),
                hash: [7; 32],
            },
        };
        scene.store.create_account(new).await.unwrap();
        scene.account = account.id;
        let agent = scene.store.create_agent(account.id, document(&json!({})), None).await;
        scene.agent = agent.unwrap().id;
        Self {
            scene,
            account,
            store,
            folder,
            policy: AddressPolicy::everything(),
            pace: PACE,
            limits: WebhookLimits::default(),
            mail: None,
            smtp_url: String::new(),
            gate: Gate::default(),
            prices: None,
            delivery_worker: None,
            called: 0,
        }
    }

    /// Sets what the agent of further calls asks for.
    pub async fn asks(&mut self, actions: &Value) {
        let agent = self
            .scene
            .store
            .create_agent(self.account.id, document(actions), None)
            .await;
        self.scene.agent = agent.unwrap().id;
    }

    pub async fn asks_for_webhook(&mut self, url: &str) {
        self.asks(&json!({ "postCallWebhook": url })).await;
    }

    /// Creates calls that were not answered.
    pub async fn unanswered(&mut self, count: usize) -> Vec<AttemptId> {
        let campaign = self.scene.running(self.called..self.called + count).await;
        self.called += count;
        let mut ended = Vec::new();
        while ended.len() < count {
            for claimed in self.scene.claim(campaign, 500).await {
                self.scene.permit(claimed.claim).await.unwrap();
                let busy = outcome(ConversationStatus::Failed);
                self.scene.store.finish(claimed.claim, busy, None).await.unwrap();
                ended.push(claimed.claim.attempt);
            }
        }
        ended
    }

    /// Creates an answered call and its analysis.
    pub async fn answered(&mut self, summary: &str) -> Claim {
        let campaign = self.scene.running(self.called..self.called + 1).await;
        self.called += 1;
        let claim = self.scene.completed(campaign, 65).await;
        self.analyse(summary).await;
        claim
    }

    /// Creates an answered single call and its analysis.
    pub async fn single_call(&mut self, variables: &Value) {
        let (store, node) = (self.scene.store.clone(), self.scene.node);
        let new = NewCall {
            agent: self.scene.agent,
            phone_number: number(self.called),
            name: Some("Bo".to_owned()),
            variables: variables.as_object().cloned().unwrap(),
        };
        self.called += 1;
        store.create_call(self.account.id, new, None).await.unwrap();
        let claim = store.claim_calls(node, 1).await.unwrap().remove(0).claim;
        self.scene.permit(claim).await.unwrap();
        store.dialed(claim, &CarrierCallId("c".to_owned())).await.unwrap();
        store.answered(claim, self.scene.now()).await.unwrap();
        self.advance(65);
        let completed = outcome(ConversationStatus::Completed);
        store.finish(claim, completed, None).await.unwrap();
        self.analyse("They talked.").await;
    }

    pub async fn analyse(&self, summary: &str) {
        let job = self.scene.store.due_analyses(1).await.unwrap().remove(0);
        let analysis = Analysis::of_summary(summary.to_owned());
        self.scene.store.save_analysis(&job, analysis).await.unwrap();
    }

    pub fn start(&mut self) {
        let clock = self.scene.clock.clone();
        let webhooks = WebhookSender::new(self.policy.clone(), Arc::new(SystemResolver), self.limits, clock);
        let mailer = self.mail.map(|mail| mail(&self.smtp_url));
        let delivery_worker = DeliveryWorker::new(self.store.clone(), webhooks.unwrap(), mailer, self.pace);
        let delivery_worker = delivery_worker.behind(self.gate.clone()).priced(self.prices.clone());
        let (stop, stopping) = watch::channel(false);
        self.delivery_worker = Some((tokio::spawn(delivery_worker.run(stopping)), stop));
    }

    /// Kills the worker, opens the database again, and starts another worker.
    pub async fn kill(&mut self) {
        if let Some((delivery_worker, _)) = self.delivery_worker.take() {
            delivery_worker.abort();
            let _ = delivery_worker.await;
        }
        self.store.close().await;
        self.store = open(&self.folder, self.scene.clock.clone()).await;
        self.scene.store = self.store.clone();
        self.start();
    }

    pub async fn stop(&mut self) {
        if let Some((delivery_worker, stop)) = self.delivery_worker.take() {
            stop.send(true).unwrap();
            delivery_worker.await.unwrap();
        }
    }

    pub async fn delivery(&self, attempt: AttemptId) -> DeliveryRow {
        let mut rows = self.scene.store.deliveries_of(attempt).await.unwrap();
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.remove(0)
    }

    pub async fn secrets(&self) -> WebhookSecrets {
        self.scene.store.webhook_secrets(self.account.id).await.unwrap()
    }

    pub fn advance(&self, seconds: u64) {
        self.scene.clock.advance(Duration::from_secs(seconds));
    }
}

fn document(actions: &Value) -> serde_json::Map<String, Value> {
    let document = json!({
        "name": "Ada <b>",
        "conversationConfig": { "agent": { "prompt": { "prompt": "Ask." }, "dynamicVariables": { "shop": "Roses" } } },
        "platformSettings": { "callActions": actions },
    });
    document.as_object().cloned().unwrap()
}

/// Polls until a condition is true. Fails after a time limit.
pub async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !so().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let within = tokio::time::timeout(Duration::from_secs(120), looking).await;
    assert!(within.is_ok(), "not so within two minutes: {what}");
}
