//! Records of calls: facts in order, conversations as readers see them, and durable jobs.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    appointments::Appointment,
    attempts::{CallDirection, ConversationStatus},
    callee_record::CalleeRecord,
    calls_in_progress::{CallInProgress, InProgressFilter},
    error::StoreResult,
};
pub use crate::history::{EventFact, Fact, Tokens, TurnDetail, TurnFact};
use crate::{
    agent::Agent,
    history::Speaker,
    id::{AccountId, AgentId, AttemptId, CampaignId, EventId, JobId},
    phone_number::PhoneNumber,
    time::Timestamp,
    transcript_search::Query,
};

/// Sentiment of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnSentiment {
    /// Text of the turn.
    pub text: String,
    /// Label of the sentiment.
    pub sentiment_label: SentimentLabel,
    /// Speaker of the turn.
    pub speaker: Speaker,
    /// Score from -1 (bad) to 1 (good).
    #[schema(minimum = -1, maximum = 1)]
    pub sentiment_score: f64,
}

/// Label of a sentiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SentimentLabel {
    /// Good.
    Positive,
    /// Neither.
    Neutral,
    /// Bad.
    Negative,
}

spelled!(SentimentLabel, Positive "positive", Neutral "neutral", Negative "negative");

/// Sentiment of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sentiment {
    /// Score from -1 (bad) to 1 (good).
    #[schema(minimum = -1, maximum = 1)]
    pub sentiment_score: f64,
    /// Sentiment of each turn.
    pub sentiment_by_turn: Vec<TurnSentiment>,
    /// Overall label.
    pub sentiment_overall: SentimentLabel,
}

/// A key moment of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyMoment {
    /// Text of the moment.
    pub text: String,
    /// Kind of the moment.
    pub label: String,
    /// Speaker.
    pub speaker: Speaker,
    /// Time in the call as `mm:ss`.
    #[schema(pattern = "^[0-9]{2,}:[0-5][0-9]$")]
    pub timestamp: String,
}

/// Where the callee said a collected value, or affirmed a question with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Evidence {
    /// Number of the turn, counted from 0.
    #[schema(minimum = 0)]
    pub turn: i64,
    /// Words of the turn.
    pub quote: String,
}

/// Evidence for collected values by entity. Values without it are missing.
pub type EvidenceOfValues = BTreeMap<String, Evidence>;

/// Result of the analysis after a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// Summary in a few sentences.
    pub summary: String,
    /// Sentiment.
    pub sentiment: Sentiment,
    /// Key moments.
    pub key_moments: Vec<KeyMoment>,
    /// `appointmentScheduled`; empty if no appointment was made.
    #[serde(default)]
    pub appointment: Map<String, Value>,
    /// Issues of the call, each in a sentence.
    #[serde(default)]
    pub issues: Vec<String>,
    /// Source of the analysis.
    #[serde(default)]
    pub by: AnalysedBy,
    /// All collected values from now on, by entity; none keeps those the call collected. Stored with the
    /// conversation, not in the analysis.
    #[serde(skip)]
    pub collected: Option<BTreeMap<String, String>>,
    /// Evidence for the values. Not stored in the analysis either.
    #[serde(skip)]
    pub evidence: EvidenceOfValues,
    /// Values to write to the saved contact of the number, if there is one. Not stored in the analysis either.
    #[serde(skip)]
    pub contact: BTreeMap<String, Value>,
}

/// Source of a call's analysis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnalysedBy {
    /// The rules, which need no language model.
    #[default]
    Rules,
    /// A language model.
    Model,
    /// The rules, because the language model gave no usable answer.
    RulesInstead,
}

impl Analysis {
    /// Returns the part of an analysis that lists show: the summary, with all other fields empty.
    pub fn of_summary(summary: String) -> Self {
        Self {
            summary,
            sentiment: Sentiment {
                sentiment_score: 0.0,
                sentiment_by_turn: Vec::new(),
                sentiment_overall: SentimentLabel::Neutral,
            },
            key_moments: Vec::new(),
            appointment: Map::new(),
            issues: Vec::new(),
            by: AnalysedBy::Rules,
            collected: None,
            evidence: EvidenceOfValues::new(),
            contact: BTreeMap::new(),
        }
    }
}

