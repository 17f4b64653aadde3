//! Commands against campaigns that are being dialed: which campaigns run, which command comes next, and the
//! time of its response.

use std::time::{Duration, Instant};

use domain::time::{Clock, SystemClock, Timestamp};
use futures_util::future::try_join_all;
use rand::{Rng, rngs::StdRng};
use serde_json::{Value, json};

use super::super::BenchError;
use ringback::api_client::{ApiClient, ApiError};

/// A paused or stopped campaign is left alone for this long: no dial may come later than 5 s after the response.
const HELD_FOR: Duration = Duration::from_secs(6);

/// A campaign must have dialed for this long before it gets a command.
const WARM_UP: Duration = Duration::from_secs(1);

/// Campaigns that are never held, so that the dialer stays at full speed.
const ALWAYS_RUNNING: usize = 3;

/// Commands that hold a whole campaign.
pub const HOLDS: [&str; 3] = ["pause", "stop", "stop and hang up"];

/// Command that holds one number.
pub const OPT_OUT: &str = "opt-out";

/// Possible counts of numbers in one opt-out.
const OPT_OUTS: [u32; 3] = [1, 5, 20];
/// Distance of these numbers from the campaign's position in its list.
const AHEAD: std::ops::Range<u32> = 0..60;

/// Target of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Every contact of a campaign, until it was launched again.
    Campaign {
        /// Index of the campaign.
        campaign: usize,
        /// Time at which the next launch was sent.
        until: Option<Timestamp>,
    },
    /// One number.
    Number(String),
}

/// A command that was answered with 200.
#[derive(Debug, Clone)]
pub struct Command {
    /// One of [`HOLDS`], or [`OPT_OUT`].
    pub kind: &'static str,
    /// Time of the request.
    pub sent: Timestamp,
    /// Time at which the response's head arrived.
    pub answered: Timestamp,
    /// Target.
    pub target: Target,
}

/// One campaign that gets commands.
pub struct Campaign {
    /// Id.
    pub id: String,
    /// Numbers of its contacts.
    pub numbers: Vec<String>,
    launched: Instant,
    /// Time since which it is paused or stopped, and the index of the command if that was answered with 200.
    held: Option<(Instant, Option<usize>)>,
}

impl Campaign {
    /// Creates a campaign that was just launched.
    pub fn launched(id: String, numbers: Vec<String>) -> Self {
        Self {
            id,
            numbers,
            launched: Instant::now(),
            held: None,
        }
    }

    fn runs(&self) -> bool {
        self.held.is_none()
    }
}

/// All campaigns and all commands so far.
pub struct Commander<'a> {
    /// Client of the commander.
    pub api: &'a ApiClient,
    /// Campaigns.
    pub campaigns: Vec<Campaign>,
    /// Answered commands.
    pub commands: Vec<Command>,
    /// Number of requests that were answered with 503: retried, or given up.
    pub unavailable: usize,
}

