//! Random sequences of operations have the same visible results in a database as in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{collections::HashSet, sync::Arc, time::Duration};

use domain::{
    id::NodeId,
    ports::{
        carrier::CarrierCallId,
        store::{
            Analysis, CallerId, CampaignRow, CampaignStatus, Claim, ConversationFilter, ConversationStatus, Job,
            Outcome, Patience, PermitRequest, ResultFilter, Rotation, Store,
        },
    },
};
use proptest::{prelude::*, sample::Index};
use storage::SqlStore;
use testkit::{
    memory_store::MemoryStore,
    store_conformance::{Fixture, ManualClock, Scene, change, contact, number, outcome, request},
};

use crate::postgres::database;

/// An operation. Indexes choose among the claims (old and new), jobs and campaigns that exist at that moment.
#[derive(Debug, Clone)]
enum Op {
    Claim(Index, i64),
    Release(Index),
    Permit(Index, bool),
    NotSent(Index, i64),
    Dialed(Index, u8),
    Answered(Index),
    Unknown(Index),
    Finish(Index, ConversationStatus, bool),
    Turn(Index, CampaignStatus),
    Advance(u64),
    DoNotCall(usize),
    Restart,
    Lease(i64),
    SaveAnalysis(Index),
    RetryJob(Index, i64),
    /// Adds contacts from a number on.
    Add(Index, usize, usize),
    CallAgain(Index),
}

fn op() -> impl Strategy<Value = Op> {
    let index = any::<Index>;
    let end = prop::sample::select(vec![
        ConversationStatus::Completed,
        ConversationStatus::Failed,
        ConversationStatus::Cancelled,
        ConversationStatus::Scheduled,
    ]);
    let status = prop::sample::select(vec![
        CampaignStatus::Running,
        CampaignStatus::Running,
        CampaignStatus::Running,
        CampaignStatus::Paused,
        CampaignStatus::Stopped,
    ]);
    prop_oneof![
        6 => (index(), 0..4_i64).prop_map(|(campaign, limit)| Op::Claim(campaign, limit)),
        2 => index().prop_map(Op::Release),
        8 => (index(), prop::bool::weighted(0.1)).prop_map(|(claim, restricted)| Op::Permit(claim, restricted)),
        2 => (index(), 0..40_000_i64).prop_map(|(claim, delay_ms)| Op::NotSent(claim, delay_ms)),
        3 => (index(), 0..6_u8).prop_map(|(claim, call)| Op::Dialed(claim, call)),
        4 => index().prop_map(Op::Answered),
        2 => index().prop_map(Op::Unknown),
        5 => (index(), end, any::<bool>()).prop_map(|(claim, end, voicemail)| Op::Finish(claim, end, voicemail)),
        2 => (index(), status).prop_map(|(campaign, status)| Op::Turn(campaign, status)),
        3 => (0..40_u64).prop_map(Op::Advance),
        1 => (0..8_usize).prop_map(Op::DoNotCall),
        1 => Just(Op::Restart),
        2 => (0..3_i64).prop_map(Op::Lease),
        2 => index().prop_map(Op::SaveAnalysis),
        1 => (index(), 0..90_000_i64).prop_map(|(job, delay_ms)| Op::RetryJob(job, delay_ms)),
        2 => (index(), 0..20_usize, 1..4_usize).prop_map(|(campaign, from, count)| Op::Add(campaign, from, count)),
        2 => index().prop_map(Op::CallAgain),
    ]
}

/// One store, and the ids and rows seen so far.
struct World {
    scene: Scene,
    campaigns: Vec<CampaignRow>,
    claims: Vec<Claim>,
    jobs: Vec<Job>,
    /// All ids in the order they were first seen, which gives their names in observations.
    names: Vec<String>,
}

impl World {
    async fn new(store: Arc<dyn Store>, clock: Arc<ManualClock>) -> Self {
        let scene = Fixture { store, clock }.scene().await;
        // Two campaigns that share some numbers.
        let mut campaigns = Vec::new();
        for contacts in [0..5, 3..8] {
            let id = scene.running(contacts).await;
            campaigns.push(scene.store.campaign(scene.account, id).await.unwrap());
        }
        let mut names = vec![
            scene.account.to_string(),
            scene.agent.to_string(),
            scene.node.to_string(),
        ];
        names.extend(campaigns.iter().map(|row| row.id.to_string()));
        Self {
            scene,
            campaigns,
            claims: Vec::new(),
            jobs: Vec::new(),
            names,
        }
    }

    fn claim(&self, index: Index) -> Option<Claim> {
        (!self.claims.is_empty()).then(|| *index.get(&self.claims))
    }

