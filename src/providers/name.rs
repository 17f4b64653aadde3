//! Names of providers with what is wanted of them: `provider[/model][:voice]`.

use std::{fmt, str::FromStr};

/// A provider, and its model or voice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProviderName {
    /// Such as `openai`; lower case.
    pub provider: String,
    /// Such as `gpt-4.1-mini`; may itself have slashes. None is the provider's default.
    pub model: Option<String>,
    /// Such as `alloy`. None is the provider's default.
    pub voice: Option<String>,
}

impl FromStr for ProviderName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (rest, voice) = match text.split_once('/') {
            // A model may have a colon of its own, as in `ollama/llama3.2:3b`; a voice then needs none.
            Some(_) => (text, None),
            None => match text.split_once(':') {
                Some((rest, voice)) => (rest, Some(voice)),
                None => (text, None),
            },
        };
        let (provider, model) = match rest.split_once('/') {
            Some((provider, model)) => (provider, Some(model)),
            None => (rest, None),
        };
        let plain =
            |part: &str| !part.is_empty() && !part.contains(|c: char| c == ',' || c.is_whitespace() || c.is_control());
        let named = plain(provider) && model.is_none_or(plain) && voice.is_none_or(plain);
        if !named {
            return Err(format!(
                "`{text}` names no provider: write provider, provider/model or provider:voice, such as openai/gpt-4.1-mini"
            ));
        }
        Ok(Self {
            provider: provider.to_ascii_lowercase(),
            model: model.map(str::to_owned),
            voice: voice.map(str::to_owned),
        })
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.provider)?;
        if let Some(model) = &self.model {
            write!(f, "/{model}")?;
        }
        if let Some(voice) = &self.voice {
            write!(f, ":{voice}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_provider_and_perhaps_a_model_or_a_voice() {
        for (text, provider, model, voice) in [
            ("deepgram", "deepgram", None, None),
            ("OpenAI/gpt-4.1-mini", "openai", Some("gpt-4.1-mini"), None),
            ("ollama/llama3.2:3b", "ollama", Some("llama3.2:3b"), None),
            (
                "speaches/Systran/faster-whisper-small",
                "speaches",
                Some("Systran/faster-whisper-small"),
                None,
            ),
            ("kokoro:af_bella", "kokoro", None, Some("af_bella")),
        ] {
            let name: ProviderName = text.parse().unwrap();
            assert_eq!(name.provider, provider);
            assert_eq!((name.model.as_deref(), name.voice.as_deref()), (model, voice));
            assert_eq!(name.to_string().to_lowercase(), text.to_lowercase());
        }
        for text in ["", "/x", "openai/", "kokoro:", "two words", "openai/a,b"] {
            assert!(
                text.parse::<ProviderName>().unwrap_err().contains("write provider"),
                "{text}"
            );
        }
    }
}