/// A conversation as readers see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationRow {
    /// Id of the attempt.
    pub id: AttemptId,
    /// Owner.
    pub account: AccountId,
    /// Campaign, if it belongs to one.
    pub campaign: Option<CampaignId>,
    /// Agent.
    pub agent: AgentId,
    /// Version of the agent with which the call began; none if it has not begun or is older than versions.
    pub agent_version: Option<i64>,
    /// The agent's name.
    pub agent_name: String,
    /// Status.
    pub status: ConversationStatus,
    /// Direction of the call.
    pub direction: CallDirection,
    /// Time when it was dialed or came in; before that, the time when it is due.
    pub started_at: Timestamp,
    /// Time of the answer.
    pub answered_at: Option<Timestamp>,
    /// Time of the end.
    pub ended_at: Option<Timestamp>,
    /// Number of the other person, who was called or who called.
    pub contact_number: PhoneNumber,
    /// The other person at the start of the call.
    pub callee: CalleeRecord,
    /// Our number: the caller ID, or the number that was called.
    pub caller_number: Option<PhoneNumber>,
    /// Carrier.
    pub carrier: Option<String>,
    /// Reason for its failure.
    pub error: Option<String>,
    /// Whether a machine answered.
    pub voicemail: bool,
    /// Whether it was transferred.
    pub transferred: bool,
    /// Collected values by entity.
    pub collected: BTreeMap<String, String>,
    /// Evidence for them, after the analysis.
    pub evidence: EvidenceOfValues,
    /// Analysis; none until it is done.
    pub analysis: Option<Analysis>,
    /// Overall sentiment of the analysis, once the call is noted.
    pub sentiment: Option<SentimentLabel>,
    /// Usage of providers as its conversation shows it, once the call is over.
    pub usage: Option<Value>,
    /// Latency in milliseconds that half of the agent's answers did not exceed, once the call is counted.
    pub latency_ms: Option<i64>,
    /// Cost in thousand-millionths of the currency's unit, by the prices with which the call was counted.
    pub cost_nanos: Option<i64>,
    /// The appointment that was made last; left out in lists.
    pub appointment: Option<Appointment>,
    /// Whether the agent tracked issues when it ended; none before, and if that was not kept.
    pub issue_tracking: Option<bool>,
    /// Whether it is a test call.
    pub is_test: bool,
    /// Time when the row was created.
    pub created_at: Timestamp,
}

impl ConversationRow {
    /// Returns the whole seconds from the answer to the end; 0 until both are known.
    pub fn duration_s(&self) -> u64 {
        match (self.answered_at, self.ended_at) {
            (Some(answered), Some(ended)) => ended.since(answered).as_secs(),
            _ => 0,
        }
    }

    /// Returns whether issues are tracked, by the `agent` as it is now unless the end kept it.
    pub fn tracks_issues(&self, agent: Option<&Agent>) -> bool {
        let now = || agent.is_some_and(|agent| agent.platform_settings.call_actions.issue_tracking);
        self.issue_tracking.unwrap_or_else(now)
    }
}

/// Outcome of an ended call, named as in a campaign's results: how it ended, or why it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// Answered, also by a machine.
    Completed,
    /// Answered by a machine.
    Voicemail,
    /// Not reached, or broken off.
    Failed,
    /// Ended by us before it was answered.
    Cancelled,
    /// The line was busy.
    Busy,
    /// Nobody answered.
    NoAnswer,
    /// The callee declined.
    Rejected,
    /// There is no such number.
    InvalidNumber,
    /// The carrier failed.
    CarrierError,
    /// The audio broke off.
    MediaLost,
    /// The agent failed.
    AgentError,
    /// The number is restricted.
    Restricted,
    /// The number is on the do-not-call list.
    DoNotCall,
    /// A safeguard refused the call.
    NotAllowed,
}

