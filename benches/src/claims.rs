//! `ringback-bench claims`: how many contacts per second get from "pending" to a permit that is on disk
//! twice, in the database and in the dial journal, while several nodes work on one campaign in one database.
//! Nobody is dialed: the time after the permit is the carrier's.

use std::{
    collections::HashSet,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    id::{AttemptId, CampaignId, NodeId},
    ports::store::{
        AttemptStore, CampaignContact, CampaignStatus, CampaignStore, Claim, DirectoryStore, NodeStore, Permit,
        PermitRequest, StateChange, StoreError, StoreResult,
    },
    time::SystemClock,
};
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    BenchError,
    figures::write_json,
    seeds::{account_of, campaign, contact},
};
use crate::cli::BenchClaimsArgs;
use domain::accounts;
use sim::samples::Samples;
use storage::{SqlStore, dial_journal::DialJournal};

/// Target rate of permitted contacts per second, on PostgreSQL with three nodes.
const TARGET: f64 = 1_000.0;

/// Contacts of a claim: about as many lines as are free at once on a busy node.
const BATCH: i64 = 50;

/// Runs the measurement. Returns `true` if every contact got one permit and, with `--strict`, the rate met its target.
///
/// # Errors
/// Returns an error if the database cannot be used.
pub async fn run(args: BenchClaimsArgs) -> Result<bool, BenchError> {
    let folder = tempfile::Builder::new().prefix("ringback-bench-claims-").tempdir()?;
    let file = format!("sqlite://{}", folder.path().join("ringback.db").display());
    let url = args.database_url.as_ref().map_or(file.as_str(), |url| url.secret());
    if args.database_url.is_none() && args.nodes > 1 {
        return Err("several nodes need --database-url with an empty PostgreSQL database".into());
    }
    let mut nodes = Vec::new();
    for number in 0..args.nodes {
        nodes.push(Node::start(url, folder.path(), number).await?);
    }
    let first = nodes.first().ok_or("no node")?;
    let campaign = running(&first.store, args.contacts).await?;

    let began = Instant::now();
    let mut working = JoinSet::new();
    for node in nodes {
        working.spawn(node.work(campaign, args.callers));
    }
    let (mut attempts, mut waits) = (Vec::new(), Samples::default());
    while let Some(worked) = working.join_next().await {
        for (attempt, took) in worked?? {
            attempts.push(attempt);
            waits.push(took.as_secs_f64() * 1_000.0);
        }
    }
    let seconds = began.elapsed().as_secs_f64();

    let permits = attempts.len();
    let distinct = attempts.into_iter().collect::<HashSet<_>>().len();
    let per_second = f64::from(args.contacts) / seconds;
    let ms = |share| waits.percentile(share).unwrap_or_default();
    println!(
        "{} nodes, {} callers each, {} contacts in claims of {BATCH}",
        args.nodes, args.callers, args.contacts
    );
    println!("claimed and permitted {per_second:>8.0} contacts a second (target {TARGET:.0})");
    println!("a permit              {:>8.1} ms p50, {:.1} ms p99", ms(0.5), ms(0.99));
    println!("permits               {permits:>8}, of {distinct} attempts");
    let figures = json!({ "nodes": args.nodes, "contacts": args.contacts, "perSecond": per_second,
        "permitP50Ms": ms(0.5), "permitP99Ms": ms(0.99), "permits": permits, "attempts": distinct });
    write_json(args.json.as_deref(), &figures)?;
    let whole = permits == distinct && distinct == args.contacts as usize;
    Ok(whole && (per_second >= TARGET || !args.strict))
}

/// A node as the database sees it: a store and a dial journal of its own.
struct Node {
    store: Arc<SqlStore>,
    id: NodeId,
}

impl Node {
    async fn start(url: &str, folder: &Path, number: u32) -> Result<Self, BenchError> {
        let store = SqlStore::open(url, Arc::new(SystemClock)).await?;
        store.keep_dial_journal(DialJournal::open(folder.join(format!("dials-{number}")))?)?;
        store.reconcile_dials().await?;
        let id = NodeId::new();
        store.register_node(id, None).await?;
        let store = Arc::new(store);
        Ok(Self { store, id })
    }

    /// Claims and asks for permits until nothing is left. Returns the attempts and the time of each permit.
    async fn work(self, campaign: CampaignId, callers: u32) -> StoreResult<Vec<(AttemptId, Duration)>> {
        let mut permitted = Vec::new();
        let mut asking: JoinSet<StoreResult<(AttemptId, Duration)>> = JoinSet::new();
        loop {
            let claimed = self.store.claim(self.id, campaign, BATCH).await?;
            let last = claimed.is_empty();
            for attempt in claimed {
                asking.spawn(permit(Arc::clone(&self.store), attempt.claim));
            }
            while last || asking.len() > callers as usize {
                match asking.join_next().await {
                    None => return Ok(permitted),
                    Some(asked) => permitted.push(asked.map_err(|error| StoreError::Unavailable(error.to_string()))??),
                }
            }
        }
    }
}

async fn permit(store: Arc<SqlStore>, claim: Claim) -> StoreResult<(AttemptId, Duration)> {
    let asked = Instant::now();
    let request = PermitRequest {
        carrier: "bench".to_owned(),
        caller_id: None,
        agent_version: None,
        restricted_prefixes: Vec::new(),
    };
    match store.permit(claim, request).await? {
        Permit::Granted { .. } => Ok((claim.attempt, asked.elapsed())),
        other => Err(StoreError::Damaged(format!("{other:?}"))),
    }
}

/// Creates an account with a running campaign of this many contacts.
async fn running(store: &SqlStore, contacts: u32) -> Result<CampaignId, BenchError> {
    let created = accounts::create(store, &format!("bench-{}@example.com", NodeId::new())).await?;
    let account = account_of(store, &created.api_key).await?;
    let document = json!({ "name": "Claims" }).as_object().cloned().unwrap_or_default();
    let agent = store.create_agent(account, document, None).await?.id;
    let import = store.begin_import(account, campaign("Claims", agent)).await?;
    for chunk in (0..contacts).collect::<Vec<_>>().chunks(2_000) {
        let chunk: Vec<CampaignContact> = chunk.iter().filter_map(|n| contact(*n)).collect();
        store.append_contacts(import, &chunk).await?;
    }
    let draft = store.finish_import(import, None).await?;
    let running = StateChange {
        status: CampaignStatus::Running,
        active: true,
        scheduled: false,
        next_run_at: None,
        opens_from: None,
        closes_at: None,
        reason: None,
        cancel_waiting: false,
    };
    Ok(store.change_state(draft.id, draft.version, running).await?.id)
}