    /// Replaces ids by their position in `names`.
    fn anonymous(&self, text: String) -> String {
        let ids = self.names.iter().enumerate();
        ids.fold(text, |text, (place, id)| text.replace(id, &format!("#{place}")))
    }

    async fn apply(&mut self, op: &Op) -> String {
        let result = match op {
            Op::Add(campaign, from, count) => self.add(*campaign, *from..*from + *count).await,
            Op::CallAgain(claim) => self.call_again(*claim).await,
            Op::Claim(..) | Op::Release(_) | Op::Turn(..) | Op::Restart => self.apply_to_campaign(op).await,
            Op::Lease(_) | Op::SaveAnalysis(_) | Op::RetryJob(..) => self.apply_to_jobs(op).await,
            Op::Advance(seconds) => {
                self.scene.clock.advance(Duration::from_secs(*seconds));
                String::new()
            }
            Op::DoNotCall(n) => {
                let number = number(*n);
                let added = self.scene.store.add_do_not_call(self.scene.account, &number);
                format!("{:?}", added.await)
            }
            _ => self.apply_to_attempt(op).await,
        };
        self.anonymous(result)
    }

    async fn add(&mut self, campaign: Index, numbers: std::ops::Range<usize>) -> String {
        let Scene { store, account, .. } = &self.scene;
        let campaign = campaign.get(&self.campaigns).id;
        let import = store
            .begin_import(*account, self.scene.new_campaign("More"))
            .await
            .unwrap();
        let contacts: Vec<_> = numbers.map(contact).collect();
        store.append_contacts(import, &contacts).await.unwrap();
        let added = store.add_contacts(campaign, import, None).await;
        // No number is in a campaign twice.
        let all = store.campaign_contacts(campaign, 0, 100).await.unwrap();
        let numbers: HashSet<_> = all.iter().map(|contact| &contact.phone_number).collect();
        assert_eq!(numbers.len(), all.len());
        format!("{added:?} {all:?}")
    }

    async fn call_again(&mut self, claim: Index) -> String {
        let Some(claim) = self.claim(claim) else {
            return String::new();
        };
        // Attempts that are due at the same time are ordered by their ids.
        self.scene.clock.advance(Duration::from_millis(1));
        let mut results = String::new();
        for campaign in &self.campaigns {
            let store = &self.scene.store;
            results += &format!("{:?}", store.call_again(campaign.id, &[claim.attempt], 0, None).await);
            let page = store
                .contact_results(campaign.id, ResultFilter::default(), 0, 100)
                .await
                .unwrap();
            for last in page.results.iter().filter_map(|result| result.last.as_ref()) {
                let id = last.id.to_string();
                if !self.names.contains(&id) {
                    self.names.push(id);
                }
            }
        }
        results
    }

    async fn apply_to_campaign(&mut self, op: &Op) -> String {
        let store = Arc::clone(&self.scene.store);
        match op {
            Op::Claim(campaign, limit) => {
                let campaign = campaign.get(&self.campaigns).id;
                let claimed = store.claim(self.scene.node, campaign, *limit).await;
                for attempt in claimed.iter().flatten() {
                    self.claims.push(attempt.claim);
                    self.names.push(attempt.claim.attempt.to_string());
                }
                format!("{claimed:?}")
            }
            Op::Release(claim) => {
                let Some(claim) = self.claim(*claim) else {
                    return String::new();
                };
                format!("{:?}", store.release(&[claim]).await)
            }
            Op::Turn(campaign, status) => {
                let campaign = campaign.get(&self.campaigns).id;
                let row = store.campaign(self.scene.account, campaign).await.unwrap();
                format!("{:?}", store.change_state(campaign, row.version, change(*status)).await)
            }
            Op::Restart => {
                self.scene.node = NodeId::new();
                self.names.push(self.scene.node.to_string());
                store.register_node(self.scene.node, None).await.unwrap();
                // If silence decides which nodes are dead, the earlier ones have been silent for long enough then.
                for _ in 0..6 {
                    self.scene.clock.advance(Duration::from_secs(3));
                    store.heartbeat(self.scene.node).await.unwrap();
                }
                let orphaned = store.take_orphaned(self.scene.node, &Patience::default()).await;
                self.claims
                    .extend(orphaned.iter().flatten().map(|orphaned| orphaned.claim));
                format!("{orphaned:?}")
            }
            other => panic!("not about a campaign: {other:?}"),
        }
    }

