//! Replies made ahead. In a pause that may end the user's turn, the model is asked on the words so far, and
//! the first piece of its answer is synthesised and held. If the turn ends with the same words, this becomes
//! the reply. Otherwise it is discarded, and nothing of it was heard, kept or done.

use std::sync::Arc;

use media::turn::words::{self, Ending};
use serde_json::{Value, json};

use super::{Effect, Phase, State, speech::Speech};
use crate::{
    audio_stream::{Say, SpeechId},
    call::{CallTimer, Speculation},
};
use domain::{
    pieces::{self, Directions, Piece, PieceCutter},
    ports::language_model::ReplyEvent,
};

/// Most replies made ahead in one turn.
pub(super) const MOST_TRIES: u32 = 3;

/// Additional wait in milliseconds for each further try in a turn, since a user who pauses often is likely to go on.
const WARIER_MS: u64 = 100;

/// Additional wait in milliseconds after words that announce more, since the pause that ends such a turn is long.
const OPEN_WAIT_MS: u64 = 500;

/// Characters per token, to estimate the tokens a model reads and writes: OpenAI's rule of thumb for English.
const TOKEN_CHARACTERS: usize = 4;

/// Reason why a reply made ahead was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waste {
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
pub(super) struct Pause {
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
pub(super) struct EarlyReply {
    pub(super) pause: Pause,
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
    pub(super) node: Option<String>,
    characters: usize,
    voiced_characters: usize,
}

impl EarlyReply {
    pub(super) fn new(pause: Pause, asked_ms: u64, directions: Arc<Directions>) -> Self {
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
    pub(super) fn text(&self) -> &str {
        &self.pause.text
    }

    /// Returns the speech that is held, if there is one yet.
    #[cfg(test)]
    pub(super) fn held(&self) -> Option<SpeechId> {
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
pub(super) fn normalised(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        word.trim_matches(|c: char| c.is_ascii_punctuation() || "。？！，।…–—".contains(c))
            .to_lowercase()
    });
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

impl State {
    /// Handles the end of the user's voice.
    pub(super) fn turn_paused(&mut self, text: String, at_ms: u64) {
        if self.rules.speculation == Speculation::Off || self.phase != Phase::Listening {
            return;
        }
        let words = normalised(&text);
        if self
            .early
            .as_ref()
            .is_some_and(|early| normalised(early.text()) == words)
        {
            return;
        }
        self.drop_early(Waste::OtherWords);
        if words.is_empty() || self.user.tries >= MOST_TRIES {
            return;
        }
        let open = matches!(
            words::ending(&text),
            Ending::Open | Ending::Hesitating | Ending::Spelling
        );
        let wait_ms = u64::from(self.user.tries) * WARIER_MS + if open { OPEN_WAIT_MS } else { 0 };
        self.user.pause = Some(Pause { text, at_ms });
        match wait_ms {
            0 => self.speculate(),
            _ => self.fx.push(Effect::SetTimer(CallTimer::Speculate, wait_ms)),
        }
    }

    /// Asks the model once the pause has lasted long enough.
    pub(super) fn speculate(&mut self) {
        let Some(pause) = self.user.pause.take() else { return };
        if self.phase == Phase::Listening && self.early.is_none() && self.speech.is_none() {
            self.user.tries += 1;
            self.early = Some(EarlyReply::new(pause, self.now_ms, self.rules.directions.clone()));
            self.ask_ahead();
        }
    }

    /// Handles voice that starts again.
    pub(super) fn turn_resumed(&mut self) {
        self.drop_early(Waste::Resumed);
    }

    /// Handles a part of the reply that is made ahead.
    pub(super) fn early_event(&mut self, event: ReplyEvent) {
        let Some(early) = self.early.as_mut().filter(|early| !early.over) else {
            return;
        };
        early.token_ms.get_or_insert(self.now_ms);
        match event {
            ReplyEvent::Text(text) => {
                early.characters += text.chars().count();
                let pieces = early.cutter.push(&text);
                let too_long = early.cutter.is_too_long();
                if too_long {
                    early.cutter.finish();
                }
                for piece in pieces {
                    self.early_piece(piece);
                }
                if too_long {
                    self.fx.push(Effect::CancelReply);
                    self.early_ended();
                }
            }
            ReplyEvent::Tool { name, arguments, echo } => {
                early.protected |= self.rules.protects(&name);
                early.waiting.push(Step::Tool { name, arguments, echo });
            }
        }
    }

    /// Handles the end of the model's answer. If it is empty, the model is asked again at the end of the turn.
    pub(super) fn early_ended(&mut self) {
        let Some(early) = self.early.as_mut().filter(|early| !early.over) else {
            return;
        };
        early.over = true;
        for rest in early.cutter.finish() {
            self.early_piece(rest);
        }
        if self.early.as_ref().is_some_and(EarlyReply::is_empty) {
            self.drop_early(Waste::Failed);
        }
    }

    fn early_piece(&mut self, piece: Piece) {
        let Some(early) = &mut self.early else { return };
        if !pieces::has_words(&piece.text) {
            return;
        }
        // Another node may have another voice.
        if self.rules.speculation != Speculation::Voice || early.speaks() || early.node.is_some() {
            early.waiting.push(Step::Say(piece));
            return;
        }
        let Piece { text, manner } = piece;
        let speech = SpeechId(self.next_speech);
        self.next_speech += 1;
        early.held = Some(speech);
        early.held_text.clone_from(&text);
        early.voiced_characters = text.chars().count();
        self.fx.push(Effect::Say(Say {
            speech,
            text,
            manner,
            last: false,
            protected: early.protected,
            held: true,
        }));
    }

    /// Returns whether the tts failed for a reply made ahead. That reply is discarded.
    pub(super) fn early_voice_failed(&mut self, speech: SpeechId) -> bool {
        let ours = self.early.as_ref().is_some_and(|early| early.held == Some(speech));
        if ours {
            self.drop_early(Waste::Failed);
        }
        ours
    }

    /// Discards the reply made ahead.
    pub(super) fn drop_early(&mut self, why: Waste) {
        if self.user.pause.take().is_some() {
            self.fx.push(Effect::CancelTimer(CallTimer::Speculate));
        }
        self.drop_ahead();
        let Some(early) = self.early.take() else { return };
        self.fx.push(Effect::CancelReply);
        if early.held.is_some() {
            self.fx.push(Effect::StopSpeaking);
        }
        self.speculated("speculation_wasted", &early, Some(why));
    }

    /// Ends the turn with `text`: a reply made ahead on the same words becomes the reply. Returns false if
    /// there is none.
    pub(super) fn commit_early(&mut self, text: &str, damaged: bool) -> bool {
        let same = |early: &mut EarlyReply| !damaged && normalised(early.text()) == normalised(text);
        let Some(early) = self.early.take_if(same) else {
            return false;
        };
        self.speculated("speculation_used", &early, None);
        self.begin_reply();
        let token_ms = early.token_ms.map(|at_ms| self.stream_ms(at_ms));
        self.latency.asked(self.stream_ms(early.asked_ms));
        let _ = self.latency.first_token(token_ms);
        self.latency.speculated = true;
        self.reply.cutter = early.cutter;
        if !early.over {
            self.await_reply(early.asked_ms);
        }
        if let Some(speech) = early.held {
            self.speech = Some(Speech {
                text: early.held_text.clone(),
                by_model: true,
                ..Speech::new(speech, early.protected)
            });
            self.phase = Phase::Speaking;
            self.reply.whole = pieces::is_whole(&early.held_text);
            self.fx.push(Effect::Release(speech));
            self.await_more(&early.held_text);
        }
        for step in early.waiting {
            if !self.reply.open {
                // A tool has found that nobody listens.
                break;
            }
            match step {
                Step::Say(piece) => self.speak_piece(piece),
                Step::Tool { name, arguments, echo } => self.tool((&name, arguments, echo)),
            }
        }
        if early.over {
            self.reply_ended();
        }
        true
    }

    fn speculated(&mut self, name: &str, early: &EarlyReply, why: Option<Waste>) {
        let mut detail = json!({
            "tokens": early.characters.div_ceil(TOKEN_CHARACTERS),
            "characters": early.characters,
            "voiceCharacters": early.voiced_characters,
        });
        if let Some(why) = why {
            detail["why"] = why.as_str().into();
        }
        let at_ms = self.call_ms(early.pause.at_ms);
        self.record_at(name, at_ms, &detail);
    }
}
