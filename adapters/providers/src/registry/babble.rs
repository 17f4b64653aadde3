//! Babble voice as a speech provider. It speaks and understands in-process and exactly, at about human speed.

pub mod imperfect;

use std::sync::Arc;

use domain::ports::{
    synthesizer::{SpeechError, SpeechPiece, SpeechStream, Synthesizer, Voice, VoiceConfig, WordEnd},
    transcriber::{Transcriber, TranscriberConfig, TranscriptEvent, TranscriptSink, TranscriptStream},
};
use futures_util::stream::{self, StreamExt};
use media::{
    babble::{self, Listener, ListenerEvent, MISSING, Speaker, Transcript, Utterance},
    resample::HalfBandDown,
};

use crate::{
    protocols::tts::provider::InProcess,
    provider::{Provider, Stt, SttWay, Tts},
};

pub(super) static BABBLE: Provider = Provider {
    name: "babble",
    stt: Some(Stt {
        model: "",
        way: SttWay::Inside,
    }),
    tts: Some(Tts::inside(|| Arc::new(InProcess(BabbleSynthesizer)), None)),
    ..Provider::NONE
};

/// Pieces of speech per second: 200 ms each.
const PIECES_A_SECOND: u32 = 5;

/// Synthesizer of babble. Any name is a voice, and a name always has the same voice. The speed is fixed,
/// because all sounds of the code have one length.
#[derive(Debug, Clone, Copy, Default)]
pub struct BabbleSynthesizer;

/// Speech in progress.
struct Speech {
    speaker: Speaker,
    rate: u32,
    /// Number of samples yielded.
    at: u64,
    /// Number of words whose end has been yielded.
    words: usize,
}

impl Speech {
    fn next_piece(&mut self) -> Option<SpeechPiece> {
        let samples = self.speaker.next_chunk((self.rate / PIECES_A_SECOND) as usize)?;
        self.at += samples.len() as u64;
        let words: Vec<WordEnd> = self.speaker.words()[self.words..]
            .iter()
            .take_while(|word| word.sample_end <= self.at)
            .copied()
            .collect();
        self.words += words.len();
        Some(SpeechPiece { samples, words })
    }
}

impl Synthesizer for BabbleSynthesizer {
    fn open(&self, config: VoiceConfig) -> Box<dyn Voice> {
        Box::new(BabbleVoice {
            voice: babble::Voice::named(&config.voice),
            rate: config.sample_rate,
        })
    }
}

/// Voice of one call.
struct BabbleVoice {
    voice: babble::Voice,
    rate: u32,
}

impl Voice for BabbleVoice {
    fn speak(&mut self, text: String) -> SpeechStream {
        let rate = self.rate;
        match Speaker::new(&text, self.voice, rate) {
            Ok(speaker) => {
                let speech = Speech {
                    speaker,
                    rate,
                    at: 0,
                    words: 0,
                };
                stream::unfold(speech, async |mut speech| {
                    let piece = speech.next_piece()?;
                    // A piece takes 0.1 ms to make, so other tasks may run between two pieces.
                    tokio::task::yield_now().await;
                    Some((Ok(piece), speech))
                })
                .boxed()
            }
            Err(error) => stream::iter([Err(SpeechError::Rejected(error.to_string()))]).boxed(),
        }
    }
}

/// Recogniser of babble.
#[derive(Debug, Clone, Copy, Default)]
pub struct BabbleTranscriber;

impl Transcriber for BabbleTranscriber {
    fn sample_rate(&self, wanted: u32) -> u32 {
        // It listens at 8 kHz, so audio from a telephone line needs no conversion.
        if wanted == 8_000 { 8_000 } else { 16_000 }
    }

    fn open(&self, config: TranscriberConfig, sink: TranscriptSink) -> Box<dyn TranscriptStream> {
        let halve = match config.format.sample_rate {
            8_000 => None,
            16_000 => Some(HalfBandDown::new()),
            other => {
                let problem = format!("babble listens at 8000 or 16000 Hz, not at {other} Hz");
                sink(TranscriptEvent::Failed(SpeechError::Rejected(problem)));
                return Box::new(Deaf);
            }
        };
        Box::new(BabbleStream {
            halve,
            narrow: Vec::new(),
            listener: Listener::new(),
            heard: Vec::new(),
            transcript: Transcript::default(),
            shown: String::new(),
            sink,
        })
    }
}

/// Stream that has failed.
struct Deaf;

impl TranscriptStream for Deaf {
    fn push(&mut self, _samples: &[i16]) {}
    fn finalize(&mut self) {}
}

struct BabbleStream {
    halve: Option<HalfBandDown>,
    narrow: Vec<i16>,
    listener: Listener,
    heard: Vec<ListenerEvent>,
    transcript: Transcript,
    /// Interim text that was sent last.
    shown: String,
    sink: TranscriptSink,
}

impl BabbleStream {
    /// Sends the recognised text: a final for every utterance that ended, and one interim for the current one.
    fn tell(&mut self) {
        if self.heard.is_empty() {
            return;
        }
        for event in self.heard.drain(..) {
            if let Some(utterance) = self.transcript.take(event) {
                self.shown.clear();
                (self.sink)(final_of(utterance));
            }
        }
        let text = self.transcript.so_far();
        // A text of nothing but missing sounds is not shown as an interim. The final contains the marks for them.
        let words = text.chars().any(|c| c != MISSING);
        if words && text != self.shown {
            self.shown.clone_from(&text);
            (self.sink)(TranscriptEvent::Interim { text });
        }
    }
}

fn final_of(utterance: Utterance) -> TranscriptEvent {
    TranscriptEvent::Final {
        text: utterance.text,
        damaged: utterance.damaged,
    }
}

