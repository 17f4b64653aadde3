//! Worker for the durable analysis jobs. It reads a call, analyses it with the agent's model or by the rules,
//! and stores the result.
//!
//! Many jobs run at once. A model answers in seconds, the rules in milliseconds. So the number of jobs that
//! use a model is limited, and a job over that limit is put back. Jobs without a model never wait behind jobs
//! with one. A job finishes well within its lease. If it does not, another node does it, and the first node's
//! result is refused.

mod usage;

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use domain::{
    admission::{Gate, Work},
    agent::{self, Agent},
    analysis::{self, AnalysisInput, Subject, UnusableAnswer},
    call_values::{CallFacts, call_values},
    ports::{
        analyst::{Analyst, AnalystError},
        store::{AnalysedBy, Analysis, ConversationRow, Job, Store, StoreError},
        usage::Meter,
    },
};
use futures_util::FutureExt;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{MissedTickBehavior, interval, sleep, timeout},
};

/// Interval at which the outbox is read. Analysis follows the hang-up within seconds.
const POLL: Duration = Duration::from_millis(500);

/// Number of jobs taken at a time.
const BATCH: usize = 16;

/// Maximum number of jobs in progress, and of those that use a model.
const AT_ONCE: usize = 64;
const SEATS: usize = 32;

/// Delay before a job without a free model slot is retried.
const NO_SEAT_MS: i64 = 2_000;

/// Pause before a bad answer is requested again. Two answers of 20 s each stay far below the lease of 60 s.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Longer than an analyst may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(22);

/// How long jobs in progress may take once the service stops. The next process does the remaining ones.
const LAST_JOBS: Duration = Duration::from_secs(5);

/// Shared state of the jobs.
struct Desk {
    store: Arc<dyn Store>,
    analyst: Arc<dyn Analyst>,
    seats: Semaphore,
}

/// Works until `stopping` is true, or until it is dropped. A failing store or a failed analysis is retried.
///
/// While the node is overloaded, no new jobs are started. When it stops, jobs that are due are still started.
pub async fn run(store: Arc<dyn Store>, analyst: Arc<dyn Analyst>, gate: Gate, mut stopping: watch::Receiver<bool>) {
    let desk = Arc::new(Desk {
        store,
        analyst,
        seats: Semaphore::new(SEATS),
    });
    let mut poll = interval(POLL);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut at_work = JoinSet::new();
    let mut unavailable = false;
    loop {
        tokio::select! {
            // A dropped sender also counts as a stop.
            _ = stopping.wait_for(|stop| *stop) => break,
            _ = poll.tick() => {}
        }
        if gate.holds(Work::Analysis) {
            continue;
        }
        match take(&desk, &mut at_work, Some(&stopping)).await {
            Ok(()) => unavailable = false,
            // Logged once and not with every poll, since the store may be unavailable for long.
            Err(error) if !std::mem::replace(&mut unavailable, true) => {
                tracing::warn!(%error, "reading analysis jobs failed, trying again");
            }
            Err(_) => {}
        }
    }
    let all_done = async {
        if let Err(error) = take(&desk, &mut at_work, None).await {
            tracing::info!(%error, "reading analysis jobs failed, leaving them to the next start");
        }
        while at_work.join_next().await.is_some() {}
    };
    let _ = timeout(LAST_JOBS, all_done).await;
}

