//! Probe of a language model with one small real request, for `ringback providers check`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::{
    agent::Agent,
    knowledge::Knowledge,
    ports::{
        language_model::{ReplyEvent, ReplyRequest},
        store::CallDirection,
        usage::Meter,
    },
    prompt::{Message, Prompt, Tool},
    time::Timestamp,
};
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::{failure::probe::ProbeError, llm::LanguageModels, name::ProviderName, protocols::llm::reply_stream::Delta};
use domain::ports::language_model::LanguageError;

/// Time limit for the probe of a model.
const WITHIN: Duration = Duration::from_secs(15);

/// Result of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// Model that was asked.
    pub model: String,
    /// Time from the request to the first words.
    pub first_token: Duration,
    /// Time from the request to the end.
    pub total: Duration,
    /// Text of the answer, or the name of the tool that the model called instead.
    pub words: String,
}

impl LanguageModels {
    /// Asks a model to say one word, and offers it a tool as calls do: some models refuse tools.
    pub async fn probe(&self, name: &ProviderName) -> Result<ProbeReport, ProbeError> {
        let model = self.models.model(name)?;
        let prompt = Arc::new(Prompt {
            stable: "Answer with one word.".into(),
            changing: String::new(),
            messages: vec![Message::User("Say OK.".into())],
            tools: vec![Tool {
                name: "skipTurn".into(),
                description: "Stay silent. Not needed now.".into(),
                parameters: json!({ "type": "object", "properties": {} }),
            }],
            temperature: 0.0,
        });
        let request = ReplyRequest {
            agent: Arc::new(Agent::default()),
            variables: Arc::new(BTreeMap::new()),
            tools: Arc::default(),
            direction: CallDirection::Outbound,
            history: Vec::new(),
            now: Timestamp(0),
            notes: Vec::new(),
            knowledge: Knowledge::default(),
            failures: 0,
            meter: Meter::default(),
        };
        let asked = Instant::now();
        let mut deltas = model.ask(&request, &prompt);
        let mut report = ProbeReport {
            model: model.model().unwrap_or(model.provider).to_owned(),
            first_token: Duration::ZERO,
            total: Duration::ZERO,
            words: String::new(),
        };
        let late = |_| ProbeError::NoAnswer(WITHIN);
        while let Some(delta) = timeout(WITHIN.saturating_sub(asked.elapsed()), deltas.next())
            .await
            .map_err(late)?
        {
            let text = match delta.map_err(LanguageError::from)? {
                Delta::Event(ReplyEvent::Text(text)) => text,
                Delta::Event(ReplyEvent::Tool { name, .. }) => name,
                _ => continue,
            };
            if report.words.is_empty() {
                report.first_token = asked.elapsed();
            }
            report.words.push_str(&text);
        }
        report.total = asked.elapsed();
        match report.words.trim() {
            "" => Err(ProbeError::WithoutAWord),
            words => Ok(ProbeReport {
                words: words.to_owned(),
                ..report
            }),
        }
    }
}