spelled!(CallOutcome, Completed "completed", Voicemail "voicemail", Failed "failed", Cancelled "cancelled",
    Busy "busy", NoAnswer "no-answer", Rejected "rejected", InvalidNumber "invalid-number",
    CarrierError "carrier-error", MediaLost "media-lost", AgentError "agent-error", Restricted "restricted",
    DoNotCall "do-not-call", NotAllowed "not-allowed");

/// Column of a conversation's row from which an outcome is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeSign {
    /// Its status.
    Status(ConversationStatus),
    /// A machine answered.
    Machine,
    /// Its error is this word, alone or before a colon.
    Error(&'static str),
}

impl CallOutcome {
    /// Returns the column and value that a conversation with this outcome has.
    pub fn sign(self) -> OutcomeSign {
        match self {
            Self::Completed => OutcomeSign::Status(ConversationStatus::Completed),
            Self::Failed => OutcomeSign::Status(ConversationStatus::Failed),
            Self::Cancelled => OutcomeSign::Status(ConversationStatus::Cancelled),
            Self::Voicemail => OutcomeSign::Machine,
            reason => OutcomeSign::Error(reason.as_str()),
        }
    }
}

/// Key by which conversations are sorted. Those without it are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConversationSort {
    /// Start.
    #[default]
    StartTime,
    /// Duration from the answer.
    Duration,
    /// Cost, of counted calls.
    Cost,
}

spelled!(ConversationSort, StartTime "start_time", Duration "duration", Cost "cost");

/// Place of a conversation in a list: its sort key, as a time whatever it is, and its id.
pub type ConversationPlace = (Timestamp, AttemptId);

/// Most conversations that are counted.
pub const MOST_COUNTED: i64 = 10_000;

/// Filters of the conversations list.
#[derive(Debug, Clone, Default)]
pub struct ConversationFilter {
    /// Agent.
    pub agent: Option<AgentId>,
    /// Campaign.
    pub campaign: Option<CampaignId>,
    /// Status.
    pub status: Option<ConversationStatus>,
    /// Upper limit of the start, exclusive.
    pub started_before: Option<Timestamp>,
    /// Lower limit of the start, exclusive.
    pub started_after: Option<Timestamp>,
    /// Least duration from the answer, in whole seconds.
    pub min_duration: Option<i64>,
    /// Agents, one of which must be the conversation's.
    pub agents: Option<Vec<AgentId>>,
    /// Number of the other person.
    pub number: Option<PhoneNumber>,
    /// Direction.
    pub direction: Option<CallDirection>,
    /// Outcome.
    pub outcome: Option<CallOutcome>,
    /// Overall sentiment. Matches only noted calls, see [`RecordStore::note_calls`].
    pub sentiment: Option<SentimentLabel>,
    /// Whether the call has issues. Matches only noted calls.
    pub has_issue: Option<bool>,
    /// Search in the transcript. Matches only noted calls.
    pub search: Option<Query>,
    /// Sort key.
    pub sort: ConversationSort,
    /// Whether the lowest key comes first, instead of the highest.
    pub ascending: bool,
    /// The cursor: list only rows after this place.
    pub after: Option<ConversationPlace>,
}

impl ConversationFilter {
    /// Returns the place of a row in the list.
    pub fn place(&self, row: &ConversationRow) -> ConversationPlace {
        let key = match self.sort {
            ConversationSort::StartTime => row.started_at,
            ConversationSort::Duration => Timestamp(row.duration_s().cast_signed()),
            ConversationSort::Cost => Timestamp(row.cost_nanos.unwrap_or_default()),
        };
        (key, row.id)
    }
}

/// A page of conversations.
#[derive(Debug, Clone, Default)]
pub struct ConversationPage {
    /// The conversations; of the analysis only the summary.
    pub rows: Vec<ConversationRow>,
    /// Place after which to continue, if the page is short because the limit of examined conversations was reached.
    pub reached: Option<ConversationPlace>,
}

