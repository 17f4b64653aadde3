//! The same campaign again and again: its speed, whether everybody got an outcome, and what is left behind.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    time::{Duration, Instant},
};

use domain::time::{Clock, SystemClock};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    super::BenchError,
    Bench,
    counts::{Counts, IDLE_CORES, Rest, rest},
    dials::Dials,
};
use crate::{
    cli::BenchDialerArgs,
    figures::{Figure, table},
};
use ringback::api_client::ApiClient;

/// Longest time for one campaign.
const CAMPAIGN_LIMIT: Duration = Duration::from_secs(1_800);

/// A callee hears a voice within this time (99 of 100), counted from the end of its first words.
const GREETING_MS: f64 = 2_000.0;

/// Interval between reads of the campaign's state.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Highest allowed ratio of the memory after a campaign to that after the previous one, in the round where it
/// grew least. A leak grows each time, while the allocator takes a few MiB more now and then, and keeps them.
const GROWTH: f64 = 1.02;

/// Calls, not counting the first round's, that distinguish a slope from what an allocator takes and gives
/// back.
const SLOPE_OVER: f64 = 100_000.0;
/// Limit of the slope over [`SLOPE_OVER`] calls, as a share of the memory.
const SLOPE: f64 = 0.01;

/// Returns the persona of a contact, and the status and the error it must end with. Most calls are over at
/// once, one in ten is a conversation.
fn expected(contact: u32) -> (&'static str, &'static str, &'static str) {
    match contact % 20 {
        4 => ("hangs-up", "completed", ""),
        14 => ("cooperative", "completed", ""),
        n if n % 3 == 0 => ("rejects", "failed", "rejected"),
        _ => ("busy", "failed", "busy"),
    }
}

/// One campaign.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Round {
    /// From the upload of the file to the campaign's end.
    seconds: f64,
    contacts_per_second: f64,
    fastest_second: usize,
    calls_at_once: usize,
    cores: f64,
    dials: usize,
    dialed_twice: Vec<String>,
    /// Contacts with another outcome than their persona's.
    wrong_outcomes: Vec<String>,
    outcomes: BTreeMap<String, usize>,
    /// From the callee's first words to the agent's voice: the median, and the value that 99 of 100
    /// calls do not exceed.
    greeting_ms: Greeting,
    rest: Rest,
}

#[derive(Debug, Serialize)]
struct Greeting {
    p50: Option<f64>,
    p99: Option<f64>,
}

/// Runs the campaigns.
pub async fn run(args: &BenchDialerArgs) -> Result<bool, BenchError> {
    let bench = Bench::start(args.lines, 0.0).await?;
    let before = rest(&bench, None).await?;
    let mut rounds = Vec::new();
    for number in 1..=args.rounds {
        println!("round {number}/{}: {} contacts …", args.rounds, args.contacts);
        rounds.push(round(&bench, number, args.contacts, before.counts).await?);
    }
    let report = Report {
        contacts: args.contacts,
        lines: args.lines,
        before,
        rounds,
    };
    bench
        .report(args.json.as_deref(), &report.table(), report.json(), &report.misses())
        .await
}

fn csv(contacts: u32) -> Result<String, std::fmt::Error> {
    let mut csv = String::from("phone,name,persona\n");
    for n in 0..contacts {
        let (persona, ..) = expected(n);
        writeln!(csv, "{},Contact {n},{persona}", number(n))?;
    }
    Ok(csv)
}

fn number(contact: u32) -> String {
    format!("+1555{contact:07}")
}