impl Commander<'_> {
    /// Sends one more command, any that is possible now.
    pub async fn next(&mut self, rng: &mut StdRng) -> Result<(), BenchError> {
        let running: Vec<usize> = (0..self.campaigns.len())
            .filter(|index| {
                let campaign = &self.campaigns[*index];
                campaign.runs() && campaign.launched.elapsed() >= WARM_UP
            })
            .collect();
        if running.is_empty() {
            return Ok(());
        }
        let campaign = running[rng.random_range(0..running.len())];
        let may_hold = self.campaigns.iter().filter(|campaign| campaign.runs()).count() > ALWAYS_RUNNING;
        if may_hold && rng.random_ratio(3, 4) {
            self.hold(campaign, self.rarest_hold()).await
        } else {
            self.opt_out(campaign, rng).await
        }
    }

    /// Returns the hold that was sent least often, so that a short run judges each.
    fn rarest_hold(&self) -> &'static str {
        let commanded = |kind: &&str| self.commands.iter().filter(|command| command.kind == *kind).count();
        HOLDS.into_iter().min_by_key(commanded).unwrap_or(HOLDS[0])
    }

    async fn hold(&mut self, campaign: usize, kind: &'static str) -> Result<(), BenchError> {
        let (verb, body) = match kind {
            "pause" => ("pause", json!({})),
            "stop" => ("stop", json!({})),
            _ => ("stop", json!({ "hangUp": true })),
        };
        let path = format!("/public/v1/campaigns/{}/{verb}", self.campaigns[campaign].id);
        let sent = SystemClock.now();
        let Some(answered) = self.ask(&path, body).await? else {
            // It may have been carried out all the same, so the campaign is launched again like the others.
            self.campaigns[campaign].held = Some((Instant::now(), None));
            return Ok(());
        };
        self.campaigns[campaign].held = Some((Instant::now(), Some(self.commands.len())));
        self.commands.push(Command {
            kind,
            sent,
            answered,
            target: Target::Campaign { campaign, until: None },
        });
        Ok(())
    }

    /// Opts out numbers at, or shortly before, the campaign's position in its list.
    async fn opt_out(&mut self, campaign: usize, rng: &mut StdRng) -> Result<(), BenchError> {
        let place = self.place(campaign).await?;
        let first = (place + rng.random_range(AHEAD)) as usize;
        let count = OPT_OUTS[rng.random_range(0..OPT_OUTS.len())] as usize;
        let numbers: Vec<String> = self.campaigns[campaign]
            .numbers
            .iter()
            .skip(first)
            .take(count)
            .cloned()
            .collect();
        let api = self.api;
        let added = numbers.into_iter().map(async |number| {
            let sent = SystemClock.now();
            let answered = api.post_timed("/public/v1/do-not-call", json!({ "phoneNumber": number }));
            Ok::<_, BenchError>(Command {
                kind: OPT_OUT,
                sent,
                answered: answered.await?,
                target: Target::Number(number),
            })
        });
        self.commands.extend(try_join_all(added).await?);
        Ok(())
    }

    /// Returns how many contacts of the campaign have been claimed.
    async fn place(&self, campaign: usize) -> Result<u32, BenchError> {
        let list = self.api.get("/public/v1/campaigns?pageSize=100").await?;
        let id = &self.campaigns[campaign].id;
        let mut listed = list["data"].as_array().into_iter().flatten();
        let place = listed.find(|item| item["campaignId"] == id.as_str());
        let place = place
            .and_then(|item| item["startIndex"].as_u64())
            .ok_or("the campaign has no startIndex")?;
        Ok(u32::try_from(place)?)
    }

    /// Launches campaigns that have been held long enough.
    pub async fn resume(&mut self) -> Result<(), BenchError> {
        for index in 0..self.campaigns.len() {
            let held = self.campaigns[index].held;
            let Some((_, command)) = held.filter(|(since, _)| since.elapsed() >= HELD_FOR) else {
                continue;
            };
            let sent = SystemClock.now();
            if let Some(Target::Campaign { until, .. }) = command.map(|command| &mut self.commands[command].target) {
                // The first try counts: it may have been carried out although its response was an error.
                until.get_or_insert(sent);
            }
            let path = format!("/public/v1/campaigns/{}/launch", self.campaigns[index].id);
            if self.ask(&path, json!({})).await?.is_some() {
                self.campaigns[index].held = None;
                self.campaigns[index].launched = Instant::now();
            }
        }
        Ok(())
    }

    /// Returns the time of a response with 200, or with 409: it was carried out before. Returns `None` for a 503.
    async fn ask(&mut self, path: &str, body: Value) -> Result<Option<Timestamp>, BenchError> {
        match self.api.post_timed(path, body).await {
            Ok(answered) => Ok(Some(answered)),
            Err(ApiError::Refused { status: 409, .. }) => Ok(Some(SystemClock.now())),
            Err(ApiError::Refused { status: 503, .. }) => {
                self.unavailable += 1;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until nothing that was held may still be dialed.
    pub async fn settle(&self) {
        tokio::time::sleep(HELD_FOR).await;
    }
}
