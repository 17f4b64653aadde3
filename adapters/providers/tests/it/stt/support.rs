//! Call as a recogniser sees it: frames of 20 ms in real time, voice that is noticed late, and requests for finals.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::ports::{
    transcriber::{Transcriber, TranscriberConfig, TranscriptEvent, TranscriptStream},
    usage::Meter,
};
use media::{
    babble::{Speaker, Voice},
    format::LineFormat,
};
use net::guard::Guards;
use providers::{babble::BabbleTranscriber, name::ProviderName, settings::ProviderSettings, stt::SpeechToText};
use sim::stub_providers::{self, StubHandle, StubSettings};
use tokio::time::{Instant, sleep_until};

/// API key of the stubs and clients in these tests.
pub const KEY: &str = "key-of-the-tests";

/// Starts a stub that only accepts [`KEY`], with these times.
pub async fn stub(times: stub_providers::StubTimes) -> StubHandle {
    let settings = StubSettings {
        times,
        key: Some(KEY.into()),
        seed: 7,
        ..StubSettings::on_loopback()
    };
    stub_providers::start(settings).await.unwrap()
}

/// Settings with every provider at this stub; a name that ends in `2` is at the second one.
pub fn settings(stub: &StubHandle, key: &str) -> ProviderSettings {
    let (url, key) = (stub.url(), key.to_owned());
    ProviderSettings::read(move |variable| match variable {
        name if name.ends_with("_API_KEY") => Some(key.clone()),
        "OPENAI_BASE_URL" | "GROQ_BASE_URL" | "SPEACHES_BASE_URL" | "WHISPERCPP_BASE_URL" | "VLLM_BASE_URL" => {
            Some(format!("{url}/v1"))
        }
        name if name.ends_with("_BASE_URL") => Some(url.clone()),
        _ => None,
    })
    .unwrap()
}

pub fn names(names: &str) -> Vec<ProviderName> {
    names.split(',').map(|name| name.parse().unwrap()).collect()
}

pub fn stt(choices: &str, stub: &StubHandle) -> SpeechToText {
    stt_with(choices, &settings(stub, KEY), &Guards::default())
}

pub fn stt_with(choices: &str, settings: &ProviderSettings, guards: &Guards) -> SpeechToText {
    SpeechToText::new(names(choices), settings, guards, Arc::new(BabbleTranscriber)).unwrap()
}

pub fn config(meter: &Meter) -> TranscriberConfig {
    TranscriberConfig {
        language: "en".into(),
        hinglish: false,
        keywords: Vec::new(),
        format: LineFormat::MULAW_8000,
        meter: meter.clone(),
    }
}

pub fn spoken(text: &str, rate: u32) -> Vec<i16> {
    let mut speaker = Speaker::new(text, Voice::named("ann"), rate).unwrap();
    let mut samples = Vec::new();
    while let Some(chunk) = speaker.next_chunk(8_000) {
        samples.extend(chunk);
    }
    samples
}

/// Received events, each with its time since the call began.
#[derive(Clone, Default)]
pub struct Told(Arc<Mutex<Vec<(Duration, TranscriptEvent)>>>);

impl Told {
    pub fn all(&self) -> Vec<(Duration, TranscriptEvent)> {
        self.0.lock().unwrap().clone()
    }

    /// Texts of the finals with words.
    pub fn finals(&self) -> Vec<String> {
        let finals = self.all().into_iter().filter_map(|(_, event)| match event {
            TranscriptEvent::Final { text, .. } if !text.is_empty() => Some(text),
            _ => None,
        });
        finals.collect()
    }

    pub fn count_finals(&self) -> usize {
        let all = self.all();
        all.iter()
            .filter(|(_, e)| matches!(e, TranscriptEvent::Final { .. }))
            .count()
    }

    pub fn interims(&self) -> Vec<String> {
        let interims = self.all().into_iter().filter_map(|(_, event)| match event {
            TranscriptEvent::Interim { text } => Some(text),
            _ => None,
        });
        interims.collect()
    }

    pub fn failure(&self) -> Option<String> {
        self.all().into_iter().find_map(|(_, event)| match event {
            TranscriptEvent::Failed(error) => Some(error.to_string()),
            _ => None,
        })
    }
}

/// Call with a recogniser.
pub struct Call {
    pub stream: Box<dyn TranscriptStream>,
    pub told: Told,
    pub meter: Meter,
    pub began: Instant,
    rate: u32,
    next: Instant,
}

impl Call {
    pub fn open(stt: &SpeechToText) -> Self {
        let meter = Meter::default();
        let config = config(&meter);
        Self::open_with(stt, config, meter)
    }

    pub fn open_with(stt: &SpeechToText, config: TranscriberConfig, meter: Meter) -> Self {
        let (told, began) = (Told::default(), Instant::now());
        let sink = told.clone();
        let rate = config.format.sample_rate;
        let tell = move |event| sink.0.lock().unwrap().push((began.elapsed(), event));
        Self {
            stream: stt.open(config, Box::new(tell)),
            told,
            meter,
            began,
            rate,
            next: began,
        }
    }

    /// Sends samples in real time.
    pub async fn play(&mut self, samples: &[i16]) {
        let frame = self.rate as usize / 50;
        for chunk in samples.chunks(frame) {
            let mut full = chunk.to_vec();
            full.resize(frame, 0);
            self.next = Instant::now().max(self.next + Duration::from_millis(20));
            sleep_until(self.next).await;
            self.stream.push(&full);
        }
    }

    pub async fn silence(&mut self, ms: u32) {
        self.play(&vec![0; (self.rate * ms / 1_000) as usize]).await;
    }

    /// Says a text. The voice is noticed 100 ms late, and the pause 120 ms late.
    pub async fn say(&mut self, text: &str) {
        let samples = spoken(text, self.rate);
        let noticed = samples.len().min(self.rate as usize / 10);
        self.play(&samples[..noticed]).await;
        self.stream.speech_started();
        self.play(&samples[noticed..]).await;
        self.silence(120).await;
        self.stream.finalize();
    }

    /// Time of the first final with these words, since the call began.
    pub fn final_at(&self, text: &str) -> Option<Duration> {
        self.told.all().into_iter().find_map(|(at, event)| match event {
            TranscriptEvent::Final { text: said, .. } if said == text => Some(at),
            _ => None,
        })
    }
}
