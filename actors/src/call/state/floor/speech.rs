//! One speech of the agent, from its first piece to the report of what was heard.

use media::session::Manner;
use serde_json::json;

use crate::audio_stream::{Say, SpeechId};
use crate::call::history::tidy;
use crate::call::state::{Effect, State, disclosing, talk};
use domain::{pieces::Piece, ports::store::Fact};

/// Characters kept of a text that the user interrupted.
const MOST_INTENDED: usize = 1_000;

/// A speech that has begun and has not been reported on yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speech {
    pub id: SpeechId,
    pub protected: bool,
    pub started_ms: Option<u64>,
    /// The user pressed a key: the speech was stopped, and the report of what was heard is still to come.
    pub cut: bool,
    /// Text of it so far.
    pub text: String,
    /// The model made some of it.
    pub by_model: bool,
}

impl Speech {
    pub fn new(id: SpeechId, protected: bool) -> Self {
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

/// Says a whole text as one speech, after the disclosure if that must be said.
pub fn say_all(call: &mut State, text: &str, protected: bool) {
    if !disclosing::disclose(call, Some((text, protected))) {
        say_now(call, text, protected);
    }
}

/// Says a whole text as one speech, at once.
pub fn say_now(call: &mut State, text: &str, protected: bool) {
    let speech = call.new_speech(protected);
    if let Some(speech) = &mut call.speech {
        text.clone_into(&mut speech.text);
    }
    call.fx.push(Effect::Say(Say {
        speech,
        text: text.to_owned(),
        manner: Manner::default(),
        last: true,
        protected,
        held: false,
    }));
}

/// Says more of the present reply, and begins its speech if necessary.
pub fn say_piece(call: &mut State, piece: impl Into<Piece>, last: bool) {
    let Piece { text, manner } = piece.into();
    let (speech, protected) = match &mut call.speech {
        Some(speech) => {
            speech.protected |= call.reply.protected;
            (speech.id, speech.protected)
        }
        None => (call.new_speech(call.reply.protected), call.reply.protected),
    };
    if let Some(speech) = &mut call.speech {
        speech.text.push_str(&text);
    }
    call.fx.push(Effect::Say(Say {
        speech,
        text,
        manner,
        last,
        protected,
        held: false,
    }));
}

/// Handles the start of a speech's audio. For the first speech of an answer, the latency is recorded.
pub fn speaking_started(call: &mut State, id: SpeechId, audio_ms: Option<u64>, at_ms: u64) {
    let begins = |speech: &&mut Speech| speech.id == id && speech.started_ms.is_none();
    match [&mut call.speech, &mut call.replaced]
        .into_iter()
        .flatten()
        .find(begins)
    {
        Some(speech) => speech.started_ms = Some(at_ms),
        None => return,
    }
    let (name, detail) = match call.latency.played(audio_ms, at_ms) {
        Some(figures) => ("reply", figures),
        None => ("speech_started", json!({})),
    };
    call.record_at(name, call.call_ms(at_ms), &detail);
}

/// Keeps what was heard of a speech and removes it. Returns true if it was the present one.
pub fn speech_over(call: &mut State, id: SpeechId, heard: &str, at_ms: u64, interrupted: bool) -> bool {
    let present = call.speech.as_ref().is_some_and(|speech| speech.id == id);
    let slot = if present { &mut call.speech } else { &mut call.replaced };
    let Some(speech) = slot.take_if(|speech| speech.id == id) else {
        return false;
    };
    disclosing::disclosure_heard(call, &speech, heard, at_ms);
    let span = call.span(speech.started_ms.unwrap_or(at_ms), at_ms);
    if let Some(mut turn) = call.history.agent_said(heard, span, interrupted) {
        turn.detail.model = speech.by_model.then(|| call.rules.llm.clone());
        turn.detail.intended = interrupted.then(|| tidy(&speech.text).chars().take(MOST_INTENDED).collect());
        call.fx.push(Effect::Record(Fact::Turn(turn)));
    }
    talk::keep_words_over_speech(call);
    present
}
