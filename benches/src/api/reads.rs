//! Reads: pages of conversations by every filter, and one agent as fast as possible.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{Report, ms, seed::Seeded};
use crate::{BenchError, connection::Connection, site::Site};
use sim::samples::Samples;

/// Connections that read an agent concurrently.
const READERS: usize = 8;
/// Number of sequential reads per measurement.
const READS: usize = 100;
/// Pages of a hundred conversations read by each filter.
const PAGES: usize = 60;

/// Reads pages by each filter alone, and by some combinations.
pub async fn lists(site: &Site, seeded: &Seeded, report: &mut Report) -> Result<(), BenchError> {
    let (agent, campaign) = (&seeded.agents[1], &seeded.campaigns[2]);
    let now = chrono::Utc::now().timestamp();
    let old = now - i64::from(seeded.conversations) * 9 / 10;
    let lists = [
        (10.0, "no filter", String::new()),
        (10.0, "agentId", format!("&agentId={agent}")),
        (10.0, "campaignId", format!("&campaignId={campaign}")),
        (10.0, "status", "&status=completed".to_owned()),
        (10.0, "startedBefore", format!("&startedBefore={old}")),
        (10.0, "startedAfter", format!("&startedAfter={old}")),
        (10.0, "minDuration", "&minDuration=30".to_owned()),
        (10.0, "minDuration, few", "&minDuration=599".to_owned()),
        (10.0, "minDuration, none", "&minDuration=14000".to_owned()),
        (10.0, "agentId, status", format!("&agentId={agent}&status=cancelled")),
        (250.0, "agent, minDuration", format!("&agentId={agent}&minDuration=300")),
        (250.0, "failed, minDuration", "&status=failed&minDuration=10".to_owned()),
        (
            250.0,
            "agent of another campaign",
            format!("&agentId={agent}&campaignId={campaign}"),
        ),
        (
            250.0,
            "campaign, old",
            format!("&campaignId={campaign}&startedBefore={old}"),
        ),
    ];
    for (most_ms, name, filter) in lists {
        let p99 = pages(site, name, &filter, report).await?;
        report.at_most(format!("conversations, {name}, p99"), p99, "ms", most_ms);
    }
    Ok(())
}

/// Reads the record of a long call, searches transcripts, and reads the analytics.
pub async fn records(site: &Site, seeded: &Seeded, report: &mut Report) -> Result<(), BenchError> {
    let (longest, agent) = (&seeded.longest, &seeded.agents[1]);
    let reads = [
        (
            20.0,
            "turns of an hour, first page",
            format!("conversations/{longest}/turns?pageSize=100"),
        ),
        (
            300.0,
            "search, a word of every call",
            "conversations?search=visit".to_owned(),
        ),
        (
            300.0,
            "search, a word of few calls",
            "conversations?search=caller7919".to_owned(),
        ),
        (
            300.0,
            "search, a word of no call",
            "conversations?search=zebra".to_owned(),
        ),
        (
            300.0,
            "search, a phrase",
            "conversations?search=%22would+a+visit%22".to_owned(),
        ),
        (
            300.0,
            "search, the begin of a word",
            "conversations?search=caller49*".to_owned(),
        ),
        (
            300.0,
            "search, two words",
            "conversations?search=caller7919+visit".to_owned(),
        ),
        (
            300.0,
            "search, of an agent",
            format!("conversations?search=visit&agentId={agent}"),
        ),
        (
            300.0,
            "search, rare, of an agent",
            format!("conversations?search=caller7919&agentId={agent}"),
        ),
        (50.0, "analytics by day", "analytics?groupBy=day".to_owned()),
        (50.0, "analytics by agent", "analytics?groupBy=agent".to_owned()),
        (50.0, "analytics by campaign", "analytics?groupBy=campaign".to_owned()),
        (
            250.0,
            "conversations of a number",
            "conversations?phoneNumber=%2B15550000010".to_owned(),
        ),
        (
            250.0,
            "conversations with a neutral sentiment",
            "conversations?sentiment=neutral".to_owned(),
        ),
        (
            250.0,
            "conversations with a recording",
            "conversations?hasRecording=true".to_owned(),
        ),
    ];
    let mut connection = Connection::open(site.settings.listen).await?;
    let analytics = connection.get("/public/v1/analytics", &site.key).await?;
    if serde_json::from_slice::<Value>(&analytics.body)?["data"]["complete"] != true {
        report.fault("not all calls are counted");
    }
    for (most_ms, name, path) in reads {
        let path = format!("/public/v1/{path}");
        let mut times = Samples::default();
        while times.len() < READS {
            let asked = Instant::now();
            let answer = connection.get(&path, &site.key).await?;
            times.push(ms(asked.elapsed()));
            if answer.status != 200 {
                report.fault(format!(
                    "{path}: {} {}",
                    answer.status,
                    String::from_utf8_lossy(&answer.body)
                ));
                break;
            }
        }
        report.at_most(
            format!("{name}, p99"),
            times.percentile(0.99).unwrap_or_default(),
            "ms",
            most_ms,
        );
    }
    Ok(())
}

/// Reads page after page; returns the p99 in milliseconds.
async fn pages(site: &Site, name: &str, filter: &str, report: &mut Report) -> Result<f64, BenchError> {
    let mut connection = Connection::open(site.settings.listen).await?;
    let mut times = Samples::default();
    let mut cursor = String::new();
    let mut last = i64::MAX;
    while times.len() < PAGES {
        let path = format!("/public/v1/conversations?pageSize=100{filter}{cursor}");
        let asked = Instant::now();
        let answer = connection.get(&path, &site.key).await?;
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
                .ok_or("a conversation has no start time")?;
            if started > last {
                report.fault(format!("{name}: a later conversation stands behind an earlier one"));
            }
            last = started;
        }
        match page["pagination"]["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            // Starts over.
            None => (cursor, last) = (String::new(), i64::MAX),
        }
    }
    Ok(times.percentile(0.99).unwrap_or_default())
}

/// Reads one agent over several connections for a while.
pub async fn agent(site: &Site, agent: &str, seconds: u32, report: &mut Report) -> Result<(), BenchError> {
    let until = Instant::now() + Duration::from_secs(seconds.into());
    let path = format!("/public/v1/agents/{agent}");
    let (at, key) = (site.settings.listen, &site.key);
    let readers = (0..READERS).map(|_| tokio::spawn(read_until(at, key.clone(), path.clone(), until)));
    let mut times = Samples::default();
    for reader in futures_util::future::join_all(readers).await {
        let (own, wrong) = reader??;
        own.into_iter().for_each(|time| times.push(time));
        wrong.into_iter().for_each(|fault| report.fault(fault));
    }
    let rate = times.len() as f64 / f64::from(seconds);
    report.at_least("GET of one agent", rate, "/s", 8_000.0);
    let p99 = times.percentile(0.99).unwrap_or_default();
    report.at_most("GET of one agent, p99", p99, "ms", 10.0);
    Ok(())
}

async fn read_until(
    at: SocketAddr,
    key: String,
    path: String,
    until: Instant,
) -> Result<(Vec<f64>, Option<String>), BenchError> {
    let mut connection = Connection::open(at).await?;
    let mut times = Vec::new();
    while Instant::now() < until {
        let asked = Instant::now();
        let answer = connection.get(&path, &key).await?;
        times.push(ms(asked.elapsed()));
        if answer.status != 200 {
            return Ok((times, Some(format!("{path}: {}", answer.status))));
        }
    }
    Ok((times, None))
}
