//! Probes of providers that are down. They find out when a provider is healthy again, so that no call has to.

use std::{sync::Arc, time::Duration};

use domain::ports::synthesizer::Synthesizer;
use futures_util::{StreamExt, stream};

use crate::{
    failure::probe::ProbeError, name::ProviderName, registry::BabbleSynthesizer, service::config::ProviderConfig,
    service::configured::Configured, tts,
};
use net::guard::{Guard, Kind, Pass, Verdict};

/// Interval between looks for guards that want a probe. The guards decide how long a provider is left alone.
const EVERY: Duration = Duration::from_secs(1);

/// Sample rate of the speech sent to recognisers, in Hz: that of [`tts::plain_config`].
pub(super) const SAMPLE_RATE: u32 = 8_000;

/// Maximum number of concurrent probes, so that one that hangs delays few others.
const MOST_AT_ONCE: usize = 16;

/// Probes providers until it is cancelled.
pub async fn run(providers: Arc<Configured>, config: ProviderConfig) {
    providers.guards.will_be_probed();
    // The service's own providers are probed separately, so that they do not wait for the many models and
    // voices that agents may name.
    tokio::join!(watch(&providers, &config, false), watch(&providers, &config, true));
}

/// Probes the models and voices that agents name if `named` is true, else those of the service.
async fn watch(providers: &Configured, config: &ProviderConfig, named: bool) {
    loop {
        tokio::time::sleep(EVERY).await;
        let wanting = providers.guards.wanting_probe().into_iter();
        let wanting = wanting.filter(|guard| guard.name().is_empty() != named);
        stream::iter(wanting)
            .for_each_concurrent(MOST_AT_ONCE, async |guard| probe(providers, config, &guard).await)
            .await;
    }
}

async fn probe(providers: &Configured, config: &ProviderConfig, guard: &Guard) {
    let listed = |names: &[ProviderName]| names.iter().find(|name| name.provider == guard.provider()).cloned();
    let own = Some(guard.name().to_owned()).filter(|name| !name.is_empty());
    let named = |model: Option<String>, voice: Option<String>| ProviderName {
        provider: guard.provider().to_owned(),
        model,
        voice,
    };
    match guard.kind() {
        Kind::LanguageModel => {
            let listed = listed(&config.llm).filter(|_| own.is_none());
            let name = listed.unwrap_or_else(|| named(own, None));
            let Ok(pass) = guard.admit() else { return };
            settle(pass, providers.llm.probe(&name).await.map(drop));
        }
        Kind::TextToSpeech => {
            let listed = listed(&config.tts).filter(|_| own.is_none());
            let name = listed.unwrap_or_else(|| match own.as_deref().and_then(tts::model_and_voice) {
                Some((model, voice)) => named(Some(model.to_owned()), voice.map(str::to_owned)),
                None => named(None, own),
            });
            let Ok(pass) = guard.admit() else { return };
            settle(pass, providers.tts.probe(&name).await.map(drop));
        }
        // Carriers are not probed: that would require a call.
        Kind::Carrier => {}
        Kind::SpeechToText => {
            // The recogniser's own connection reports to its guard.
            let Some(name) = listed(&config.stt) else { return };
            let speech = test_speech("Hello?").await;
            if let Err(why) = providers.stt.probe(&name.to_string(), &speech, SAMPLE_RATE).await {
                tracing::debug!(%name, why = why.to_string(), "recogniser probed");
            }
        }
    }
}

fn settle(pass: Pass, asked: Result<(), ProbeError>) {
    match asked {
        Ok(()) => pass.succeeded(),
        Err(why) => pass.failed(Verdict::Unhealthy, &why.to_string()),
    }
}

/// Synthesises a text in babble, for recognisers to listen to when no other voice works.
pub(super) async fn test_speech(text: &str) -> Vec<i16> {
    let mut voice = BabbleSynthesizer.open(tts::plain_config(""));
    let pieces: Vec<_> = voice.speak(text.to_owned()).collect().await;
    pieces.into_iter().flatten().flat_map(|piece| piece.samples).collect()
}
