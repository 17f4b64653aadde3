//! Common setup of the measurements: a folder, phones on an exchange, and an account in a new database.

use std::{path::PathBuf, time::Duration};

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::{
    BenchError,
    processes::{Process, ServiceSettings, create_account, free_address},
};
use ringback::api_client::ApiClient;

/// Everything except the service.
pub struct Site {
    folder: TempDir,
    /// Log of the phones.
    pub log: PathBuf,
    /// Phones, which end with the site.
    pub phones: Process,
    /// Start options of the service.
    pub settings: ServiceSettings,
    /// API key of the account.
    pub key: String,
}

impl Site {
    /// Starts the phones with these options, and creates the account.
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

    /// Sets a version of the program to measure, and creates the account again in a new database of that version.
    pub async fn begin_again(&mut self, program: PathBuf) -> Result<(), BenchError> {
        self.settings.program = program;
        self.begin_in(self.folder.path().join("earlier")).await
    }

    /// Creates the account again in a new database in this folder, which is created and not deleted with the site.
    pub async fn begin_in(&mut self, folder: PathBuf) -> Result<(), BenchError> {
        std::fs::create_dir(&folder)?;
        self.settings.folder = folder;
        self.key = create_account(&self.settings).await?;
        Ok(())
    }

    /// Starts the service; returns it with a client.
    pub async fn serve(&self) -> Result<(Process, ApiClient), BenchError> {
        Ok((Process::service(&self.settings).await?, self.api()?))
    }

    /// Creates a client, whose connections end with it.
    pub fn api(&self) -> Result<ApiClient, BenchError> {
        Ok(ApiClient::new(self.settings.base_url(), self.key.clone())?)
    }

    /// Keeps the folder for inspection.
    pub fn keep(self) {
        println!("kept for inspection: {}", self.folder.keep().display());
    }
}

/// Returns a campaign once it is over, or in its state at the time limit.
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

/// Returns whether a campaign is over.
pub fn is_over(campaign: &Value) -> bool {
    matches!(campaign["status"].as_str(), Some("completed" | "failed"))
}