/// Takes jobs until none are due, or until `stopping` is true.
async fn take(
    desk: &Arc<Desk>,
    at_work: &mut JoinSet<()>,
    stopping: Option<&watch::Receiver<bool>>,
) -> Result<(), StoreError> {
    let mut stop = stopping.cloned();
    while stopping.is_none_or(|stopping| !*stopping.borrow()) {
        while at_work.try_join_next().is_some() {}
        let free = AT_ONCE - at_work.len().min(AT_ONCE);
        if free == 0 {
            let stopped = async {
                match &mut stop {
                    Some(stop) => drop(stop.wait_for(|stop| *stop).await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stopped => break,
                _ = at_work.join_next() => continue,
            }
        }
        let jobs = desk
            .store
            .due_analyses(i64::try_from(free.min(BATCH)).unwrap_or(1))
            .await?;
        if jobs.is_empty() {
            break;
        }
        for job in jobs {
            at_work.spawn(work_off(desk.clone(), job));
        }
    }
    Ok(())
}

async fn work_off(desk: Arc<Desk>, job: Job) {
    let done = AssertUnwindSafe(desk.analyse(&job)).catch_unwind().await;
    let done = done.unwrap_or_else(|_| Err(StoreError::Unavailable("the analysis panicked".into())));
    match done {
        Ok(()) => {}
        // Another node has the job, or the person was erased.
        Err(StoreError::Fenced) => tracing::info!(attempt = %job.attempt, "analysis came too late"),
        Err(error) => {
            tracing::warn!(attempt = %job.attempt, %error, "analysis failed, trying again later");
            // 1 s, 2 s, 4 s … at most 5 minutes.
            let delay_ms = 1_000_i64.saturating_mul(1 << job.tries.clamp(0, 9)).min(300_000);
            put_off(&*desk.store, &job, delay_ms).await;
        }
    }
}

/// Puts a job off. If that fails, the job comes back when its lease ends.
async fn put_off(store: &dyn Store, job: &Job, delay_ms: i64) {
    if let Err(error) = store.retry_job(job, delay_ms).await {
        tracing::warn!(attempt = %job.attempt, %error, "analysis job not put off");
    }
}

impl Desk {
    async fn analyse(&self, job: &Job) -> Result<(), StoreError> {
        let row = self.store.conversation_of_job(job).await?;
        let turns = self.store.turns(job.attempt).await?;
        let agent = self.agent_of(&row).await?;
        let Some(agent) = &agent else {
            let found = analysis::analyse(&turns, AnalysisInput::of(&row));
            return self.store.save_analysis(job, found).await;
        };
        let variables = self.values_of(&row, agent).await?;
        let subject = Subject {
            agent,
            row: &row,
            turns: &turns,
            variables: &variables,
            handed_over: self.was_handed_over(&row).await?,
        };
        let mut found = if subject.is_worth_asking() && self.analyst.is_asked(agent) {
            let Ok(_seat) = self.seats.try_acquire() else {
                put_off(&*self.store, job, NO_SEAT_MS).await;
                return Ok(());
            };
            let meter = Meter::default();
            let found = self.ask(subject, &meter).await;
            usage::add(&*self.store, &row, &meter).await?;
            found
        } else {
            subject.by_rule()
        };
        found.contact = subject.for_contact(&found);
        metrics::counter!("ringback_analyses_total", "by" => name(found.by)).increment(1);
        self.store.save_analysis(job, found).await
    }

    /// Returns the values of the placeholders as they were in the call.
    async fn values_of(&self, row: &ConversationRow, agent: &Agent) -> Result<BTreeMap<String, String>, StoreError> {
        let given = self.store.call_variables(row.id).await?;
        let contact = self.store.contact_of(row.id).await?;
        Ok(call_values(agent, [&given], &contact, &CallFacts::of(row)))
    }

    /// Returns whether another agent took the call over, judged by the last hand-over.
    async fn was_handed_over(&self, row: &ConversationRow) -> Result<bool, StoreError> {
        let Some(last) = self.store.last_event(row.id, "agent_transfer").await? else {
            return Ok(false);
        };
        let failed = self.store.last_event(row.id, "agent_transfer_failed").await?;
        Ok(failed.is_none_or(|failed| failed.at_ms < last.at_ms))
    }

    /// Returns the agent as it is now, or as it was when it was deleted. Returns `None` if it is gone.
    async fn agent_of(&self, row: &ConversationRow) -> Result<Option<Arc<Agent>>, StoreError> {
        match self.store.kept_agent(row.account, row.agent).await {
            Ok(agent) => Ok(agent::complete(&agent.document).ok().map(Arc::new)),
            Err(StoreError::NotFound) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Returns the model's analysis, asking at most twice. If both fail, returns the rules' analysis, marked as such.
    async fn ask(&self, subject: Subject<'_>, meter: &Meter) -> Analysis {
        for again in [false, true] {
            if again {
                sleep(ASK_AGAIN_AFTER).await;
            }
            let answer = timeout(ANSWER_WITHIN, self.analyst.answer(subject.question(meter.clone()))).await;
            let answer = answer.unwrap_or_else(|_| Err(AnalystError::Unavailable("it took too long".into())));
            let bad = |why: UnusableAnswer| AnalystError::BadAnswer(why.to_string());
            match answer.and_then(|answer| subject.read(&answer).map_err(bad)) {
                Ok(found) => return found,
                Err(error) => tracing::warn!(attempt = %subject.row.id, %error, again, "no analysis by the model"),
            }
        }
        Analysis {
            by: AnalysedBy::RulesInstead,
            ..subject.by_rule()
        }
    }
}

fn name(by: AnalysedBy) -> &'static str {
    match by {
        AnalysedBy::Rules => "rules",
        AnalysedBy::Model => "model",
        AnalysedBy::RulesInstead => "rules_instead",
    }
}
