//! Rules of OpenAI's and Google's models for `reasoning_effort`, with their words.
//!
//! Sources: `gpt-5.6` and its text, BerriAI/litellm pull request 34569; `gpt-5.4`, pipecat-ai/pipecat issue 4043;
//! `gpt-5.1`, livekit/agents pull request 3966; `gpt-6`, developers.openai.com/api/docs/models/gpt-6-luna; Groq's
//! models, the package groq; Gemini 3.5 and later, docs.cloud.google.com/gemini-enterprise-agent-platform/models; Gemini 3 Flash, discuss.ai.google.dev topic 117875.

use serde_json::Value;

use crate::stub_providers::openai::refusal::Refusal;

/// Deployment at Azure that runs `gpt-5.6` by another name.
const DEPLOYMENT: &str = "front-desk";

/// A model that takes function tools at another address only, whatever the effort.
const WITHOUT_TOOLS: &str = "gpt-5.9";

/// Refuses a request whose effort the model does not accept.
pub(super) fn check(model: &str, request: &Value) -> Result<(), Refusal> {
    let model = if model == DEPLOYMENT { "gpt-5.6" } else { model };
    let effort = request
        .get("reasoning_effort")
        .map(|effort| effort.as_str().unwrap_or("null"));
    let has_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let named = |why: String| Err((why, Some("reasoning_effort")));
    let with_tools =
        format!("Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions.");
    let supported: &[&str] = match model {
        "gpt-5.6" if has_tools && effort != Some("none") => {
            return named(format!(
                "{with_tools} To use function tools, use /v1/responses or set reasoning_effort to 'none'."
            ));
        }
        "gpt-5.2" | "gpt-5.4" | WITHOUT_TOOLS if has_tools && (effort.is_some() || model == WITHOUT_TOOLS) => {
            return named(format!("{with_tools} Please use /v1/responses instead."));
        }
        model if model.starts_with("gpt-6") && has_tools && effort != Some("none") => {
            return named(format!(
                "{with_tools} Please use /v1/responses or set reasoning_effort to 'none'."
            ));
        }
        model if model.starts_with("gpt-6") => &["none", "low", "medium", "high", "xhigh", "max"],
        model if model.contains("gpt-oss") => &["low", "medium", "high"],
        "qwen/qwen3.8-27b" => &["none", "default", "low", "medium", "high"],
        model if model.starts_with("qwen/qwen3") => &["none", "default"],
        "gemini-3.5-flash" | "gemini-3.6-flash" | "gemini-3.7-flash" | "gemini-3.8-flash" => {
            &["minimal", "low", "medium", "high"]
        }
        model if model.starts_with("gpt-5.") => &["none", "low", "medium", "high"],
        model if model.starts_with("gpt-5") => &["minimal", "low", "medium", "high"],
        model if model.starts_with("gpt-4") && effort.is_some() => {
            return named("Unrecognized request argument supplied: reasoning_effort".to_owned());
        }
        "gemini-2.5-pro" | "gemini-2.5-flash-thinking" if effort == Some("none") => {
            return Err((
                "Budget 0 is invalid. This model only works in thinking mode.".to_owned(),
                None,
            ));
        }
        model if model.starts_with("gemini-2.0") && effort.is_some() => {
            return Err(("Thinking is not enabled for this model.".to_owned(), None));
        }
        model if model.starts_with("gemini-3-flash") && effort == Some("minimal") => {
            let why = "Invalid reasoning_effort: minimal. Valid values are: high, low, medium, none";
            return Err((why.to_owned(), None));
        }
        _ => return Ok(()),
    };
    match effort {
        Some(effort) if !supported.contains(&effort) => named(format!(
            "Unsupported value: 'reasoning_effort' does not support '{effort}' with this model. \
             Supported values are: '{}'.",
            supported.join("', '")
        )),
        _ => Ok(()),
    }
}
