//! Rules of OpenAI's models for chat completions.

use crate::protocols::llm::chat::{Chat, version};

/// Chat completions as these models take them.
pub(crate) const CHAT: Chat = Chat {
    reasons,
    effort,
    limit: Some("max_completion_tokens"),
    ..Chat::PLAIN
};

fn reasons(model: &str) -> bool {
    let is_old = ["o1", "o3", "o4"].iter().any(|name| model.starts_with(name));
    (is_old || generation(model).is_some()) && !model.contains("chat")
}

fn effort(model: &str) -> Option<&'static str> {
    let lowest = match generation(model) {
        Some((5, 0)) => "minimal",
        Some(_) => "none",
        None => "low",
    };
    reasons(model).then_some(lowest)
}

/// Returns the version of a model of the fifth generation or later: 5 and 1 for `gpt-5.1-mini`.
fn generation(model: &str) -> Option<(u32, u32)> {
    // Azure writes `gpt-35-turbo`.
    version(model.strip_prefix("gpt-")?).filter(|(major, _)| (5..=9).contains(major))
}
