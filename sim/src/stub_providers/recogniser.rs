//! Parts that the stub recognisers share: a recogniser that understands babble and knows when each word was said.

pub(super) mod outlet;

use media::{
    babble::{Listener, ListenerEvent, MISSING, Transcript},
    codec,
    format::{Encoding, LineFormat},
    resample::Resampler,
};
use serde_json::{Value, json};
use tokio::time::Instant;

/// Audio is processed in pieces of this length, which is the precision of the words' times.
const PIECE_MS: u32 = 20;

/// A word, with its place in the audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) start_ms: u64,
    pub(super) end_ms: u64,
}

impl Word {
    /// Returns the start in seconds.
    pub(super) fn start_s(&self) -> f64 {
        self.start_ms as f64 / 1_000.0
    }

    /// Returns the end in seconds.
    pub(super) fn end_s(&self) -> f64 {
        self.end_ms as f64 / 1_000.0
    }
}

/// Speech in a stretch of the audio.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start_ms: u64,
    pub(super) end_ms: u64,
    pub(super) words: Vec<Word>,
}

impl Span {
    /// Returns its words.
    pub(super) fn text(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.text.as_str()).collect();
        words.join(" ")
    }

    /// Returns the `words` of Deepgram's `/v1/listen`.
    pub(super) fn listen_words(&self) -> Vec<Value> {
        let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let show = |word: &Word| {
            json!({
                "word": bare(&word.text), "start": word.start_s(), "end": word.end_s(),
                "confidence": 0.99, "punctuated_word": word.text,
            })
        };
        self.words.iter().map(show).collect()
    }
}

/// The recogniser of one connection. Times are milliseconds of its audio.
pub(super) struct Recogniser {
    format: LineFormat,
    to_8_khz: Resampler,
    listener: Listener,
    heard: Vec<ListenerEvent>,
    transcript: Transcript,
    /// Utterances that are over and not taken.
    done: String,
    span: Span,
    /// Half a sample from the end of the last message.
    odd: Vec<u8>,
    /// Time at which the last word grew: in the audio, and by the clock.
    spoken: Option<(u64, Instant)>,
    samples: u64,
}

impl Recogniser {
    /// Creates a recogniser for a format; `None` if the stubs do not support it.
    pub(super) fn new(encoding: &str, sample_rate: u32) -> Option<Self> {
        let encoding = match encoding {
            "mulaw" | "ulaw" => Encoding::MuLaw,
            "alaw" => Encoding::ALaw,
            "linear16" | "pcm" => Encoding::Linear16,
            _ => return None,
        };
        let known = matches!(
            (encoding, sample_rate),
            (_, 8_000) | (Encoding::Linear16, 16_000..=48_000)
        );
        let to_8_khz = Resampler::live(sample_rate, 8_000).ok().filter(|_| known)?;
        Some(Self {
            format: LineFormat { encoding, sample_rate },
            to_8_khz,
            listener: Listener::new(),
            heard: Vec::new(),
            transcript: Transcript::default(),
            done: String::new(),
            span: Span::default(),
            odd: Vec::new(),
            spoken: None,
            samples: 0,
        })
    }