/// Place of a call in the order of ends.
pub type EndPlace = (Timestamp, AttemptId);

/// Minimum age of an ended call for [`RecordStore::note_calls`], in microseconds. By then the analysis is usually done
/// and has noted the call.
pub const NOTED_AFTER_US: i64 = 30 * 1_000_000;

/// A stored event of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Its id, by which a call's events are in order.
    pub id: EventId,
    /// Time at which it was stored.
    pub stored_at: Timestamp,
    /// The event.
    pub event: EventFact,
}

/// A durable job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Id of the job.
    pub id: JobId,
    /// Attempt that it is about.
    pub attempt: AttemptId,
    /// Number of earlier tries.
    pub tries: i64,
}

/// Facts, conversations, jobs.
#[async_trait]
pub trait RecordStore: Send + Sync {
    /// Appends facts in order. A turn that exists already is not written twice.
    async fn append_facts(&self, facts: &[(AttemptId, Fact)]) -> StoreResult<()>;

    /// Returns a conversation. Returns `NotFound`.
    async fn conversation(&self, account: AccountId, id: AttemptId) -> StoreResult<ConversationRow>;

    /// Returns a page of the account's conversations with at most `limit` rows.
    async fn conversation_page(
        &self,
        account: AccountId,
        filter: ConversationFilter,
        limit: i64,
    ) -> StoreResult<ConversationPage>;

    /// Returns the number of the account's conversations that match, at most [`MOST_COUNTED`], and whether it is
    /// all of them.
    async fn count_conversations(&self, account: AccountId, filter: ConversationFilter) -> StoreResult<(i64, bool)>;

    /// Returns the rows of [`RecordStore::conversation_page`].
    async fn conversations(
        &self,
        account: AccountId,
        filter: ConversationFilter,
        limit: i64,
    ) -> StoreResult<Vec<ConversationRow>> {
        Ok(self.conversation_page(account, filter, limit).await?.rows)
    }

    /// Returns the account's calls in progress on all nodes, newest first, at most `limit`.
    async fn calls_in_progress(
        &self,
        account: AccountId,
        filter: InProgressFilter,
        limit: i64,
    ) -> StoreResult<Vec<CallInProgress>>;

    /// Notes ended calls: stores their sentiment, issues and words for filters and searches. Examines at most `limit`
    /// calls after the place `after`, in the order of ends, and skips those already noted. Returns the place it
    /// reached, or `None` if there was no further call.
    async fn note_calls(&self, after: EndPlace, limit: i64) -> StoreResult<Option<EndPlace>>;

    /// Returns the turns of a call in order.
    async fn turns(&self, id: AttemptId) -> StoreResult<Vec<TurnFact>>;

    /// Returns the last event of this name in a call.
    async fn last_event(&self, id: AttemptId, name: &str) -> StoreResult<Option<EventFact>>;

    /// Returns the call's events with these names in order, at most `limit`: those after the event `after`, or
    /// from the first.
    async fn events_of(
        &self,
        id: AttemptId,
        names: &[&'static str],
        after: Option<EventId>,
        limit: i64,
    ) -> StoreResult<Vec<EventRow>>;

    /// Returns due analysis jobs, at most `limit`, leased for 60 s.
    async fn due_analyses(&self, limit: i64) -> StoreResult<Vec<Job>>;

    /// Returns the conversation of a job. Returns `NotFound`.
    async fn conversation_of_job(&self, job: &Job) -> StoreResult<ConversationRow>;

    /// Stores the analysis and ends its job, in one transaction. Also stores the collected values, and the
    /// values for the saved contact of the number, if there is one.
    async fn save_analysis(&self, job: &Job, analysis: Analysis) -> StoreResult<()>;

    /// Delays a job after a failed try.
    async fn retry_job(&self, job: &Job, delay_ms: i64) -> StoreResult<()>;

    /// Makes a cheap round trip to check whether the database answers.
    async fn ping(&self) -> StoreResult<()>;
}
