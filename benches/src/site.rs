//! What most measurements begin with: a folder, phones on an exchange, and an account in a database of its own.

use std::{path::PathBuf, time::Duration};

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::{
    BenchError,
    processes::{Process, ServiceSettings, create_account, free_address},
};
use ringback::api_client::ApiClient;

/// Everything but the service.
pub struct Site {
    folder: TempDir,
    /// What happened to the phones.
    pub log: PathBuf,
    /// Ends with the site.
    pub phones: Process,
    /// What the service is to be started with.
    pub settings: ServiceSettings,
    /// The account's key.
    pub key: String,
}

impl Site {
    /// Starts the phones with these options, and makes the account.
    pub async fn open(phones: &[&str], core: Option<usize>) -> Result<Self, BenchError> {
        let folder = tempfile::Builder::new().prefix("ringback-bench-").tempdir()?;
        let log = folder.path().join("exchange.jsonl");
        let exchange = free_address()?;
        let phones = Process::phones(exchange, &log, core, phones).await?;
        let settings = ServiceSettings::new(folder.path(), exchange)?;
        Ok(Self {
            key: create_account(&settings).await?,
            folder,
            log,
            phones,
            settings,
        })
    }

    /// Starts the service; with a client of it.
    pub async fn serve(&self) -> Result<(Process, ApiClient), BenchError> {
        Ok((Process::service(&self.settings).await?, self.api()?))
    }

    /// A client of its own, whose connections end with it.
    pub fn api(&self) -> Result<ApiClient, BenchError> {
        Ok(ApiClient::new(self.settings.base_url(), self.key.clone())?)
    }

    /// Leaves the folder as it is.
    pub fn keep(self) {
        println!("kept for inspection: {}", self.folder.keep().display());
    }
}

/// A campaign that is over, or as it stands when the time is.
pub async fn rested(api: &ApiClient, campaign: &str, limit: Duration) -> Result<Value, BenchError> {
    let deadline = Instant::now() + limit;
    loop {
        let state = api.campaign(campaign).await?;
        if is_over(&state) || Instant::now() > deadline {
            return Ok(state);
        }
        sleep(Duration::from_millis(500)).await;
    }
}

/// Whether a campaign has come to its end.
pub fn is_over(campaign: &Value) -> bool {
    matches!(campaign["status"].as_str(), Some("completed" | "failed"))
}
