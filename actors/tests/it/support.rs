//! A node on fakes: the memory store, a scripted carrier, and an account with an agent.

mod carrier;
mod slow_store;

use std::{sync::Arc, time::Duration};

use actors::{
    campaign::{CampaignCommand, CommandError},
    node::{Node, NodeArguments, NodeHandle, NodeSettings},
    switchboard::NodeSnapshot,
};
use domain::{
    campaign_options::CampaignOptions,
    id::{AccountId, AgentId, CampaignId},
    phone_number::PhoneNumber,
    ports::{
        Ports,
        carrier::Carriers,
        store::{
            Account, CampaignContact, CampaignRow, CampaignStatus, CampaignStore, ConversationFilter, ConversationRow,
            DirectoryStore, FollowUp, NewAccount, NewCampaign, RecordStore, ScheduleText, StateChange, StoredApiKey,
        },
    },
    schedule::Schedule,
    time::{Clock, TokioClock},
};
use serde_json::{Value, json};
use testkit::{
    fake_health::FakeHealth,
    fake_ports::{CLOCK_START, FakePorts},
    fake_speech::{FakeSynthesizer, FakeTranscriber},
    memory_store::MemoryStore,
};

pub use carrier::*;
pub use slow_store::SlowStore;

/// An account with an agent and everything around a node, which may be started several times.
pub struct World {
    pub store: Arc<MemoryStore>,
    pub carrier: Arc<ScriptedCarrier>,
    pub ports: Ports,
    pub health: Arc<FakeHealth>,
    pub transcriber: FakeTranscriber,
    pub synthesizer: FakeSynthesizer,
    pub account: AccountId,
    pub agent: AgentId,
}

pub fn agent_document() -> Value {
    json!({
        "name": "Ringo",
        "conversationConfig": { "agent": {
            "prompt": { "prompt": "You call people." },
            "greetingMessage": "Hello, this is Ringo.",
        } },
    })
}

impl World {
    /// Creates a world whose store is slow for the node.
    pub async fn slow() -> Self {
        Self::slow_by(Duration::ZERO).await
    }

    /// Creates a world whose store adds this delay before and after each operation.
    pub async fn slow_by(more: Duration) -> Self {
        let mut world = Self::new().await;
        world.ports.store = Arc::new(SlowStore::new(world.store.clone()).slower_by(more));
        world
    }

    pub async fn new() -> Self {
        Self::with_clock(Arc::new(TokioClock::starting_at(CLOCK_START))).await
    }

    /// Creates a world whose store several nodes may share.
    pub async fn shared() -> Self {
        Self::shared_with(Arc::new(TokioClock::starting_at(CLOCK_START))).await
    }

    pub async fn shared_with(clock: Arc<dyn Clock>) -> Self {
        let store = Arc::new(MemoryStore::shared(clock.clone()));
        Self::around(store, clock).await
    }

    /// Returns a world with the same account and store, and with another node's carrier and providers.
    pub fn twin(&self) -> Self {
        let carrier = Arc::new(ScriptedCarrier::of_legs("other-leg"));
        let fakes = FakePorts::with_clock(self.store.clone(), self.ports.clock.clone());
        let mut ports = fakes.ports();
        ports.carriers = Carriers::new(carrier.clone(), Vec::new());
        Self {
            store: self.store.clone(),
            carrier,
            ports,
            health: fakes.health,
            transcriber: fakes.transcriber,
            synthesizer: fakes.synthesizer,
            account: self.account,
            agent: self.agent,
        }
    }

