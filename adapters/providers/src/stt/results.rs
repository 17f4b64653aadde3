//! Delivery of recognised words to a call. Each requested final is given once and in order, whatever the
//! recogniser sends meanwhile. Also counts the audio.

use std::sync::Arc;

use domain::{
    ports::{
        transcriber::{SpeechError, TranscriptEvent, TranscriptSink},
        usage::{Meter, Unit},
    },
    text::plain,
};

use crate::{
    failure::Failure,
    stt::{queue::Queue, word_rate},
};

/// Smallest portion in which audio is counted.
const PORTION_MS: u64 = 1_000;

/// Maximum bytes of words held for a requested final.
const MOST_HELD_BYTES: usize = 32 * 1024;

/// Results of one call. They outlive connections and recognisers.
pub(crate) struct Results {
    pub(crate) inbox: Queue,
    sink: Arc<TranscriptSink>,
    /// Finals that came while another was requested. They are given with it.
    held: String,
    /// Last interim words that were given.
    interim: String,
    /// Whether the recogniser thinks that the turn may be over.
    paused: bool,
    /// Bytes of all finals.
    told_bytes: u64,
}

impl Results {
    pub(crate) fn new(inbox: Queue, sink: TranscriptSink) -> Self {
        Self {
            inbox,
            sink: Arc::new(sink),
            held: String::new(),
            interim: String::new(),
            paused: false,
            told_bytes: 0,
        }
    }

    /// Checks that a final's words are not more than anybody can say, at once or in the whole call.
    pub(crate) fn may_tell(&mut self, text: &str) -> Result<(), Failure> {
        word_rate::may_be_words(text.len())?;
        let seconds = {
            let state = self.inbox.state();
            state.buffer.end() / state.buffer.ms(1_000).max(1)
        };
        let told = self.told_bytes + text.len() as u64;
        word_rate::may_be_said(told, seconds)?;
        self.told_bytes = told;
        Ok(())
    }

    /// Returns whether interim words were given since the last final.
    pub(crate) fn has_interim(&self) -> bool {
        !self.interim.is_empty()
    }

    /// Gives the words since the last final.
    pub(crate) fn interim(&mut self, text: &str) {
        let shown = joined(&self.held, text);
        if shown != self.interim {
            self.interim.clone_from(&shown);
            (self.sink)(TranscriptEvent::Interim { text: shown });
        }
    }

    /// Handles final words up to a position, where the voice goes on or has paused. While a final is
    /// requested they are held for it.
    pub(crate) fn settled(&mut self, text: &str, up_to: u64, paused: bool) {
        let mut state = self.inbox.state();
        state.buffer.settle(up_to, paused);
        let asked = !state.asked.is_empty();
        drop(state);
        if asked {
            self.held = joined(&self.held, text);
            if self.held.len() > MOST_HELD_BYTES {
                // No turn is this long. The words are given early to limit the memory.
                self.give("", false);
                return;
            }
            self.interim("");
        } else {
            self.give(text, false);
        }
    }

    /// Gives the oldest requested final. If none was requested, it acts like [`Results::settled`].
    pub(crate) fn answer(&mut self, text: &str, up_to: u64, damaged: bool) {
        let mut state = self.inbox.state();
        state.buffer.settle(up_to, true);
        state.asked.pop_front();
        drop(state);
        self.give(text, damaged);
    }

    /// Reports an event of the turn.
    pub(crate) fn turn(&mut self, event: TranscriptEvent) {
        self.paused = event == TranscriptEvent::TurnPaused;
        (self.sink)(event);
    }

    /// Handles the loss of the recogniser. Its opinion of the turn no longer holds.
    pub(crate) fn lost(&mut self) {
        self.inbox.state().connected = false;
        if self.paused {
            self.turn(TranscriptEvent::TurnResumed);
        }
    }

    /// Reports that no more results will come.
    pub(crate) fn failed(&self, error: SpeechError) {
        (self.sink)(TranscriptEvent::Failed(error));
    }

    /// Returns the sink for a recogniser that reports to the call directly from now on.
    pub(crate) fn straight(&mut self) -> TranscriptSink {
        if !self.held.is_empty() {
            self.give("", false);
        }
        let sink = self.sink.clone();
        Box::new(move |event| sink(event))
    }

    fn give(&mut self, text: &str, damaged: bool) {
        let text = joined(&std::mem::take(&mut self.held), text);
        self.interim.clear();
        (self.sink)(TranscriptEvent::Final { text, damaged });
    }
}

/// Joins two texts with a space. The second comes from a provider, so control characters are removed from it.
fn joined(first: &str, second: &str) -> String {
    let second = plain(second);
    let (first, second) = (first.trim(), second.trim());
    match first.is_empty() || second.is_empty() {
        true => format!("{first}{second}"),
        false => format!("{first} {second}"),
    }
}

/// Audio sent to one provider. It is counted to the last piece on every exit path.
pub(crate) struct Counted {
    meter: Meter,
    provider: &'static str,
    model: String,
    /// Bytes of audio per millisecond.
    a_ms: u64,
    bytes: u64,
}

impl Counted {
    pub(crate) fn new(meter: Meter, provider: &'static str, model: &str, a_ms: u64) -> Self {
        Self {
            meter,
            provider,
            model: model.to_owned(),
            a_ms: a_ms.max(1),
            bytes: 0,
        }
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.bytes >= PORTION_MS * self.a_ms {
            self.write();
        }
    }

    fn write(&mut self) {
        let ms = self.bytes / self.a_ms;
        self.meter.add(self.provider, &self.model, Unit::AudioMs, ms);
        self.bytes -= ms * self.a_ms;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.write();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use domain::ports::transcriber::Capabilities;
    use media::format::LineFormat;

    use super::*;
    use crate::stt::audio_buffer::AudioBuffer;

    #[test]
    fn signs_that_are_no_words_are_not_told() {
        let told: Arc<Mutex<Vec<TranscriptEvent>>> = Arc::default();
        let kept = told.clone();
        let inbox = Queue::new(AudioBuffer::new(LineFormat::MULAW_8000), Capabilities::default());
        let sink = Box::new(move |event| kept.lock().unwrap().push(event));
        let mut results = Results::new(inbox.clone(), sink);
        let odd = "no\0 \u{1b}[31mred\u{202e}\nline\u{2066}";
        let plain = || "no [31mred line".to_owned();
        results.interim(odd);
        results.settled(odd, 0, false);
        inbox.ask();
        results.settled(odd, 0, false);
        results.answer(odd, 0, false);
        let told = told.lock().unwrap().clone();
        let both = format!("{0} {0}", plain());
        assert_eq!(told[0], TranscriptEvent::Interim { text: plain() });
        assert_eq!(
            told[1],
            TranscriptEvent::Final {
                text: plain(),
                damaged: false
            }
        );
        assert_eq!(
            *told.last().unwrap(),
            TranscriptEvent::Final {
                text: both,
                damaged: false
            }
        );
    }
}
