//! Client of the service that keeps campaigns running while things break, and pauses some of them.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rand::{Rng, rngs::StdRng};
use serde_json::json;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    api::{Api, Launch},
    chance,
    journal::now,
};

/// Most concurrent campaigns with contacts left to dial.
const AT_ONCE: usize = 2;
/// Most campaigns that are not over.
const OPEN: usize = 12;
/// Duration of a pause: well beyond the time within which it must take effect.
const PAUSE: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_millis(400);

/// A campaign and the requests about it.
#[derive(Debug, Clone)]
pub struct Campaign {
    pub id: String,
    pub numbers: Vec<String>,
    /// From the response to a pause to the request to continue, in microseconds since 1970.
    pub pauses: Vec<(i64, i64)>,
    /// Whether contacts are left to dial.
    pub dials: bool,
    pub over: bool,
}

/// Record of the client's campaigns.
#[derive(Debug, Clone, Default)]
pub struct Ledger(Arc<Mutex<Vec<Campaign>>>);

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Vec<Campaign>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all campaigns.
    pub fn campaigns(&self) -> Vec<Campaign> {
        self.lock().clone()
    }

    /// Returns the number of campaigns that are not over.
    pub fn open(&self) -> usize {
        self.lock().iter().filter(|campaign| !campaign.over).count()
    }

    fn wants_more(&self) -> bool {
        let campaigns = self.lock();
        let count = |wanted: fn(&&Campaign) -> bool| campaigns.iter().filter(wanted).count();
        count(|campaign| campaign.dials && !campaign.over) < AT_ONCE && count(|campaign| !campaign.over) < OPEN
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Campaign)) {
        if let Some(campaign) = self.lock().iter_mut().find(|campaign| campaign.id == id) {
            change(campaign);
        }
    }
}

/// The client.
pub struct Client {
    pub api: Api,
    pub ledger: Ledger,
    /// An agent without retries, and one with an immediate retry.
    pub agents: [String; 2],
    pub contacts: usize,
    pub seed: u64,
}

/// A pause in effect.
struct Pause {
    campaign: String,
    from: Option<i64>,
    until: Instant,
}

impl Client {
    /// Keeps campaigns running until `finishing`, then waits until they are over.
    pub async fn work(self, finishing: watch::Receiver<bool>) {
        let mut begun = 0;
        let mut pauses: Vec<Pause> = Vec::new();
        loop {
            let last = *finishing.borrow();
            if !last && self.ledger.wants_more() && self.launch(begun).await {
                begun += 1;
            }
            for campaign in self.ledger.campaigns().into_iter().filter(|campaign| !campaign.over) {
                let is_paused = pauses.iter().any(|pause| pause.campaign == campaign.id);
                self.look(&campaign, last, is_paused, &mut pauses).await;
            }
            let mut going_on = Vec::new();
            for pause in pauses.drain(..) {
                if pause.until > Instant::now() && !last {
                    going_on.push(pause);
                } else if let Some(pause) = self.go_on(pause).await {
                    going_on.push(pause);
                }
            }
            pauses = going_on;
            if last && self.ledger.open() == 0 {
                return;
            }
            sleep(LOOK).await;
        }
    }

    /// Launches the next campaign; returns `false` if that failed, to be retried with the same request.
    async fn launch(&self, number: usize) -> bool {
        let (area, exchange) = (555 + number / 1_000, number % 1_000);
        let numbers: Vec<_> = (0..self.contacts)
            .map(|n| format!("+1{area}{exchange:03}{n:04}"))
            .collect();
        let mut csv = String::from("phone,name\n");
        for (n, number) in numbers.iter().enumerate() {
            let _ = writeln!(csv, "{number},Contact {n}");
        }
        let launch = Launch {
            name: &format!("faults-{number}"),
            agent: &self.agents[usize::from(number % 3 == 2)],
            csv,
        };
        match self.api.launch(&launch).await {
            Ok(id) => {
                self.ledger.lock().push(Campaign {
                    id,
                    numbers,
                    pauses: Vec::new(),
                    dials: true,
                    over: false,
                });
                true
            }
            Err(_) => false,
        }
    }

    async fn look(&self, campaign: &Campaign, last: bool, is_paused: bool, pauses: &mut Vec<Pause>) {
        let Ok(shown) = self.api.campaign(&campaign.id).await else {
            return;
        };
        let dials = shown["progress"]["pending"] != 0;
        self.ledger.change(&campaign.id, |campaign| campaign.dials = dials);
        match shown["status"].as_str() {
            Some("completed" | "failed" | "stopped") => self.ledger.change(&campaign.id, |c| c.over = true),
            Some("running") if !last && !is_paused && self.wants_pause(campaign, &shown) => {
                if self.chance(campaign).random_range(0..4) == 0 {
                    return self.stop(campaign).await;
                }
                let path = format!("/campaigns/{}/pause", campaign.id);
                let paused = self.api.post(&path, json!({})).await;
                pauses.push(Pause {
                    campaign: campaign.id.clone(),
                    // Without a response the pause need not have taken effect.
                    from: paused.is_ok().then(now),
                    until: Instant::now() + PAUSE,
                });
            }
            Some("paused") if !is_paused => pauses.push(Pause {
                campaign: campaign.id.clone(),
                from: None,
                until: Instant::now(),
            }),
            _ => {}
        }
    }

    async fn stop(&self, campaign: &Campaign) {
        let path = format!("/campaigns/{}/stop", campaign.id);
        if self.api.post(&path, json!({})).await.is_ok() {
            let from = now();
            self.ledger
                .change(&campaign.id, |campaign| campaign.pauses.push((from, i64::MAX)));
        }
    }

    fn chance(&self, campaign: &Campaign) -> StdRng {
        let number = campaign.numbers.first().map_or("", String::as_str);
        chance::of(self.seed, &format!("pause {number}"))
    }

    /// Returns whether to hold the campaign now: every third campaign is paused or stopped once, at some point.
    fn wants_pause(&self, campaign: &Campaign, shown: &serde_json::Value) -> bool {
        let mut rng = self.chance(campaign);
        // The first draw chooses between the two.
        let _: u32 = rng.random_range(0..4);
        let at = rng.random_range(0..3 * campaign.numbers.len() as u64);
        let begun = shown["startIndex"].as_u64().unwrap_or(0);
        campaign.pauses.is_empty() && begun > at
    }

    /// Continues a campaign; returns the pause if that failed.
    async fn go_on(&self, pause: Pause) -> Option<Pause> {
        let asked = now();
        let path = format!("/campaigns/{}/launch", pause.campaign);
        let went = self.api.post(&path, json!({})).await;
        // A lost request may still have been carried out, so the pause ends with the first one.
        let held = pause.from.map(|from| (from, asked));
        if let Some(held) = held {
            self.ledger
                .change(&pause.campaign, |campaign| campaign.pauses.push(held));
        }
        let refused = went.err()?.to_string();
        // The last calls of a paused campaign left nobody to dial: it stays paused, and is over.
        if refused.contains("nothing_to_dial") {
            self.ledger.change(&pause.campaign, |campaign| campaign.over = true);
            return None;
        }
        // Nobody is left to dial, or it runs already.
        let is_over = [": 409", ": 404", ": 400"]
            .iter()
            .any(|status| refused.contains(status));
        (!is_over).then_some(Pause {
            from: None,
            until: Instant::now() + LOOK,
            ..pause
        })
    }
}
