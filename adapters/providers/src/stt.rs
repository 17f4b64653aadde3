//! Speech to text with the configured recognisers in order. If one refuses or cannot be reached, the next
//! takes over in the middle of a call and receives again the audio since the last final.

mod audio_buffer;
mod audio_clock;
mod choice;
mod pending;
mod probe;
mod queue;
mod results;
mod session;
mod socket;
mod transcriptions;
mod word_rate;

use std::sync::Arc;

use domain::ports::transcriber::{Capabilities, Transcriber, TranscriberConfig, TranscriptSink, TranscriptStream};
use media::format::LineFormat;
use tokio::sync::oneshot;

#[cfg(feature = "fuzzing")]
pub(crate) use self::transcriptions::fuzzed;
use self::{
    audio_buffer::{AudioBuffer, BATCH_MS, encode},
    choice::Choice,
    queue::Queue,
    results::Results,
    session::Session,
};
pub use probe::ProbeReport;

use crate::{endpoint::NotConfigured, name::ProviderName, registry, settings::ProviderSettings};
use net::{
    guard::{Guard, Guards},
    http_client,
    socket::CONNECT_WITHIN,
};

/// Recognisers in the order of preference.
pub struct SpeechToText {
    choices: Arc<[Choice]>,
}

impl SpeechToText {
    /// Sets up the named recognisers. `babble` is used for that name, and if there are no names.
    pub fn new(
        choices: Vec<ProviderName>,
        settings: &ProviderSettings,
        guards: &Guards,
        babble: Arc<dyn Transcriber>,
    ) -> Result<Self, NotConfigured> {
        let client = http_client::builder()
            .connect_timeout(CONNECT_WITHIN)
            .redirect(reqwest::redirect::Policy::none())
            .build();
        let client = client.map_err(|error| NotConfigured::Broken(error.to_string()))?;
        let names = match choices.is_empty() {
            true => vec![ProviderName::of(registry::DEFAULT_SPEECH)],
            false => choices,
        };
        let find = move |name: &ProviderName| Choice::find(name, settings, guards, &babble, &client);
        Ok(Self {
            choices: names.iter().map(find).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the guards of the providers that a call could use. The list is empty if one of them runs
    /// inside this process, since that one is never down.
    pub fn guards(&self) -> Vec<Guard> {
        if self.choices.iter().any(|choice| choice.inside().is_some()) {
            return Vec::new();
        }
        self.choices.iter().map(|choice| choice.guard.clone()).collect()
    }
}

impl Transcriber for SpeechToText {
    fn sample_rate(&self, wanted: u32) -> u32 {
        // Any of them may take over in the middle of a call.
        self.choices
            .iter()
            .fold(wanted, |rate, choice| choice.sample_rate(rate))
    }

    /// Opens a stream. Must be called within a tokio runtime.
    fn open(&self, config: TranscriberConfig, sink: TranscriptSink) -> Box<dyn TranscriptStream> {
        match self.choices.first().and_then(Choice::inside) {
            Some(inside) => inside.open(config, sink),
            None => Box::new(CallStream::open(self.choices.clone(), config, sink)),
        }
    }
}

/// The call's side of a stream. Dropping it ends the task behind it, which closes the connection to the provider.
struct CallStream {
    format: LineFormat,
    /// Encoded audio that is not a full batch yet, and its loudest sample.
    batch: Vec<u8>,
    peak: i16,
    inbox: Queue,
    capabilities: Capabilities,
    _gone: oneshot::Sender<()>,
}

impl CallStream {
    fn open(choices: Arc<[Choice]>, config: TranscriberConfig, sink: TranscriptSink) -> Self {
        let format = config.format;
        let buffer = AudioBuffer::new(format);
        let capabilities = Capabilities {
            answers_each: true,
            ..Capabilities::default()
        };
        let inbox = Queue::new(buffer, capabilities);
        let (going, gone) = oneshot::channel();
        let attempt = Session {
            choices,
            config,
            results: Results::new(inbox.clone(), sink),
            gone,
        };
        tokio::spawn(attempt.run());
        Self {
            format,
            batch: Vec::new(),
            peak: 0,
            inbox,
            capabilities,
            _gone: going,
        }
    }

    fn flush(&mut self) {
        if !self.batch.is_empty() {
            self.capabilities = self.inbox.push(&self.batch, self.peak);
            self.batch.clear();
            self.peak = 0;
        }
    }
}

impl TranscriptStream for CallStream {
    fn push(&mut self, samples: &[i16]) {
        let batch = self.format.bytes_for_ms(BATCH_MS);
        // Delayed audio arrives at once and would make one long batch.
        for samples in samples.chunks(batch) {
            let peak = samples.iter().map(|sample| sample.saturating_abs()).max();
            self.peak = self.peak.max(peak.unwrap_or(0));
            encode(self.format, samples, &mut self.batch);
            if self.batch.len() >= batch {
                self.flush();
            }
        }
    }

    fn speech_started(&mut self) {
        self.flush();
        self.inbox.state().buffer.voice_began();
    }

    fn finalize(&mut self) {
        self.flush();
        self.inbox.ask();
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
}
