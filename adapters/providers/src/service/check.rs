//! The command `ringback providers check`. It sends one small real request to each configured provider and
//! shows whether it works, how fast it is, and what is wrong.

use std::{process::ExitCode, sync::Arc};

use clap::Args;
use domain::ports::services::{CheckReport, ServiceKind};

use comfy_table::{Table, presets::UTF8_BORDERS_ONLY};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    knowledge::Embeddings,
    name::ProviderName,
    registry::BabbleTranscriber,
    service::{config::ProviderConfig, configured::Configured, hints::with_hint, prober},
    settings::ProviderSettings,
};

/// Arguments of `ringback providers check`.
#[derive(Debug, Clone, Args)]
pub struct ProvidersCheckArgs {
    /// Providers to check
    #[command(flatten)]
    pub providers: ProviderConfig,

    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

/// Result of the check of one provider.
struct Finding {
    kind: &'static str,
    name: String,
    /// Milliseconds to the first word or sound and a description of the answer; or the problem.
    result: Result<(u128, String), String>,
}

impl Finding {
    fn new(kind: &'static str, name: &ProviderName, result: Result<(u128, String), impl ToString>) -> Self {
        Self {
            kind,
            name: name.to_string(),
            result: result.map_err(|why| why.to_string()),
        }
    }

    fn json(&self) -> Value {
        let mut shown = json!({ "kind": self.kind, "provider": self.name, "works": self.result.is_ok() });
        match &self.result {
            Ok((first_ms, came)) => {
                shown["firstMs"] = json!(u64::try_from(*first_ms).unwrap_or(u64::MAX));
                shown["answer"] = came.as_str().into();
            }
            Err(why) => shown["problem"] = why.as_str().into(),
        }
        shown
    }
}

/// Asks each configured provider. The exit code is 0 only if all of them work.
pub async fn run(args: ProvidersCheckArgs) -> Result<ExitCode, Box<dyn std::error::Error + Send + Sync>> {
    let providers = Configured::new(&args.providers, Arc::new(BabbleTranscriber), None)?;
    providers.check_names().await?;
    let mut findings = language_models(&providers, &args.providers.llm).await;
    let (voices, speech) = voices(&providers, &args.providers.tts).await;
    findings.extend(voices);
    findings.extend(recognisers(&providers, &args.providers.stt, speech).await);
    let settings = args.providers.settings()?;
    if let Some(name) = &args.providers.embeddings {
        findings.push(embeddings(name, &settings).await);
    }
    for finding in &mut findings {
        if let Err(why) = &mut finding.result {
            let provider = finding.name.split([':', '/']).next().unwrap_or_default();
            *why = with_hint(provider, why, &settings);
        }
    }
    show(&findings, args.json)?;
    let all_work = findings.iter().all(|finding| finding.result.is_ok());
    Ok(if all_work { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks one provider of a kind as the command does: with the first model or voice of the settings, or else its default.
pub async fn one(config: &ProviderConfig, kind: ServiceKind, provider: &str) -> CheckReport {
    let listed = match kind {
        ServiceKind::Llm => &*config.llm,
        ServiceKind::Stt => &*config.stt,
        ServiceKind::Tts => &*config.tts,
        ServiceKind::Embeddings | ServiceKind::Carrier => config.embeddings.as_slice(),
    };
    let listed = listed.iter().find(|name| name.provider == provider).cloned();
    let name = listed.unwrap_or_else(|| ProviderName::of(provider));
    let mut config = config.clone();
    if kind == ServiceKind::Stt {
        config.stt = vec![name.clone()];
    }
    let providers = match Configured::new(&config, Arc::new(BabbleTranscriber), None) {
        Ok(providers) => providers,
        Err(why) => return CheckReport::of(Err(why.to_string())),
    };
    let names = std::slice::from_ref(&name);
    let found = match kind {
        ServiceKind::Llm => language_models(&providers, names).await,
        ServiceKind::Tts => voices(&providers, names).await.0,
        ServiceKind::Stt => {
            let (_, speech) = voices(&providers, &config.tts).await;
            recognisers(&providers, names, speech).await
        }
        ServiceKind::Embeddings | ServiceKind::Carrier => {
            vec![embeddings(&name, &config.settings().unwrap_or_default()).await]
        }
    };
    let results = found
        .into_iter()
        .map(|finding| finding.result.map(|(_, answer)| answer));
    CheckReport::of(results.collect())
}

async fn language_models(providers: &Configured, names: &[ProviderName]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in names {
        let result = providers.llm.probe(name).await.map(|report| {
            let (words, total_ms, model) = (report.words, report.total.as_millis(), report.model);
            let came = format!("{words:?} in {total_ms} ms, model {model}");
            (report.first_token.as_millis(), came)
        });
        findings.push(Finding::new("language model", name, result));
    }
    findings
}

async fn embeddings(name: &ProviderName, settings: &ProviderSettings) -> Finding {
    let begun = Instant::now();
    let result = match Embeddings::new(name, settings) {
        Ok(model) => model.probe().await,
        Err(why) => Err(why.into()),
    };
    let result = result.map(|numbers| (begun.elapsed().as_millis(), format!("a vector of {numbers} numbers")));
    Finding::new("embeddings", name, result)
}

/// Samples and their rate in Hz.
type Speech = (Vec<i16>, u32);

/// Checks the voices. Also returns the speech of the first voice that works, which recognisers are then asked
/// to understand.
async fn voices(providers: &Configured, names: &[ProviderName]) -> (Vec<Finding>, Option<Speech>) {
    let (mut findings, mut speech) = (Vec::new(), None);
    for name in names {
        let result = providers.tts.probe(name).await.map(|report| {
            let length_ms = report.samples.len() as u64 * 1_000 / u64::from(report.sample_rate.max(1));
            let (total_ms, voice) = (report.total.as_millis(), report.voice);
            let came = format!("{length_ms} ms of speech in {total_ms} ms, voice {voice}");
            if speech.is_none() && !report.samples.is_empty() {
                speech = Some((report.samples, report.sample_rate));
            }
            (report.first_audio.as_millis(), came)
        });
        findings.push(Finding::new("voice", name, result));
    }
    (findings, speech)
}

async fn recognisers(providers: &Configured, names: &[ProviderName], speech: Option<Speech>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in names {
        let result = match &speech {
            Some((samples, rate)) => {
                let asked = providers.stt.probe(&name.to_string(), samples, *rate).await;
                asked.map_err(|why| why.to_string())
            }
            // Babble will not be understood, but a wrong key or address shows.
            None => {
                let speech = prober::test_speech("Hello?").await;
                let asked = providers
                    .stt
                    .probe(&name.to_string(), &speech, prober::SAMPLE_RATE)
                    .await;
                asked.map_err(|why| format!("{why} (no voice of RINGBACK_TTS works, so it was sent babble)"))
            }
        };
        let result = result.map(|report| (report.final_after.as_millis(), format!("{:?}", report.words)));
        findings.push(Finding::new("recogniser", name, result));
    }
    findings
}

fn show(findings: &[Finding], as_json: bool) -> Result<(), serde_json::Error> {
    if as_json {
        let all: Vec<Value> = findings.iter().map(Finding::json).collect();
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    table.set_header(["", "Provider", "Works", "First, ms", "Answer"]);
    for finding in findings {
        let (works, first, came) = match &finding.result {
            Ok((first_ms, came)) => ("yes", first_ms.to_string(), came.clone()),
            Err(why) => ("NO", String::new(), why.clone()),
        };
        table.add_row([finding.kind, &finding.name, works, &first, &came]);
    }
    println!("{table}");
    Ok(())
}
