//! One call in fake surroundings: store, carrier, line pool, journal, audio stream.

use actors::{
    attempt::{CallPlan, InboundLeg, PlanContext, plan},
    audio_stream::{StreamMessage, StreamSettings},
    call::{
        CallActor, CallArguments, CallContext, CallMessage, CallReport, CallSnapshot, Event, LegRefusal, PhraseBook,
        Speculation,
    },
    dial_gate::DialGate,
    journal::{Backlog, Journal, JournalActor, JournalArguments, JournalMessage, LiveFact},
    supervision::{Reports, Sibling},
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::scripted_stream::{ScriptedStream, ScriptedStreamActor};
use domain::{
    agent::Agent,
    campaign_options::CampaignOptions,
    dial_token::Purpose,
    id::{AccountId, AgentId, AttemptId, CampaignId, NodeId},
    node_times::Times,
    phone_number::PhoneNumber,
    ports::{
        carrier::{CallProgress, Carrier, CarrierCallId},
        store::{
            Account, AttemptStore, CampaignContact, CampaignStatus, CampaignStore, Claim, ClaimedAttempt,
            DirectoryStore, Fact, FollowUp, InboundStore, NewAccount, NewCampaign, NewInboundCall, NodeStore, Outcome,
            Permit, PermitRequest, RecordStore, Remaining, ScheduleText, StateChange, StoredApiKey, TurnFact,
        },
        usage::Meter,
    },
    time::{Clock, TokioClock},
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde_json::{Map, Value, json};
use testkit::{
    fake_carrier::{FakeCarrier, FakeSocket, media_leg},
    fake_ports::{CLOCK_START, FakePorts},
    memory_store::MemoryStore,
};
use tokio::sync::broadcast;

#[derive(Clone, Default)]
pub struct Told {
    pub legs: Arc<Mutex<Vec<String>>>,
    pub ended: Arc<Mutex<Vec<Option<Outcome>>>>,
}

struct LinesProbe(Told);

impl Actor for LinesProbe {
    type Msg = CallReport;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _me: ActorRef<CallReport>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<CallReport>,
        message: CallReport,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        match message {
            CallReport::LegKnown(leg) => self.0.legs.lock().unwrap().push(leg.0),
            CallReport::Ended(outcome) => self.0.ended.lock().unwrap().push(outcome.ok()),
            _ => {}
        }
        Ok(())
    }
}

/// A journal that writes nothing.
struct JournalProbe;

impl Actor for JournalProbe {
    type Msg = JournalMessage;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _me: ActorRef<JournalMessage>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<JournalMessage>,
        message: JournalMessage,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        if let JournalMessage::Flush(reply) = message {
            let _ = reply.send(());
        }
        Ok(())
    }
}

/// A call and its surroundings.
pub struct TestCall {
    pub call: ActorRef<CallMessage>,
    pub ports: FakePorts,
    pub store: Arc<MemoryStore>,
    pub stream: ScriptedStream,
    pub told: Told,
    pub claim: Claim,
    /// Address of the call's journal. It writes nothing until a test sets a real one.
    journal: Sibling<JournalMessage>,
    backlog: Backlog,
    live: Mutex<(broadcast::Receiver<LiveFact>, Vec<Fact>)>,
    plan: CallPlan,
    /// The call's usage.
    pub meter: Meter,
    _stream_ref: ActorRef<StreamMessage>,
}

pub fn agent(document: Value) -> Agent {
    serde_json::from_value(document).unwrap()
}

/// Returns an agent that greets and never speaks up by itself.
pub fn greeter() -> Agent {
    agent(json!({
        "conversationConfig": {
            "agent": {
                "greetingMessage": "Hello {{name}}, this is Ada.",
                "prompt": { "builtInTools": { "endCall": { "enabled": true } } },
            },
            "turn": { "turnTimeout": -1 }
        }
    }))
}

