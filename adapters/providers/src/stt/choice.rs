//! Recogniser that a call may use, with its protocol.

use std::{fmt, sync::Arc};

use domain::ports::transcriber::{Transcriber, TranscriberConfig};

use crate::stt::protocol::RecogniserProtocol;
use crate::{
    name::ProviderName,
    settings::{Endpoint, NotConfigured, ProviderSettings},
    stt::{
        deepgram::Listen,
        flux::Flux,
        scribe::Scribe,
        transcriptions::{Clips, SERVERS, Server},
    },
};
use net::guard::{Guard, Guards, Kind};

/// Recogniser inside this process.
const BABBLE: &str = "babble";

/// Returns the names of all providers.
pub(crate) fn providers() -> impl Iterator<Item = &'static str> {
    [BABBLE, "deepgram", "elevenlabs"].into_iter().chain(SERVERS)
}

/// Way of sending audio to a recogniser.
pub(super) enum Way {
    /// On a socket, as the user speaks.
    Socket(Box<dyn RecogniserProtocol>),
    /// One request for each utterance.
    Clips(Clips),
    /// To a recogniser inside this process.
    Inside(Arc<dyn Transcriber>),
}

#[derive(Clone)]
enum Source {
    Provider(Endpoint, Server),
    Inside(Arc<dyn Transcriber>),
}

/// Configured recogniser.
#[derive(Clone)]
pub(super) struct Choice {
    pub(super) name: ProviderName,
    pub(super) guard: Guard,
    source: Source,
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

impl Choice {
    /// Finds the recogniser of a name. `client` posts utterances.
    pub(super) fn find(
        name: &ProviderName,
        (settings, guards): (&ProviderSettings, &Guards),
        babble: &Arc<dyn Transcriber>,
        client: &reqwest::Client,
    ) -> Result<Self, NotConfigured> {
        let source = match name.provider.as_str() {
            BABBLE => Source::Inside(babble.clone()),
            "deepgram" | "elevenlabs" => {
                Source::Provider(settings.endpoint(&name.provider)?.clone(), Server::none(client))
            }
            provider => {
                let server = Server::of(provider, client);
                let server = server
                    .ok_or_else(|| NotConfigured::not_among(providers().collect(), provider, "speech to text"))?;
                Source::Provider(settings.endpoint(provider)?.clone(), server)
            }
        };
        Ok(Self {
            guard: guards.get(Kind::SpeechToText, &name.provider),
            name: name.clone(),
            source,
        })
    }

    /// Returns the provider's name for usage records.
    pub(super) fn provider(&self) -> &'static str {
        match &self.source {
            Source::Provider(endpoint, _) => endpoint.provider,
            Source::Inside(_) => BABBLE,
        }
    }

    /// Returns the recogniser if it runs inside this process.
    pub(super) fn inside(&self) -> Option<&Arc<dyn Transcriber>> {
        match &self.source {
            Source::Inside(transcriber) => Some(transcriber),
            Source::Provider(..) => None,
        }
    }

    /// Returns the rate that it takes in place of this one. The rates are those that agents may set.
    pub(super) fn sample_rate(&self, wanted: u32) -> u32 {
        match &self.source {
            Source::Inside(transcriber) => transcriber.sample_rate(wanted),
            // Flux documents 8, 16, 24, 44.1 and 48 kHz.
            Source::Provider(..) if wanted == 22_050 && self.is_flux() => 24_000,
            Source::Provider(..) => wanted,
        }
    }

    fn is_flux(&self) -> bool {
        let model = self.name.model.as_deref();
        self.provider() == "deepgram" && model.is_some_and(|model| model.starts_with("flux"))
    }

    /// Returns how audio is sent to it in a call.
    pub(super) fn way(&self, config: &TranscriberConfig) -> Way {
        let (endpoint, server) = match &self.source {
            Source::Provider(endpoint, server) => (endpoint, server),
            Source::Inside(transcriber) => return Way::Inside(transcriber.clone()),
        };
        let model = self.name.model.as_deref();
        match endpoint.provider {
            "deepgram" if self.is_flux() => {
                Way::Socket(Box::new(Flux::new(endpoint, model.unwrap_or_default(), config)))
            }
            "deepgram" => Way::Socket(Box::new(Listen::new(endpoint, model, config))),
            "elevenlabs" => Way::Socket(Box::new(Scribe::new(endpoint, model, config))),
            _ => Way::Clips(Clips::new(endpoint, server, model, config)),
        }
    }
}
