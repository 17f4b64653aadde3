//! `ringback providers check`: one small real request to each configured provider; what works, how fast, what is
//! wrong.

use std::{process::ExitCode, sync::Arc};

use comfy_table::{Table, presets::UTF8_BORDERS_ONLY};
use serde_json::{Value, json};

use super::{prober, team::Team};
use crate::{cli::ProvidersCheckArgs, speech::babble::BabbleTranscriber};

/// What was found of one provider.
struct Finding {
    kind: &'static str,
    name: String,
    /// Milliseconds to the first word or sound, and what came; or what is wrong.
    result: Result<(u128, String), String>,
}

impl Finding {
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

/// Asks each provider of the settings. The exit code is 0 only if all of them work.
///
/// # Errors
///
/// When a provider is not configured.
pub async fn run(args: ProvidersCheckArgs) -> Result<ExitCode, Box<dyn std::error::Error + Send + Sync>> {
    let team = Team::new(&args.providers, Arc::new(BabbleTranscriber), None)?;
    let mut findings = Vec::new();
    for name in &args.providers.llm {
        let result = team.language.probe(name).await.map(|report| {
            let came = format!(
                "{:?} in {} ms, model {}",
                report.words,
                report.total.as_millis(),
                report.model
            );
            (report.first_token.as_millis(), came)
        });
        findings.push(Finding {
            kind: "language model",
            name: name.to_string(),
            result,
        });
    }
    // What the first voice says is what recognisers are asked to understand.
    let mut speech = None;
    for name in &args.providers.tts {
        let result = team.voices.probe(name).await.map(|report| {
            let length_ms = report.samples.len() as u64 * 1_000 / u64::from(report.sample_rate.max(1));
            let came = format!(
                "{length_ms} ms of speech in {} ms, voice {}",
                report.total.as_millis(),
                report.voice
            );
            if speech.is_none() && !report.samples.is_empty() {
                speech = Some((report.samples, report.sample_rate));
            }
            (report.first_audio.as_millis(), came)
        });
        findings.push(Finding {
            kind: "voice",
            name: name.to_string(),
            result,
        });
    }
    for name in &args.providers.stt {
        let result = match &speech {
            Some((samples, rate)) => team.ears.probe(&name.to_string(), samples, *rate).await,
            // Its words will not be understood, but a wrong key or address shows.
            None => {
                let speech = prober::babble("Hello?").await;
                let asked = team.ears.probe(&name.to_string(), &speech, prober::SAMPLE_RATE).await;
                asked.map_err(|why| format!("{why} (no voice of RINGBACK_TTS works: it was spoken to in babble)"))
            }
        };
        let result = result.map(|report| (report.final_after.as_millis(), format!("{:?}", report.words)));
        findings.push(Finding {
            kind: "recogniser",
            name: name.to_string(),
            result,
        });
    }
    show(&findings, args.json)?;
    let all_work = findings.iter().all(|finding| finding.result.is_ok());
    Ok(if all_work { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(findings: &[Finding], as_json: bool) -> Result<(), serde_json::Error> {
    if as_json {
        let all: Vec<Value> = findings.iter().map(Finding::json).collect();
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    table.set_header(["", "Provider", "Works", "First, ms", "What came"]);
    for finding in findings {
        let (works, first, came) = match &finding.result {
            Ok((first_ms, came)) => ("yes", first_ms.to_string(), came.clone()),
            Err(why) => ("NO", String::new(), why.clone()),
        };
        table.add_row([
            finding.kind.to_owned(),
            finding.name.clone(),
            works.to_owned(),
            first,
            came,
        ]);
    }
    println!("{table}");
    Ok(())
}
