//! Reading: pages of conversations by every filter, and one agent as fast as it goes.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{Figure, Report, ms, seed::Seeded};
use crate::{BenchError, connection::Connection};
use sim::samples::Samples;

/// Connections that read an agent at once.
const READERS: usize = 8;
/// Pages read by each filter, of a hundred conversations.
const PAGES: usize = 60;

/// Where and as whom.
#[derive(Clone)]
pub struct Target {
    /// The service.
    pub address: SocketAddr,
    /// The account's key.
    pub key: String,
}

/// Pages by each filter alone, and by some together.
pub async fn lists(target: &Target, seeded: &Seeded, report: &mut Report) -> Result<(), BenchError> {
    let (agent, campaign) = (&seeded.agents[1], &seeded.campaigns[2]);
    let now = chrono::Utc::now().timestamp();
    let old = now - i64::from(seeded.conversations) * 9 / 10;
    let single = [
        ("no filter", String::new()),
        ("agentId", format!("&agentId={agent}")),
        ("campaignId", format!("&campaignId={campaign}")),
        ("status", "&status=completed".to_owned()),
        ("startedBefore", format!("&startedBefore={old}")),
        ("startedAfter", format!("&startedAfter={old}")),
        ("minDuration", "&minDuration=30".to_owned()),
        ("minDuration, few", "&minDuration=599".to_owned()),
        ("minDuration, none", "&minDuration=14000".to_owned()),
        ("agentId, status", format!("&agentId={agent}&status=cancelled")),
    ];
    for (name, filter) in single {
        let p99 = pages(target, name, &filter, report).await?;
        report
            .figures
            .push(Figure::at_most(format!("conversations, {name}, p99"), p99, "ms", 10.0));
    }
    let together = [
        ("agent, minDuration", format!("&agentId={agent}&minDuration=300")),
        ("failed, minDuration", "&status=failed&minDuration=10".to_owned()),
        (
            "agent of another campaign",
            format!("&agentId={agent}&campaignId={campaign}"),
        ),
        ("campaign, old", format!("&campaignId={campaign}&startedBefore={old}")),
    ];
    for (name, filter) in together {
        let p99 = pages(target, name, &filter, report).await?;
        report
            .figures
            .push(Figure::at_most(format!("conversations, {name}, p99"), p99, "ms", 250.0));
    }
    Ok(())
}

/// Reads page after page; the p99 in milliseconds.
async fn pages(target: &Target, name: &str, filter: &str, report: &mut Report) -> Result<f64, BenchError> {
    let mut connection = Connection::open(target.address).await?;
    let mut times = Samples::default();
    let mut cursor = String::new();
    let mut last = i64::MAX;
    while times.len() < PAGES {
        let path = format!("/public/v1/conversations?pageSize=100{filter}{cursor}");
        let asked = Instant::now();
        let answer = connection.get(&path, &target.key).await?;
        times.push(ms(asked.elapsed()));
        if answer.status != 200 {
            report.fault(format!(
                "{path}: {} {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            ));
            break;
        }
        let page: Value = serde_json::from_slice(&answer.body)?;
        for item in page["data"].as_array().into_iter().flatten() {
            let started = item["startTimeUnix"]
                .as_i64()
                .ok_or("a conversation without its start")?;
            if started > last {
                report.fault(format!("{name}: a later conversation stands behind an earlier one"));
            }
            last = started;
        }
        match page["pagination"]["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            // From the start again.
            None => (cursor, last) = (String::new(), i64::MAX),
        }
    }
    Ok(times.percentile(0.99).unwrap_or_default())
}

/// Reads one agent over some connections for a while.
pub async fn agent(target: &Target, agent: &str, seconds: u32, report: &mut Report) -> Result<(), BenchError> {
    let until = Instant::now() + Duration::from_secs(seconds.into());
    let path = format!("/public/v1/agents/{agent}");
    let readers = (0..READERS).map(|_| tokio::spawn(read_until(target.clone(), path.clone(), until)));
    let mut times = Samples::default();
    for reader in futures_util::future::join_all(readers).await {
        let (own, wrong) = reader??;
        own.into_iter().for_each(|time| times.push(time));
        wrong.into_iter().for_each(|fault| report.fault(fault));
    }
    #[expect(clippy::cast_precision_loss, reason = "requests of some seconds")]
    let rate = times.len() as f64 / f64::from(seconds);
    report
        .figures
        .push(Figure::at_least("GET of one agent", rate, "/s", 8_000.0));
    let p99 = times.percentile(0.99).unwrap_or_default();
    report
        .figures
        .push(Figure::at_most("GET of one agent, p99", p99, "ms", 10.0));
    Ok(())
}

async fn read_until(target: Target, path: String, until: Instant) -> Result<(Vec<f64>, Option<String>), BenchError> {
    let mut connection = Connection::open(target.address).await?;
    let mut times = Vec::new();
    while Instant::now() < until {
        let asked = Instant::now();
        let answer = connection.get(&path, &target.key).await?;
        times.push(ms(asked.elapsed()));
        if answer.status != 200 {
            return Ok((times, Some(format!("{path}: {}", answer.status))));
        }
    }
    Ok((times, None))
}