    async fn apply_to_jobs(&mut self, op: &Op) -> String {
        let store = &self.scene.store;
        let job = |index: &Index| (!self.jobs.is_empty()).then(|| index.get(&self.jobs).clone());
        match op {
            Op::Lease(limit) => {
                let jobs = store.due_analyses(*limit).await;
                for job in jobs.iter().flatten() {
                    self.names.push(job.id.to_string());
                    self.jobs.push(job.clone());
                }
                format!("{jobs:?}")
            }
            Op::SaveAnalysis(index) => {
                let Some(job) = job(index) else { return String::new() };
                let analysis = Analysis::of_summary(format!("try {}", job.tries));
                format!("{:?}", store.save_analysis(&job, analysis).await)
            }
            Op::RetryJob(index, delay_ms) => {
                let Some(job) = job(index) else { return String::new() };
                format!("{:?}", store.retry_job(&job, *delay_ms).await)
            }
            other => panic!("not about a job: {other:?}"),
        }
    }

    async fn apply_to_attempt(&mut self, op: &Op) -> String {
        let store = &self.scene.store;
        match op {
            Op::Permit(index, restricted) => {
                let Some(claim) = self.claim(*index) else {
                    return String::new();
                };
                let restricted_prefixes = if *restricted { vec!["+1".to_owned()] } else { vec![] };
                let request = PermitRequest {
                    restricted_prefixes,
                    caller_id: Some(CallerId::InTurn(Rotation {
                        numbers: vec![number(91), number(92)],
                        calls_each: 2,
                    })),
                    ..request()
                };
                format!("{:?}", store.permit(claim, request).await)
            }
            Op::NotSent(index, delay_ms) => {
                let Some(claim) = self.claim(*index) else {
                    return String::new();
                };
                format!("{:?}", store.not_sent(claim, *delay_ms, None).await)
            }
            Op::Dialed(index, call) => {
                let Some(claim) = self.claim(*index) else {
                    return String::new();
                };
                format!("{:?}", store.dialed(claim, &CarrierCallId(format!("c{call}"))).await)
            }
            Op::Answered(index) => {
                let Some(claim) = self.claim(*index) else {
                    return String::new();
                };
                format!("{:?}", store.answered(claim, self.scene.now()).await)
            }
            Op::Unknown(index) => {
                let Some(claim) = self.claim(*index) else {
                    return String::new();
                };
                format!("{:?}", store.unknown(claim).await)
            }
            Op::Finish(index, status, voicemail) => {
                let Some(claim) = self.claim(*index) else {
                    return String::new();
                };
                let outcome = Outcome {
                    voicemail: *voicemail,
                    ..outcome(*status)
                };
                format!("{:?}", store.finish(claim, outcome, None).await)
            }
            other => panic!("not about an attempt: {other:?}"),
        }
    }

    /// Returns everything that readers see.
    async fn view(&self) -> String {
        let Scene { store, account, .. } = &self.scene;
        let mut lines = Vec::new();
        for campaign in &self.campaigns {
            lines.push(format!("{:?}", store.campaign(*account, campaign.id).await));
            lines.push(format!("{:?}", store.progress(campaign.id).await));
            lines.push(format!("{:?}", store.remaining(campaign.id).await));
        }
        let conversations = store.conversations(*account, ConversationFilter::default(), 100);
        for row in conversations.await.unwrap() {
            lines.push(format!("{row:?}"));
            let token = store.dial_token(row.id).await;
            lines.push(format!("{token:?}"));
        }
        self.anonymous(lines.join("\n"))
    }
}

async fn compare(ops: Vec<Op>, url: &str) -> Result<(), TestCaseError> {
    let clock = Arc::new(ManualClock::new());
    let memory = Arc::new(MemoryStore::new(clock.clone()));
    let mut memory = World::new(memory, clock).await;
    let clock = Arc::new(ManualClock::new());
    let store = Arc::new(SqlStore::open(url, clock.clone()).await.unwrap());
    let mut stored = World::new(store.clone(), clock).await;
    for op in &ops {
        let (expected, got) = (memory.apply(op).await, stored.apply(op).await);
        prop_assert_eq!(expected, got, "{:?}", op);
        prop_assert_eq!(memory.view().await, stored.view().await, "after {:?}", op);
    }
    store.close().await;
    Ok(())
}

/// Runs the same check on PostgreSQL, with fewer sequences because each needs a database of its own.
pub fn postgresql_and_memory_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = ProptestConfig {
        cases: 6,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let agreed = runner.run(&prop::collection::vec(op(), 1..60), |ops| {
        runtime.block_on(async {
            let database = database().await.unwrap();
            compare(ops, &database.url).await
        })
    });
    agreed.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_and_memory_agree_on_every_sequence(ops in prop::collection::vec(op(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(compare(ops, "sqlite::memory:"))?;
    }
}
