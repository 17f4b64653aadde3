//! Tells clients that follow the call what happens.

use serde_json::json;
use tokio::sync::oneshot;

use super::EffectHandler;
use crate::{
    audio_stream::StreamMessage,
    call::{CallMessage, CallPhase, state::State},
    live_feed::{Following, LiveEvent, LiveFeed, LivePresent, LiveState},
};
use domain::{history::Speaker, time::Timestamp};
use media::session::{Say, SpeechId};

/// State of the call as its followers know it.
pub(super) struct Followers {
    /// None until somebody follows the call, or sees it in a list.
    pub(super) feed: Option<LiveFeed>,
    now: (LiveState, Timestamp),
    /// Name of the operator who has the call.
    operator: Option<String>,
    /// Node of the conversation graph in which the call is.
    node: Option<String>,
    /// Words of a held speech.
    held: Option<(SpeechId, String)>,
}

impl Followers {
    pub(super) fn none(now: Timestamp) -> Self {
        Self {
            feed: None,
            now: (LiveState::Ringing, now),
            operator: None,
            node: None,
            held: None,
        }
    }

    fn state(&self) -> LiveEvent {
        let (state, since) = self.now;
        LiveEvent::State { state, since }
    }

    /// Sends an event, if anybody has followed the call.
    pub(super) fn tell(&self, event: impl FnOnce() -> LiveEvent) {
        if let Some(feed) = &self.feed {
            feed.tell(event());
        }
    }

    fn tell_node(&self) {
        if let Some(node) = &self.node {
            self.tell(|| LiveEvent::Node { node: node.clone() });
        }
    }

    fn tell_words(&self, text: &str) {
        self.tell(|| LiveEvent::Words {
            speaker: Speaker::Agent,
            text: text.to_owned(),
            is_final: true,
        });
    }
}

impl EffectHandler {
    /// Returns the call's feed, which begins when it is first wanted.
    fn feed(&mut self) -> LiveFeed {
        if let Some(feed) = &self.followers.feed {
            return feed.clone();
        }
        let history = self
            .machine
            .as_ref()
            .map_or(&[][..], |machine| machine.history().items());
        let feed = LiveFeed::after(history);
        self.tell_stream(StreamMessage::Feed(feed.clone()));
        self.followers.feed = Some(feed.clone());
        feed
    }

    /// Returns the state of the call for a list.
    pub(super) fn present(&mut self) -> LivePresent {
        self.feed().present(self.followers.now.0)
    }

    /// Lets a client follow the call. A `listener` also gets its audio.
    pub(super) fn follow(&mut self, listener: Option<String>) -> Following {
        let feed = self.feed();
        let audio = listener.map(|by| {
            self.record_event("listener_joined", &json!({ "by": by }));
            let (place, left) = oneshot::channel();
            let call = self.me.clone();
            self.spawn(async move {
                // An error means that the listener dropped its place.
                let _ = left.await;
                let _ = call.cast(CallMessage::ListenerLeft { by });
            });
            (feed.audio.subscribe(), place)
        });
        let events = feed.events.subscribe();
        self.followers.tell_node();
        Following {
            now: self.followers.state(),
            events,
            audio,
        }
    }

    pub(super) fn say(&mut self, say: Say) {
        if say.held {
            self.followers.held = Some((say.speech, say.text.clone()));
        } else if !say.text.is_empty() {
            self.followers.tell_words(&say.text);
        }
        self.tell_stream(StreamMessage::Say(say));
    }

    pub(super) fn release(&mut self, speech: SpeechId) {
        if let Some((_, text)) = self.followers.held.take().filter(|(held, _)| *held == speech) {
            self.followers.tell_words(&text);
        }
        self.tell_stream(StreamMessage::Release(speech));
    }

    pub(super) fn listener_left(&self, by: &str) {
        self.record_event("listener_left", &json!({ "by": by }));
    }

    /// Notes what the call does after an event.
    pub(super) fn note_live_state(&mut self, machine: &State) {
        let state = live_state(machine.phase(), machine.runs_tool());
        if state != self.followers.now.0 {
            self.followers.now = (state, self.with.ports.clock.now());
            self.followers.tell(|| self.followers.state());
        }
        let by = machine.operator().map(str::to_owned);
        if by != self.followers.operator {
            self.followers.operator.clone_from(&by);
            self.followers.tell(|| LiveEvent::Operator { by });
        }
        if machine.node() != self.followers.node.as_deref() {
            self.followers.node = machine.node().map(str::to_owned);
            self.followers.tell_node();
        }
    }
}

fn live_state(phase: CallPhase, runs_tool: bool) -> LiveState {
    match phase {
        CallPhase::Scheduled | CallPhase::Dialing | CallPhase::Ringing => LiveState::Ringing,
        CallPhase::Greeting | CallPhase::Speaking => LiveState::Speaking,
        CallPhase::Answered | CallPhase::Listening => LiveState::Listening,
        CallPhase::Thinking if runs_tool => LiveState::Tool,
        CallPhase::Thinking => LiveState::Thinking,
        CallPhase::Voicemail => LiveState::Menu,
        CallPhase::Transferring => LiveState::Transferring,
        CallPhase::Operator => LiveState::Operator,
        CallPhase::Closing | CallPhase::Ended => LiveState::Closing,
    }
}