    pub async fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self::around(Arc::new(MemoryStore::new(clock.clone())), clock).await
    }

    async fn around(store: Arc<MemoryStore>, clock: Arc<dyn Clock>) -> Self {
        let carrier = Arc::new(ScriptedCarrier::default());
        let fakes = FakePorts::with_clock(store.clone(), clock);
        let mut ports = fakes.ports();
        ports.carriers = Carriers::new(carrier.clone(), Vec::new());
        let account = new_account(&store, "ada@example.com").await;
        let document = agent_document().as_object().cloned().unwrap();
        let agent = store.create_agent(account, document, None).await.unwrap().id;
        Self {
            store,
            carrier,
            ports,
            health: fakes.health,
            transcriber: fakes.transcriber,
            synthesizer: fakes.synthesizer,
            account,
            agent,
        }
    }

    /// Starts a node with this number of lines.
    pub async fn node(&self, lines: usize) -> NodeHandle {
        self.node_with(NodeSettings {
            lines,
            ..NodeSettings::default()
        })
        .await
    }

    pub async fn node_with(&self, settings: NodeSettings) -> NodeHandle {
        let ports = self.ports.clone();
        let node = Node::start(NodeArguments { ports, settings }).await.unwrap();
        self.carrier.set_switchboard(node.switchboard.clone());
        node
    }

    /// Creates a draft with this number of contacts, numbered `+1555000nnnn`.
    pub async fn campaign(&self, contacts: usize) -> CampaignId {
        self.campaign_with(contacts, None).await
    }

    pub async fn campaign_with(&self, contacts: usize, most: Option<u32>) -> CampaignId {
        self.campaign_of(0..contacts, most).await
    }

    /// Creates a draft that calls these numbers.
    pub async fn campaign_of(&self, contacts: std::ops::Range<usize>, most: Option<u32>) -> CampaignId {
        let new = NewCampaign {
            name: "spring".into(),
            agent: self.agent,
            schedule: Default::default(),
            follow_up: Default::default(),
            options: CampaignOptions {
                max_concurrent_calls: most,
                ..CampaignOptions::default()
            },
        };
        let id = self.import(new, contacts).await;
        self.store.finish_import(id, None).await.unwrap().id
    }

    /// Creates a draft whose contacts are called again after these numbers of minutes.
    pub async fn followed_up(&self, contacts: usize, intervals_minutes: Vec<u32>) -> CampaignId {
        let new = NewCampaign {
            name: "spring".into(),
            agent: self.agent,
            schedule: Default::default(),
            follow_up: FollowUp {
                enabled: true,
                attempts: intervals_minutes.len() as u32,
                intervals_minutes,
            },
            options: CampaignOptions::default(),
        };
        let id = self.import(new, 0..contacts).await;
        self.store.finish_import(id, None).await.unwrap().id
    }

    /// Creates a campaign whose row is running.
    pub async fn running(&self, contacts: usize) -> CampaignId {
        self.running_in(contacts, ScheduleText::default()).await
    }

    /// Creates a running campaign in a window that is open.
    pub async fn running_in(&self, contacts: usize, schedule: ScheduleText) -> CampaignId {
        let now = self.ports.clock.now();
        let plan = Schedule::parse(&schedule).unwrap().map(|schedule| schedule.plan(now));
        let new = NewCampaign {
            name: "spring".into(),
            agent: self.agent,
            schedule,
            follow_up: Default::default(),
            options: CampaignOptions::default(),
        };
        let id = self.import(new, 0..contacts).await;
        let row = self.store.finish_import(id, None).await.unwrap();
        let running = StateChange {
            status: CampaignStatus::Running,
            active: true,
            scheduled: plan.is_some(),
            next_run_at: None,
            opens_from: plan.map(|plan| plan.opens_at),
            closes_at: plan.and_then(|plan| plan.closes_at),
            reason: None,
            cancel_waiting: false,
        };
        self.store.change_state(id, row.version, running).await.unwrap();
        id
    }

    /// Sets the retries of the agent: their number and the minutes between them.
    pub async fn retries(&self, count: i64, delay_min: impl Into<Option<i64>>) {
        let delay_min: Option<i64> = delay_min.into();
        let retry = json!({ "retryCount": count, "retryDelay": delay_min });
        self.platform_settings(json!({ "callRetry": retry })).await;
    }

    /// Sets the agent's platform settings.
    pub async fn platform_settings(&self, settings: Value) {
        let mut document = agent_document();
        document["platformSettings"] = settings;
        let document = document.as_object().cloned().unwrap();
        let row = self.store.agent(self.account, self.agent).await.unwrap();
        self.store
            .update_agent(self.account, self.agent, row.version, document)
            .await
            .unwrap();
    }

    /// Creates a hidden import of these numbers.
    pub async fn import(&self, new: NewCampaign, contacts: std::ops::Range<usize>) -> CampaignId {
        let id = self.store.begin_import(self.account, new).await.unwrap();
        let contacts: Vec<_> = contacts.map(contact).collect();
        self.store.append_contacts(id, &contacts).await.unwrap();
        id
    }

    pub async fn row(&self, campaign: CampaignId) -> CampaignRow {
        self.store.campaign(self.account, campaign).await.unwrap()
    }

    pub async fn status(&self, campaign: CampaignId) -> CampaignStatus {
        self.row(campaign).await.status
    }

    pub async fn conversations(&self, campaign: CampaignId) -> Vec<ConversationRow> {
        let filter = ConversationFilter {
            campaign: Some(campaign),
            ..ConversationFilter::default()
        };
        self.store.conversations(self.account, filter, 10_000).await.unwrap()
    }

    pub async fn command(
        &self,
        node: &NodeHandle,
        campaign: CampaignId,
        command: CampaignCommand,
    ) -> Result<CampaignRow, CommandError> {
        command_as(node, self.account, campaign, command).await
    }
}

pub async fn command_as(
    node: &NodeHandle,
    account: AccountId,
    campaign: CampaignId,
    command: CampaignCommand,
) -> Result<CampaignRow, CommandError> {
    node.switchboard.command(account, campaign, command).await.unwrap()
}

pub async fn figures(node: &NodeHandle) -> NodeSnapshot {
    node.switchboard.inspect().await
}

pub async fn new_account(store: &MemoryStore, email: &str) -> AccountId {
    let account = Account::new(email);
    let id = account.id;
    let key = StoredApiKey {
        prefix: "rb_test".into(),
        hash: [0; 32],
    };
    let new = NewAccount {
        account,
        webhook_secret: "whsec_test".into(),
        key,
    };
    store.create_account(new).await.unwrap();
    id
}

pub fn contact(n: usize) -> CampaignContact {
    CampaignContact {
        phone_number: PhoneNumber::parse(&format!("+1555{n:07}")).unwrap(),
        contact: None,
        name: Some(format!("Contact {n}")),
        email: None,
        extra: Default::default(),
    }
}

/// Waits in virtual time until `condition` holds, and fails after ten minutes.
pub async fn until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    for _ in 0..12_000 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what} did not happen within ten minutes");
}
