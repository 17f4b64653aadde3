//! Names of providers with a model or voice: `provider[/model][:voice]`.

use std::{fmt, str::FromStr};

use domain::ports::NotReady;

/// Returns whether a model or a voice may have this name. It must not contain characters that have a meaning in a URL.
pub fn is_sound(name: &str) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, '\\' | '?' | '#' | '%');
    !name.trim().is_empty() && !name.contains(odd) && name.split('/').all(|part| !matches!(part, "." | ".."))
}

/// Returns a language without its region: `en` for `en-US`.
pub(crate) fn plain_language(language: &str) -> &str {
    language.split(['-', '_']).next().unwrap_or_default()
}

/// Returns whether the name is also valid as one path segment.
pub fn is_segment(name: &str) -> bool {
    is_sound(name) && !name.contains('/')
}

/// Encodes any name as one path segment.
pub fn path_segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => segment.push(char::from(byte)),
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    if matches!(segment.as_str(), "" | "." | "..") {
        // URL parsers treat encoded dots as a parent folder too, and drop an empty segment. No provider has a
        // model or voice named by a blank.
        segment.push_str("%20");
    }
    segment
}

/// The text is not a provider's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a provider name: write provider, provider/model or provider:voice, such as openai/gpt-4.1-mini")]
pub struct InvalidName(pub String);

impl From<InvalidName> for NotReady {
    fn from(why: InvalidName) -> Self {
        Self(why.to_string())
    }
}

/// Name of a provider, with a model or voice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProviderName {
    /// Provider in lower case, such as `openai`.
    pub provider: String,
    /// Model, such as `gpt-4.1-mini`; it may contain slashes. `None` means the provider's default.
    pub model: Option<String>,
    /// Voice, such as `alloy`. `None` means the provider's default.
    pub voice: Option<String>,
}

impl ProviderName {
    /// Names a provider with its default model and voice.
    pub(crate) fn of(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            model: None,
            voice: None,
        }
    }
}

impl FromStr for ProviderName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let text = text.trim();
        let (rest, voice) = match text.split_once('/') {
            // A model may contain a colon, as in `ollama/llama3.2:3b`. Such a name has no voice.
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
        let sound = |part: &str| plain(part) && is_sound(part);
        let named = plain(provider) && model.is_none_or(sound) && voice.is_none_or(sound);
        if !named {
            return Err(InvalidName(text.to_owned()));
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
    fn a_name_stays_one_segment_of_its_path() {
        assert_eq!(path_segment("JBF.-_~9"), "JBF.-_~9");
        assert_eq!(path_segment("a b/ü%"), "a%20b%2F%C3%BC%25");
        for odd in [
            "..",
            ".",
            "",
            "../..",
            "..\\..",
            "%2e%2e",
            "%2E.",
            "a/../../b",
            "?x",
            "#x",
            "\t",
            "..;",
        ] {
            let written = format!("https://host/v1/voices/{}/stream", path_segment(odd));
            let read = reqwest::Url::parse(&written).unwrap();
            let segments: Vec<&str> = read.path_segments().unwrap().collect();
            assert_eq!(
                (segments.len(), segments[1], segments[3]),
                (4, "voices", "stream"),
                "{odd:?}: {read}"
            );
            assert_eq!((read.query(), read.fragment()), (None, None), "{odd:?}");
        }
    }

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
        for text in [
            "",
            "/x",
            "openai/",
            "kokoro:",
            "two words",
            "openai/a,b",
            "azure/..",
            "azure/../../x",
            "speaches/a/./b",
            "elevenlabs:..",
            "elevenlabs:../../x",
            "azure/a%2fb",
            "azure/a?b",
            "azure/a#b",
        ] {
            let refused = text.parse::<ProviderName>().unwrap_err().to_string();
            assert!(refused.contains("write provider"), "{text}");
        }
    }
}
