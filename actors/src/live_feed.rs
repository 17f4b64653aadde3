//! Clients that follow a live call: its events, and its audio for listeners.
//!
//! Both go through channels that drop the oldest items of a slow reader, so that the call never waits for one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, oneshot};
use utoipa::ToSchema;

use domain::{
    analysis::Mood,
    history::{HistoryItem, Speaker},
    ports::store::{EventFact, SentimentLabel, TurnFact},
    time::Timestamp,
};

/// Events of a call that may wait for a slow reader.
const EVENTS: usize = 256;

/// Frames of 20 ms that may wait for a slow listener: 2.5 s, a power of two. At 16 kHz they take 164 kB, which all listeners
/// of the call share.
const FRAMES: usize = 128;

/// Characters that are kept of the last words, from their end.
const WORDS_CHARS: usize = 200;

/// Occupation of a call at one moment, as clients see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LiveState {
    /// The call is being placed or rings.
    Ringing,
    /// The agent speaks.
    Speaking,
    /// The user has the turn.
    Listening,
    /// A reply is being made.
    Thinking,
    /// The same, while a tool outside the call runs.
    Tool,
    /// A phone menu or a mailbox is on the line.
    Menu,
    /// The call is being transferred.
    Transferring,
    /// An operator speaks in place of the agent.
    Operator,
    /// The last words play, or the call has ended.
    Closing,
}

/// Event of a live call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveEvent {
    /// The call does something else from now on.
    State {
        /// Activity of the call.
        state: LiveState,
        /// Time at which it began.
        since: Timestamp,
    },
    /// Words that are being said. They replace those of the same speaker after the last final ones. The agent's are final.
    Words {
        /// Speaker.
        speaker: Speaker,
        /// The words.
        text: String,
        /// Whether they stay.
        is_final: bool,
    },
    /// An operator has the call from now on, or no longer.
    Operator {
        /// Name of the key or user.
        by: Option<String>,
    },
    /// The call is in this node of its agent's conversation graph from now on.
    Node {
        /// Id of the node.
        node: String,
    },
    /// A turn is over.
    Turn(Box<TurnFact>),
    /// Another event was recorded. Sent for calls that are held in text only.
    Recorded(EventFact),
    /// The call is over. If the channel closes without this event, another node may have the call.
    End,
}

/// 20 ms of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveAudio {
    /// Samples per second of each side.
    pub sample_rate: u32,
    /// Samples of both sides, interleaved: user, agent.
    pub samples: Arc<[i16]>,
}

/// Words in a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveWords {
    /// Speaker.
    pub speaker: Speaker,
    /// The words, without their beginning if they are long.
    pub text: String,
}

/// State of a call at one moment, for lists of calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LivePresent {
    /// Activity of the call.
    pub state: LiveState,
    /// Words that were said last; left out if nothing was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<LiveWords>,
    /// Mood of the user, from the last turns.
    pub mood: SentimentLabel,
}

/// Sending side of what followers get.
#[derive(Debug, Clone)]
pub struct LiveFeed {
    /// Events.
    pub events: broadcast::Sender<LiveEvent>,
    /// Audio.
    pub audio: broadcast::Sender<LiveAudio>,
    said: Arc<Mutex<Said>>,
}

/// Last words and mood of a call.
#[derive(Debug, Default)]
struct Said {
    words: Option<LiveWords>,
    mood: Mood,
}

impl Said {
    fn note_words(&mut self, speaker: Speaker, text: &str) {
        let begin = text.char_indices().rev().nth(WORDS_CHARS - 1);
        let text = text[begin.map_or(0, |(at, _)| at)..].to_owned();
        self.words = Some(LiveWords { speaker, text });
    }
}

impl Default for LiveFeed {
    /// Creates a feed that nobody follows.
    fn default() -> Self {
        Self {
            events: broadcast::Sender::new(EVENTS),
            audio: broadcast::Sender::new(FRAMES),
            said: Arc::default(),
        }
    }
}

impl LiveFeed {
    /// Creates the feed of a call with this history.
    pub fn after(history: &[HistoryItem]) -> Self {
        let feed = Self::default();
        let mut said = feed.said();
        for item in history {
            if let HistoryItem::Said { speaker, text, .. } = item {
                said.note_words(*speaker, text);
                if *speaker == Speaker::User {
                    said.mood.hear(text);
                }
            }
        }
        drop(said);
        feed
    }

    /// Returns the state of a call with this activity.
    pub fn present(&self, state: LiveState) -> LivePresent {
        let said = self.said();
        LivePresent {
            state,
            words: said.words.clone(),
            mood: said.mood.label(),
        }
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        // A panic cannot leave it half-changed.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an event, if anybody follows.
    pub fn tell(&self, event: LiveEvent) {
        match &event {
            LiveEvent::Words { speaker, text, .. } => self.said().note_words(*speaker, text),
            LiveEvent::Turn(turn) if turn.speaker == Speaker::User => self.said().mood.hear(&turn.text),
            _ => {}
        }
        let _ = self.events.send(event);
    }
}

/// A client's place at a live call.
pub struct Following {
    /// Present occupation of the call.
    pub now: LiveEvent,
    /// Events from now on.
    pub events: broadcast::Receiver<LiveEvent>,
    /// For a listener: audio from now on. The call records that the listener left when the sender is dropped.
    pub audio: Option<(broadcast::Receiver<LiveAudio>, oneshot::Sender<()>)>,
}
