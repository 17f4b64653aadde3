//! Tests of voices over real sockets, against stubs. Speech is understood, its words are timed, failures end
//! in recovery or a typed error, and dropped speech is cancelled.

mod cuts;
mod directions;
mod faults;
mod odd_servers;
mod rules;
mod speaking;

use std::time::Duration;

use domain::ports::{
    synthesizer::{SpeechError, SpeechPiece, SpeechStream, Synthesizer, Voice, VoiceConfig, WordEnd},
    usage::{Meter, Unit},
};
use futures_util::StreamExt;
use media::{
    babble::{Listener, Transcript},
    resample::HalfBandDown,
};
use net::guard::Guards;
use providers::{settings::ProviderSettings, tts::TextToSpeech};
use sim::stub_providers::{self, Service, StubHandle, StubSettings, cartesia, deepgram, elevenlabs, openai};
use tokio::time::{Instant, timeout};

/// Providers with a stub: name, service, and whether they send word times.
const PROVIDERS: [(&str, Service, bool); 4] = [
    ("elevenlabs", elevenlabs::SPEECH, true),
    ("cartesia", cartesia::SPEECH, true),
    ("deepgram", deepgram::SPEAK, false),
    ("openai", openai::SPEECH, false),
];

const TEXT: &str = "Good morning, this is Ann. I am calling about your parcel; is now a good time?";

/// Stubs, and voices that use them.
struct World {
    stubs: StubHandle,
    voices: TextToSpeech,
    guards: Guards,
    meter: Meter,
}

impl World {
    async fn start(list: &str) -> Self {
        Self::with(list, StubSettings::on_loopback()).await
    }

    async fn with(list: &str, settings: StubSettings) -> Self {
        let stubs = stub_providers::start(settings).await.unwrap();
        tick();
        let url = stubs.url();
        let settings = ProviderSettings::read(|name| match name {
            "OPENAI_BASE_URL" | "KOKORO_BASE_URL" | "SPEACHES_BASE_URL" => Some(format!("{url}/v1")),
            "ELEVENLABS_BASE_URL" | "CARTESIA_BASE_URL" | "DEEPGRAM_BASE_URL" => Some(url.clone()),
            name if name.ends_with("_API_KEY") => Some("right".into()),
            _ => None,
        })
        .unwrap();
        let guards = Guards::default();
        let choices = list.split(',').map(|name| name.parse().unwrap()).collect();
        Self {
            voices: TextToSpeech::new(choices, &settings, &guards, None).unwrap(),
            stubs,
            guards,
            meter: Meter::default(),
        }
    }

    fn config(&self, sample_rate: u32) -> VoiceConfig {
        config(sample_rate, &self.meter)
    }

    fn open(&self) -> Box<dyn Voice> {
        self.voices.open(self.config(8_000))
    }

    fn characters(&self, provider: &str) -> usize {
        self.meter.used(provider, Unit::Characters) as usize
    }

    /// Returns whether a service receives a matching message within a while.
    async fn hears(&self, service: Service, what: impl Fn(&str) -> bool) -> bool {
        for _ in 0..200 {
            if self.stubs.received(service).iter().any(|heard| what(heard)) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }
}

/// Settings of the default voice.
pub fn config(sample_rate: u32, meter: &Meter) -> VoiceConfig {
    VoiceConfig {
        provider: None,
        voice: String::new(),
        language: "en".into(),
        sample_rate,
        format: None,
        speed: 1.0,
        stability: 0.5,
        similarity_boost: 0.8,
        latency: 3,
        dictionaries: Vec::new(),
        meter: meter.clone(),
    }
}

/// Keeps a paused clock moving by 1 ms at a time. It would otherwise jump to the next timer while bytes are
/// on their way.
pub fn tick() {
    tokio::spawn(async {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

/// Text as it was spoken.
#[derive(Debug, Default)]
pub struct Spoken {
    samples: Vec<i16>,
    words: Vec<WordEnd>,
    error: Option<SpeechError>,
    first_audio: Option<Duration>,
    took: Duration,
}

/// Listens to the end, with a time limit.
pub async fn listen(mut pieces: SpeechStream) -> Spoken {
    let started = Instant::now();
    let mut spoken = Spoken::default();
    loop {
        let item = timeout(Duration::from_secs(60), pieces.next()).await.expect("it hangs");
        match item {
            Some(Ok(SpeechPiece { samples, words })) => {
                spoken.first_audio.get_or_insert(started.elapsed());
                spoken.samples.extend(samples);
                spoken.words.extend(words);
            }
            Some(Err(error)) => spoken.error = Some(error),
            None => break,
        }
    }
    spoken.took = started.elapsed();
    spoken
}

/// Returns the words of babble, and whether something is missing.
fn understood(samples: &[i16], rate: u32) -> (String, bool) {
    let mut narrow = Vec::new();
    match rate {
        8_000 => narrow.extend_from_slice(samples),
        _ => HalfBandDown::new().process(samples, &mut narrow),
    }
    narrow.extend([0; 3_200]);
    let (mut listener, mut heard, mut transcript) = (Listener::new(), Vec::new(), Transcript::default());
    listener.push(&narrow, &mut heard);
    listener.finish(&mut heard);
    let mut all: Vec<String> = Vec::new();
    let mut damaged = false;
    for event in heard {
        if let Some(utterance) = transcript.take(event) {
            all.push(utterance.text);
            damaged |= utterance.damaged;
        }
    }
    (all.join(" "), damaged)
}

/// Returns the ends of a text's words.
fn word_ends(text: &str) -> Vec<usize> {
    let words = text.split_whitespace();
    words
        .map(|word| word.as_ptr().addr() - text.as_ptr().addr() + word.len())
        .collect()
}
