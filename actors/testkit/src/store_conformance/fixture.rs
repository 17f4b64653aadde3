//! Basis of the checks: a store, its clock, and short ways to create rows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::orphaned::live_on;
use domain::{
    campaign_options::CampaignOptions,
    id::{AccountId, AgentId, CampaignId, NodeId},
    phone_number::PhoneNumber,
    ports::{
        carrier::CarrierCallId,
        store::{
            Account, CalleeRecord, CallerId, CampaignContact, CampaignRow, CampaignStatus, Claim, ClaimedAttempt,
            ContactRow, ConversationStatus, FollowUp, NewAccount, NewCampaign, NewContact, Outcome, Patience, Permit,
            PermitRequest, ScheduleText, StateChange, Store, StoreResult, StoredApiKey,
        },
    },
    time::{Clock, Timestamp},
};

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Starts at 2026-01-01T00:00:00Z.
    pub fn new() -> Self {
        Self(AtomicI64::new(1_767_225_600_000_000))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_micros() as i64, Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A store without rows, and the clock it was given.
#[derive(Clone)]
pub struct Fixture {
    pub store: Arc<dyn Store>,
    pub clock: Arc<ManualClock>,
}

/// An account with an agent and a node.
#[derive(Clone)]
pub struct Scene {
    pub store: Arc<dyn Store>,
    pub clock: Arc<ManualClock>,
    pub account: AccountId,
    pub agent: AgentId,
    pub node: NodeId,
}

pub fn number(n: usize) -> PhoneNumber {
    PhoneNumber::parse(&format!("+1555{n:07}")).unwrap()
}

pub fn contact(n: usize) -> CampaignContact {
    let extra = json!({ "persona": format!("p{n}"), "zebra": 1, "apple": null });
    CampaignContact {
        phone_number: number(n),
        contact: None,
        name: Some(format!("Näme {n}")),
        email: None,
        extra: extra.as_object().cloned().unwrap(),
    }
}

/// Returns what a call of [`contact`] keeps.
pub fn callee(n: usize) -> CalleeRecord {
    CalleeRecord {
        contact_name: contact(n).name,
        variables: Some(contact(n).extra),
    }
}

pub fn new_account(email: &str) -> NewAccount {
    NewAccount {
        account: Account::new(email),
        webhook_secret: "secret".to_owned(),
        key: StoredApiKey {
            prefix: format!("rb_{email}"),
            hash: std::array::from_fn(|at| email.as_bytes().get(at).copied().unwrap_or(0)),
        },
    }
}

pub fn document(name: &str) -> Map<String, Value> {
    json!({ "name": name, "tags": ["a"] }).as_object().cloned().unwrap()
}

pub fn caller_number() -> PhoneNumber {
    PhoneNumber::parse("+15550000000").unwrap()
}

pub fn request() -> PermitRequest {
    PermitRequest {
        carrier: "exchange".to_owned(),
        caller_id: Some(CallerId::Fixed(caller_number())),
        agent_version: Some(1),
        restricted_prefixes: Vec::new(),
    }
}

pub fn outcome(status: ConversationStatus) -> Outcome {
    Outcome {
        status,
        error: (status == ConversationStatus::Failed).then(|| "busy".to_owned()),
        voicemail: false,
        transferred: false,
        collected: Default::default(),
        times: Default::default(),
        facts_follow: false,
        refusal: None,
    }
}

pub fn change(status: CampaignStatus) -> StateChange {
    StateChange {
        status,
        active: status == CampaignStatus::Running,
        scheduled: false,
        next_run_at: None,
        opens_from: None,
        closes_at: None,
        reason: None,
        cancel_waiting: status == CampaignStatus::Stopped,
    }
}

impl Fixture {
    pub async fn scene(self) -> Scene {
        let new = new_account("ada@example.com");
        let account = new.account.id;
        self.store.create_account(new).await.unwrap();
        let agent = self
            .store
            .create_agent(account, document("Ada"), None)
            .await
            .unwrap()
            .id;
        let node = NodeId::new();
        self.store.register_node(node, None).await.unwrap();
        Scene {
            store: self.store,
            clock: self.clock,
            account,
            agent,
            node,
        }
    }
}

impl Scene {
    /// Returns the scene as another node sees it once this one is dead.
    pub async fn heir(&self) -> Scene {
        let heir = Scene {
            node: NodeId::new(),
            ..self.clone()
        };
        heir.store.register_node(heir.node, None).await.unwrap();
        live_on(&*heir.store, &heir.clock, heir.node).await;
        heir.store.take_orphaned(heir.node, &Patience::default()).await.unwrap();
        heir
    }

    /// Saves a contact that has only a number.
    pub async fn saved(&self, n: usize) -> ContactRow {
        let new = NewContact {
            phone_number: number(n),
            name: None,
            email: None,
            extra: Map::new(),
        };
        self.store.create_contact(self.account, new, None).await.unwrap()
    }

    pub fn new_campaign(&self, name: &str) -> NewCampaign {
        NewCampaign {
            name: name.to_owned(),
            agent: self.agent,
            schedule: ScheduleText {
                start_time: Some("09:00".to_owned()),
                end_time: None,
                timezone: Some("Europe/Paris".to_owned()),
            },
            follow_up: FollowUp {
                enabled: true,
                attempts: 2,
                intervals_minutes: vec![5, 10],
            },
            options: CampaignOptions {
                max_concurrent_calls: Some(7_000),
                ..CampaignOptions::default()
            }
            .or(CampaignOptions {
                ring_timeout_seconds: Some(25),
                ..CampaignOptions::default()
            }),
        }
    }

    /// Creates a draft with contacts `from..to`.
    pub async fn draft(&self, name: &str, contacts: std::ops::Range<usize>) -> CampaignRow {
        let new = self.new_campaign(name);
        let import = self.store.begin_import(self.account, new).await.unwrap();
        let contacts: Vec<_> = contacts.map(contact).collect();
        for chunk in contacts.chunks(2_000) {
            self.store.append_contacts(import, chunk).await.unwrap();
        }
        self.store.finish_import(import, None).await.unwrap()
    }

    pub async fn running(&self, contacts: std::ops::Range<usize>) -> CampaignId {
        let draft = self.draft("Campaign", contacts).await;
        self.turn(draft.id, CampaignStatus::Running).await;
        draft.id
    }

    pub async fn turn(&self, id: CampaignId, status: CampaignStatus) -> CampaignRow {
        let version = self.store.campaign(self.account, id).await.unwrap().version;
        self.store.change_state(id, version, change(status)).await.unwrap()
    }

    pub async fn claim(&self, campaign: CampaignId, limit: i64) -> Vec<ClaimedAttempt> {
        self.store.claim(self.node, campaign, limit).await.unwrap()
    }

    pub async fn claim_one(&self, campaign: CampaignId) -> Claim {
        self.claim(campaign, 1).await.first().unwrap().claim
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub async fn permit(&self, claim: Claim) -> StoreResult<Permit> {
        self.store.permit(claim, request()).await
    }

    /// Creates a claim with its permit.
    pub async fn dialing(&self, campaign: CampaignId) -> Claim {
        let claim = self.claim_one(campaign).await;
        let permit = self.permit(claim).await.unwrap();
        assert!(matches!(permit, Permit::Granted { .. }), "{permit:?}");
        claim
    }

    /// Creates an answered call of `seconds` that is over.
    pub async fn completed(&self, campaign: CampaignId, seconds: u64) -> Claim {
        let claim = self.dialing(campaign).await;
        let call = CarrierCallId(claim.attempt.to_string());
        self.store.dialed(claim, &call).await.unwrap();
        self.store.answered(claim, self.now()).await.unwrap();
        self.clock.advance(Duration::from_secs(seconds));
        let outcome = outcome(ConversationStatus::Completed);
        self.store.finish(claim, outcome, None).await.unwrap();
        claim
    }
}
