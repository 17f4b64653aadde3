//! Summary of the configured providers, for the operator who starts the service.

use crate::{
    endpoint::Address,
    name::ProviderName,
    provider::Defaults,
    registry::{self, address},
    service::config::ProviderConfig,
    settings::ProviderSettings,
};

/// Choice of a provider's default for one kind.
type Usual = fn(Defaults) -> &'static str;

/// Returns one line per kind with the providers in order, addresses that differ from the provider's own, and
/// missing keys. If some providers are outside this process, one more line says how to check them.
pub fn lines(config: &ProviderConfig, settings: &ProviderSettings) -> Vec<String> {
    let kinds: [(&str, &Vec<ProviderName>, Usual); 3] = [
        ("Language models", &config.llm, |row| row.llm),
        ("Speech to text", &config.stt, |row| row.stt),
        ("Text to speech", &config.tts, |row| row.tts),
    ];
    let mut lines: Vec<String> = kinds
        .iter()
        .map(|(kind, names, _)| {
            let shown: Vec<String> = names.iter().map(|name| shown(name, settings)).collect();
            format!("{kind}: {}", shown.join(", then "))
        })
        .collect();
    if let Some(name) = &config.embeddings {
        lines.push(format!("Embeddings: {}", shown(name, settings)));
    }
    let outside = |names: &&Vec<ProviderName>| names.iter().any(|name| address(&name.provider).is_some());
    if kinds.iter().any(|(_, names, _)| outside(names)) {
        for (_, names, usual) in kinds {
            lines.extend(names.iter().filter_map(|name| ending(name, usual, settings)));
        }
        let how = "Run `ringback providers check` to see whether they answer and have these models and voices";
        lines.push(how.to_owned());
    }
    lines
}

/// Returns a line about a model of a hosted provider that ends.
fn ending(name: &ProviderName, usual: Usual, settings: &ProviderSettings) -> Option<String> {
    let known = registry::find(&name.provider)?;
    let (provider, model) = (known.name, name.model.as_deref().unwrap_or(usual(known.defaults())));
    let day = known.end_of(model)?;
    let is_hosted = known.address.as_ref()?.default_base == Some(settings.endpoint(provider).ok()?.base_url.as_str());
    is_hosted.then(|| format!("{provider} ends {model} on {day}: choose another model in time"))
}

fn shown(name: &ProviderName, settings: &ProviderSettings) -> String {
    let (Some(known), Ok(endpoint)) = (address(&name.provider), settings.endpoint(&name.provider)) else {
        return name.to_string();
    };
    let Address {
        key,
        default_base,
        local,
        ..
    } = *known;
    let mut notes = Vec::new();
    if local || default_base != Some(endpoint.base_url.as_str()) {
        notes.push(endpoint.base_url.clone());
    }
    if !local && endpoint.key.is_none() {
        notes.push(format!("{key} is not set"));
    }
    match notes.is_empty() {
        true => name.to_string(),
        false => format!("{name} ({})", notes.join("; ")),
    }
}
