//! A recogniser that hears what the test says, a tts of known speed, and recordings that are discarded.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{StreamExt, stream};
use media::session::Cue;

use domain::{
    id::AttemptId,
    ports::{
        recordings::{RecordingSink, Recordings},
        synthesizer::{Likely, SpeechError, SpeechPiece, SpeechStream, Synthesizer, Voice, VoiceConfig, WordEnd},
        transcriber::{Transcriber, TranscriberConfig, TranscriptEvent, TranscriptSink, TranscriptStream},
    },
};

/// Milliseconds of audio for each byte of text: 15 characters a second, about human speed.
pub const MS_PER_BYTE: u64 = 66;

/// A recogniser. The test sends events with [`FakeTranscriber::hear`], or queues them with
/// [`FakeTranscriber::script_final`] for the next `finalize`.
#[derive(Clone, Default)]
pub struct FakeTranscriber(Arc<Mutex<Stt>>);

#[derive(Default)]
struct Stt {
    sinks: Vec<Arc<TranscriptSink>>,
    finals: VecDeque<TranscriptEvent>,
    samples: u64,
    panics: bool,
}

impl FakeTranscriber {
    /// Sends an event to every open stream.
    pub fn hear(&self, event: &TranscriptEvent) {
        let sinks = self.0.lock().unwrap_or_else(PoisonError::into_inner).sinks.clone();
        for sink in sinks {
            sink(event.clone());
        }
    }

    /// Scripts the words that answer the next unscripted `finalize`.
    pub fn script_final(&self, text: &str) {
        let event = TranscriptEvent::Final {
            text: text.to_owned(),
            damaged: false,
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .finals
            .push_back(event);
    }

    /// Sets whether its code panics when a stream is opened.
    pub fn panic(&self, panics: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).panics = panics;
    }

    /// Returns the number of samples pushed so far, over all streams.
    pub fn samples(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).samples
    }
}

impl Transcriber for FakeTranscriber {
    fn sample_rate(&self, line_rate: u32) -> u32 {
        line_rate
    }

    fn open(&self, _config: TranscriberConfig, sink: TranscriptSink) -> Box<dyn TranscriptStream> {
        let panics = self.0.lock().unwrap_or_else(PoisonError::into_inner).panics;
        assert!(!panics, "the recogniser's code was told to panic");
        let sink = Arc::new(sink);
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .sinks
            .push(sink.clone());
        Box::new(FakeTranscriptStream {
            stt: self.0.clone(),
            sink,
        })
    }
}

struct FakeTranscriptStream {
    stt: Arc<Mutex<Stt>>,
    sink: Arc<TranscriptSink>,
}

impl TranscriptStream for FakeTranscriptStream {
    fn push(&mut self, samples: &[i16]) {
        self.stt.lock().unwrap_or_else(PoisonError::into_inner).samples += samples.len() as u64;
    }

    fn finalize(&mut self) {
        let event = self
            .stt
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .finals
            .pop_front();
        if let Some(event) = event {
            (self.sink)(event);
        }
    }
}

impl Drop for FakeTranscriptStream {
    fn drop(&mut self) {
        let mut stt = self.stt.lock().unwrap_or_else(PoisonError::into_inner);
        stt.sinks.retain(|sink| !Arc::ptr_eq(sink, &self.sink));
    }
}

/// A tts. It speaks a square wave, [`MS_PER_BYTE`] for each byte of text, one piece a word, with timings.
#[derive(Clone, Default)]
pub struct FakeSynthesizer(Arc<Mutex<Throat>>);

#[derive(Default)]
struct Throat {
    texts: Vec<String>,
    /// Texts with the name of the voice and their directions.
    performed: Vec<(String, String, Vec<Cue>)>,
    /// Voices that were opened, and how many are open.
    opened: Vec<VoiceConfig>,
    open: usize,
    takes_cues: bool,
    prepared: Vec<Likely>,
    failures: VecDeque<SpeechError>,
    panics: bool,
}