async fn round(bench: &Bench, number: u32, contacts: u32, before: Counts) -> Result<Round, BenchError> {
    let (from, began) = (SystemClock.now(), Instant::now());
    let cpu = bench.service.cpu_seconds()?;
    let api = bench.site.api()?;
    let file = csv(contacts)?.into_bytes();
    let launched = api.launch_csv(&format!("Round {number}"), &bench.agent, file).await?;
    let campaign = launched.campaign.as_str();
    completed(&api, campaign).await?;
    let seconds = began.elapsed().as_secs_f64();
    let cores = (bench.service.cpu_seconds()? - cpu) / seconds;
    let results = api
        .text(&format!("/public/v1/campaigns/{campaign}/results.csv"))
        .await?;
    let (outcomes, wrong_outcomes) = judge(&results, contacts)?;
    // Its connections must not be counted as left behind.
    drop(api);
    let rest = rest(bench, Some(before)).await?;
    let dials = Dials::since(&bench.site.log, from)?;
    Ok(Round {
        seconds,
        contacts_per_second: f64::from(contacts) / seconds,
        fastest_second: dials.fastest_second(),
        calls_at_once: dials.most_at_once(),
        cores,
        dials: dials.dials.len(),
        dialed_twice: dials.twice(),
        wrong_outcomes,
        outcomes,
        greeting_ms: Greeting {
            p50: dials.greeting_ms.percentile(0.5),
            p99: dials.greeting_ms.percentile(0.99),
        },
        rest,
    })
}

