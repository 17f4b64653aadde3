//! `ringback demo`: runs the whole service on a temporary database with a sample campaign on simulated
//! phones, and prints the results. It ends by itself.

mod agent;
mod expected;
mod live;
mod report;
mod voiced;

use std::{path::Path, process::ExitCode, time::Duration};

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    api_client::{ApiClient, Launched},
    app::{self, App},
    cli::{DemoArgs, login_link},
    config::{ServeConfig, SpeculationMode, StorageConfig, TimesConfig, TlsConfig},
    load::LoadConfig,
};
use carriers::settings::CarrierSettings;
use domain::accounts;
use integrations::{calendars::CalendarConfig, deliveries::MailConfig};
use net::bind::reachable;
use providers::{babble::imperfect::Imperfection, config::ProviderConfig};
use storage::{DatabaseUrl, retention::Kept};

/// Time limit of the sample's campaign, …
const LIMIT: Duration = Duration::from_secs(88);

/// … and additional time for each contact beyond the sample's.
const LIMIT_PER_CONTACT: Duration = Duration::from_millis(500);

/// Time limit of the analysis after the last call.
const ANALYSIS_LIMIT: Duration = Duration::from_secs(10);

const SAMPLE: &str = include_str!("demo/contacts.csv");

/// Reason why a demo cannot run.
type DemoError = Box<dyn std::error::Error + Send + Sync>;

/// Runs the demo. The exit code is 0 only if every outcome is its persona's.
///
/// # Errors
/// Returns an error if the service does not start or refuses the contacts.
pub async fn run(args: DemoArgs) -> Result<ExitCode, DemoError> {
    let csv = contacts(&args)?;
    let temporary = tempfile::Builder::new().prefix("ringback-demo-").tempdir()?;
    let folder = temporary.path().to_owned();
    let config = config(&folder, &args);
    if args.voice.is_some() {
        // Nobody is called before the agent's voice is known to work.
        let tried = app::try_voice(&config).await;
        tried.map_err(|why| why.to_string().replacen("RINGBACK_TTS", "--voice", 1))?;
    }
    let app = App::start(config).await?;
    let new = accounts::create(app.store.as_ref(), "demo@ringback.example").await?;
    let address = format!("http://{}", app.address);
    let api = ApiClient::new(&address, &new.api_key)?;
    println!("Ringback demo: {address}, database in {}", folder.display());

    let facts = app.live.subscribe();
    let agent = api.create_agent(agent::sample()).await?;
    let launched = api.launch_csv("Demo campaign", &agent, csv).await?;
    // Refused contacts leave nothing behind; from here on the folder is worth keeping.
    let _ = temporary.keep();
    let Launched {
        campaign,
        contacts: total,
        warning,
    } = launched;
    let began = Instant::now();
    if let Some(warning) = warning {
        println!("Note: {warning}");
    }
    println!("Campaign {campaign} is dialing {total} contacts\n");

    let mut view = live::LiveView::new(total);
    let limit = limit(total);
    let in_time = tokio::time::timeout(limit, view.follow(&api, &campaign, facts)).await;
    let took = began.elapsed();
    let state = match in_time {
        Ok(state) => state?,
        Err(_) => {
            eprintln!(
                "The campaign did not end within {} s; its state so far follows.",
                limit.as_secs()
            );
            api.campaign(&campaign).await?
        }
    };
    let conversations = analysed(&api, &campaign).await?;
    let token = accounts::login_link(app.store.as_ref(), Some(&new.email)).await?;
    app.stop(Duration::ZERO).await;

    let contacts = state["contacts"].as_array().cloned().unwrap_or_default();
    let rows = report::rows(&contacts, &conversations);
    report::print_outcomes(&rows);
    report::print_one_transcript(&conversations);
    let program = std::env::args().next().unwrap_or_else(|| "ringback".into());
    let served = format!("http://{}", reachable(args.listen));
    report::print_places(&report::Places {
        folder: &folder,
        address: &address,
        served: &served,
        api_key: &new.api_key,
        campaign: &campaign,
        program: &program,
        login_link: &login_link(&served, &token),
    });
    let good = state["status"] == "completed" && report::all_as_expected(&rows);
    println!(
        "\n{total} contacts in {:.0} s. {}",
        took.as_secs_f64(),
        if good {
            "Every outcome is its persona's."
        } else {
            "NOT every outcome is its persona's."
        }
    );
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn limit(contacts: u64) -> Duration {
    let sample = SAMPLE.lines().count() as u64 - 1;
    let more = u32::try_from(contacts.saturating_sub(sample)).unwrap_or(u32::MAX);
    LIMIT + LIMIT_PER_CONTACT.saturating_mul(more)
}

fn contacts(args: &DemoArgs) -> Result<Vec<u8>, DemoError> {
    if let Some(path) = &args.csv {
        return std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()).into());
    }
    if args.voice.is_some() {
        return Ok(voiced::contacts().into_bytes());
    }
    let rows = args.contacts.map_or(usize::MAX, usize::from);
    let lines: Vec<&str> = SAMPLE.lines().take(rows.saturating_add(1)).collect();
    Ok(lines.join("\n").into_bytes())
}

