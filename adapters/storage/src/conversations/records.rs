//! The records part of the store: facts, conversations, jobs.

use async_trait::async_trait;
use domain::{
    id::{AccountId, AttemptId, EventId},
    ports::store::{
        Analysis, CallInProgress, ConversationFilter, ConversationPage, ConversationRow, EndPlace, EventFact, EventRow,
        Fact, InProgressFilter, Job, RecordStore, StoreError, StoreResult, TurnFact,
    },
};

use super::{facts, jobs, transcripts, turns};
use crate::{
    conversations::{self, calls_in_progress},
    engine::{SqlStore, Work, rows::unavailable},
};

async fn ping(work: Work<'_>) -> StoreResult<()> {
    let row = sqlx::query("SELECT 1 AS alive").fetch_one(work.conn).await;
    row.map(drop).map_err(unavailable)
}

impl SqlStore {
    async fn note_together(&self, calls: &[AttemptId]) -> StoreResult<()> {
        let calls = calls.to_vec();
        self.write(move |work| Box::pin(transcripts::note_all(work, calls)))
            .await
    }

    /// Notes calls of which one cannot be noted, so that it does not keep the others from it.
    async fn note_each(&self, calls: &[AttemptId]) -> StoreResult<()> {
        for call in calls {
            match self.note_together(&[*call]).await {
                Ok(()) => {}
                Err(error @ StoreError::Unavailable(_)) => return Err(error),
                // Trying again would not help.
                Err(error) => tracing::error!(attempt = %call, %error, "call cannot be noted for searches"),
            }
        }
        Ok(())
    }
}

#[async_trait]
impl RecordStore for SqlStore {
    async fn append_facts(&self, facts: &[(AttemptId, Fact)]) -> StoreResult<()> {
        let facts = facts.to_vec();
        self.write(move |work| Box::pin(facts::append(work, facts))).await
    }

    async fn conversation(&self, account: AccountId, id: AttemptId) -> StoreResult<ConversationRow> {
        self.read(move |work| Box::pin(conversations::get(work, Some(account), id)))
            .await
    }

    async fn conversation_page(
        &self,
        account: AccountId,
        filter: ConversationFilter,
        limit: i64,
    ) -> StoreResult<ConversationPage> {
        let limits = self.page_limits;
        self.read(move |work| Box::pin(conversations::page(work, account, filter, limit, limits)))
            .await
    }

    async fn count_conversations(&self, account: AccountId, filter: ConversationFilter) -> StoreResult<(i64, bool)> {
        self.read(move |work| Box::pin(conversations::count(work, account, filter)))
            .await
    }

    async fn calls_in_progress(
        &self,
        account: AccountId,
        filter: InProgressFilter,
        limit: i64,
    ) -> StoreResult<Vec<CallInProgress>> {
        self.read(move |work| Box::pin(calls_in_progress::list(work, account, filter, limit)))
            .await
    }

    async fn note_calls(&self, after: EndPlace, limit: i64) -> StoreResult<Option<EndPlace>> {
        let calls = self.read(move |work| Box::pin(transcripts::over_since(work, after, limit)));
        let calls = calls.await?;
        let new: Vec<AttemptId> = calls
            .iter()
            .filter(|(_, is_new)| *is_new)
            .map(|((_, id), _)| *id)
            .collect();
        for some in new.chunks(transcripts::NOTED_AT_ONCE) {
            match self.note_together(some).await {
                Ok(()) => {}
                Err(error @ StoreError::Unavailable(_)) => return Err(error),
                Err(_) => self.note_each(some).await?,
            }
        }
        Ok(calls.last().map(|(place, _)| *place))
    }

    async fn turns(&self, id: AttemptId) -> StoreResult<Vec<TurnFact>> {
        self.read(move |work| Box::pin(turns::of(work, id))).await
    }

    async fn last_event(&self, id: AttemptId, name: &str) -> StoreResult<Option<EventFact>> {
        let name = name.to_owned();
        self.read(move |work| Box::pin(facts::last_event(work, id, name))).await
    }

    async fn events_of(
        &self,
        id: AttemptId,
        names: &[&'static str],
        after: Option<EventId>,
        limit: i64,
    ) -> StoreResult<Vec<EventRow>> {
        let names = names.to_vec();
        self.read(move |work| Box::pin(facts::events(work, id, names, after, limit)))
            .await
    }

    async fn due_analyses(&self, limit: i64) -> StoreResult<Vec<Job>> {
        self.write(move |work| Box::pin(jobs::lease_analyses(work, limit)))
            .await
    }

    async fn conversation_of_job(&self, job: &Job) -> StoreResult<ConversationRow> {
        let attempt = job.attempt;
        self.read(move |work| Box::pin(conversations::get(work, None, attempt)))
            .await
    }

    async fn save_analysis(&self, job: &Job, analysis: Analysis) -> StoreResult<()> {
        let job = job.clone();
        self.write(move |work| Box::pin(jobs::save_analysis(work, job, analysis)))
            .await
    }

    async fn retry_job(&self, job: &Job, delay_ms: i64) -> StoreResult<()> {
        let job = job.clone();
        self.write(move |work| Box::pin(jobs::retry(work, job, delay_ms))).await
    }

    async fn ping(&self) -> StoreResult<()> {
        self.read(|work| Box::pin(ping(work))).await
    }
}
