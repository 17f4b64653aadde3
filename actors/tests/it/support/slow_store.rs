//! A store that delays each operation and its answer, so that messages cross as they do in production.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use domain::{
    account_settings::AccountSettings,
    agent::TransferRule,
    dial_token::DialToken,
    id::{
        AccountId, AgentId, ApiKeyId, AppointmentId, AttemptId, CampaignId, ContactId, DeliveryId, DocumentId, EventId,
        GroupId, NodeId, SessionId, ToolId, TransferRuleId, WebhookId,
    },
    phone_number::PhoneNumber,
    ports::{carrier::CarrierCallId, store::*},
    safeguards::{Rule, Safeguards},
    secret_token::TokenHash,
    time::Timestamp,
};
use serde_json::{Map, Value};
use testkit::memory_store::MemoryStore;

/// Every operation is delayed by up to 40 ms before it happens and up to 40 ms before its answer, each time
/// plus `more`.
pub struct SlowStore {
    store: Arc<MemoryStore>,
    seed: AtomicU64,
    more: Duration,
    holds_facts: AtomicBool,
}

impl SlowStore {
    pub fn new(store: Arc<MemoryStore>) -> Self {
        Self {
            store,
            seed: AtomicU64::new(1),
            more: Duration::ZERO,
            holds_facts: AtomicBool::new(false),
        }
    }

    pub fn slower_by(self, more: Duration) -> Self {
        Self { more, ..self }
    }

    /// Keeps facts from being written from now on, as if the process died before that.
    pub fn hold_facts(&self) {
        self.holds_facts.store(true, Ordering::Relaxed);
    }

    async fn pass(&self, operation: &str) {
        if operation == "append_facts" && self.holds_facts.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for the next delay. The sequence is the same in every run.
    async fn delay(&self) {
        let step = |x: u64| {
            Some(
                x.wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407),
            )
        };
        let seed = self
            .seed
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, step)
            .unwrap_or_default();
        tokio::time::sleep(self.more + Duration::from_millis((seed >> 33) % 41)).await;
    }
}

impl EventSignalling for SlowStore {
    fn event_signals(&self) -> Arc<EventSignals> {
        self.store.event_signals()
    }
}

macro_rules! slowly {
    ($($port:ident { $($name:ident($($arg:ident: $kind:ty),*) -> $result:ty;)* })*) => {$(
        #[async_trait]
        impl $port for SlowStore {
            $(async fn $name(&self, $($arg: $kind),*) -> StoreResult<$result> {
                self.delay().await;
                self.pass(stringify!($name)).await;
                let result = self.store.$name($($arg),*).await;
                self.delay().await;
                result
            })*
        }
    )*};
}

