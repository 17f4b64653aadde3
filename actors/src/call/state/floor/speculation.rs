//! Replies made ahead. In a pause that may end the user's turn, the model is asked on the words so far, and
//! the first piece of its answer is synthesised and held. If the turn ends with the same words, this becomes
//! the reply. Otherwise it is discarded, and nothing of it was heard, kept or done.

use std::sync::Arc;

use media::turn::words::{self, Ending};
use serde_json::{Value, json};

use crate::audio_stream::{Say, SpeechId};
use crate::call::state::{Effect, Phase, Speech, State, filler, reply, router};
use crate::call::{CallTimer, Speculation};
use domain::{
    pieces::{self, Directions, Piece, PieceCutter},
    ports::language_model::ReplyEvent,
};

/// Most replies made ahead in one turn.
pub const MOST_TRIES: u32 = 3;

/// Additional wait in milliseconds for each further try in a turn, since a user who pauses often is likely to go on.
const WARIER_MS: u64 = 100;

/// Additional wait in milliseconds after words that announce more, since the pause that ends such a turn is long.
const OPEN_WAIT_MS: u64 = 500;

/// Characters per token, to estimate the tokens a model reads and writes: OpenAI's rule of thumb for English.
const TOKEN_CHARACTERS: usize = 4;

/// Reason why a reply made ahead was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waste {
    /// The user went on speaking.
    Resumed,
    /// The words of the turn changed.
    OtherWords,
    /// The model or the tts failed.
    Failed,
    /// The call went another way: it ended, or the agent spoke by itself.
    Overtaken,
}

impl Waste {
    fn as_str(self) -> &'static str {
        match self {
            Self::Resumed => "resumed",
            Self::OtherWords => "other_words",
            Self::Failed => "failed",
            Self::Overtaken => "overtaken",
        }
    }
}

/// A pause of the user, with the words so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    text: String,
    /// Time of the stream.
    at_ms: u64,
}

/// A part of the reply that is still to be said or done, in order.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Say(Piece),
    Tool {
        name: String,
        arguments: Value,
        echo: Option<Box<Value>>,
    },
}

/// A reply made ahead.
#[derive(Debug, Clone)]
pub struct EarlyReply {
    pub pause: Pause,
    asked_ms: u64,
    token_ms: Option<u64>,
    cutter: PieceCutter,
    waiting: Vec<Step>,
    /// The speech whose first piece is being synthesised.
    held: Option<SpeechId>,
    held_text: String,
    /// The model has finished.
    over: bool,
    protected: bool,
    /// Node of the conversation graph for which it is made, if the call is to move there first.
    pub node: Option<String>,
    characters: usize,
    voiced_characters: usize,
}

impl EarlyReply {
    pub fn new(pause: Pause, asked_ms: u64, directions: Arc<Directions>) -> Self {
        Self {
            pause,
            asked_ms,
            token_ms: None,
            cutter: PieceCutter::new(directions),
            waiting: Vec::new(),
            held: None,
            held_text: String::new(),
            over: false,
            protected: false,
            node: None,
            characters: 0,
            voiced_characters: 0,
        }
    }

    /// Returns the words on which the model was asked.
    pub fn text(&self) -> &str {
        &self.pause.text
    }

    /// Returns the speech that is held, if there is one yet.
    #[cfg(test)]
    pub fn held(&self) -> Option<SpeechId> {
        self.held
    }

    /// Returns whether the reply has no content.
    fn is_empty(&self) -> bool {
        self.held.is_none() && self.waiting.is_empty()
    }

    fn speaks(&self) -> bool {
        self.held.is_some() || self.waiting.iter().any(|step| matches!(step, Step::Say(_)))
    }
}

/// Normalises words for comparison. Case, white space and punctuation around words are ignored, punctuation
/// inside words is not, so that `3.5` differs from `35`.
pub fn normalised(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        word.trim_matches(|c: char| c.is_ascii_punctuation() || "。？！，।…–—".contains(c))
            .to_lowercase()
    });
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Handles the end of the user's voice.
pub fn turn_paused(call: &mut State, text: String, at_ms: u64) {
    if call.rules.speculation == Speculation::Off || call.phase != Phase::Listening {
        return;
    }
    let words = normalised(&text);
    if call
        .early
        .as_ref()
        .is_some_and(|early| normalised(early.text()) == words)
    {
        return;
    }
    drop_early(call, Waste::OtherWords);
    if words.is_empty() || call.user.tries >= MOST_TRIES {
        return;
    }
    let open = matches!(
        words::ending(&text),
        Ending::Open | Ending::Hesitating | Ending::Spelling
    );
    let wait_ms = u64::from(call.user.tries) * WARIER_MS + if open { OPEN_WAIT_MS } else { 0 };
    call.user.pause = Some(Pause { text, at_ms });
    match wait_ms {
        0 => speculate(call),
        _ => call.set_timer(CallTimer::Speculate, wait_ms),
    }
}

/// Asks the model once the pause has lasted long enough.
pub fn speculate(call: &mut State) {
    let Some(pause) = call.user.pause.take() else { return };
    if call.phase == Phase::Listening && call.early.is_none() && call.speech.is_none() {
        call.user.tries += 1;
        call.early = Some(EarlyReply::new(pause, call.now_ms, call.rules.directions.clone()));
        router::ask_ahead(call);
    }
}

