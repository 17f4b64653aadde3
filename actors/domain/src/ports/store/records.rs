//! What calls leave behind: facts in order, conversations as readers see them, and durable jobs.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Appointment, CallDirection, ConversationStatus, StoreResult};
pub use crate::history::{EventFact, Fact, TurnFact};
use crate::{
    history::Speaker,
    id::{AccountId, AgentId, AttemptId, CampaignId, JobId},
    phone_number::PhoneNumber,
    time::Timestamp,
};

/// How a turn felt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnSentiment {
    /// The turn's words.
    pub text: String,
    /// The feeling.
    pub sentiment_label: SentimentLabel,
    /// Who spoke.
    pub speaker: Speaker,
    /// -1 to 1.
    #[schema(minimum = -1, maximum = 1)]
    pub sentiment_score: f64,
}

/// A feeling.
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

/// How a conversation felt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sentiment {
    /// -1 to 1.
    #[schema(minimum = -1, maximum = 1)]
    pub sentiment_score: f64,
    /// Turn by turn.
    pub sentiment_by_turn: Vec<TurnSentiment>,
    /// Over all.
    pub sentiment_overall: SentimentLabel,
}

/// A moment that mattered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyMoment {
    /// The words.
    pub text: String,
    /// What kind of moment.
    pub label: String,
    /// Who spoke.
    pub speaker: Speaker,
    /// `mm:ss` into the call.
    #[schema(pattern = "^[0-9]{2,}:[0-5][0-9]$")]
    pub timestamp: String,
}

/// What the analysis after a call found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// A few sentences.
    pub summary: String,
    /// Mood.
    pub sentiment: Sentiment,
    /// Moments worth finding again.
    pub key_moments: Vec<KeyMoment>,
    /// `appointmentScheduled`; empty when none was made.
    #[serde(default)]
    pub appointment: Map<String, Value>,
    /// What went badly, each in a sentence.
    #[serde(default)]
    pub issues: Vec<String>,
    /// Who found it.
    #[serde(default)]
    pub by: AnalysedBy,
    /// All that is collected from now on, entity to value; none leaves what the call collected. Kept with the
    /// conversation, not in here.
    #[serde(skip)]
    pub collected: Option<BTreeMap<String, String>>,
    /// What is written onto the saved contact of the number, if there is one. Not kept in here either.
    #[serde(skip)]
    pub contact: BTreeMap<String, Value>,
}

/// Who analysed a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnalysedBy {
    /// The rules, which need no language model.
    #[default]
    Rules,
    /// A language model.
    Model,
    /// The rules, as the language model gave no usable answer.
    RulesInstead,
}

impl Analysis {
    /// What a list shows of an analysis: its summary, and nothing in the other fields.
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
            contact: BTreeMap::new(),
        }
    }
}

/// A conversation as readers see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationRow {
    /// The attempt.
    pub id: AttemptId,
    /// Owner.
    pub account: AccountId,
    /// Campaign, if it belongs to one.
    pub campaign: Option<CampaignId>,
    /// Agent.
    pub agent: AgentId,
    /// The agent's name.
    pub agent_name: String,
    /// Status.
    pub status: ConversationStatus,
    /// Who began it.
    pub direction: CallDirection,
    /// When it was dialed, or came in; before that, when it is due.
    pub started_at: Timestamp,
    /// When it was answered.
    pub answered_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The person: who was called, or who called.
    pub contact_number: PhoneNumber,
    /// Our number: the caller ID, or the number that was called.
    pub caller_number: Option<PhoneNumber>,
    /// Carrier.
    pub carrier: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// A machine answered.
    pub voicemail: bool,
    /// Handed on.
    pub transferred: bool,
    /// Entity to value.
    pub collected: BTreeMap<String, String>,
    /// None until the analysis is done.
    pub analysis: Option<Analysis>,
    /// The appointment that was made last; lists leave it out.
    pub appointment: Option<Appointment>,
    /// When the row was made.
    pub created_at: Timestamp,
}

/// Filters of the conversations list.
#[derive(Debug, Clone, Default)]
pub struct ConversationFilter {
    /// Agent.
    pub agent: Option<AgentId>,
    /// Campaign.
    pub campaign: Option<CampaignId>,
    /// Status.
    pub status: Option<ConversationStatus>,
    /// Started before, exclusive.
    pub started_before: Option<Timestamp>,
    /// Started after, exclusive.
    pub started_after: Option<Timestamp>,
    /// Whole seconds from the answer, at least.
    pub min_duration: Option<i64>,
    /// Behind this row of the order (newest first by start, then id): the cursor.
    pub after: Option<(Timestamp, AttemptId)>,
}

/// A durable job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// What it is about.
    pub attempt: AttemptId,
    /// How often it was tried before.
    pub tries: i64,
}

/// Facts, conversations, jobs.
#[async_trait]
pub trait RecordStore: Send + Sync {
    /// Appends facts in order. A turn that is there already is not written twice.
    async fn append_facts(&self, facts: &[(AttemptId, Fact)]) -> StoreResult<()>;

    /// One conversation. `NotFound`.
    async fn conversation(&self, account: AccountId, id: AttemptId) -> StoreResult<ConversationRow>;

    /// The account's conversations, newest first, at most `limit`; analysis left out but for the summary.
    async fn conversations(
        &self,
        account: AccountId,
        filter: ConversationFilter,
        limit: i64,
    ) -> StoreResult<Vec<ConversationRow>>;

    /// The turns of a call in order.
    async fn turns(&self, id: AttemptId) -> StoreResult<Vec<TurnFact>>;

    /// The last event of this name in a call.
    async fn last_event(&self, id: AttemptId, name: &str) -> StoreResult<Option<EventFact>>;

    /// Analysis jobs that are due, at most `limit`, leased for 60 s.
    async fn due_analyses(&self, limit: i64) -> StoreResult<Vec<Job>>;

    /// The conversation a job is about. `NotFound`.
    async fn conversation_of_job(&self, job: &Job) -> StoreResult<ConversationRow>;

    /// Keeps the analysis and ends its job, in one transaction; with it what is collected, and what the saved contact of
    /// the number keeps, if there is one.
    async fn save_analysis(&self, job: &Job, analysis: Analysis) -> StoreResult<()>;

    /// Puts a job off after a failed try.
    async fn retry_job(&self, job: &Job, delay_ms: i64) -> StoreResult<()>;

    /// A cheap round trip: whether the database answers.
    async fn ping(&self) -> StoreResult<()>;
}