    /// Processes audio.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut all = std::mem::take(&mut self.odd);
        all.extend_from_slice(bytes);
        let whole = all.len() - all.len() % self.format.encoding.bytes_per_sample();
        self.odd = all.split_off(whole);
        let (mut pcm, mut narrow) = (Vec::new(), Vec::new());
        for piece in all.chunks(self.format.bytes_for_ms(PIECE_MS)) {
            pcm.clear();
            codec::decode(self.format.encoding, piece, &mut pcm);
            self.samples += pcm.len() as u64;
            narrow.clear();
            self.to_8_khz.process(&pcm, &mut narrow);
            self.listener.push(&narrow, &mut self.heard);
            self.understand();
        }
    }

    /// Returns the position in the audio.
    pub(super) fn now_ms(&self) -> u64 {
        self.samples * 1_000 / u64::from(self.format.sample_rate)
    }

    /// Returns the speech since words were taken last.
    pub(super) fn so_far(&self) -> Span {
        Span {
            end_ms: self.now_ms(),
            ..self.span.clone()
        }
    }

    /// Returns whether there are words that were not taken.
    pub(super) fn has_words(&self) -> bool {
        !self.span.words.is_empty()
    }

    /// Returns the end of the last word: in the audio, and by the clock.
    pub(super) fn spoken(&self) -> Option<(u64, Instant)> {
        self.spoken
    }

    /// Returns whether an utterance is in progress.
    pub(super) fn in_utterance(&self) -> bool {
        self.listener.in_utterance()
    }

    /// Takes everything up to now as final; an utterance in progress is cut off.
    pub(super) fn take(&mut self) -> Span {
        self.listener.finish(&mut self.heard);
        self.understand();
        let span = self.so_far();
        self.done.clear();
        self.span = Span {
            start_ms: span.end_ms,
            ..Span::default()
        };
        span
    }

    fn understand(&mut self) {
        if self.heard.is_empty() {
            return;
        }
        for event in self.heard.drain(..) {
            if let Some(utterance) = self.transcript.take(event) {
                self.done.push_str(&utterance.text);
                self.done.push(' ');
            }
        }
        let text = format!("{}{}", self.done, self.transcript.so_far());
        let now_ms = self.now_ms();
        let words = text.split([' ', MISSING]).filter(|word| !word.is_empty());
        let known = &mut self.span.words;
        let mut count = 0;
        for (n, word) in words.enumerate() {
            count = n + 1;
            if let Some(known) = known.get_mut(n) {
                if known.text != word {
                    known.text = word.to_owned();
                    known.end_ms = now_ms;
                    self.spoken = Some((now_ms, Instant::now()));
                }
                continue;
            }
            let before = known.last().map_or(self.span.start_ms, |word| word.end_ms);
            known.push(Word {
                text: word.to_owned(),
                start_ms: before.max(now_ms.saturating_sub(u64::from(PIECE_MS))),
                end_ms: now_ms,
            });
            self.spoken = Some((now_ms, Instant::now()));
        }
        known.truncate(count);
    }
}

/// Returns the first value of a query's parameter.
pub(super) fn parameter(query: &[(String, String)], name: &str) -> Option<String> {
    let found = query.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.clone())
}

/// Returns a query's parameters, repeated ones too.
pub(super) fn parameters(query: Option<&str>) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .into_owned()
        .collect()
}

/// Returns a new request id.
pub(super) fn request_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

#[cfg(test)]
mod tests {
    use media::babble::{Speaker, Voice};

    use super::*;

    #[test]
    fn words_are_understood_and_dated_at_each_rate() {
        for (encoding, rate) in [("mulaw", 8_000), ("linear16", 16_000)] {
            let mut recogniser = Recogniser::new(encoding, rate).unwrap();
            let format = recogniser.format;
            let mut bytes = Vec::new();
            let silence = vec![0; rate as usize];
            codec::encode(format.encoding, &silence, &mut bytes);
            let mut speaker = Speaker::new("My name is Ann.", Voice::named("ann"), rate).unwrap();
            while let Some(chunk) = speaker.next_chunk(4_000) {
                codec::encode(format.encoding, &chunk, &mut bytes);
            }
            let ends: Vec<u64> = speaker
                .words()
                .iter()
                .map(|word| 1_000 + word.sample_end * 1_000 / u64::from(rate))
                .collect();
            codec::encode(format.encoding, &silence, &mut bytes);
            for piece in bytes.chunks(999) {
                recogniser.push(piece);
            }
            let span = recogniser.take();
            assert_eq!(span.text(), "My name is Ann.");
            assert_eq!((span.start_ms, recogniser.so_far().text()), (0, String::new()));
            for (word, end_ms) in span.words.iter().zip(ends.iter().copied()) {
                // A word becomes certain with its packet and is seen before.
                assert!(
                    word.end_ms < end_ms + 150 && word.start_ms >= 1_000,
                    "{word:?} {end_ms}"
                );
            }
            assert!(span.words[3].end_ms + 400 > ends[3]);
            assert!(span.words.is_sorted_by_key(|word| word.start_ms));
        }
        assert!(Recogniser::new("opus", 8_000).is_none() && Recogniser::new("mulaw", 44_100).is_none());
    }
}