/// Waits for the end of a campaign. The list contains no contacts, so polling costs the service little.
async fn completed(api: &ApiClient, campaign: &str) -> Result<(), BenchError> {
    let deadline = Instant::now() + CAMPAIGN_LIMIT;
    loop {
        let list = api.get("/public/v1/campaigns?pageSize=5").await?;
        let listed = list["data"].as_array().into_iter().flatten();
        let mut ours = listed.filter(|item| item["campaignId"] == campaign);
        match ours.next().and_then(|item| item["status"].as_str()) {
            Some("completed") => return Ok(()),
            Some("failed") | None => return Err(format!("campaign {campaign} did not complete: {list}").into()),
            Some(_) if Instant::now() > deadline => return Err(format!("campaign {campaign} does not end").into()),
            Some(_) => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}

/// Returns the count of each outcome, and the contacts with another one than their persona's.
fn judge(results: &str, contacts: u32) -> Result<(BTreeMap<String, usize>, Vec<String>), BenchError> {
    let mut found = BTreeMap::new();
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let mut reader = csv::Reader::from_reader(results.as_bytes());
    for record in reader.deserialize() {
        let line: ResultLine = record?;
        let outcome = format!("{} {}", line.status, line.error_message).trim().to_owned();
        *outcomes.entry(outcome.clone()).or_default() += 1;
        found.insert(line.phone_number, outcome);
    }
    let wrong = (0..contacts).filter_map(|n| {
        let (persona, status, error) = expected(n);
        let number = number(n);
        let outcome = found.get(&number).map_or("not listed", String::as_str);
        (outcome != format!("{status} {error}").trim()).then(|| format!("{number} ({persona}): {outcome}"))
    });
    Ok((outcomes, wrong.collect()))
}

/// Columns of `results.csv` that are judged.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultLine {
    phone_number: String,
    status: String,
    error_message: String,
}

struct Report {
    contacts: u32,
    lines: u32,
    before: Rest,
    rounds: Vec<Round>,
}

impl Report {
    /// Returns the smallest ratio of the memory after a round to that after the previous round.
    fn growth(&self) -> Option<f64> {
        least_growth(self.rounds.iter().map(|round| round.rest.resident_mib))
    }

    /// Returns the slope of the memory over the rounds after the first, which fills caches.
    fn slope(&self) -> Option<Slope> {
        let mib: Vec<f64> = self
            .rounds
            .iter()
            .skip(1)
            .map(|round| round.rest.resident_mib)
            .collect();
        Slope::over(&mib, f64::from(self.contacts))
    }

    fn misses(&self) -> Vec<String> {
        let mut misses = Vec::new();
        for (number, round) in (1..).zip(&self.rounds) {
            misses.extend(round.misses(number, self.contacts, &self.before));
        }
        if let Some(growth) = self.growth().filter(|growth| *growth > GROWTH) {
            misses.push(format!(
                "memory grew in every round after the first, by {:.1} % at least",
                (growth - 1.0) * 100.0
            ));
        }
        if let Some(slope) = self.slope().filter(Slope::is_steep) {
            misses.push(format!("memory has a slope: {slope}"));
        }
        misses
    }

    fn table(&self) -> String {
        let runs = (0..=self.rounds.len()).map(|number| match number {
            0 => "before".to_owned(),
            number => format!("round {number}"),
        });
        let before = figures(None, &self.before);
        let columns: Vec<_> = std::iter::once(before)
            .chain(self.rounds.iter().map(|round| figures(Some(round), &round.rest)))
            .collect();
        let mut text = format!("{} contacts a round, {} lines\n\n", self.contacts, self.lines);
        text.push_str(&table(runs, &columns).to_string());
        if let Some(growth) = self.growth() {
            let percent = (growth - 1.0) * 100.0;
            let _ = write!(
                text,
                "\n\nleast growth of memory from one round to the next: {percent:+.1} %"
            );
        }
        if let Some(slope) = self.slope() {
            let _ = write!(text, "\nslope of memory after round 1: {slope}");
        }
        for (outcome, count) in self.rounds.iter().flat_map(|round| &round.outcomes) {
            let _ = write!(text, "\n  {count:6}  {outcome}");
        }
        text.push('\n');
        text
    }

    fn json(&self) -> Value {
        json!({ "contacts": self.contacts, "lines": self.lines, "before": self.before, "rounds": self.rounds,
            "growth": self.growth(), "slopePercent": self.slope().map(|slope| slope.share * 100.0) })
    }
}

/// Returns the figures of a round, or of the service before the first.
fn figures(round: Option<&Round>, rest: &Rest) -> Vec<Figure> {
    let own = |name: &str, of: fn(&Round) -> Option<f64>, digits| Figure::new(name, round.and_then(of), "", digits);
    let Counts { actors, tasks, sockets } = rest.counts;
    vec![
        own("seconds", |r| Some(r.seconds), 1),
        own("contacts a second", |r| Some(r.contacts_per_second), 0),
        own("dials in the fastest second", |r| Some(r.fastest_second as f64), 0),
        own("calls at once", |r| Some(r.calls_at_once as f64), 0),
        own("cores of the service", |r| Some(r.cores), 2),
        own("dialed twice", |r| Some(r.dialed_twice.len() as f64), 0),
        own("without their outcome", |r| Some(r.wrong_outcomes.len() as f64), 0),
        own("hello to voice, ms, p50", |r| r.greeting_ms.p50, 0),
        own("hello to voice, ms, p99", |r| r.greeting_ms.p99, 0),
        Figure::new("actors", actors as f64, "", 0),
        Figure::new("tasks", tasks as f64, "", 0),
        Figure::new("sockets", sockets as f64, "", 0),
        Figure::new("memory at rest, MiB", rest.resident_mib, "", 1),
        Figure::new("quiet after, s", rest.quiet_after_s, "", 1),
        Figure::new("cores at rest", rest.idle_cores, "", 2),
    ]
}

/// Growth of memory with the number of calls, fitted by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slope {
    /// Growth in 100,000 calls, as a share of the mean.
    share: f64,
    /// Standard error of that share.
    error: f64,
    /// Calls that it covers.
    calls: f64,
}

impl Slope {
    /// Fits a line to `mib` after each of several rounds of `calls` calls; `None` for fewer than three rounds.
    fn over(mib: &[f64], calls: f64) -> Option<Self> {
        let count = mib.len() as f64;
        if mib.len() < 3 {
            return None;
        }
        let (middle, mean) = ((count - 1.0) / 2.0, mib.iter().sum::<f64>() / count);
        let points = || mib.iter().enumerate().map(|(n, mib)| (n as f64 - middle, mib - mean));
        let spread: f64 = points().map(|(x, _)| x * x).sum();
        let slope = points().map(|(x, y)| x * y).sum::<f64>() / spread;
        let missed: f64 = points().map(|(x, y)| (y - slope * x).powi(2)).sum();
        let error = (missed / (count - 2.0) / spread).sqrt();
        let scale = SLOPE_OVER / calls / mean;
        Some(Self {
            share: slope * scale,
            error: error * scale,
            calls: calls * count,
        })
    }

