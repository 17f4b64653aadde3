//! HTTP tools. A model's call becomes one signed request to the address that the agent's owner configured,
//! and to no other.

mod answer;
mod request;
mod schema;
mod signature;

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{
    agent::MOST_TOOLS,
    id::{AccountId, ToolId},
    ports::{
        store::{Store, StoreError, ToolRow},
        tool_runner::{ToolFault, ToolOffer, ToolRun, ToolRunner, ToolScope},
    },
    time::Clock,
};
use serde_json::Value;
use tokio::{sync::Semaphore, task::spawn_blocking};

use net::{
    address_policy::{AddressPolicy, Resolver, guard},
    http_client,
};

pub use schema::{SCHEMA_BYTES, problem_of};

/// Maximum size of a run's arguments as JSON, in bytes.
const ARGUMENT_BYTES: usize = 16 * 1024;

/// Maximum number of concurrent argument checks.
const CHECKS: usize = 2;

/// Time of a run in addition to its request.
const BESIDE: Duration = Duration::from_secs(2);

/// Runner of HTTP tools.
pub struct HttpTools {
    store: Arc<dyn Store>,
    client: reqwest::Client,
    policy: AddressPolicy,
    clock: Arc<dyn Clock>,
    checks: Arc<Semaphore>,
}

impl HttpTools {
    /// Creates the runner.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be built.
    pub fn new(
        store: Arc<dyn Store>,
        policy: AddressPolicy,
        resolver: Arc<dyn Resolver>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, reqwest::Error> {
        let builder = http_client::builder().user_agent("Ringback").referer(false);
        let client = guard(builder, &policy, resolver).build()?;
        Ok(Self {
            store,
            client,
            policy,
            clock,
            checks: Arc::new(Semaphore::new(CHECKS)),
        })
    }

    /// Checks arguments on a blocking thread. The owner's schema and the model's arguments may make it slow,
    /// and calls must not wait.
    async fn check(&self, schema: Value, arguments: Value) -> Result<(), ToolFault> {
        let failed = || ToolFault::Failed("its arguments cannot be checked at present".into());
        let seats = Arc::clone(&self.checks);
        let seat = seats.acquire_owned().await.map_err(|_| failed())?;
        let check = spawn_blocking(move || {
            let fits = schema::check(&schema, &arguments);
            // The permit is held while the check computes, even if nobody waits for it any more.
            drop(seat);
            fits
        });
        let fits = check.await.map_err(|_| failed())?;
        fits.map_err(|why| ToolFault::Arguments(why.to_string()))
    }

    async fn tool(&self, account: AccountId, key: &str) -> Result<ToolRow, ToolFault> {
        let gone = || ToolFault::Refused("there is no such tool any more".into());
        let id: ToolId = key.parse().map_err(|_| gone())?;
        match self.store.tool(account, id).await {
            Ok(row) => Ok(row),
            Err(StoreError::NotFound) => Err(gone()),
            Err(error) => {
                tracing::warn!(tool = %id, %error, "reading a tool failed");
                Err(ToolFault::Failed("it cannot be looked up at present".into()))
            }
        }
    }
}

/// Returns a tool as it is offered to a model.
fn offer(row: ToolRow) -> ToolOffer {
    ToolOffer {
        name: row.tool.name,
        description: row.tool.description,
        parameters: row.tool.parameters,
        within: limit(row.tool.timeout_ms) + BESIDE,
        key: row.id.to_string(),
    }
}

fn limit(timeout_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0))
}

#[async_trait]
impl ToolRunner for HttpTools {
    async fn offered(&self, scope: &ToolScope) -> Result<Vec<ToolOffer>, ToolFault> {
        let named = &scope.agent.conversation_config.agent.prompt.tool_ids;
        let mut ids: Vec<ToolId> = Vec::new();
        for id in named.iter().filter_map(|text| text.parse().ok()) {
            if !ids.contains(&id) && ids.len() < MOST_TOOLS {
                ids.push(id);
            }
        }
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.store.tools_of(scope.account, &ids).await;
        let rows = rows.map_err(|error| ToolFault::Failed(error.to_string()))?;
        let mut rows: HashMap<ToolId, ToolRow> = rows.into_iter().map(|row| (row.id, row)).collect();
        let known = ids.iter().filter_map(|id| rows.remove(id));
        Ok(known.map(offer).collect())
    }

    async fn run(&self, run: ToolRun) -> Result<Value, ToolFault> {
        let size = run.arguments.to_string().len();
        if size > ARGUMENT_BYTES {
            let message = format!("they have {size} bytes, more than {ARGUMENT_BYTES}");
            return Err(ToolFault::Arguments(message));
        }
        let ToolRow { tool, account, .. } = self.tool(run.scope.account, &run.offer.key).await?;
        self.check(tool.parameters.clone(), run.arguments.clone()).await?;
        let secrets = self.store.webhook_secrets(account).await.map_err(|error| {
            tracing::warn!(%error, "reading a webhook secret failed");
            ToolFault::Failed("it cannot be signed at present".into())
        })?;
        let within = limit(tool.timeout_ms);
        let prepared = request::prepare(&tool, &run.arguments, &self.policy)?;
        // Each run has its own id, so that a receiver can detect a duplicate.
        let id = format!("tool_{}_{}", run.scope.attempt, run.number);
        let at = self.clock.now().0.div_euclid(1_000_000);
        let signed = signature::headers(&secrets, &id, at, prepared.signed())
            .ok_or_else(|| ToolFault::Failed("it cannot be signed".into()))?;
        let request = prepared.build(&self.client, within).headers(signed);
        match tokio::time::timeout(within, answer::of(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(ToolFault::TimedOut(within)),
        }
    }
}