impl TranscriptStream for BabbleStream {
    fn push(&mut self, samples: &[i16]) {
        match &mut self.halve {
            None => self.listener.push(samples, &mut self.heard),
            Some(halve) => {
                self.narrow.clear();
                halve.process(samples, &mut self.narrow);
                self.listener.push(&self.narrow, &mut self.heard);
            }
        }
        self.tell();
    }

    fn finalize(&mut self) {
        self.listener.finish(&mut self.heard);
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use domain::ports::usage::Meter;
    use media::format::LineFormat;

    use super::*;

    fn voice(name: &str, sample_rate: u32) -> VoiceConfig {
        VoiceConfig {
            provider: None,
            voice: name.into(),
            language: "en".into(),
            sample_rate,
            format: None,
            speed: 1.0,
            stability: 0.5,
            similarity_boost: 0.8,
            latency: 3,
            dictionaries: Vec::new(),
            meter: Meter::default(),
        }
    }

    async fn speak(text: &str, sample_rate: u32) -> (Vec<i16>, Vec<WordEnd>, usize) {
        let mut pieces = BabbleSynthesizer.open(voice("ann", sample_rate)).speak(text.into());
        let (mut samples, mut words, mut longest) = (Vec::new(), Vec::new(), 0);
        while let Some(piece) = pieces.next().await {
            let piece = piece.unwrap();
            longest = longest.max(piece.samples.len());
            samples.extend(piece.samples);
            assert!(piece.words.iter().all(|word| word.sample_end <= samples.len() as u64));
            words.extend(piece.words);
        }
        (samples, words, longest)
    }

    type Events = Arc<Mutex<Vec<TranscriptEvent>>>;

    fn open(sample_rate: u32) -> (Box<dyn TranscriptStream>, Events) {
        let events = Events::default();
        let sink = events.clone();
        let config = TranscriberConfig {
            language: "en".into(),
            hinglish: false,
            keywords: Vec::new(),
            format: LineFormat::of_rate(sample_rate),
            meter: Meter::default(),
        };
        let stream = BabbleTranscriber.open(config, Box::new(move |event| sink.lock().unwrap().push(event)));
        (stream, events)
    }

    fn last(events: &Events) -> TranscriptEvent {
        events.lock().unwrap().last().unwrap().clone()
    }

    const TEXT: &str = "Good morning, this is Ann. Where is my parcel?";

    #[tokio::test]
    async fn what_is_spoken_is_transcribed_at_both_rates() {
        for rate in [8_000, 16_000] {
            let (samples, _, longest) = speak(TEXT, rate).await;
            assert_eq!(longest, rate as usize / 5);
            let (mut stream, events) = open(rate);
            for frame in samples.chunks(rate as usize / 50) {
                stream.push(frame);
            }
            stream.push(&vec![0; rate as usize / 5]);
            let want = TranscriptEvent::Final {
                text: TEXT.into(),
                damaged: false,
            };
            assert_eq!(last(&events), want);
            let told = events.lock().unwrap().len();
            assert!(told > TEXT.len() / 2);
            for event in &events.lock().unwrap()[..told - 1] {
                let TranscriptEvent::Interim { text } = event else {
                    panic!("{event:?}")
                };
                assert!(TEXT.starts_with(text.as_str()), "{text}");
            }
            stream.finalize();
            assert_eq!(events.lock().unwrap().len(), told, "nothing was left to finalize");
        }
    }

    #[tokio::test]
    async fn every_word_has_its_end_and_the_words_up_to_it_are_understood() {
        let (samples, words, _) = speak(TEXT, 8_000).await;
        let ends: Vec<&str> = words
            .iter()
            .map(|word| TEXT[..word.text_end].split(' ').next_back().unwrap())
            .collect();
        assert_eq!(ends, TEXT.split(' ').collect::<Vec<_>>());
        let word = words[3];
        let (mut stream, events) = open(8_000);
        stream.push(&samples[..word.sample_end as usize]);
        stream.push(&[0; 1_600]);
        stream.finalize();
        let TranscriptEvent::Final { text, damaged } = last(&events) else {
            panic!("no final")
        };
        assert!(damaged && text.starts_with(&TEXT[..word.text_end]), "{text}");
        assert!(text.ends_with(MISSING), "{text}");
    }

    #[tokio::test]
    async fn lost_words_are_shown_as_missing_and_none_is_invented() {
        let (mut samples, words, _) = speak(TEXT, 8_000).await;
        let hole = words[1].sample_end as usize + 1_000;
        samples[hole..hole + 800].fill(0);
        let (mut stream, events) = open(8_000);
        stream.push(&samples);
        stream.push(&[0; 1_600]);
        let TranscriptEvent::Final { text, damaged } = last(&events) else {
            panic!("no final")
        };
        assert!(damaged);
        let parts: Vec<&str> = text.split(MISSING).collect();
        assert_eq!(parts.len(), 2, "{text}");
        assert!(
            TEXT.starts_with(parts[0]) && TEXT.ends_with(parts[1]) && parts[1].len() > 10,
            "{text}"
        );
    }

    #[tokio::test]
    async fn an_unknown_rate_is_refused_by_both() {
        let mut pieces = BabbleSynthesizer.open(voice("", 44_100)).speak("x".into());
        let piece = pieces.next().await.unwrap();
        assert!(matches!(piece, Err(SpeechError::Rejected(_))));
        let (_, events) = open(44_100);
        assert!(matches!(
            last(&events),
            TranscriptEvent::Failed(SpeechError::Rejected(_))
        ));
    }
}