    /// Returns whether it is above its limit by more than chance: by two standard errors.
    fn is_steep(&self) -> bool {
        self.calls >= SLOPE_OVER && self.share - 2.0 * self.error > SLOPE
    }
}

impl std::fmt::Display for Slope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (share, error) = (self.share * 100.0, self.error * 100.0);
        write!(f, "{share:+.2} % in 100,000 calls (standard error {error:.2})")
    }
}

/// Returns the smallest ratio of a figure to the previous one; `None` if there is only one.
fn least_growth(mib: impl Iterator<Item = f64>) -> Option<f64> {
    let mib: Vec<f64> = mib.collect();
    let ratios = mib.windows(2).filter_map(|two| Some(two.last()? / two.first()?));
    ratios.reduce(f64::min)
}

impl Round {
    fn misses(&self, number: u32, contacts: u32, before: &Rest) -> Vec<String> {
        let mut misses = Vec::new();
        let mut must = |holds: bool, what: String| {
            if !holds {
                misses.push(format!("round {number}: {what}"));
            }
        };
        let some = |of: &[String]| of.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        must(
            self.dials == contacts as usize,
            format!("{} dials of {contacts} contacts", self.dials),
        );
        must(
            self.dialed_twice.is_empty(),
            format!("dialed twice: {}", some(&self.dialed_twice)),
        );
        must(
            self.wrong_outcomes.is_empty(),
            format!(
                "{} without their outcome, such as {}",
                self.wrong_outcomes.len(),
                some(&self.wrong_outcomes)
            ),
        );
        must(
            self.greeting_ms.p99.is_some_and(|p99| p99 <= GREETING_MS),
            format!("a voice after {:?} ms (p99)", self.greeting_ms.p99),
        );
        must(
            self.rest.counts == before.counts,
            format!("held {:?} before and {:?} after", before.counts, self.rest.counts),
        );
        must(
            self.rest.idle_cores <= IDLE_CORES,
            format!("{:.2} cores at rest", self.rest.idle_cores),
        );
        misses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_grows_in_every_round_and_an_allocators_step_in_one() {
        let limit = |mib: &[f64]| least_growth(mib.iter().copied()).is_some_and(|growth| growth > GROWTH);
        assert!(limit(&[80.0, 82.0, 84.0]));
        assert!(limit(&[80.0, 84.0]));
        assert!(!limit(&[79.3, 79.1, 82.4, 82.4]));
        assert!(!limit(&[80.0]));
    }

    #[test]
    fn a_contact_that_is_not_listed_or_ended_otherwise_is_found() {
        let mut results = String::from("phoneNumber,name,status,errorMessage\n");
        for n in 0..14 {
            let (_, status, error) = expected(n);
            let error = if n == 5 { "no-answer" } else { error };
            writeln!(results, "{},Contact,{status},{error}", number(n)).unwrap();
        }
        let (outcomes, wrong) = judge(&results, 15).unwrap();
        assert_eq!((outcomes["failed busy"], outcomes["failed rejected"]), (7, 5));
        assert_eq!(
            wrong,
            [
                format!("{} (busy): failed no-answer", number(5)),
                format!("{} (cooperative): not listed", number(14)),
            ]
        );
    }

    #[test]
    fn a_slope_is_told_from_steps_of_an_allocator() {
        let leak: Vec<f64> = (0..19).map(|n| 100.0 + 0.5 * f64::from(n)).collect();
        let slope = Slope::over(&leak, 10_000.0).unwrap();
        assert!((slope.share - 5.0 / 104.5).abs() < 1e-9, "{slope}");
        assert!(slope.is_steep());
        let steps: Vec<f64> = (0..19).map(|n| 100.0 + f64::from(n % 3)).collect();
        assert!(!Slope::over(&steps, 10_000.0).unwrap().is_steep());
        // Too few calls to tell.
        assert!(!Slope::over(&leak, 1_000.0).unwrap().is_steep());
        assert_eq!(Slope::over(&[1.0, 2.0], 10_000.0), None);
    }
}
