//! One context of a socket: its received text, its pending speeches, and its frames.

use std::{collections::VecDeque, fmt::Write, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::stub_providers::speaking::{Character, Speech, Spoken};

/// Number of characters at which speech begins without a flush.
const SCHEDULE: usize = 120;

pub(super) struct Context {
    settings: Option<Value>,
    text: String,
    speeches: VecDeque<Speech>,
    /// Time at which the input ended.
    closed: Option<Instant>,
}

/// Next frame of a context.
pub(super) enum Frame {
    Audio(Audio),
    Final,
}

impl Context {
    pub(super) fn new(settings: Option<Value>) -> Self {
        Self {
            settings,
            text: String::new(),
            speeches: VecDeque::new(),
            closed: None,
        }
    }

    /// Returns whether these settings are those it was opened with.
    pub(super) fn keeps(&self, settings: Option<&Value>) -> bool {
        settings.is_none_or(|settings| settings.is_null() || self.settings.as_ref() == Some(settings))
    }

    pub(super) fn hear(&mut self, text: &str) {
        if self.closed.is_none() {
            self.text.push_str(text);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.text.chars().count() >= SCHEDULE
    }

    pub(super) fn taken_text(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    pub(super) fn speak(&mut self, spoken: Arc<Spoken>, due: Instant) {
        let due = self.speeches.back().map_or(due, |before| before.due.max(due));
        self.speeches.push_back(Speech::new(spoken, due));
    }

    /// Ends the input. Returns false if it had ended before.
    pub(super) fn close(&mut self, now: Instant) -> bool {
        self.closed.replace(now).is_none()
    }

    /// Returns the time of its next frame.
    pub(super) fn due(&self) -> Option<Instant> {
        self.speeches.front().map(|speech| speech.due).or(self.closed)
    }

    pub(super) fn next_frame(&mut self, drip: Option<Duration>) -> Frame {
        let Some(speech) = self.speeches.front_mut() else {
            return Frame::Final;
        };
        let (spoken, from_ms, ms) = speech.next(drip);
        let audio = spoken.chunk(from_ms, ms);
        let audio = audio.map(|(audio, characters)| Audio::new(audio, characters, from_ms));
        if spoken.chunk(from_ms + ms, ms).is_none() {
            let due = speech.due;
            self.speeches.pop_front();
            if let Some(closed) = &mut self.closed {
                *closed = due.max(*closed);
            }
        }
        audio.map_or(Frame::Final, Frame::Audio)
    }
}

/// A frame of audio, without its context.
pub(super) struct Audio {
    base64: String,
    alignment: String,
}

impl Audio {
    fn new(audio: &[u8], characters: &[Character], from_ms: u64) -> Self {
        let mut alignment = String::from("null");
        if !characters.is_empty() {
            alignment.clear();
            let numbers = |of: &dyn Fn(&Character) -> u64| {
                let mut list = String::new();
                for character in characters {
                    let comma = if list.is_empty() { "" } else { "," };
                    // Writing to a string does not fail.
                    let _ = write!(list, "{comma}{}", of(character));
                }
                list
            };
            let chars: Vec<String> = characters.iter().map(|c| c.text.to_string()).collect();
            let _ = write!(
                alignment,
                r#"{{"chars":{},"charStartTimesMs":[{}],"charDurationsMs":[{}]}}"#,
                json!(chars),
                numbers(&|c| c.start_ms - from_ms),
                numbers(&|c| c.end_ms - c.start_ms),
            );
        }
        Self {
            base64: STANDARD.encode(audio),
            alignment,
        }
    }

    /// Returns the whole message.
    pub(super) fn with(&self, context: Option<&str>) -> String {
        let context = context
            .map(|name| format!(r#","contextId":{}"#, json!(name)))
            .unwrap_or_default();
        format!(
            r#"{{"audio":"{}","isFinal":null,"alignment":{},"normalizedAlignment":{}{context}}}"#,
            self.base64, self.alignment, self.alignment
        )
    }
}

/// Returns the last message of a context.
pub(super) fn last(context: Option<&str>) -> String {
    let mut last = json!({ "audio": null, "isFinal": true, "alignment": null, "normalizedAlignment": null });
    if let Some(context) = context {
        last["contextId"] = context.into();
    }
    last.to_string()
}
