//! Recogniser that a call may use, with its protocol.

use std::{fmt, sync::Arc};

use domain::ports::transcriber::{Transcriber, TranscriberConfig};
use reqwest::Client;

use crate::{
    endpoint::{Endpoint, NotConfigured},
    name::ProviderName,
    protocols::stt::RecogniserProtocol,
    provider::{Stt, SttWay},
    registry,
    settings::ProviderSettings,
    stt::transcriptions::Clips,
};
use net::guard::{Guard, Guards, Kind};

/// Way of sending audio to a recogniser.
pub(super) enum Way {
    /// On a socket, as the user speaks.
    Socket(Box<dyn RecogniserProtocol>),
    /// One request for each utterance.
    Clips(Box<Clips>),
    /// To a recogniser inside this process.
    Inside(Arc<dyn Transcriber>),
}

#[derive(Clone)]
enum Source {
    /// At an address. The client posts utterances.
    Provider(Endpoint, &'static Stt, Client),
    Inside(Arc<dyn Transcriber>),
}

/// Configured recogniser.
#[derive(Clone)]
pub(super) struct Choice {
    pub(super) name: ProviderName,
    pub(super) guard: Guard,
    /// Name of the provider, for usage records.
    pub(super) provider: &'static str,
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
        settings: &ProviderSettings,
        guards: &Guards,
        babble: &Arc<dyn Transcriber>,
        client: &Client,
    ) -> Result<Self, NotConfigured> {
        let (provider, stt) = registry::offering(&name.provider, "speech to text", |known| known.stt.as_ref())?;
        let source = match stt.way {
            SttWay::Inside => Source::Inside(babble.clone()),
            _ => Source::Provider(settings.endpoint(provider.name)?.clone(), stt, client.clone()),
        };
        Ok(Self {
            guard: guards.get(Kind::SpeechToText, provider.name),
            provider: provider.name,
            name: name.clone(),
            source,
        })
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
            Source::Provider(_, stt, _) => match stt.way {
                SttWay::Socket { sample_rate, .. } => sample_rate(self.name.model.as_deref(), wanted),
                SttWay::Inside | SttWay::Clips { .. } => wanted,
            },
        }
    }

    /// Returns how audio is sent to it in a call.
    pub(super) fn way(&self, config: &TranscriberConfig) -> Way {
        let (endpoint, stt, client) = match &self.source {
            Source::Provider(endpoint, stt, client) => (endpoint, stt, client),
            Source::Inside(transcriber) => return Way::Inside(transcriber.clone()),
        };
        let model = self.name.model.as_deref();
        match stt.way {
            SttWay::Socket { open, .. } => Way::Socket(open(endpoint, model, config)),
            SttWay::Inside | SttWay::Clips { .. } => {
                Way::Clips(Box::new(Clips::new(endpoint, stt, client, model, config)))
            }
        }
    }
}