/// Handles a part of the reply that is made ahead.
pub fn early_event(call: &mut State, event: ReplyEvent) {
    let Some(early) = call.early.as_mut().filter(|early| !early.over) else {
        return;
    };
    early.token_ms.get_or_insert(call.now_ms);
    match event {
        ReplyEvent::Text(text) => {
            early.characters += text.chars().count();
            let pieces = early.cutter.push(&text);
            let too_long = early.cutter.is_too_long();
            if too_long {
                early.cutter.finish();
            }
            for piece in pieces {
                early_piece(call, piece);
            }
            if too_long {
                call.fx.push(Effect::CancelReply);
                early_ended(call);
            }
        }
        ReplyEvent::Tool { name, arguments, echo } => {
            early.protected |= call.rules.protects(&name);
            early.waiting.push(Step::Tool { name, arguments, echo });
        }
    }
}

/// Handles the end of the model's answer. If it is empty, the model is asked again at the end of the turn.
pub fn early_ended(call: &mut State) {
    let Some(early) = call.early.as_mut().filter(|early| !early.over) else {
        return;
    };
    early.over = true;
    for rest in early.cutter.finish() {
        early_piece(call, rest);
    }
    if call.early.as_ref().is_some_and(EarlyReply::is_empty) {
        drop_early(call, Waste::Failed);
    }
}

fn early_piece(call: &mut State, piece: Piece) {
    let Some(early) = &mut call.early else { return };
    if !pieces::has_words(&piece.text) {
        return;
    }
    // Another node may have another voice.
    if call.rules.speculation != Speculation::Voice || early.speaks() || early.node.is_some() {
        early.waiting.push(Step::Say(piece));
        return;
    }
    let Piece { text, manner } = piece;
    let speech = SpeechId(call.next_speech);
    call.next_speech += 1;
    early.held = Some(speech);
    early.held_text.clone_from(&text);
    early.voiced_characters = text.chars().count();
    call.fx.push(Effect::Say(Say {
        speech,
        text,
        manner,
        last: false,
        protected: early.protected,
        held: true,
    }));
}

/// Returns whether the tts failed for a reply made ahead. That reply is discarded.
pub fn early_voice_failed(call: &mut State, speech: SpeechId) -> bool {
    let ours = call.early.as_ref().is_some_and(|early| early.held == Some(speech));
    if ours {
        drop_early(call, Waste::Failed);
    }
    ours
}

/// Discards the reply made ahead.
pub fn drop_early(call: &mut State, why: Waste) {
    if call.user.pause.take().is_some() {
        call.stop_timer(CallTimer::Speculate);
    }
    router::drop_ahead(call);
    let Some(early) = call.early.take() else { return };
    call.fx.push(Effect::CancelReply);
    if early.held.is_some() {
        call.fx.push(Effect::StopSpeaking);
    }
    speculated(call, "speculation_wasted", &early, Some(why));
}

/// Ends the turn with `text`: a reply made ahead on the same words becomes the reply. Returns false if
/// there is none.
pub fn commit_early(call: &mut State, text: &str, damaged: bool) -> bool {
    let same = |early: &mut EarlyReply| !damaged && normalised(early.text()) == normalised(text);
    let Some(early) = call.early.take_if(same) else {
        return false;
    };
    speculated(call, "speculation_used", &early, None);
    reply::begin_reply(call);
    let token_ms = early.token_ms.map(|at_ms| call.stream_ms(at_ms));
    call.latency.asked(call.stream_ms(early.asked_ms));
    let _ = call.latency.first_token(token_ms);
    call.latency.speculated = true;
    call.reply.cutter = early.cutter;
    if !early.over {
        filler::set_filler(call, early.asked_ms + filler::FIRST_MS);
    }
    if let Some(speech) = early.held {
        call.speech = Some(Speech {
            text: early.held_text.clone(),
            by_model: true,
            ..Speech::new(speech, early.protected)
        });
        call.phase = Phase::Speaking;
        call.reply.whole = pieces::is_whole(&early.held_text);
        call.fx.push(Effect::Release(speech));
        filler::await_more(call, &early.held_text);
    }
    for step in early.waiting {
        if !call.reply.open {
            // A tool has found that nobody listens.
            break;
        }
        match step {
            Step::Say(piece) => reply::speak_piece(call, piece),
            Step::Tool { name, arguments, echo } => reply::tool(call, (&name, arguments, echo)),
        }
    }
    if early.over {
        reply::reply_ended(call);
    }
    true
}

fn speculated(call: &mut State, name: &str, early: &EarlyReply, why: Option<Waste>) {
    let mut detail = json!({
        "tokens": early.characters.div_ceil(TOKEN_CHARACTERS),
        "characters": early.characters,
        "voiceCharacters": early.voiced_characters,
    });
    if let Some(why) = why {
        detail["why"] = why.as_str().into();
    }
    let at_ms = call.call_ms(early.pause.at_ms);
    call.record_at(name, at_ms, &detail);
}