pub async fn ms(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Creates a running campaign with one contact.
async fn running(store: &MemoryStore, owner: AccountId, agent: AgentId) -> CampaignId {
    let campaign = NewCampaign {
        name: "c".into(),
        agent,
        schedule: ScheduleText::default(),
        follow_up: FollowUp::default(),
        options: CampaignOptions::default(),
    };
    let import = store.begin_import(owner, campaign).await.unwrap();
    let contact = CampaignContact {
        phone_number: PhoneNumber::parse("+15550001111").unwrap(),
        contact: None,
        name: Some("Bo".into()),
        email: None,
        extra: Map::new(),
    };
    store.append_contacts(import, &[contact]).await.unwrap();
    let row = store.finish_import(import, None).await.unwrap();
    let change = StateChange {
        status: CampaignStatus::Running,
        active: true,
        scheduled: false,
        next_run_at: None,
        opens_from: None,
        closes_at: None,
        reason: None,
        cancel_waiting: false,
    };
    store.change_state(row.id, row.version, change).await.unwrap();
    row.id
}

async fn claimed(store: &MemoryStore, node: NodeId) -> ClaimedAttempt {
    let account = Account::new("ada@example.org");
    let owner = account.id;
    let key = StoredApiKey {
        prefix: "k".into(),
        hash: [0; 32],
    };
    let new = NewAccount {
        account,
        webhook_secret: "s".into(),
        key,
    };
    store.create_account(new).await.unwrap();
    let agent = store.create_agent(owner, Map::new(), None).await.unwrap();
    let campaign = running(store, owner, agent.id).await;
    store.register_node(node, None).await.unwrap();
    store.claim(node, campaign, 1).await.unwrap().remove(0)
}

/// Turns the plan into that of an inbound call to an agent of its own.
async fn from_outside(store: &MemoryStore, node: NodeId, mut plan: CallPlan) -> CallPlan {
    let (account, to) = (plan.attempt.account, PhoneNumber::parse("+15550000001").unwrap());
    let document = json!({ "direction": "inbound", "phoneNumbers": [{ "number": to.as_str() }] });
    let document = document.as_object().cloned().unwrap();
    let call = CarrierCallId("in-1".into());
    let new = NewInboundCall {
        attempt: AttemptId::new(),
        account,
        agent: store.create_agent(account, document, None).await.unwrap().id,
        agent_version: 1,
        carrier: plan.carrier.name().into(),
        call: call.clone(),
        from: plan.attempt.contact.phone_number.clone(),
        to: to.clone(),
        ticket: None,
        variables: Map::new(),
        test: None,
    };
    let received = store.receive_call(node, new).await.unwrap().unwrap();
    let token = received.token;
    plan.attempt = received.attempt;
    plan.inbound = Some(InboundLeg { call, token, to });
    plan
}

impl TestCall {
    /// Starts an inbound call that waits for its media.
    pub async fn inbound(agent: Agent) -> Self {
        Self::start_way(async |_, _| agent, (Speculation::default(), true), async |_, _| {}).await
    }

    /// Binds this call of the carrier to another attempt.
    pub async fn bind_to_another_attempt(&self, call: &CarrierCallId) {
        let (account, to) = (self.plan.attempt.account, PhoneNumber::parse("+15550000001").unwrap());
        let document = json!({ "direction": "inbound", "phoneNumbers": [{ "number": to.as_str() }] });
        let agent = self
            .store
            .create_agent(account, document.as_object().cloned().unwrap(), None);
        let new = NewInboundCall {
            attempt: AttemptId::new(),
            account,
            agent: agent.await.unwrap().id,
            agent_version: 1,
            carrier: self.plan.carrier.name().into(),
            call: call.clone(),
            from: self.plan.attempt.contact.phone_number.clone(),
            to,
            ticket: None,
            variables: Map::new(),
            test: None,
        };
        let received = self.store.receive_call(self.claim.owner, new).await.unwrap();
        assert!(received.is_some());
    }

    /// Starts a call that is about to ask for its permit. `prepare` scripts the fakes first.
    pub async fn start(agent: Agent, prepare: impl AsyncFnOnce(&mut FakePorts, &MemoryStore)) -> Self {
        Self::start_with(agent, Speculation::default(), prepare).await
    }

    async fn start_with(
        agent: Agent,
        speculation: Speculation,
        prepare: impl AsyncFnOnce(&mut FakePorts, &MemoryStore),
    ) -> Self {
        Self::start_way(async |_, _| agent, (speculation, false), prepare).await
    }

    /// Starts a call whose agent depends on what it puts into the store.
    pub async fn made_by(agent: impl AsyncFnOnce(&MemoryStore, AccountId) -> Agent) -> Self {
        Self::start_way(agent, (Speculation::default(), false), async |_, _| {}).await
    }

    async fn start_way(
        agent: impl AsyncFnOnce(&MemoryStore, AccountId) -> Agent,
        (speculation, inbound): (Speculation, bool),
        prepare: impl AsyncFnOnce(&mut FakePorts, &MemoryStore),
    ) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::starting_at(CLOCK_START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let node = NodeId::new();
        let attempt = claimed(&store, node).await;
        let account = attempt.account;
        let mut ports = FakePorts::with_clock(store.clone(), clock);
        prepare(&mut ports, &store).await;
        let told = Told::default();
        let (lines, _) = Actor::spawn(None, LinesProbe(told.clone()), ()).await.unwrap();
        let (journal, _) = Actor::spawn(None, JournalProbe, ()).await.unwrap();
        let (journal, backlog, live) = (Sibling::from(journal), Backlog::default(), broadcast::Sender::new(4096));
        let seen = live.subscribe();
        let stream = ScriptedStream::default();
        let (stream_ref, _) = Actor::spawn(None, ScriptedStreamActor(stream.clone()), ())
            .await
            .unwrap();
        let context = PlanContext {
            agent: Arc::new(agent(&store, account).await),
            agent_version: None,
            ring_timeout: Duration::from_secs(30),
            now: ports.clock.now(),
        };
        let line: Arc<dyn Carrier> = ports.carrier.clone();
        let mut plan = plan(attempt, &line, &context);
        if inbound {
            plan = from_outside(&store, node, plan).await;
        }
        let claim = plan.attempt.claim;
        let meter = Meter::default();
        let arguments = CallArguments {
            plan: plan.clone(),
            with: CallContext {
                node,
                ports: ports.ports(),
                journal: Journal::new(journal.clone(), backlog.clone(), live),
                stream: StreamSettings::default(),
                speculation,
                times: Times::default(),
                phrases: PhraseBook::default(),
                gate: DialGate::unguarded(),
            },
            lines: Reports::to(&lines, |report| report),
            meter: meter.clone(),
        };
        let probe = Some(stream_ref.clone());
        let (call, _) = Actor::spawn(None, CallActor { probe }, arguments).await.unwrap();
        stream.attach(call.clone());
        let test = Self {
            call,
            ports,
            store,
            stream,
            told,
            claim,
            journal,
            backlog,
            live: Mutex::new((seen, Vec::new())),
            plan,
            meter,
            _stream_ref: stream_ref,
        };
        ms(10).await;
        test
    }

    /// Starts a call that was dialed without errors.
    pub async fn dialed(agent: Agent) -> Self {
        Self::start(agent, async |_, _| {}).await
    }

    /// Starts a call that was answered just now.
    pub async fn answered(agent: Agent) -> Self {
        let test = Self::dialed(agent).await;
        test.open_media().await;
        test
    }

    /// Starts a call that was answered in silence and has greeted.
    pub async fn greeted(agent: Agent) -> Self {
        Self::greeted_with(agent, Speculation::default()).await
    }

    /// Does the same, with this setting for replies made ahead.
    pub async fn greeted_with(agent: Agent, speculation: Speculation) -> Self {
        let test = Self::start_with(agent, speculation, async |_, _| {}).await;
        test.open_media().await;
        ms(5_000).await;
        test
    }

    pub fn account(&self) -> AccountId {
        self.plan.attempt.account
    }

    pub fn attempt(&self) -> AttemptId {
        self.claim.attempt
    }

    pub async fn open_media(&self) {
        if let Some(leg) = &self.plan.inbound {
            let (proof, (media, _)) = (leg.token.proof(Purpose::Media), media_leg());
            let leg = media;
            let taken = ractor::call!(self.call, |reply| CallMessage::Media { proof, leg, reply });
            taken.unwrap().unwrap();
            return;
        }
        open_media(&self.ports.carrier, &self.call).await.unwrap().unwrap();
    }

    pub async fn call_back(&self, progress: CallProgress) -> Result<(), LegRefusal> {
        let taken = call_back(&self.ports.carrier, &self.call, progress).await;
        ms(10).await;
        taken.unwrap_or(Err(LegRefusal::UnknownCall))
    }

    pub async fn snapshot(&self) -> CallSnapshot {
        ractor::call!(self.call, CallMessage::Inspect).unwrap()
    }

    /// Returns the one `CallEnded`, or `None` while it has not come.
    pub fn ended(&self) -> Option<Option<Outcome>> {
        let ended = self.told.ended.lock().unwrap();
        assert!(ended.len() <= 1, "a call ends once");
        ended.first().cloned()
    }

    /// Returns status and error of the reported outcome.
    pub fn outcome(&self) -> Option<(&'static str, Option<String>)> {
        self.ended()
            .flatten()
            .map(|outcome| (outcome.status.as_str(), outcome.error))
    }

    pub fn hang_up(&self) {
        self.call.cast(CallMessage::Happened(Event::HangUp)).unwrap();
    }

    pub fn hang_ups(&self) -> usize {
        self.ports.carrier.hang_ups().len()
    }

    /// Starts a journal that writes into the store.
    pub async fn start_journal(&self) -> ActorRef<JournalMessage> {
        let arguments = JournalArguments {
            store: self.store.clone(),
            backlog: self.backlog.clone(),
        };
        let (actor, _) = Actor::spawn(None, JournalActor, arguments).await.unwrap();
        self.journal.set(actor.clone());
        actor
    }

    /// Returns the stored transcript.
    pub async fn stored_turns(&self) -> Vec<TurnFact> {
        self.store.turns(self.attempt()).await.unwrap()
    }

    pub fn facts(&self) -> Vec<Fact> {
        let mut live = self.live.lock().unwrap();
        while let Ok(seen) = live.0.try_recv() {
            live.1.push(seen.fact);
        }
        live.1.clone()
    }

    pub fn turns(&self) -> Vec<TurnFact> {
        let facts = self.facts();
        let turns = facts.iter().filter_map(|fact| match fact {
            Fact::Turn(turn) => Some(turn.clone()),
            Fact::Event(_) => None,
        });
        turns.collect()
    }

    /// Returns the turns as readers see them.
    pub fn transcript(&self) -> Vec<String> {
        self.turns()
            .into_iter()
            .map(|turn| format!("{:?}: {}", turn.speaker, turn.text))
            .collect()
    }

    /// Returns the details of all events of this name.
    pub fn details(&self, name: &str) -> Vec<Value> {
        let facts = self.facts();
        let details = facts.iter().filter_map(|fact| match fact {
            Fact::Event(event) if event.name == name => serde_json::from_str(&event.detail).ok(),
            _ => None,
        });
        details.collect()
    }

    pub fn events(&self) -> Vec<String> {
        let facts = self.facts();
        let events = facts.iter().filter_map(|fact| match fact {
            Fact::Event(event) => Some(event.name.clone()),
            Fact::Turn(_) => None,
        });
        events.collect()
    }

    pub async fn remaining(&self) -> Remaining {
        self.store.remaining(self.plan.attempt.campaign.unwrap()).await.unwrap()
    }

    /// Returns whether the store refuses to dial this number for this account again.
    pub async fn is_opted_out(&self) -> bool {
        let (attempt, owner) = (&self.plan.attempt, self.claim.owner);
        let campaign = running(&self.store, attempt.account, attempt.agent).await;
        let again = self.store.claim(owner, campaign, 1).await.unwrap().remove(0);
        let request = PermitRequest {
            carrier: "fake".into(),
            caller_id: None,
            agent_version: None,
            restricted_prefixes: Vec::new(),
        };
        self.store.permit(again.claim, request).await.unwrap() == Permit::DoNotCall
    }
}

/// Sends a callback about the last dial with its own proof. Returns `None` if the call is gone.
pub async fn call_back(
    carrier: &FakeCarrier,
    call: &ActorRef<CallMessage>,
    progress: CallProgress,
) -> Option<Result<(), LegRefusal>> {
    let proof = carrier.dials().last()?.status_token.clone();
    let report = progress.into();
    ractor::call!(call, |reply| CallMessage::Progress { proof, report, reply }).ok()
}

/// Opens the media socket of the last dial with its own proof. Returns `None` if the call is gone.
pub async fn open_media(carrier: &FakeCarrier, call: &ActorRef<CallMessage>) -> Option<Result<FakeSocket, LegRefusal>> {
    let proof = carrier.dials().last()?.media_token.clone();
    let (leg, socket) = media_leg();
    let taken = ractor::call!(call, |reply| CallMessage::Media { proof, leg, reply }).ok()?;
    Some(taken.map(|()| socket))
}