slowly! {
    DirectoryStore {
        create_account(new: NewAccount) -> ();
        create_agent(account: AccountId, document: Map<String, Value>, ticket: Option<&KeyTicket>) -> AgentRow;
        agent(account: AccountId, id: AgentId) -> AgentRow;
        kept_agent(account: AccountId, id: AgentId) -> AgentRow;
        webhook_secrets(account: AccountId) -> WebhookSecrets;
        rotate_webhook_secret(account: AccountId, secret: String) -> ();
        set_account_settings(account: AccountId, before: AccountSettings, after: AccountSettings) -> ();
        any_agent(id: AgentId) -> AgentRow;
        agents(account: AccountId, filter: AgentFilter, limit: i64) -> AgentPage;
        number_uses(account: AccountId, filter: NumberFilter, limit: i64) -> Vec<NumberUse>;
        taken_numbers(account: AccountId, agent: Option<AgentId>, document: &Map<String, Value>) -> Vec<PhoneNumber>;
        agent_versions(account: AccountId, id: AgentId, before: Option<i64>, limit: i64) -> Vec<AgentVersion>;
        agent_version(account: AccountId, id: AgentId, version: i64) -> AgentRow;
        delete_agent(account: AccountId, id: AgentId) -> Removal;
        update_agent(account: AccountId, id: AgentId, version: i64, document: Map<String, Value>) -> AgentRow;
        create_contact(account: AccountId, new: NewContact, ticket: Option<&KeyTicket>) -> ContactRow;
        contact(account: AccountId, id: ContactId) -> ContactRow;
        contacts(account: AccountId, filter: ContactFilter, limit: i64) -> Vec<ContactRow>;
        update_contact(account: AccountId, id: ContactId, version: i64, new: NewContact) -> ContactRow;
        delete_contact(account: AccountId, id: ContactId) -> ();
        add_do_not_call(account: AccountId, number: &PhoneNumber) -> DoNotCallRow;
        do_not_call(account: AccountId, search: Option<String>, after: Option<(Timestamp, PhoneNumber)>, limit: i64) -> Vec<DoNotCallRow>;
        opt_out(account: AccountId, number: &PhoneNumber, call: AttemptId) -> ();
        among_do_not_call(account: AccountId, numbers: &[PhoneNumber]) -> HashSet<PhoneNumber>;
        remove_do_not_call(account: AccountId, number: &PhoneNumber) -> ();
    }
    ApiKeyStore {
        api_keys(prefix: &str) -> Vec<FoundKey>;
        replace_api_key(email: &str, key: StoredApiKey, keep: Option<SessionId>) -> ();
        add_api_key(account: AccountId, new: NewApiKey) -> Option<ApiKeyRow>;
        keys_of_account(account: AccountId) -> Vec<ApiKeyRow>;
        change_api_key(account: AccountId, id: ApiKeyId, change: ApiKeyChange) -> ApiKeyRow;
        delete_api_key(account: AccountId, id: ApiKeyId, keep: Option<SessionId>) -> ();
        api_key_used(id: ApiKeyId) -> ();
    }
    SessionStore {
        open_session(token: TokenHash, with: OpenedWith) -> FoundSession;
        session(token: TokenHash) -> Option<FoundSession>;
        sessions_of(account: AccountId) -> Vec<SessionRow>;
        end_session(account: AccountId, id: SessionId) -> ();
        session_used(id: SessionId) -> ();
        add_login_link(email: &str, token: TokenHash) -> ();
        first_accounts(limit: i64) -> Vec<Account>;
    }
    ErasureStore {
        calls_of_contact(account: AccountId, id: ContactId) -> ContactCalls;
        erase_contact(account: AccountId, id: ContactId) -> ContactCalls;
        is_settled(account: AccountId, id: AttemptId) -> bool;
        delete_conversation(account: AccountId, id: AttemptId) -> ();
        ended_tests(ended_before: Timestamp, limit: i64) -> Vec<EndedTest>;
        erase_words(ended_before: Timestamp, limit: i64) -> usize;
    }
    IdempotencyStore {
        reserve_key(account: AccountId, key: &str, operation: &str, request_hash: &str) -> Reservation;
        renew_key(ticket: &KeyTicket) -> ();
        release_key(ticket: &KeyTicket) -> ();
    }
    SafeguardStore {
        safeguards(account: AccountId) -> SafeguardsRow;
        set_safeguards(account: AccountId, version: i64, new: Safeguards) -> SafeguardsRow;
        put_off(campaign: CampaignId) -> Vec<(Rule, i64)>;
    }
    ToolStore {
        create_tool(account: AccountId, new: HttpTool, ticket: Option<&KeyTicket>) -> ToolRow;
        tool(account: AccountId, id: ToolId) -> ToolRow;
        tools(account: AccountId, after: Option<(Timestamp, ToolId)>, limit: i64) -> Vec<ToolRow>;
        tools_of(account: AccountId, ids: &[ToolId]) -> Vec<ToolRow>;
        update_tool(account: AccountId, id: ToolId, version: i64, new: HttpTool) -> ToolRow;
        delete_tool(account: AccountId, id: ToolId) -> Removal;
    }
    TransferRuleStore {
        create_transfer_rule(account: AccountId, new: TransferRule, ticket: Option<&KeyTicket>) -> TransferRuleRow;
        transfer_rule(account: AccountId, id: TransferRuleId) -> TransferRuleRow;
        transfer_rules(account: AccountId, after: Option<(Timestamp, TransferRuleId)>, limit: i64) -> Vec<TransferRuleRow>;
        transfer_rules_of(account: AccountId, ids: &[TransferRuleId]) -> Vec<TransferRuleRow>;
        update_transfer_rule(account: AccountId, id: TransferRuleId, version: i64, new: TransferRule) -> TransferRuleRow;
        delete_transfer_rule(account: AccountId, id: TransferRuleId) -> Removal;
    }
    KnowledgeStore {
        create_document(account: AccountId, new: NewDocument, ticket: Option<&KeyTicket>) -> DocumentRow;
        document(account: AccountId, id: DocumentId) -> DocumentRow;
        document_text(account: AccountId, id: DocumentId) -> String;
        documents(account: AccountId, filter: KnowledgeFilter, limit: i64) -> Vec<DocumentRow>;
        known_documents(account: AccountId, ids: &[DocumentId]) -> Vec<DocumentId>;
        delete_document(account: AccountId, id: DocumentId) -> Removal;
        create_group(account: AccountId, name: String, documents: Vec<DocumentId>, ticket: Option<&KeyTicket>) -> GroupRow;
        group(account: AccountId, id: GroupId) -> GroupRow;
        groups(account: AccountId, filter: KnowledgeFilter, limit: i64) -> Vec<GroupRow>;
        known_groups(account: AccountId, ids: &[GroupId]) -> Vec<GroupId>;
        update_group(account: AccountId, id: GroupId, edit: GroupEdit) -> GroupRow;
        delete_group(account: AccountId, id: GroupId) -> Removal;
    }
    CampaignStore {
        begin_import(account: AccountId, new: NewCampaign) -> CampaignId;
        append_contacts(import: CampaignId, contacts: &[CampaignContact]) -> ();
        finish_import(import: CampaignId, ticket: Option<&KeyTicket>) -> CampaignRow;
        abandon_import(import: CampaignId) -> ();
        sweep_imports() -> u64;
        sweep_lists() -> u64;
        campaign(account: AccountId, id: CampaignId) -> CampaignRow;
        campaign_contacts(id: CampaignId, from: i64, limit: i64) -> Vec<CampaignContact>;
        progress(id: CampaignId) -> Progress;
        campaigns(account: AccountId, filter: CampaignFilter, limit: i64) -> Vec<CampaignRow>;
        change_state(id: CampaignId, version: i64, change: StateChange) -> CampaignRow;
        update_campaign(id: CampaignId, version: i64, edit: CampaignEdit, change: StateChange) -> CampaignRow;
        add_contacts(id: CampaignId, import: CampaignId, ticket: Option<&KeyTicket>) -> ContactsAdded;
        call_again(id: CampaignId, last: &[AttemptId], earlier: i64, ticket: Option<&KeyTicket>) -> CalledAgain;
        delete_campaign(id: CampaignId, version: i64) -> ();
        active_campaigns() -> Vec<CampaignRow>;
        active_versions() -> Vec<ActiveCampaign>;
        want_hang_up(id: CampaignId, version: i64) -> ();
        hang_up_wanted(id: CampaignId, version: i64) -> bool;
        account(id: AccountId) -> Account;
    }
    CampaignReadStore {
        contact_results(campaign: CampaignId, filter: ResultFilter, from: i64, limit: i64) -> ContactPage;
        changed_conversations(campaign: CampaignId, after: Timestamp, after_id: AttemptId, limit: i64) -> Vec<ChangedConversation>;
        recent_dials(campaign: CampaignId, minutes: i64) -> RecentDials;
        latest_conversations(campaign: CampaignId, newest: i64) -> Vec<ChangedConversation>;
        saved_by_number(account: AccountId, numbers: &[PhoneNumber]) -> Vec<ContactRow>;
        saved_by_id(account: AccountId, ids: &[ContactId]) -> Vec<ContactRow>;
    }
    ReturnStore {
        take_over(node: NodeId, returning: ReturningCall) -> ReturnedCall;
        keep_collected(claim: Claim, collected: BTreeMap<String, String>) -> ();
    }
    NodeStore {
        register_node(node: NodeId, address: Option<&str>) -> ();
        heartbeat(node: NodeId) -> Pulse;
        sign_off(node: NodeId) -> ();
        lost_claims(claims: &[Claim]) -> Vec<Claim>;
        last_holder(attempt: AttemptId) -> Option<Claim>;
        live_nodes() -> Vec<LiveNode>;
        owner_of(attempt: AttemptId) -> Option<Owner>;
        cluster_secret() -> String;
    }
    AttemptStore {
        take_orphaned(node: NodeId, patience: &Patience) -> Vec<OrphanedAttempt>;
        claim(node: NodeId, campaign: CampaignId, limit: i64) -> Vec<ClaimedAttempt>;
        pass_over(node: NodeId, campaign: CampaignId, window: i64, restricted: &[String]) -> u64;
        release(claims: &[Claim]) -> ();
        stale_claims(node: NodeId, older_than_ms: i64) -> Vec<Claim>;
        unsettled(node: NodeId, older_than_ms: i64) -> Vec<OrphanedAttempt>;
        permit(claim: Claim, request: PermitRequest) -> Permit;
        not_sent(claim: Claim, delay_ms: i64, why: Option<String>) -> ();
        dialed(claim: Claim, call: &CarrierCallId) -> ();
        answered(claim: Claim, at: Timestamp) -> ();
        unknown(claim: Claim) -> ();
        finish(claim: Claim, outcome: Outcome, next: Option<NextAttempt>) -> ();
        remaining(campaign: CampaignId) -> Remaining;
        attempt_of_call(carrier: &str, call: &CarrierCallId) -> Option<AttemptId>;
        sent_with(attempt: AttemptId) -> Option<SentWith>;
        dial_token(attempt: AttemptId) -> DialToken;
    }
    CallStore {
        create_call(account: AccountId, new: NewCall, ticket: Option<&KeyTicket>) -> QueuedCall;
        waiting_calls() -> WaitingCalls;
        claim_calls(node: NodeId, limit: i64) -> Vec<ClaimedAttempt>;
        expire_calls() -> u64;
        cancel_queued(account: AccountId, attempt: AttemptId) -> ();
        call_variables(attempt: AttemptId) -> Map<String, Value>;
    }
    InboundStore {
        answering_agent(number: &PhoneNumber) -> Option<AgentRow>;
        receive_call(node: NodeId, new: NewInboundCall) -> Option<ReceivedCall>;
    }
    DeliveryStore {
        due_lanes(sought: Sought, limit: i64) -> Vec<DueLane>;
        lease_deliveries(sought: Sought, lanes: &[(String, i64)]) -> Vec<Delivery>;
        renew_deliveries(held: &[(DeliveryId, i64)]) -> ();
        settle_delivery(delivery: &Delivery, settled: Settled) -> ();
        forget_deliveries(made_before: Timestamp, limit: i64) -> usize;
        deliveries_of(attempt: AttemptId) -> Vec<DeliveryRow>;
        contact_of(attempt: AttemptId) -> CampaignContact;
    }
    AccountEventStore {
        publish_events(limit: i64) -> usize;
        last_event_place(account: AccountId) -> i64;
        events_after(account: AccountId, place: i64, limit: i64) -> Vec<AccountEvent>;
        forget_events(made_before: Timestamp, limit: i64) -> usize;
    }
    WebhookStore {
        create_webhook(account: AccountId, new: WebhookEndpoint, secret: String, ticket: Option<&KeyTicket>) -> Option<WebhookRow>;
        webhook(account: AccountId, id: WebhookId) -> WebhookRow;
        webhooks(account: AccountId, after: Option<(Timestamp, WebhookId)>, limit: i64) -> Vec<WebhookRow>;
        update_webhook(account: AccountId, id: WebhookId, version: i64, new: WebhookEndpoint) -> WebhookRow;
        rotate_secret(account: AccountId, id: WebhookId, secret: String) -> ();
        delete_webhook(account: AccountId, id: WebhookId) -> ();
        recent_deliveries(id: WebhookId) -> RecentDeliveries;
        webhook_deliveries(id: WebhookId, before: Option<DeliveryId>, limit: i64) -> Vec<WebhookDelivery>;
        resend_delivery(id: WebhookId, delivery: DeliveryId) -> WebhookDelivery;
        test_webhook(account: AccountId, id: WebhookId) -> WebhookDelivery;
        webhook_message(delivery: DeliveryId) -> WebhookMessage;
    }
    AnalyticsStore {
        calls_to_count(limit: i64) -> CountingBatch;
        count_calls(batch: &CountingBatch, counted: Vec<CountedCall>) -> ();
        call_counts(account: AccountId, filter: CountsFilter) -> GroupedCounts;
    }
    AppointmentStore {
        begin_appointment(new: NewAppointment) -> Begun;
        settle_appointment(id: AppointmentId, lease: i64, settled: BookingSettled) -> ();
        lease_appointments(limit: i64) -> Vec<Appointment>;
        appointment(id: AppointmentId) -> Appointment;
        appointments_of(attempt: AttemptId) -> Vec<Appointment>;
        appointments(account: AccountId, filter: AppointmentFilter, limit: i64) -> Vec<ListedAppointment>;
    }
    RecordStore {
        append_facts(facts: &[(AttemptId, Fact)]) -> ();
        conversation(account: AccountId, id: AttemptId) -> ConversationRow;
        conversation_page(account: AccountId, filter: ConversationFilter, limit: i64) -> ConversationPage;
        count_conversations(account: AccountId, filter: ConversationFilter) -> (i64, bool);
        calls_in_progress(account: AccountId, filter: InProgressFilter, limit: i64) -> Vec<CallInProgress>;
        note_calls(after: EndPlace, limit: i64) -> Option<EndPlace>;
        turns(id: AttemptId) -> Vec<TurnFact>;
        last_event(id: AttemptId, name: &str) -> Option<EventFact>;
        events_of(id: AttemptId, names: &[&'static str], after: Option<EventId>, limit: i64) -> Vec<EventRow>;
        due_analyses(limit: i64) -> Vec<Job>;
        conversation_of_job(job: &Job) -> ConversationRow;
        save_analysis(job: &Job, analysis: Analysis) -> ();
        retry_job(job: &Job, delay_ms: i64) -> ();
        ping() -> ();
    }
}
