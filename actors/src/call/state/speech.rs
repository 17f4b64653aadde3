//! One speech of the agent, from its first piece to the report of what was heard.

use media::session::Manner;
use serde_json::json;

use super::{Effect, Rules, State};
use crate::{
    audio_stream::{Say, SpeechId},
    call::history::tidy,
};
use domain::{
    pieces::Piece,
    ports::{store::Fact, synthesizer::Likely},
};

/// Characters kept of a text that the user interrupted.
const MOST_INTENDED: usize = 1_000;

/// A speech that has begun and has not been reported on yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Speech {
    pub(super) id: SpeechId,
    pub(super) protected: bool,
    pub(super) started_ms: Option<u64>,
    /// The user pressed a key: the speech was stopped, and the report of what was heard is still to come.
    pub(super) cut: bool,
    /// Text of it so far.
    pub(super) text: String,
    /// The model made some of it.
    pub(super) by_model: bool,
}

impl Speech {
    pub(super) fn new(id: SpeechId, protected: bool) -> Self {
        Self {
            id,
            protected,
            started_ms: None,
            cut: false,
            text: String::new(),
            by_model: false,
        }
    }
}

impl State {
    /// Returns texts that the agent will probably say, the soonest first.
    pub fn likely_said(&self) -> Vec<Likely> {
        let Rules {
            greeting,
            greeting_fixed,
            disclosure,
            phrases,
            ..
        } = &self.rules;
        let likely = |text: String, fixed: bool| Likely { text, fixed };
        let greeting = greeting.iter().map(|text| likely(text.clone(), *greeting_fixed));
        let own = phrases.fillers.iter().map(|filler| format!("{filler} "));
        let own = own.chain([phrases.pardon.to_owned()]);
        let first = disclosure.iter().cloned().chain(greeting);
        first.chain(own.map(|text| likely(text, true))).collect()
    }

    /// Says a whole text as one speech, after the disclosure if that must be said.
    pub(super) fn say_all(&mut self, text: &str, protected: bool) {
        if !self.disclose(Some((text, protected))) {
            self.say_now(text, protected);
        }
    }

    /// Says a whole text as one speech, at once.
    pub(super) fn say_now(&mut self, text: &str, protected: bool) {
        let speech = self.new_speech(protected);
        if let Some(speech) = &mut self.speech {
            text.clone_into(&mut speech.text);
        }
        self.fx.push(Effect::Say(Say {
            speech,
            text: text.to_owned(),
            manner: Manner::default(),
            last: true,
            protected,
            held: false,
        }));
    }

    /// Says more of the present reply, and begins its speech if necessary.
    pub(super) fn say_piece(&mut self, piece: impl Into<Piece>, last: bool) {
        let Piece { text, manner } = piece.into();
        let (speech, protected) = match &mut self.speech {
            Some(speech) => {
                speech.protected |= self.reply.protected;
                (speech.id, speech.protected)
            }
            None => (self.new_speech(self.reply.protected), self.reply.protected),
        };
        if let Some(speech) = &mut self.speech {
            speech.text.push_str(&text);
        }
        self.fx.push(Effect::Say(Say {
            speech,
            text,
            manner,
            last,
            protected,
            held: false,
        }));
    }

    /// Handles the start of a speech's audio. For the first speech of an answer, the latency is recorded.
    pub(super) fn speaking_started(&mut self, id: SpeechId, audio_ms: Option<u64>, at_ms: u64) {
        let begins = |speech: &&mut Speech| speech.id == id && speech.started_ms.is_none();
        match [&mut self.speech, &mut self.replaced]
            .into_iter()
            .flatten()
            .find(begins)
        {
            Some(speech) => speech.started_ms = Some(at_ms),
            None => return,
        }
        let (name, detail) = match self.latency.played(audio_ms, at_ms) {
            Some(figures) => ("reply", figures),
            None => ("speech_started", json!({})),
        };
        self.record_at(name, self.call_ms(at_ms), &detail);
    }

    /// Keeps what was heard of a speech and removes it. Returns true if it was the present one.
    pub(super) fn speech_over(&mut self, id: SpeechId, heard: &str, at_ms: u64, interrupted: bool) -> bool {
        let present = self.speech.as_ref().is_some_and(|speech| speech.id == id);
        let slot = if present { &mut self.speech } else { &mut self.replaced };
        let Some(speech) = slot.take_if(|speech| speech.id == id) else {
            return false;
        };
        self.disclosure_heard(&speech, heard, at_ms);
        let span = self.span(speech.started_ms.unwrap_or(at_ms), at_ms);
        if let Some(mut turn) = self.history.agent_said(heard, span, interrupted) {
            turn.detail.model = speech.by_model.then(|| self.rules.llm.clone());
            turn.detail.intended = interrupted.then(|| tidy(&speech.text).chars().take(MOST_INTENDED).collect());
            self.fx.push(Effect::Record(Fact::Turn(turn)));
        }
        self.keep_words_over_speech();
        present
    }
}