fn config(folder: &Path, args: &DemoArgs) -> ServeConfig {
    let mut providers = ProviderConfig::default();
    if let Some(voice) = &args.voice {
        providers.tts = vec![voice.clone()];
    }
    ServeConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        tls: TlsConfig::default(),
        public_url: None,
        node_url: None,
        start_wait_seconds: 60,
        times: TimesConfig::default(),
        storage: StorageConfig {
            database_url: DatabaseUrl::of_file(&folder.join("ringback.db")),
            data_dir: folder.to_owned(),
            kept: Kept::default(),
        },
        carrier: "simulated".into(),
        // A demo calls nobody, whatever accounts the environment has.
        carriers: Some(CarrierSettings::default()),
        providers,
        babble: Imperfection::default(),
        simulated_url: None,
        scripts: voiced::scripts(),
        max_calls: 100,
        max_listeners: 400,
        calls_per_second: Some(10.0),
        ring_timeout_seconds: 12,
        rate_limit: 0,
        load: LoadConfig::NEVER,
        cors_origins: Vec::new(),
        fixed_pause_ms: None,
        speculation: SpeculationMode::Voice,
        allow_private_urls: false,
        mail: MailConfig::default(),
        prices: None,
        calendars: CalendarConfig::default(),
        drain_seconds: 0,
        leave_seconds: 0,
        max_connections: 256,
        idle_seconds: 10,
    }
}

/// Returns the conversations once their analysis is done or its time is over.
async fn analysed(api: &ApiClient, campaign: &str) -> Result<Vec<Value>, DemoError> {
    let deadline = Instant::now() + ANALYSIS_LIMIT;
    loop {
        let conversations = api.conversations(campaign).await?;
        if !conversations.iter().any(is_to_be_analysed) || Instant::now() > deadline {
            return Ok(conversations);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Only a call that was answered is analysed.
fn is_to_be_analysed(conversation: &Value) -> bool {
    let answered = conversation["status"] == "completed" || !conversation["transcript"].is_null();
    answered && conversation["summary"].is_null()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_that_nobody_answered_is_not_waited_for() {
        assert!(!is_to_be_analysed(
            &json!({ "status": "failed", "errorMessage": "busy" })
        ));
        assert!(is_to_be_analysed(&json!({ "status": "completed" })));
        assert!(is_to_be_analysed(
            &json!({ "status": "failed", "transcript": "Agent: Hello." })
        ));
        assert!(!is_to_be_analysed(&json!({ "status": "completed", "summary": "…" })));
    }

    #[test]
    fn a_long_list_has_more_time_than_the_sample() {
        assert_eq!(limit(16), LIMIT);
        assert_eq!(limit(1_016), LIMIT + Duration::from_secs(500));
    }
}
