//! An operator on the stream: plays their audio in place of the agent's, passes them the user's, and recognises
//! their words with a session and a recogniser of their own.

use std::sync::Arc;

use media::{
    codec,
    format::{Encoding, LineFormat},
    playout::LineAbilities,
    session::{AudioSession, SessionConfig, SessionEvent},
};
use tokio::sync::mpsc::error::TrySendError;

use super::{
    super::{
        OperatorLeg, StreamEvent, StreamMessage,
        terms::{pause_policy, recogniser_format, transcribe},
        transcript_queue::TranscriptQueue,
    },
    Stream, feed, take_words, words_of,
};
use domain::{
    history::Speaker,
    ports::transcriber::{TranscriptEvent, TranscriptStream},
};

/// Time in milliseconds that the recogniser has for the last words of an operator who leaves.
const LAST_WORDS_MS: u64 = 600;

/// An operator has no line: their audio is played by the call's session.
const NO_LINE: LineAbilities = LineAbilities {
    buffers: false,
    marks: false,
    clear: false,
};

/// An operator who speaks, or whose last words are awaited.
pub(super) struct OperatorSide {
    leg: OperatorLeg,
    /// Finds turns in the operator's audio as the call's session finds them in the user's.
    session: AudioSession,
    transcript: Option<Box<dyn TranscriptStream>>,
    heard: Arc<TranscriptQueue>,
    samples: Vec<i16>,
    /// Time by which the last words of an operator who leaves must be known.
    leaves_by_ms: Option<u64>,
}

impl Stream {
    /// Lets an operator speak in place of the agent.
    pub(super) fn operator_joins(&mut self, leg: OperatorLeg, now_ms: u64) {
        self.end_operator(now_ms);
        let providers = &self.providers;
        let recogniser = recogniser_format(&*providers.transcriber, &providers.agent, providers.line_rate);
        let config = SessionConfig {
            format: LineFormat {
                encoding: Encoding::Linear16,
                sample_rate: providers.line_rate,
            },
            abilities: NO_LINE,
            recogniser_rate: recogniser.sample_rate,
            pause: pause_policy(&providers.agent.conversation_config.turn, providers.settings),
            record: false,
        };
        let session = match AudioSession::new(&config) {
            Ok(session) => session,
            Err(error) => {
                tracing::error!(%error, "operator not seated");
                return;
            }
        };
        let counted = (recogniser, providers.meter.clone());
        let (transcript, heard) = transcribe(&*providers.transcriber, &providers.agent, counted, &self.me);
        self.session.operator_joins(now_ms);
        let me = self.me.clone();
        leg.audio.set_waker(move || {
            // The actor may be gone.
            let _ = me.cast(StreamMessage::OperatorWaits);
        });
        self.operator = Some(OperatorSide {
            leg,
            session,
            transcript: Some(transcript),
            heard,
            samples: Vec::new(),
            leaves_by_ms: None,
        });
    }

    /// Takes the operator's waiting audio.
    pub(super) fn operator_waits(&mut self, now_ms: u64) {
        let Some(operator) = self
            .operator
            .as_mut()
            .filter(|operator| operator.leaves_by_ms.is_none())
        else {
            return;
        };
        operator.samples.clear();
        operator.leg.audio.drain(&mut operator.samples);
        let dropped = self.session.operator_audio(&operator.samples, now_ms);
        operator.leg.audio.lose(dropped);
        let mut bytes = Vec::new();
        // Audio that is dropped is not recognised either: it may come faster than time.
        let kept = operator.samples.get(dropped..).unwrap_or_default();
        codec::encode(Encoding::Linear16, kept, &mut bytes);
        if !bytes.is_empty() {
            operator.session.receive(&bytes, now_ms);
        }
    }

    /// Ends the operator's audio. Their last words are reported once they are known, and then their silence.
    pub(super) fn operator_leaves(&mut self, now_ms: u64) {
        self.operator_waits(now_ms);
        self.session.operator_leaves(now_ms);
        match &mut self.operator {
            None => self.report(StreamEvent::OperatorSilent),
            Some(operator) if operator.leaves_by_ms.is_some() => {}
            Some(operator) => {
                feed(&mut operator.session, &mut operator.transcript);
                let in_turn = operator.session.is_in_turn();
                match operator.transcript.as_mut().filter(|_| in_turn) {
                    Some(transcript) => {
                        transcript.finalize();
                        operator.leaves_by_ms = Some(now_ms + LAST_WORDS_MS);
                    }
                    None => operator.leaves_by_ms = Some(now_ms),
                }
            }
        }
    }

    /// Passes the user's audio, in the line's encoding, on to the operator.
    pub(super) fn operator_hears(&self, operator: &OperatorSide, audio: &[u8]) {
        let mut samples = Vec::new();
        codec::decode(self.providers.encoding, audio, &mut samples);
        let lost = samples.len();
        if let Err(TrySendError::Full(_)) = operator.leg.hears.try_send(samples) {
            operator.leg.audio.lose(lost);
        }
    }

    /// Takes the words of the operator's recogniser.
    pub(super) fn operator_transcribed(&mut self, now_ms: u64) {
        let Some(operator) = &mut self.operator else { return };
        let mut said = Vec::new();
        for event in operator.heard.drain() {
            said.extend(words_of(&event));
            if let TranscriptEvent::Failed(error) = &event {
                tracing::warn!(%error, "operator no longer recognised");
                operator.transcript = None;
            }
            let is_final = matches!(event, TranscriptEvent::Final { .. } | TranscriptEvent::Failed(_));
            take_words(&mut operator.session, event, now_ms);
            if is_final && let Some(by_ms) = &mut operator.leaves_by_ms {
                *by_ms = now_ms;
            }
        }
        for (text, is_final) in said {
            self.feed_words(Speaker::Operator, text, is_final);
        }
    }

    /// Carries out everything the operator's session requests. Returns when it needs attention again.
    pub(super) fn attend_operator(&mut self, now_ms: u64) -> Option<u64> {
        let operator = self.operator.as_mut()?;
        if operator.session.next_deadline().is_some_and(|due_ms| due_ms <= now_ms) {
            operator.session.tick(now_ms);
        }
        feed(&mut operator.session, &mut operator.transcript);
        self.report_operator();
        let operator = self.operator.as_ref()?;
        if operator.leaves_by_ms.is_some_and(|by_ms| by_ms <= now_ms) {
            self.end_operator(now_ms);
            self.report(StreamEvent::OperatorSilent);
            return None;
        }
        let deadlines = [operator.session.next_deadline(), operator.leaves_by_ms];
        deadlines.into_iter().flatten().min()
    }

    /// Ends the operator's side, and reports the words so far.
    pub(super) fn end_operator(&mut self, now_ms: u64) {
        if let Some(operator) = &mut self.operator {
            operator.session.close(now_ms);
            self.report_operator();
            self.operator = None;
        }
    }

    fn report_operator(&mut self) {
        let Some(operator) = &mut self.operator else { return };
        while let Some(event) = operator.session.poll_event() {
            match event {
                SessionEvent::FinalWanted => {
                    if let Some(transcript) = &mut operator.transcript {
                        transcript.finalize();
                    }
                }
                SessionEvent::UtteranceEnded(said) if !said.text.is_empty() => {
                    self.session.operator_said(&said.text);
                    self.call.send(StreamEvent::OperatorSaid(said));
                }
                _ => {}
            }
        }
    }
}
