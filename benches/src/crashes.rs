//! `ringback-bench crashes`: kills the service (SIGKILL) at random moments of campaigns and starts it again
//! each time. By the exchange's own log nobody may be dialed twice; by the REST API nobody may be forgotten.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
    time::Duration,
};

use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use super::{
    BenchError,
    processes::Process,
    site::{Site, is_over, rested},
};
use crate::cli::BenchCrashesArgs;
use ringback::api_client::ApiClient;
use sim::exchange::{LogEvent, read_log};

/// Shortest and longest time between a start and the next kill, in milliseconds.
const LIFE_MS: std::ops::Range<u64> = 100..2_500;

/// Longest time for a campaign to end after the last kill.
const REST_LIMIT: Duration = Duration::from_secs(300);

/// Personas of the callees, in turn: short calls beside whole conversations.
const PERSONAS: [&str; 5] = ["cooperative", "busy", "hangs-up", "voicemail", "busy"];

/// Kills the service and judges the result. Returns `true` if nobody was dialed twice and nobody forgotten.
pub async fn run(args: BenchCrashesArgs) -> Result<bool, BenchError> {
    let site = Site::open(&[], None).await?;
    let mut rng = StdRng::seed_from_u64(args.seed);
    let (mut service, api) = site.serve().await?;
    let agent = api.create_agent(agent()).await?;
    let mut campaigns = vec![launch(&api, &agent, 0, args.contacts).await?];
    for kill in 1..=args.kills {
        tokio::time::sleep(Duration::from_millis(rng.random_range(LIFE_MS))).await;
        service.kill().await?;
        service = Process::service(&site.settings).await?;
        // Once the last campaign is over, the next kills would have nothing to break.
        if let Some(last) = campaigns.last()
            && is_over(&api.campaign(last).await?)
        {
            campaigns.push(launch(&api, &agent, campaigns.len(), args.contacts).await?);
        }
        println!("kill {kill}/{}: restarted", args.kills);
    }
    let verdict = judge(&api, &campaigns, &site.log, args.contacts).await?;
    println!("{}", verdict.table(args.kills, campaigns.len()));
    service.kill().await?;
    if !verdict.good() {
        site.keep();
    }
    Ok(verdict.good())
}

fn agent() -> Value {
    json!({
        "name": "Crash test",
        "conversationConfig": { "agent": {
            "prompt": { "prompt": "Ask for the caller's name.", "builtInTools": { "endCall": { "enabled": true } } },
            "greetingMessage": "Hello."
        }, "turn": { "silenceEndCallTimeout": 8 } },
        "platformSettings": { "dataCollection": { "entities": { "name": { "description": "your name" } } } }
    })
}

async fn launch(api: &ApiClient, agent: &str, number: usize, contacts: u32) -> Result<String, BenchError> {
    let mut csv = String::from("phone,name,persona\n");
    for n in 0..contacts {
        let persona = PERSONAS[n as usize % PERSONAS.len()];
        // Contains the campaign's number and the contact's, so that no number occurs twice in the exchange's log.
        writeln!(csv, "+1555{number:02}{n:05},Contact {n},{persona}")?;
    }
    let name = format!("Crash test {number}");
    Ok(api.launch_csv(&name, agent, csv.into_bytes()).await?.campaign)
}

/// Results from the log and the REST API.
#[derive(Default)]
struct Verdict {
    contacts: usize,
    dials: usize,
    dialed_twice: Vec<String>,
    forgotten: Vec<String>,
    unfinished: usize,
    outcomes: BTreeMap<String, usize>,
}

impl Verdict {
    fn good(&self) -> bool {
        self.dialed_twice.is_empty() && self.forgotten.is_empty() && self.unfinished == 0 && self.dials > 0
    }

    fn table(&self, kills: u32, campaigns: usize) -> String {
        let mut text = format!(
            "\nkills            {kills}\ncampaigns        {campaigns}\ncontacts         {}\ndials            {}\n\
             dialed twice     {} {:?}\nforgotten        {} {:?}\nunfinished       {}\n",
            self.contacts,
            self.dials,
            self.dialed_twice.len(),
            self.dialed_twice,
            self.forgotten.len(),
            self.forgotten,
            self.unfinished,
        );
        for (outcome, count) in &self.outcomes {
            let _ = writeln!(text, "  {count:5}  {outcome}");
        }
        text
    }
}

async fn judge(api: &ApiClient, campaigns: &[String], log: &Path, contacts: u32) -> Result<Verdict, BenchError> {
    let mut verdict = Verdict::default();
    for campaign in campaigns {
        let state = rested(api, campaign, REST_LIMIT).await?;
        let conversations = api.conversations(campaign).await?;
        let mut final_numbers = BTreeSet::new();
        for c in &conversations {
            let status = c["status"].as_str().unwrap_or_default();
            if matches!(status, "completed" | "failed" | "cancelled") {
                final_numbers.insert(c["contactNumber"].as_str().unwrap_or_default());
            } else {
                verdict.unfinished += 1;
            }
            let error = c["errorMessage"].as_str().map(|e| format!(": {e}")).unwrap_or_default();
            *verdict.outcomes.entry(format!("{status}{error}")).or_default() += 1;
        }
        let listed = state["contacts"].as_array().map_or(0, Vec::len);
        verdict.contacts += listed;
        if listed != contacts as usize {
            verdict
                .forgotten
                .push(format!("{campaign} lists {listed} of {contacts} contacts"));
        }
        for contact in state["contacts"].as_array().into_iter().flatten() {
            let number = contact["phoneNumber"].as_str().unwrap_or_default();
            if !final_numbers.contains(number) {
                verdict.forgotten.push(number.to_owned());
            }
        }
    }
    count_dials(log, &mut verdict)?;
    Ok(verdict)
}

fn count_dials(log: &Path, verdict: &mut Verdict) -> Result<(), BenchError> {
    let mut dialed: BTreeMap<String, usize> = BTreeMap::new();
    for entry in read_log(log)? {
        if let LogEvent::Accepted { to, .. } = entry.event {
            verdict.dials += 1;
            *dialed.entry(to).or_default() += 1;
        }
    }
    // No retries and no follow-ups are configured, so a second dial of a number is one too many.
    verdict.dialed_twice = dialed
        .into_iter()
        .filter(|(_, dials)| *dials > 1)
        .map(|(number, _)| number)
        .collect();
    Ok(())
}
