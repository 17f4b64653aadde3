//! Output of the demo while it runs: a progress bar and the lines of a few calls, or plain lines without a terminal.

use std::{collections::BTreeMap, io::IsTerminal, time::Duration};

use actors::journal::LiveFact;
use domain::{
    id::AttemptId,
    ports::{language_model::Speaker, store::Fact},
};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::api_client::{ApiClient, ApiError};

/// Number of calls shown word by word.
const SHOWN_CALLS: usize = 3;

/// Interval between reads of the progress.
const POLL: Duration = Duration::from_millis(500);

/// The view of one running campaign.
pub struct LiveView {
    bar: Option<ProgressBar>,
    shown: BTreeMap<AttemptId, String>,
    last: String,
}

impl LiveView {
    /// Creates a view of `total` contacts.
    pub fn new(total: u64) -> Self {
        let bar = std::io::stdout().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} contacts  {msg}  {elapsed}");
            ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self {
            bar,
            shown: BTreeMap::new(),
            last: String::new(),
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => println!("{text}"),
        }
    }

    /// Follows a campaign until it is `completed` or `failed`.
    ///
    /// # Errors
    /// Returns an error if the service stops answering.
    pub async fn follow(
        &mut self,
        api: &ApiClient,
        campaign: &str,
        mut facts: Receiver<LiveFact>,
    ) -> Result<Value, ApiError> {
        let mut poll = tokio::time::interval(POLL);
        let mut facts_open = true;
        let rested = loop {
            tokio::select! {
                fact = facts.recv(), if facts_open => match fact {
                    Ok(fact) => self.show(api, &fact).await?,
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => facts_open = false,
                },
                _ = poll.tick() => {
                    let state = api.campaign(campaign).await?;
                    self.progress(&state);
                    if matches!(state["status"].as_str(), Some("completed" | "failed")) {
                        break state;
                    }
                }
            }
        };
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        Ok(rested)
    }

    fn progress(&mut self, state: &Value) {
        let progress = &state["progress"];
        let count = |name: &str| progress[name].as_u64().unwrap_or(0);
        let done = count("completed") + count("failed") + count("cancelled");
        let text = format!(
            "{} talking or ringing, {} completed ({} voicemail), {} failed",
            count("inProgress"),
            count("completed"),
            count("voicemail"),
            count("failed"),
        );
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            bar.set_message(text);
        } else if text != self.last {
            println!("  {text}");
            self.last = text;
        }
    }

    async fn show(&mut self, api: &ApiClient, fact: &LiveFact) -> Result<(), ApiError> {
        let Fact::Turn(turn) = &fact.fact else { return Ok(()) };
        if !self.shown.contains_key(&fact.attempt) {
            if self.shown.len() == SHOWN_CALLS {
                return Ok(());
            }
            let detail = api.get(&format!("/public/v1/conversations/{}", fact.attempt)).await?;
            let number = detail["data"]["contactNumber"].as_str().unwrap_or_default().to_owned();
            self.shown.insert(fact.attempt, number);
        }
        let number = self.shown.get(&fact.attempt).map_or("", String::as_str);
        let speaker = match turn.speaker {
            Speaker::Agent => "Agent",
            Speaker::User => "User ",
            Speaker::Operator => "Operator",
        };
        let cut = if turn.interrupted { " —(interrupted)" } else { "" };
        self.line(&format!("  {number}  {speaker}  {}{cut}", turn.text));
        Ok(())
    }
}
