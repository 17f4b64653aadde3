//! The judge: a separate process that plays the carrier (with Twilio's API) and the receiver of webhooks, and
//! logs what it sees. By its seed it loses responses, breaks them off, fails, and repeats, delays, reorders
//! and loses callbacks.

mod api;
mod call;
mod media;
mod sound;
mod webhooks;

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    routing::{get, post},
};
use tokio::net::TcpListener;

use self::call::Call;
use crate::{chance::Manner, journal::Journal};

/// Account at the carrier.
pub const ACCOUNT: &str = "AC00000000000000000000000000000001";
/// Token that signs requests.
pub const TOKEN: &str = "token-of-the-judge";

/// Arguments of a judge.
#[derive(Debug, clap::Args)]
pub struct JudgeArgs {
    /// Listen address
    #[arg(long)]
    listen: SocketAddr,
    /// Path of its log
    #[arg(long)]
    log: PathBuf,
    /// Seed of the faults
    #[arg(long)]
    seed: u64,
    /// Faults of the carrier and the webhook receiver themselves
    #[arg(long, value_enum, default_value = "faulty")]
    manner: Manner,
}

/// State that the routes share.
pub(crate) struct Judge {
    seed: u64,
    manner: Manner,
    journal: Journal,
    calls: Mutex<HashMap<String, Arc<Call>>>,
    /// Number of times each telephone was rung, and each webhook tried.
    counts: Mutex<HashMap<String, u64>>,
}

impl Judge {
    fn calls(&self) -> MutexGuard<'_, HashMap<String, Arc<Call>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how often it was called before with `name`.
    fn count(&self, name: &str) -> u64 {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(name.to_owned()).or_default();
        *count += 1;
        *count - 1
    }
}

/// Serves until it is killed.
pub async fn serve(args: JudgeArgs) -> io::Result<()> {
    let judge = Arc::new(Judge {
        seed: args.seed,
        manner: args.manner,
        journal: Journal::open(&args.log)?,
        calls: Mutex::default(),
        counts: Mutex::default(),
    });
    let account = format!("/2010-04-01/Accounts/{ACCOUNT}");
    let router = Router::new()
        .route(&format!("{account}/Calls.json"), post(api::dial).get(api::list))
        .route(&format!("{account}/Calls/{{call}}"), get(api::show).post(api::change))
        .route("/hook", post(webhooks::receive))
        .route("/live", get(api::live))
        .route("/silence/{attempt}", post(api::silence))
        .with_state(judge);
    let listener = TcpListener::bind(args.listen).await?;
    axum::serve(listener, router).await
}
