//! Hearing of a callee: the words that were really played, and when the agent starts and stops talking. Pure.

use media::{
    babble::{Listener, ListenerEvent, MISSING, Transcript},
    codec,
    format::Encoding,
};

use super::meter::Meter;
use crate::exchange::{
    audio::{line::FRAME, sound::loud},
    log::LogEvent,
};

/// The agent's speech ends after this much silence.
const PAUSE_MS: u64 = 600;

/// A speech of the agent, between two silences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Speech {
    text: String,
    from_ms: u64,
    to_ms: u64,
    whole: bool,
}

impl Speech {
    /// Returns the words, without the marks for missing ones.
    pub(super) fn words(&self) -> String {
        let spaced = self.text.replace(MISSING, " ");
        spaced.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub(super) fn into_log(self) -> LogEvent {
        LogEvent::Heard {
            text: self.text,
            from_ms: self.from_ms,
            to_ms: self.to_ms,
            whole: self.whole,
        }
    }
}

/// Change noticed in a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Noticed {
    Started,
    Said(Speech),
}

/// Times of the agent's speech.
#[derive(Debug, Clone, Copy)]
struct Talk {
    from_ms: u64,
    last_ms: u64,
    /// Start of the present silence.
    quiet_ms: u64,
}

#[derive(Default)]
pub(super) struct Recogniser {
    listener: Listener,
    transcript: Transcript,
    /// Finished utterances of the present speech.
    sentences: Vec<String>,
    damaged: bool,
    talk: Option<Talk>,
    samples: Vec<i16>,
    heard: Vec<ListenerEvent>,
}

impl Recogniser {
    /// Returns whether the agent is talking; pauses within its speech count.
    pub(super) fn agent_talks(&self) -> bool {
        self.talk.is_some()
    }

    /// Returns the words of a speech in progress as far as they are known, and how long it has been silent.
    pub(super) fn so_far(&self, now_ms: u64) -> Option<(String, u64)> {
        let talk = self.talk?;
        let mut words = self.sentences.join(" ");
        if !self.transcript.is_empty() {
            words.push(' ');
            words.push_str(&self.transcript.so_far());
        }
        Some((words.replace(MISSING, " "), now_ms.saturating_sub(talk.last_ms)))
    }

    /// Handles a sound of the callee that wants no answer. The agent's silence during this sound does not
    /// end the agent's speech.
    pub(super) fn own_aside(&mut self, now_ms: u64) {
        if let Some(talk) = &mut self.talk {
            talk.quiet_ms = now_ms;
        }
    }

    /// Hears a frame: up to 20 ms of mu-law, then silence.
    pub(super) fn hear(&mut self, played: &[u8], now_ms: u64, meter: &mut Meter) -> Option<Noticed> {
        if played.is_empty() && self.talk.is_none() {
            return None;
        }
        self.samples.clear();
        codec::decode(Encoding::MuLaw, played, &mut self.samples);
        let voiced = loud(&self.samples);
        self.samples.resize(FRAME, 0);
        let starts = voiced && self.talk.is_none();
        if starts {
            self.talk = Some(Talk {
                from_ms: now_ms,
                last_ms: now_ms,
                quiet_ms: now_ms,
            });
        }
        let talk = self.talk.as_mut()?;
        if voiced {
            talk.last_ms = now_ms;
            talk.quiet_ms = now_ms;
        }
        let silent_ms = now_ms.saturating_sub(talk.quiet_ms);
        self.listen(meter);
        if starts {
            return Some(Noticed::Started);
        }
        (silent_ms >= PAUSE_MS)
            .then(|| self.finish().map(Noticed::Said))
            .flatten()
    }

    fn listen(&mut self, meter: &mut Meter) {
        self.listener.push(&self.samples, &mut self.heard);
        for heard in self.heard.drain(..) {
            match &heard {
                ListenerEvent::Packet { first, .. } => meter.packet(*first),
                ListenerEvent::Gap => meter.packet(false),
                ListenerEvent::Interim { .. } | ListenerEvent::End => {}
            }
            if let Some(utterance) = self.transcript.take(heard) {
                self.damaged |= utterance.damaged;
                self.sentences.push(utterance.text);
            }
        }
    }

    /// Ends the present speech, if there is one.
    pub(super) fn finish(&mut self) -> Option<Speech> {
        let talk = self.talk.take()?;
        let mut sentences = std::mem::take(&mut self.sentences);
        let mut whole = !std::mem::take(&mut self.damaged);
        if self.listener.in_utterance() || !self.transcript.is_empty() {
            // Cut off: everything understood counts, the packet in progress too.
            whole = false;
            sentences.push(self.transcript.so_far());
        }
        self.listener = Listener::default();
        self.transcript = Transcript::default();
        sentences.retain(|sentence| !sentence.trim().is_empty());
        Some(Speech {
            text: sentences.join(" "),
            from_ms: talk.from_ms,
            to_ms: talk.last_ms + 20,
            whole,
        })
    }
}
