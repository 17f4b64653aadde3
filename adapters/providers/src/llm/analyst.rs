//! Analyst over the same models and guards, asked for an answer in JSON.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{
    agent::Agent,
    ports::{
        analyst::{Analyst, AnalystError, Question},
        language_model::ReplyEvent,
    },
    prompt::{Message, Prompt},
};
use futures_util::StreamExt;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::{
    failure::Failure,
    llm::{LanguageModels, models::Model},
    protocols::llm::reply_stream::{Delta, Deltas},
};
use domain::ports::language_model::LanguageError;
use net::guard::{Guard, Verdict};

/// Time limit for all models together on one answer. It is far below the lease of the job that asks.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Time limit for one model if others follow.
const ONE_WITHIN: Duration = Duration::from_secs(12);

#[async_trait]
impl Analyst for LanguageModels {
    fn is_asked(&self, agent: &Agent) -> bool {
        let models = self.of(&agent.conversation_config.agent.prompt.llm);
        models.first().is_some_and(|model| model.model().is_some())
    }

    async fn answer(&self, question: Question) -> Result<Value, AnalystError> {
        let by = Instant::now() + ANSWER_WITHIN;
        let prompt = Arc::new(prompt(&question));
        let models = self.of(&question.agent.conversation_config.agent.prompt.llm);
        let mut failures = Vec::new();
        for (at, model) in models.iter().enumerate() {
            let is_last = !models[at + 1..].iter().any(|model| model.model().is_some());
            let until = if is_last {
                by
            } else {
                by.min(Instant::now() + ONE_WITHIN)
            };
            match ask(model, &prompt, &question, until).await {
                Some(Ok(words)) => return read(&words),
                Some(Err(why)) => failures.push(format!("{}: {why}", model.provider)),
                None => {}
            }
        }
        Err(AnalystError::Unavailable(failures.join("; ")))
    }
}

fn prompt(question: &Question) -> Prompt {
    let shape = &question.schema;
    Prompt {
        stable: question.instructions.clone(),
        changing: format!("Answer with one JSON object of this JSON Schema, and nothing else:\n{shape}"),
        messages: vec![Message::User(format!(
            "The record, one JSON object per line:\n{}",
            question.record
        ))],
        tools: Vec::new(),
        temperature: 0.0,
    }
}

/// Asks one model. Returns `None` if it cannot answer in JSON.
async fn ask(
    model: &Model,
    prompt: &Arc<Prompt>,
    question: &Question,
    until: Instant,
) -> Option<Result<String, String>> {
    let deltas = model.ask_shaped(prompt, &question.meter, &question.schema)?;
    let pass = match model.guard.as_ref().map(Guard::admit) {
        Some(Err(tripped)) => return Some(Err(tripped.to_string())),
        Some(Ok(pass)) => Some(pass.for_call(question.meter.call())),
        None => None,
    };
    let late = |_| Failure::unavailable("no complete answer in time");
    let result = timeout_at(until, whole(deltas))
        .await
        .map_err(late)
        .and_then(|result| result);
    Some(match (result, pass) {
        (Ok(words), pass) => {
            if let Some(pass) = pass {
                pass.succeeded();
            }
            Ok(words)
        }
        (Err(failure), pass) => {
            let verdict = failure.verdict().filter(|verdict| *verdict != Verdict::OurFault);
            let why = LanguageError::from(failure).to_string();
            // A refused analysis request says nothing about calls, so it must not count against the provider.
            if let (Some(pass), Some(verdict)) = (pass, verdict) {
                pass.failed(verdict, &why);
            }
            Err(why)
        }
    })
}

/// Collects the text of an answer, or the arguments of the tool that it calls.
async fn whole(mut deltas: Deltas) -> Result<String, Failure> {
    let mut words = String::new();
    while let Some(delta) = deltas.next().await {
        match delta? {
            Delta::Event(ReplyEvent::Text(text)) => words.push_str(&text),
            Delta::Event(ReplyEvent::Tool { arguments, .. }) => return Ok(arguments.to_string()),
            Delta::Thinking | Delta::Working => {}
        }
    }
    Ok(words)
}

/// Parses the JSON in an answer. Some models put it into a code block or surround it with text.
fn read(words: &str) -> Result<Value, AnalystError> {
    let object = words.find('{').zip(words.rfind('}')).filter(|(begin, end)| begin < end);
    let (begin, end) = object.ok_or_else(|| AnalystError::BadAnswer("no JSON object in the answer".into()))?;
    serde_json::from_str(&words[begin..=end]).map_err(|error| AnalystError::BadAnswer(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_in_what_models_put_around_it() {
        for words in [
            r#"{"a":1}"#,
            "```json\n{\"a\": 1}\n```",
            "Here it is: {\"a\":1} I hope that helps.",
        ] {
            assert_eq!(read(words), Ok(json!({ "a": 1 })), "{words}");
        }
        for words in ["", "no", "}{", "{\"a\":1", "[1]", "{a}"] {
            assert!(matches!(read(words), Err(AnalystError::BadAnswer(_))), "{words}");
        }
    }
}
