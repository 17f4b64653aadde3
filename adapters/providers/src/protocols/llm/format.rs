//! Formats in which families of models write thoughts and tool calls into their text.

use clap::ValueEnum;

/// Format of a model's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// By the model's name
    #[default]
    Auto,
    /// Hosted models: all text but `<think>…</think>` is speech
    Plain,
    /// Llama, Qwen, Hermes, Mistral, Gemma, DeepSeek V3, GLM and others: tool calls and thoughts in marks or JSON
    #[value(aliases = ["llama", "qwen", "qwen3", "qwen3-coder", "hermes", "mistral", "gemma", "deepseek", "glm"])]
    Marked,
    /// The same, and the server writes the opening `<think>` itself: DeepSeek R1, Qwen3 Thinking, QwQ and others
    #[value(aliases = ["deepseek-r1", "qwen3-thinking", "qwq"])]
    Thinking,
    /// Channels of gpt-oss
    #[value(alias = "gpt-oss")]
    Harmony,
}

/// Beginnings of the names of hosted models.
const HOSTED: [&str; 7] = ["gpt-", "chatgpt", "o1", "o3", "o4", "claude", "gemini-"];

/// Parts of the names of models whose template opens the thoughts.
const OPENED: &str = "thinking -think qwq qwen3. qwen4 deepseek-r1 r1-distill glm-z1 glm-4.7 glm-5 minimax-m exaone-deep \
                      nemotron-3 step3";

impl Format {
    /// Returns the format for a model, with `Auto` replaced by that of its name.
    pub(crate) fn of(self, model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        let name = model.rsplit('/').next().unwrap_or_default();
        let is_among = |parts: &str| parts.split(' ').any(|part| name.contains(part));
        match self {
            Self::Auto if name.contains("gpt-oss") => Self::Harmony,
            Self::Auto if HOSTED.iter().any(|begin| name.starts_with(begin)) => Self::Plain,
            Self::Auto if is_among(OPENED) && !is_among("instruct non-think nothink") => Self::Thinking,
            Self::Auto => Self::Marked,
            given => given,
        }
    }
}