impl FakeSynthesizer {
    /// Scripts a failure of the next unscripted request.
    pub fn script_failure(&self, error: SpeechError) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .failures
            .push_back(error);
    }

    /// Sets whether its code panics when it is asked to speak.
    pub fn panic(&self, panics: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).panics = panics;
    }

    /// Returns all texts announced to it ahead.
    pub fn prepared(&self) -> Vec<Likely> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).prepared.clone()
    }

    /// Sets whether it reports that it supports directions.
    pub fn take_cues(&self, takes: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).takes_cues = takes;
    }

    /// Returns all texts it was asked to speak, each with the name of the voice and its directions.
    pub fn performed(&self) -> Vec<(String, String, Vec<Cue>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).performed.clone()
    }

    /// Returns all voices that were opened, and how many of them are still open.
    pub fn opened(&self) -> (Vec<VoiceConfig>, usize) {
        let throat = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (throat.opened.clone(), throat.open)
    }

    /// Returns all texts it was asked to speak.
    pub fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).texts.clone()
    }
}

fn pieces(text: &str, sample_rate: u32) -> Vec<SpeechPiece> {
    let per_byte = MS_PER_BYTE * u64::from(sample_rate) / 1000;
    let mut text_end = 0;
    text.split_inclusive(char::is_whitespace)
        .map(|word| {
            let start = text_end as u64 * per_byte;
            text_end += word.len();
            let end = text_end as u64 * per_byte;
            let samples = (start..end)
                .map(|n| if (n / 20) % 2 == 0 { 4000 } else { -4000 })
                .collect();
            let timing = WordEnd {
                text_end: text_end - (word.len() - word.trim_end().len()),
                sample_end: end,
            };
            SpeechPiece {
                samples,
                words: vec![timing],
            }
        })
        .collect()
}

impl Synthesizer for FakeSynthesizer {
    fn open(&self, config: VoiceConfig) -> Box<dyn Voice> {
        let mut throat = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        throat.opened.push(config.clone());
        throat.open += 1;
        Box::new(FakeVoice {
            throat: self.0.clone(),
            name: config.voice,
            sample_rate: config.sample_rate,
        })
    }

    fn takes_cues(&self, _config: &VoiceConfig) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).takes_cues
    }
}

struct FakeVoice {
    throat: Arc<Mutex<Throat>>,
    name: String,
    sample_rate: u32,
}

impl Drop for FakeVoice {
    fn drop(&mut self) {
        self.throat.lock().unwrap_or_else(PoisonError::into_inner).open -= 1;
    }
}

impl Voice for FakeVoice {
    fn speak(&mut self, text: String) -> SpeechStream {
        self.perform(text, Vec::new())
    }

    fn perform(&mut self, text: String, cues: Vec<Cue>) -> SpeechStream {
        let mut throat = self.throat.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(!throat.panics, "the voice's code was told to panic");
        let spoken = pieces(&text, self.sample_rate);
        throat.texts.push(text.clone());
        throat.performed.push((self.name.clone(), text, cues));
        match throat.failures.pop_front() {
            Some(error) => stream::iter(vec![Err(error)]).boxed(),
            None => stream::iter(spoken.into_iter().map(Ok)).boxed(),
        }
    }

    fn prepare(&mut self, likely: &Likely) {
        let mut throat = self.throat.lock().unwrap_or_else(PoisonError::into_inner);
        throat.prepared.push(likely.clone());
    }
}

/// Recordings that keep only the number of samples written for each call.
#[derive(Clone, Default)]
pub struct FakeRecordings(Arc<Mutex<Vec<(AttemptId, u64)>>>);

impl FakeRecordings {
    /// Returns the stereo sample pairs written so far, by call, in the order in which they were opened.
    pub fn written(&self) -> Vec<(AttemptId, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct CountingSink {
    recordings: FakeRecordings,
    index: usize,
}

impl RecordingSink for CountingSink {
    fn write(&mut self, interleaved: Vec<i16>) {
        let mut written = self.recordings.0.lock().unwrap_or_else(PoisonError::into_inner);
        written[self.index].1 += interleaved.len() as u64 / 2;
    }
}

impl Recordings for FakeRecordings {
    fn open(&self, attempt: AttemptId, _sample_rate: u32) -> Option<Box<dyn RecordingSink>> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.push((attempt, 0));
        Some(Box::new(CountingSink {
            recordings: self.clone(),
            index: written.len() - 1,
        }))
    }
}
