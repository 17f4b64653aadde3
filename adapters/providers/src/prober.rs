//! Asks providers that are down, now and then, whether they are well again, so that nobody is called to find out.

use std::{sync::Arc, time::Duration};

use domain::ports::synthesizer::Synthesizer;
use futures_util::{StreamExt, stream};

use crate::{babble::BabbleSynthesizer, config::ProviderConfig, tts};
use crate::{configured::Configured, name::ProviderName, probe::ProbeError};
use net::guard::{Guard, Kind, Pass, Verdict};

/// How often it is looked who is down; their guards say how long they are left alone.
const EVERY: Duration = Duration::from_secs(1);

/// Rate of what is spoken to recognisers, in Hz: that of [`tts::plain_config`].
pub(super) const SAMPLE_RATE: u32 = 8_000;

/// How many are asked at once: one that hangs keeps few others waiting.
const MOST_AT_ONCE: usize = 16;

/// Asks for ever.
pub async fn run(providers: Arc<Configured>, config: ProviderConfig) {
    providers.guards.will_be_probed();
    // What the service uses itself does not wait for the many models and voices that agents may name.
    tokio::join!(watch(&providers, &config, false), watch(&providers, &config, true));
}

/// Asks those that agents name, or those of the service.
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
        // Nobody is called to find out how a carrier is.
        Kind::Carrier => {}
        Kind::SpeechToText => {
            // The recogniser's own connection tells its guard.
            let Some(name) = listed(&config.stt) else { return };
            let speech = babble("Hello?").await;
            if let Err(why) = providers.stt.probe(&name.to_string(), &speech, SAMPLE_RATE).await {
                tracing::debug!(%name, why = why.to_string(), "recogniser probed");
            }
        }
    }
}

fn settle(pass: Pass, asked: Result<(), ProbeError>) {
    match asked {
        Ok(()) => pass.succeeded(),
        Err(why) => pass.failed(Verdict::Unwell, &why.to_string()),
    }
}

/// A text in babble, as a recogniser may be asked to listen to where there is no other voice.
pub(super) async fn babble(text: &str) -> Vec<i16> {
    let mut voice = BabbleSynthesizer.open(tts::plain_config(""));
    let pieces: Vec<_> = voice.speak(text.to_owned()).collect().await;
    pieces.into_iter().flatten().flat_map(|piece| piece.samples).collect()
}
