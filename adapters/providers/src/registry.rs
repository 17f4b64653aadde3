//! Every provider, in the order of all lists. A new one is declared here, and named nowhere else outside its folder.

mod anthropic;
pub mod babble;
mod cartesia;
mod deepgram;
mod elevenlabs;
mod espeak;
mod gemini;
mod groq;
mod interviewer;
mod local;
mod openai;

pub(crate) use self::babble::{BabbleSynthesizer, BabbleTranscriber};
use crate::{
    endpoint::{Address, NotConfigured},
    provider::Provider,
};

/// Day on which default models and ends were compared with the providers' documents and packages: openai 3.57,
/// anthropic 2.14, groq 1.7, google-genai 3.6, deepgram-sdk 7.17, elevenlabs 2.78, cartesia 4.2.
pub const CHECKED: &str = "2026-11-29";

/// All providers.
pub static PROVIDERS: &[&Provider] = &[
    &interviewer::INTERVIEWER,
    &babble::BABBLE,
    &espeak::ESPEAK,
    &openai::OPENAI,
    &anthropic::ANTHROPIC,
    &groq::GROQ,
    &gemini::GEMINI,
    &openai::AZURE,
    &deepgram::DEEPGRAM,
    &elevenlabs::ELEVENLABS,
    &cartesia::CARTESIA,
    &local::OLLAMA,
    &local::VLLM,
    &local::LLAMACPP,
    &local::SPEACHES,
    &local::WHISPERCPP,
    &local::KOKORO,
];

/// Language model used if the settings name none.
pub(crate) const DEFAULT_LLM: &str = "interviewer";

/// Recogniser and voice used if the settings name none.
pub(crate) const DEFAULT_SPEECH: &str = "babble";

/// Provider of a language model that is named without one.
pub(crate) const BARE: &str = "openai";

/// Returns the provider with a name.
pub(crate) fn find(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().copied().find(|provider| provider.name == name)
}

/// Returns how a provider is reached, if it has an address.
pub(crate) fn address(name: &str) -> Option<&'static Address> {
    find(name)?.address.as_ref()
}

/// Returns the names of the providers that offer something.
pub(crate) fn names(offers: impl Fn(&'static Provider) -> bool) -> Vec<&'static str> {
    let offering = PROVIDERS.iter().filter(|provider| offers(provider));
    offering.map(|provider| provider.name).collect()
}

/// Returns the provider with a name, and a part of what it offers. The part is called `what`.
/// The error names those that do.
pub(crate) fn offering<T>(
    name: &str,
    what: &'static str,
    part: impl Fn(&'static Provider) -> Option<&'static T>,
) -> Result<(&'static Provider, &'static T), NotConfigured> {
    let found = find(name);
    if let Some(offering) = found.and_then(|provider| Some((provider, part(provider)?))) {
        return Ok(offering);
    }
    let (provider, known) = (name.to_owned(), names(|provider| part(provider).is_some()));
    Err(match found {
        Some(_) => NotConfigured::Unfit { provider, what, known },
        None => NotConfigured::Unknown { provider, known },
    })
}
